package pool

import (
	"context"
	"fmt"
	"sync"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/wal"
)

// Mode of a latch.
type Mode uint8

const (
	Shared Mode = iota
	Exclusive
)

// MaxGroupPages is how many pages one group may hold: a split through the deepest tree, or a run of overflow
// pages with their bitmap.
const MaxGroupPages = 64

// Held is a page held by a group.
type Held struct {
	Page *page.Page
	ID   page.ID

	frame  uint32
	mode   Mode
	edited bool
	fresh  bool
	gone   bool
}

// Group is a mini-transaction: edits of several pages that take effect together. It holds the latches of its
// pages until it ends. Everything that can fail comes before its first edit; after that it must be committed.
type Group struct {
	p       *Pool
	ctx     context.Context
	held    [MaxGroupPages]Held
	n       int
	edits   int
	err     error // there is no room in the log
	body    []byte
	scratch []byte
}

var groups = sync.Pool{New: func() any { return new(Group) }}

// Begin starts a group that may change pages. It waits while the log has no room for more changes; if that fails, so does
// the group's first Fetch or Fresh.
func (p *Pool) Begin(ctx context.Context) *Group {
	err := p.roomInLog(ctx)
	g := p.BeginRead(ctx)
	g.err = err
	return g
}

// BeginRead starts a group that only reads.
func (p *Pool) BeginRead(ctx context.Context) *Group {
	g := groups.Get().(*Group)
	g.p, g.ctx = p, ctx
	return g
}

// Context the group was begun with.
func (g *Group) Context() context.Context { return g.ctx }

// Scratch is a buffer for encoding an edit, empty, valid until the next call.
func (g *Group) Scratch() []byte { return g.scratch[:0] }

func (g *Group) slot() *Held {
	if g.n == MaxGroupPages {
		panic(fmt.Sprintf("BUG: a group of more than %d pages", MaxGroupPages))
	}
	h := &g.held[g.n]
	g.n++
	return h
}

func (g *Group) find(id page.ID) *Held {
	for i := range g.n {
		if h := &g.held[i]; h.ID == id && !h.gone {
			return h
		}
	}
	return nil
}

// Fetch pins and latches a page, reading it when it is not in the pool. A page the group has already is
// returned as it is; it must then be held in a mode at least as strong.
func (g *Group) Fetch(id page.ID, mode Mode) (*Held, error) {
	if h := g.find(id); h != nil {
		if h.mode < mode {
			panic(fmt.Sprintf("BUG: page %v is held shared, wanted exclusive", id))
		}
		return h, nil
	}
	if g.err != nil {
		return nil, g.err
	}
	for {
		f, err := g.p.pin(g.ctx, id, ClassMiss)
		if err != nil {
			return nil, err
		}
		fr, d := &g.p.frames[f], g.p.desc(f)
		if mode == Exclusive {
			fr.latch.Lock()
		} else {
			fr.latch.RLock()
		}
		// The page may have been dropped (its tree, or a failed group) between the pin and the latch.
		if page.ID(d.ID.Load()) == id && d.State.Load() == region.StateReady && d.Version.Load()&1 == 0 {
			h := g.slot()
			*h = Held{Page: g.p.page(f), ID: id, frame: f, mode: mode}
			touch(g.p, d, f)
			return h, nil
		}
		odd := d.Version.Load()&1 != 0
		g.p.unlatch(f, mode)
		if odd {
			return nil, wal.ErrDead // only a dead log leaves a page odd without its latch
		}
	}
}

func (p *Pool) unlatch(f uint32, mode Mode) {
	fr := &p.frames[f]
	if mode == Exclusive {
		fr.latch.Unlock()
	} else {
		fr.latch.RUnlock()
	}
	fr.unpin()
}

// Fresh gives a frame, latched exclusively, to a page that was just allocated: its old content is not read.
// The group's first edit of it must make it whole (a format or an image).
func (g *Group) Fresh(id page.ID) (*Held, error) {
	if g.find(id) != nil {
		panic(fmt.Sprintf("BUG: page %v is fresh and held already", id))
	}
	if g.err != nil {
		return nil, g.err
	}
	for {
		if _, ok := g.p.table.find(g.p, id); ok {
			return g.Fetch(id, Exclusive)
		}
		f, err := g.p.takeFree(g.ctx)
		if err != nil {
			return nil, err
		}
		if !g.p.claim(f, id) {
			g.p.giveBack(f)
			continue
		}
		h := g.slot()
		*h = Held{Page: g.p.page(f), ID: id, frame: f, mode: Exclusive, fresh: true}
		clear(h.Page[:]) // state is loading: a death now drops the frame
		h.Page.SetID(id)
		return h, nil
	}
}

// Edit logs and applies one change of a page held exclusively. An edit that does not apply is our bug.
func (g *Group) Edit(h *Held, edit []byte) {
	if h.mode != Exclusive || h.gone {
		panic(fmt.Sprintf("BUG: edit of page %v: held in mode %d, want exclusive", h.ID, h.mode))
	}
	if !h.edited {
		h.edited = true
		g.edits++
		d, fr := g.p.desc(h.frame), &g.p.frames[h.frame]
		d.Begin()
		tail := g.p.log.Tail()
		if d.First.Load() == 0 {
			d.First.Store(uint64(tail))
		} else if fr.flushing.Load() && fr.redirtied == 0 {
			fr.redirtied = tail
		}
		if h.Page.Kind() == page.KindZero { // it was read before anything was written to it
			h.Page.SetID(h.ID)
		}
	}
	g.body = wal.AppendRecord(g.body, h.ID, edit)
	if err := page.Apply(h.Page, edit); err != nil {
		panic(fmt.Sprintf("BUG: %v", err))
	}
	if cap(edit) > cap(g.scratch) {
		g.scratch = edit[:0]
	}
}

// Release lets go of a page before the group ends. Only of a page that was not edited.
func (g *Group) Release(h *Held) {
	if h.edited {
		panic(fmt.Sprintf("BUG: release of page %v, which the group has edited", h.ID))
	}
	if h.gone {
		panic(fmt.Sprintf("BUG: page %v is released twice", h.ID))
	}
	h.gone = true
	if h.fresh {
		g.p.unclaim(h.frame, h.ID)
		return
	}
	g.p.unlatch(h.frame, h.mode)
}

// Edited says whether the group has changed anything, so that it can no longer be aborted.
func (g *Group) Edited() bool { return g.edits > 0 }

// Commit puts the group into the log, then lets the pages go (rule 6), and returns the LSN of its end: what to
// wait for when it has to be durable; 0 when nothing was edited. It fails only when the log is dead.
func (g *Group) Commit() (page.LSN, error) {
	if g.edits == 0 {
		g.end()
		return 0, nil
	}
	_, end, err := g.p.log.Append(g.body)
	for i := range g.n {
		h := &g.held[i]
		if !h.edited {
			continue
		}
		d := g.p.desc(h.frame)
		if err != nil { // the change never happened: the page stays odd, and the next start drops it
			continue
		}
		h.Page.SetLSN(end)
		noteFreed(d, h.Page)
		d.LSN.Store(uint64(end))
		d.State.Store(region.StateReady)
		d.End(int(h.frame))
		if h.fresh {
			g.p.repl.enter(h.frame, h.ID)
		}
	}
	g.end()
	return end, err
}

// Abort lets everything go. Only before the first edit.
func (g *Group) Abort() {
	if g.edits > 0 {
		panic(fmt.Sprintf("BUG: abort of a group with %d edited pages", g.edits))
	}
	g.end()
}

func (g *Group) end() {
	for i := range g.n {
		h := &g.held[i]
		if h.gone {
			continue
		}
		if h.fresh && !h.edited {
			g.p.unclaim(h.frame, h.ID)
			continue
		}
		g.p.unlatch(h.frame, h.mode)
	}
	g.n, g.edits, g.body, g.p, g.ctx, g.err = 0, 0, g.body[:0], nil, nil, nil
	if cap(g.body) > maxKeptBody {
		g.body = nil
	}
	groups.Put(g)
}

// maxKeptBody is the largest log body buffer, in bytes, that a group keeps for the next.
const maxKeptBody = 256 << 10
