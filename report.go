package hearth

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// StartKind says what a start had to work with.
type StartKind string

const (
	StartNew          StartKind = "new"                   // the database was made
	StartCleanRegion  StartKind = "clean, region kept"    // stopped in order, its memory is there
	StartCrashRegion  StartKind = "crash, region kept"    // died, its memory is there
	StartCleanFlushed StartKind = "clean, all written"    // stopped in order, everything in the files
	StartRegionLost   StartKind = "region lost"           // memory is gone: redo from the log
	StartFramesLost   StartKind = "crash, only ring kept" // the pages in memory could not be believed, the log in memory could
)

// Phase is one step of a start.
type Phase struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"`
}

// StartReport tells what a start found and did.
type StartReport struct {
	Kind        StartKind      `json:"kind"`
	Why         string         `json:"why,omitempty"` // why memory was thrown away, if it was
	At          time.Time      `json:"at"`
	Took        time.Duration  `json:"took"` // until the first answer, with a prewarm that comes before it (PrewarmBlocking)
	Phases      []Phase        `json:"phases"`
	Incarnation uint64         `json:"incarnation"`
	Frames      map[string]int `json:"frames,omitempty"` // surviving frames by verdict
	PoolFrames  int            `json:"pool_frames"`
	// PoolReserved of them have their memory when the first transaction can begin, the others get it behind that.
	PoolReserved int    `json:"pool_reserved"`
	PoolShort    string `json:"pool_short,omitempty"` // why the pool has fewer frames than Options.PoolSize says
	Survives     bool   `json:"survives"`             // this life's memory outlives it

	Checkpoint  uint64 `json:"checkpoint"`   // LSN
	LogEnd      uint64 `json:"log_end"`      // LSN
	RingBytes   int64  `json:"ring_bytes"`   // of log finished from memory
	RedoPages   int    `json:"redo_pages"`   // single pages to redo on first touch
	RedoBytes   int64  `json:"redo_bytes"`   // of log all of whose pages are redone on first touch, the rest behind the first answer; see DB.Redo
	TornPages   int    `json:"torn_pages"`   // pages mended from the doublewrite file
	Losers      int    `json:"losers"`       // transactions open at the death, rolled back behind the first answer
	OrphanFiles int    `json:"orphan_files"` // files without a catalog entry, to be removed
}

func (r *StartReport) phase(name string, since *time.Time) {
	now := time.Now()
	r.Phases = append(r.Phases, Phase{name, now.Sub(*since)})
	*since = now
}

// String is the report on one line.
func (r StartReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: open after %v", r.Kind, r.Took.Round(10*time.Microsecond))
	for _, p := range r.Phases {
		fmt.Fprintf(&b, ", %s %v", p.Name, p.Took.Round(10*time.Microsecond))
	}
	if kept := r.Frames["clean"] + r.Frames["dirty"]; kept > 0 {
		fmt.Fprintf(&b, "; kept %d pages, %d of them changed", kept, r.Frames["dirty"])
	}
	if r.Losers > 0 {
		fmt.Fprintf(&b, "; %d open transactions to roll back", r.Losers)
	}
	return b.String()
}

func (r StartReport) log(l *slog.Logger) {
	l.Info("started", "kind", string(r.Kind), "took", r.Took, "phases", phases(r.Phases), "frames", r.Frames, "pool_frames", r.PoolFrames, "pool_reserved", r.PoolReserved,
		"survives", r.Survives, "checkpoint", r.Checkpoint, "log_end", r.LogEnd, "ring_bytes", r.RingBytes, "redo_pages", r.RedoPages,
		"redo_bytes", r.RedoBytes, "torn_pages", r.TornPages, "losers", r.Losers,
		"incarnation", r.Incarnation)
}

type phases []Phase

// LogValue writes the phases as name=duration pairs.
func (p phases) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, x := range p {
		attrs = append(attrs, slog.Duration(x.Name, x.Took))
	}
	return slog.GroupValue(attrs...)
}

// RedoProgress says how far the redo is that goes on behind the first answer.
type RedoProgress struct {
	Total int64 // pages to be redone; 0 while they are not known, or when there are none
	Done  int64
}

// Redo says how far the redo of a start is that found pages to bring forward: after lost memory, those of the whole log. A page that is
// needed does not wait for it. Until it is through the log may grow to twice Options.LogSize.
func (db *DB) Redo() RedoProgress { return RedoProgress(db.source.Progress()) }
