package btree

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// Loader fills an empty tree in key order, page by full page, without going down the tree for each key. Until Finish
// the tree stays empty and the pages hang in the air, so it is for a tree that a crash would take away whole.
type Loader struct {
	t      *Tree
	ctx    context.Context
	levels []*building
	err    error
}

// building is the page of one level that is being filled. It has no high fence yet: that is known when the next
// page begins.
type building struct {
	p      page.Page
	low    []byte
	hasLow bool
	last   []byte
	pages  int // finished pages of this level
}

// loadReserve is the part of a page, in bytes, left for the high fence and for later inserts: a sixteenth.
const loadReserve = page.Size / 16

// NewLoader begins to fill t, which must be empty and stay so, but for the loader, until Finish.
func (t *Tree) NewLoader(ctx context.Context) *Loader { return &Loader{t: t, ctx: ctx} }

// Add puts an entry behind all others; its key must be above the last one's.
func (l *Loader) Add(key, value []byte) error {
	if l.err == nil {
		l.err = l.add(0, key, value)
	}
	return l.err
}

func (l *Loader) add(level int, key, value []byte) error {
	if level == len(l.levels) {
		b := &building{}
		b.begin(level, nil, false)
		l.levels = append(l.levels, b)
	}
	b := l.levels[level]
	n := b.p.Slots()
	if n > 0 && bytes.Compare(key, b.last) <= 0 {
		return fmt.Errorf("load: key %q comes after %q: a bulk load needs ascending keys", key, b.last)
	}
	// The fence may be as long as the next key; and a page must not be left without entries.
	if n < 2 || b.p.Room() >= page.CellOverhead+len(key)+len(value)+max(loadReserve, 2*len(key)) {
		if b.p.Append(key, value) {
			b.last = append(b.last[:0], key...)
			return nil
		}
	}
	sep := key
	if level == 0 {
		sep = separator(b.last, key)
	}
	sep = bytes.Clone(sep)
	if err := l.finishPage(level, sep); err != nil {
		return err
	}
	b.begin(level, sep, true)
	if !b.p.Append(key, value) {
		panic(fmt.Sprintf("BUG: an entry of %d bytes does not fit an empty page", len(key)+len(value)))
	}
	b.last = append(b.last[:0], key...)
	return nil
}

func (b *building) begin(level int, low []byte, hasLow bool) {
	kind := page.KindLeaf
	if level > 0 {
		kind = page.KindInner
	}
	b.low, b.hasLow = low, hasLow
	b.p.InitSlotted(kind, level, low, hasLow, nil, false)
}

// finishPage writes the page of a level, now that its high fence is known (nil: it is the last one), and hands its
// number to the level above.
func (l *Loader) finishPage(level int, high []byte) error {
	b := l.levels[level]
	var q page.Page
	q.InitSlotted(b.p.Kind(), level, b.low, b.hasLow, high, high != nil)
	if !appendAll(&q, &b.p) {
		return fmt.Errorf("load: a page of level %d has no room for its fence of %d bytes", level, len(high))
	}
	g := l.t.pool.Begin(l.ctx)
	r, err := l.t.space.Reserve(g, 1, 0)
	if err != nil {
		g.Abort()
		return err
	}
	h := r.Take()
	no := h.ID.No()
	g.Edit(h, page.AppendImage(g.Scratch(), &q))
	if _, err := g.Commit(); err != nil {
		return err
	}
	b.pages++
	low := b.low
	if low == nil {
		low = []byte{}
	}
	return l.add(level+1, low, childValue(no))
}

// Finish hangs the pages into the root.
func (l *Loader) Finish() error {
	if l.err != nil || len(l.levels) == 0 {
		return l.err
	}
	for level := 0; ; level++ {
		b := l.levels[level]
		if b.pages == 0 && level == len(l.levels)-1 { // the only page of the highest level: the root
			return l.setRoot(&b.p)
		}
		if err := l.finishPage(level, nil); err != nil {
			l.err = err
			return err
		}
	}
}

func (l *Loader) setRoot(q *page.Page) error {
	g := l.t.pool.Begin(l.ctx)
	h, err := g.Fetch(l.t.root, pool.Exclusive)
	if err != nil {
		g.Abort()
		return err
	}
	if h.Page.Kind() != page.KindLeaf || h.Page.Slots() != 0 {
		g.Abort()
		return fmt.Errorf("load: the tree is not empty")
	}
	g.Edit(h, page.AppendImage(g.Scratch(), q))
	_, err = g.Commit()
	return err
}

// Empty says whether the tree has no entry and never grew beyond its root.
func (t *Tree) Empty(ctx context.Context) (bool, error) {
	g := t.pool.BeginRead(ctx)
	defer g.Abort()
	h, err := g.Fetch(t.root, pool.Shared)
	if err != nil {
		return false, err
	}
	return h.Page.Kind() == page.KindLeaf && h.Page.Slots() == 0, nil
}
