package recovery

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/region"
)

// Apply carries the verdicts out and gives the pool its size: kept frames wait unverified, all others are free. A pool that has
// its size already may have frames that are not reserved yet. When the pool shrinks, changed pages and then the hottest keep a frame; a changed page that finds none is redone.
func (p *Plan) Apply(r *region.Region, frames int) error {
	if !p.FramesKept {
		return resize(r, frames)
	}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		from, to := len(p.frames)*w/workers, len(p.frames)*(w+1)/workers
		wg.Go(func() {
			for f := from; f < to; f++ {
				carryOut(r, f, p.frames[f])
			}
		})
	}
	wg.Wait()
	if frames < r.Frames() {
		p.shrink(r, frames)
	}
	return resize(r, frames)
}

// resize leaves a pool of the right size alone: Resize would reserve all of it, and that can wait.
func resize(r *region.Region, frames int) error {
	if frames == r.Frames() {
		return nil
	}
	return r.Resize(frames)
}

func carryOut(r *region.Region, f int, v Verdict) {
	d := r.Desc(f)
	switch {
	case v == KeepClean || v == KeepDirty:
		if d.State.Load() != region.StateUnverified {
			d.Begin()
			d.State.Store(region.StateUnverified)
			d.End(f)
		}
	case v != Free || d.Version.Load()&1 != 0:
		release(r, f)
	}
}

// release makes a frame free, whatever a death left of its descriptor.
func release(r *region.Region, f int) {
	d := r.Desc(f)
	if d.Version.Load()&1 == 0 {
		d.Begin()
	}
	d.LSN.Store(0)
	d.First.Store(0)
	d.State.Store(region.StateFree)
	d.SetID(f, 0)
	d.End(f)
}

// shrink moves what deserves to stay from frames at or above the new size to frames below it.
func (p *Plan) shrink(r *region.Region, frames int) {
	type rank struct {
		frame int
		worth uint64
	}
	var kept []rank
	for f := range r.Frames() {
		d := r.Desc(f)
		if d.State.Load() != region.StateUnverified {
			continue
		}
		worth := uint64(d.Heat.Load() & pool.Heats)
		if d.First.Load() != 0 {
			worth |= 1 << 40
		}
		kept = append(kept, rank{f, worth})
	}
	slices.SortFunc(kept, func(a, b rank) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(a.frame, b.frame))
	})
	stay := min(len(kept), frames)
	for _, k := range kept[stay:] {
		d := r.Desc(k.frame)
		if d.First.Load() != 0 {
			p.Redo[page.ID(d.ID.Load())] = struct{}{}
		}
		release(r, k.frame)
	}
	to := 0
	for _, k := range kept[:stay] {
		if k.frame < frames {
			continue
		}
		for r.Desc(to).State.Load() != region.StateFree {
			to++
		}
		move(r, k.frame, to)
	}
}

// move copies a page to a free frame, then frees its own. A death between the two leaves it twice, the same in both,
// and the pool then takes one.
func move(r *region.Region, from, to int) {
	s, d := r.Desc(from), r.Desc(to)
	d.Begin()
	*r.Page(to) = *r.Page(from)
	d.SetID(to, page.ID(s.ID.Load()))
	d.LSN.Store(s.LSN.Load())
	d.First.Store(s.First.Load())
	d.State.Store(region.StateUnverified)
	d.Heat.Store(s.Heat.Load())
	d.End(to)
	release(r, from)
}
