package pool

import (
	"context"
	"errors"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// MaxRun is how many neighbours one Load brings in at most, in pages (1 MiB). Disks reach their full speed below that.
const MaxRun = 64

// Outcome of one page of a Run.
type Outcome uint8

const (
	Unwanted Outcome = iota // not asked for
	Loaded                  // is in the pool now
	Present                 // was in the pool, or somebody else was reading it
	Gone                    // its space was dropped, or it was never written, or freed
	NoRoom                  // there is no frame that is free and not spoken for
	Failed                  // could not be read; whoever needs it will hear why
	wanted                  // asked for, not seen to yet

	// Outcomes is how many there are, to count them by.
	Outcomes = int(wanted)
)

// Run is neighbours in one space that are to be in the pool. A page that is not wanted is read and forgotten if it lies
// between two that are.
type Run struct {
	First page.ID
	Pages []RunPage // up to MaxRun
	Redo  bool      // it is not read for its warmth

	own    int // the page that somebody waits for, whose frame is claimed already; -1: none
	frames [MaxRun]uint32
	bufs   [MaxRun]*page.Page
	reads  [MaxRun]Read
}

// RunPage is one page of a Run.
type RunPage struct {
	Heat    uint32  // what it begins with, see Heats
	Outcome Outcome // set by Load
	claimed bool
}

// Reset makes r a run of n pages that nobody wants.
func (r *Run) Reset(first page.ID, n int) {
	if cap(r.Pages) < MaxRun {
		r.Pages = make([]RunPage, MaxRun)
	}
	r.First, r.Pages, r.Redo, r.own = first, r.Pages[:n], false, -1
	clear(r.Pages)
}

// Want asks for page i of the run.
func (r *Run) Want(i int, heat uint32) { r.Pages[i] = RunPage{Heat: heat, Outcome: wanted} }

// Load brings the wanted pages of r into frames that are free, with one read, and says of each what became of it. It
// evicts nothing, and leaves the frames that the cleaner keeps free for misses. It returns how many bytes it read. A page
// on its way is waited for by those who need it, so whoever calls with a class that may be held back has its turn already.
func (p *Pool) Load(ctx context.Context, r *Run, class Class) int {
	if p.closed.Load() {
		r.fail(NoRoom)
		return 0
	}
	p.claimRun(ctx, r)
	from, to := r.span()
	if from == to {
		return 0
	}
	err := p.readRun(ctx, r, from, to, class)
	p.publish(r, from, to, err)
	if err != nil {
		return 0
	}
	return (to - from) * page.Size
}

// fail gives every page that is still wanted the same outcome.
func (r *Run) fail(o Outcome) {
	for i := range r.Pages {
		if r.Pages[i].Outcome == wanted {
			r.Pages[i].Outcome = o
		}
	}
}

// claimRun finds frames for the wanted pages.
func (p *Pool) claimRun(ctx context.Context, r *Run) {
	missing := 0
	for i := range r.Pages {
		if rp := &r.Pages[i]; rp.Outcome == wanted {
			if _, ok := p.table.find(p, r.First+page.ID(i)); ok {
				rp.Outcome = Present
			} else {
				missing++
			}
		}
	}
	if missing == 0 {
		return
	}
	var room [MaxRun]uint32
	spare := p.takeSpare(ctx, room[:missing], r.own < 0)
	for i := range r.Pages {
		rp := &r.Pages[i]
		switch {
		case rp.Outcome != wanted:
		case len(spare) == 0:
			rp.Outcome = NoRoom
		case p.claim(spare[0], r.First+page.ID(i)):
			r.frames[i], rp.claimed = spare[0], true
			spare = spare[1:]
		default:
			rp.Outcome = Present
		}
	}
	for _, f := range spare {
		p.giveBack(f)
	}
}

// span is the part of the run that has to be read.
func (r *Run) span() (from, to int) {
	for from < len(r.Pages) && !r.Pages[from].claimed && from != r.own {
		from++
	}
	for to = len(r.Pages); to > from && !r.Pages[to-1].claimed && to-1 != r.own; {
		to--
	}
	return from, to
}

func (p *Pool) readRun(ctx context.Context, r *Run, from, to int, class Class) error {
	for i := from; i < to; i++ {
		r.bufs[i], r.reads[i] = nil, Read{}
		if r.Pages[i].claimed || i == r.own {
			r.bufs[i] = p.page(r.frames[i])
		}
	}
	return p.src.ReadPages(ctx, r.First+page.ID(from), r.bufs[from:to], r.reads[from:to], class)
}

// publish shows the pages that were read, and gives the frames of the others back.
func (p *Pool) publish(r *Run, from, to int, err error) {
	loaded := 0
	for i := from; i < to; i++ {
		rp := &r.Pages[i]
		if !rp.claimed {
			continue
		}
		rp.Outcome = outcome(r.bufs[i], r.reads[i], err)
		if rp.Outcome != Loaded {
			continue
		}
		heat := uint32(0)
		if !r.Redo {
			heat = prewarmHeat(rp.Heat)
		}
		p.show(r.frames[i], r.bufs[i], r.reads[i].First, heat)
		loaded++
	}
	if loaded > 0 {
		if !r.Redo {
			p.stats.prewarmed.Add(int64(loaded))
		}
		p.repl.mu.Lock()
		for i := from; i < to; i++ {
			if rp := &r.Pages[i]; rp.claimed && rp.Outcome == Loaded {
				p.repl.main.push(r.frames[i]) // it was wanted before
			}
		}
		p.repl.mu.Unlock()
	}
	for i := from; i < to; i++ {
		switch rp := &r.Pages[i]; {
		case !rp.claimed:
		case rp.Outcome == Loaded:
			p.frames[r.frames[i]].unpin()
		default:
			p.unclaim(r.frames[i], r.First+page.ID(i))
		}
		r.Pages[i].claimed = false
	}
}

// outcome says what a read brought. A page that redo has changed is kept whatever it holds.
func outcome(pg *page.Page, read Read, err error) Outcome {
	switch {
	case errors.Is(err, ErrGone) || errors.Is(read.Err, ErrGone):
		return Gone
	case err != nil || read.Err != nil:
		return Failed
	case read.First == 0 && (pg.Kind() == page.KindZero || pg.Kind() == page.KindFree):
		return Gone
	}
	return Loaded
}

// prewarmHeat is the heat word of a page that Load brought in: as hot as it was, but it has yet to prove that it is wanted still.
func prewarmHeat(heat uint32) uint32 {
	return heat&Heats&^freqMask | min(heat&freqMask, 1) | markUnused
}

// show makes the page that was read into a claimed frame ready. The frame stays pinned.
func (p *Pool) show(f uint32, pg *page.Page, first page.LSN, heat uint32) {
	d := p.desc(f)
	d.Heat.Store(heat)
	d.Begin()
	d.LSN.Store(uint64(pg.LSN()))
	d.First.Store(uint64(first))
	d.State.Store(region.StateReady)
	d.End(int(f))
	p.frames[f].latch.Unlock()
}

// takeSpare takes frames that are free beyond what the cleaner keeps free, as many as there are for room. With wait set, it waits
// for those that are to come.
func (p *Pool) takeSpare(ctx context.Context, room []uint32, wait bool) []uint32 {
	r := &p.repl
	r.mu.Lock()
	defer r.mu.Unlock()
	for wait && r.coming > 0 && len(r.free)-r.high < len(room) && !p.closed.Load() && ctx.Err() == nil {
		r.grown.Wait() // for a chunk at most, so that the end of ctx is seen
	}
	n := min(len(room), max(len(r.free)-r.high, 0))
	left := len(r.free) - n
	copy(room, r.free[left:])
	r.free = r.free[:left]
	return room[:n]
}

// Spare is how many frames Load can fill, those included that are still to come.
func (p *Pool) Spare() int {
	p.repl.mu.Lock()
	defer p.repl.mu.Unlock()
	return max(len(p.repl.free)+p.repl.coming-p.repl.high, 0)
}

// Free is how many frames hold no page, those included that are still to come.
func (p *Pool) Free() int {
	p.repl.mu.Lock()
	defer p.repl.mu.Unlock()
	return len(p.repl.free) + p.repl.coming
}

// Has says whether a page is in the pool, or on its way there.
func (p *Pool) Has(id page.ID) bool {
	_, ok := p.table.find(p, id)
	return ok
}

// Companions says which neighbours to read along with a page that is missing.
type Companions interface {
	// Around says how hot the page was, 0 when it does not know, and whether neighbours are to come along: then it makes r a run
	// with page id in it and wants them.
	Around(id page.ID, r *Run) (heat uint32, along bool)
	// Came hears what became of them.
	Came(r *Run)
}

// SetCompanions makes misses ask c, or nobody when it is nil.
func (p *Pool) SetCompanions(c Companions) {
	if c == nil {
		p.companions.Store(nil)
		return
	}
	p.companions.Store(&c)
}

// readAround reads a missing page with its companions into its frame f. False: there are none, or it did not work.
func (p *Pool) readAround(ctx context.Context, f uint32, id page.ID) (first page.LSN, heat uint32, ok bool) {
	c := p.companions.Load()
	if c == nil {
		return 0, 0, false
	}
	r := p.runs.Get().(*Run)
	defer p.runs.Put(r)
	heat, ok = (*c).Around(id, r)
	heat &= Heats &^ freqMask // how often it is used from now on is to be seen
	if !ok {
		return 0, heat, false
	}
	r.own = int(id - r.First)
	r.frames[r.own], r.Pages[r.own].Outcome = f, Unwanted
	p.claimRun(ctx, r)
	from, to := r.span()
	if to-from == 1 { // they are in the pool, or there is no room for them
		(*c).Came(r)
		return 0, heat, false
	}
	err := p.readRun(ctx, r, from, to, ClassMiss)
	p.publish(r, from, to, err)
	(*c).Came(r)
	own := r.reads[r.own]
	return own.First, heat, err == nil && own.Err == nil
}
