package recovery

import (
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// Verdict is what becomes of a surviving frame at start.
type Verdict uint8

// The verdicts. Each has a test of its name.
const (
	Free         Verdict = iota // it held no page
	KeepClean                   // its page is the file's: checksum on first touch, else read again
	KeepDirty                   // its page is newer than the file's: structural check on first touch
	DropLoading                 // its page was being read: the file has it
	DropTorn                    // its page was being changed: redo
	DropAhead                   // its page has changes the log does not: redo
	DropNonsense                // a state or LSNs no life of ours leaves: redo
	Distrust                    // its descriptor contradicts itself, so no frame can be believed
	verdicts
)

var verdictNames = [verdicts]string{"free", "clean", "dirty", "loading", "torn", "ahead", "nonsense", "distrust"}

func (v Verdict) String() string { return verdictNames[v] }

// needsRedo says whether the frame may have held changes that only the log has now.
func (v Verdict) needsRedo() bool { return v == DropTorn || v == DropAhead || v == DropNonsense }

// judge is the table of engine.md, section 2. end is the end of the valid log.
//
//	descriptor   state        LSN vs end   first       verdict
//	damaged      -            -            -           distrust
//	torn (odd)   -            -            -           torn
//	whole        free         -            -           free
//	whole        loading      -            -           loading
//	whole        ready        beyond       -           ahead
//	whole        ready        within       0           clean
//	whole        ready        within       1..LSN      dirty
//	whole        anything else                         nonsense
//
// Ready is what unverified was in the life before: a survivor that nobody touched is judged again.
func judge(f region.Finding, end page.LSN) Verdict {
	switch {
	case f.Condition == region.Damaged:
		return Distrust
	case f.Condition == region.Torn && f.ID == 0:
		return Free // it was being given a page, or losing a clean one
	case f.Condition == region.Torn:
		return DropTorn
	case f.State == region.StateFree:
		return Free
	case f.State == region.StateLoading:
		return DropLoading
	case f.ID == 0 || f.First > f.LSN:
		return DropNonsense
	case f.LSN > end:
		return DropAhead
	case f.First == 0:
		return KeepClean
	}
	return KeepDirty
}
