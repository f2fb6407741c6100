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
	Checkpoint page.LSN             // from the control file
	End        page.LSN             // of the valid log
	FramesKept bool                 // the region's frames are believed
	Named      bool                 // every page that [Checkpoint, End) names and no frame holds may have to be brought forward
	Redo       map[page.ID]struct{} // pages that have to be, for other reasons
	Counts     [verdicts]int        // frames by verdict

	frames []Verdict // by frame, when FramesKept
	log    wal.ReaderConfig
	hist   *history
}

// Input of Analyze.
type Input struct {
	Control Control
	Log     wal.ReaderConfig
	Region  *region.Region
	Frames  bool              // the region's frames may be examined
	End     page.LSN          // end of the log if it is known from the ring, else 0
	Ring    []byte            // the ring that told it
	Tell    func(percent int) // of the log that had to be read, when its end is not known; may be nil
}

// Analyze finds out what is true: where the log ends, and what each surviving frame is worth.
func Analyze(in Input) (*Plan, error) {
	p := &Plan{Checkpoint: in.Control.Checkpoint, End: in.End, log: in.Log, Redo: map[page.ID]struct{}{}}
	if err := segmentsWhole(in.Log, p.Checkpoint); err != nil {
		return nil, err
	}
	if p.End == 0 {
		end, err := logEnd(in.Log, p.Checkpoint, in.Tell)
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
	// Without frames nobody knows which pages lack what; nor does anybody after a life that died before its redo was through. Most
	// pages are in their files already, which replay sees by their LSN.
	p.Named = p.End > p.Checkpoint && (!p.FramesKept || in.Control.Redoing)
	if p.Named {
		if err := p.hist.load(); err != nil { // now, and not when the first page is wanted: what is wrong with the log is an error of the start
			return nil, err
		}
	}
	if len(p.Redo) > 0 && in.Ring != nil {
		// A torn page is likely one that the first answer needs (an undo log's last page), and its records are likely
		// in memory still.
		if err := p.hist.collect(in.Ring, p.Redo); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// NeedsRedo says whether something will be left to redo on touch when the plan is carried out with that many frames.
func (p *Plan) NeedsRedo(frames int) bool {
	return p.Named || len(p.Redo) > 0 || p.FramesKept && frames < len(p.frames)
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

// logEnd finds the end of the valid prefix of the log. A segment gets its index when all of it and of those before it is durable, so
// the search begins with the last group of the last index: what is read is a segment or two, however long the log is.
func logEnd(cfg wal.ReaderConfig, checkpoint page.LSN, tell func(percent int)) (page.LSN, error) {
	from, err := lastIndexed(cfg, checkpoint)
	if err != nil {
		return 0, err
	}
	r, err := wal.NewReader(cfg, from)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	have, err := wal.Segments(cfg)
	if err != nil {
		return 0, err
	}
	atMost := from
	if len(have) > 0 {
		atMost = cfg.StartOf(slices.Max(have) + 1)
	}
	told := -1
	for {
		g, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.End(), nil
		} else if err != nil {
			return 0, err
		}
		if tell != nil && atMost > from {
			if percent := int(100 * (g.End - from) / (atMost - from)); percent > told {
				told = percent
				tell(percent)
			}
		}
	}
}

// lastIndexed is the start of the last group that an index tells of, checkpoint if none does. The reader needs a group before the end
// of the indexes: the next one is valid only if its life is the same or a later one.
func lastIndexed(cfg wal.ReaderConfig, checkpoint page.LSN) (page.LSN, error) {
	have, err := wal.Segments(cfg)
	if err != nil {
		return 0, err
	}
	slices.Sort(have)
	for _, n := range slices.Backward(have) {
		if n < cfg.SegmentOf(checkpoint) {
			break
		}
		x, err := wal.ReadIndex(cfg, n)
		if err != nil {
			continue // it has none yet, or one that is damaged: the segments before have theirs
		}
		if last, ok := x.LastGroup(); ok {
			return max(last, checkpoint), nil
		}
	}
	return checkpoint, nil
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
