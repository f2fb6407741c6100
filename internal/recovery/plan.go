package recovery

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/wal"
)

// Plan says what a start has to do. It is a value; Analyze, which makes it, changes nothing in the region or the files.
type Plan struct {
	Checkpoint page.LSN // from the control file
	End        page.LSN // of the valid log
	FramesKept bool     // the region's frames are believed
	Full       bool     // every page named in [Checkpoint, End) is brought forward before the first answer
	Redo       map[page.ID]struct{}
	Counts     [verdicts]int // frames by verdict

	frames []Verdict // by frame, when FramesKept
	log    wal.ReaderConfig
	hist   *history
}

// Input of Analyze.
type Input struct {
	Control Control
	Log     wal.ReaderConfig
	Region  *region.Region
	Frames  bool     // the region's frames may be examined
	End     page.LSN // end of the log if it is known from the ring, else 0
	Ring    []byte   // the ring that told it
}

// Analyze finds out what is true: where the log ends, and what each surviving frame is worth.
func Analyze(in Input) (*Plan, error) {
	p := &Plan{Checkpoint: in.Control.Checkpoint, End: in.End, log: in.Log, Redo: map[page.ID]struct{}{}}
	if err := segmentsWhole(in.Log, p.Checkpoint); err != nil {
		return nil, err
	}
	if p.End == 0 {
		end, err := logEnd(in.Log, p.Checkpoint)
		if err != nil {
			return nil, err
		}
		p.End = end
	}
	if p.End < p.Checkpoint {
		return nil, fmt.Errorf("the log ends at %d, before the checkpoint at %d: segments of it are missing or damaged; restore them or a backup", p.End, p.Checkpoint)
	}
	if in.Frames {
		p.examine(in.Region)
	}
	p.hist = &history{cfg: p.log, from: p.Checkpoint, to: p.End}
	if p.FramesKept && in.Control.Redoing {
		if err := p.redoUnkept(in.Region); err != nil {
			return nil, err
		}
	}
	p.Full = !p.FramesKept && p.End > p.Checkpoint
	if len(p.Redo) > 0 && in.Ring != nil {
		// A torn page is likely one that the first answer needs (an undo log's last page), and its records are likely
		// in memory still.
		if err := p.hist.collect(in.Ring, p.Redo); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// redoUnkept goes on with the redo of a life that died before it was through: what that life had to redo and had not
// touched yet is known to nobody any more, so it is every page that the kept log names and that no frame holds. Most of
// them are in their files already, which replay sees by their LSN.
func (p *Plan) redoUnkept(r *region.Region) error {
	kept := map[page.ID]struct{}{}
	for f, v := range p.frames {
		if v == KeepClean || v == KeepDirty {
			kept[page.ID(r.Desc(f).ID.Load())] = struct{}{}
		}
	}
	err := p.hist.pages(func(id page.ID) {
		if _, ok := kept[id]; !ok {
			p.Redo[id] = struct{}{}
		}
	})
	if err != nil {
		return fmt.Errorf("find what is left to redo: %w", err)
	}
	return nil
}

// NeedsRedo says whether something will be left to redo on touch when the plan is carried out with that many frames.
func (p *Plan) NeedsRedo(frames int) bool {
	return p.FramesKept && (len(p.Redo) > 0 || frames < len(p.frames))
}

// segmentsWhole says whether a segment is missing where the log must be: a gap would be taken for its end.
func segmentsWhole(cfg wal.ReaderConfig, checkpoint page.LSN) error {
	have, err := wal.Segments(cfg)
	if err != nil || len(have) == 0 {
		return err
	}
	slices.Sort(have)
	last := have[len(have)-1]
	for n := cfg.SegmentOf(checkpoint); n < last; n++ {
		if _, ok := slices.BinarySearch(have, n); !ok {
			return fmt.Errorf("log segment %d in %s is missing, though redo begins in segment %d and segment %d is there: restore it, or the whole directory from a backup",
				n, cfg.Dir, cfg.SegmentOf(checkpoint), last)
		}
	}
	return nil
}

// logEnd reads the log from the checkpoint to the end of its valid prefix.
func logEnd(cfg wal.ReaderConfig, from page.LSN) (page.LSN, error) {
	r, err := wal.NewReader(cfg, from)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r.End(), nil
		} else if err != nil {
			return 0, err
		}
	}
}

// Verdicts counts the frames by verdict, in words; verdicts that did not occur are left out.
func (p *Plan) Verdicts() map[string]int {
	m := map[string]int{}
	for v, n := range p.Counts {
		if n > 0 {
			m[Verdict(v).String()] = n
		}
	}
	return m
}

// examine judges all frames, in parallel.
func (p *Plan) examine(r *region.Region) {
	workers := runtime.GOMAXPROCS(0)
	type part struct {
		counts [verdicts]int
		redo   []page.ID
		_      [64]byte
	}
	parts := make([]part, workers)
	var distrust atomic.Bool
	frames := make([]Verdict, r.Frames())
	region.Scan(r, workers, func(w, frame int, f region.Finding) {
		v := judge(f, p.End)
		frames[frame] = v
		parts[w].counts[v]++
		if v == Distrust {
			distrust.Store(true)
		}
		if v.needsRedo() {
			parts[w].redo = append(parts[w].redo, f.ID)
		}
	})
	for _, part := range parts {
		for v, n := range part.counts {
			p.Counts[v] += n
		}
		for _, id := range part.redo {
			p.Redo[id] = struct{}{}
		}
	}
	if distrust.Load() {
		clear(p.Redo)
		return
	}
	p.frames, p.FramesKept = frames, true
}
