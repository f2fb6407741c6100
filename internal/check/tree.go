package check

import (
	"bytes"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/space"
	"github.com/hearthdb/hearth/internal/txn"
)

// walk is the walk over one tree.
type walk struct {
	*run
	no   uint32
	used map[uint32]bool
}

// bounds are the fences a page must have; nil is infinite.
type bounds struct{ low, high []byte }

// tree walks a space that holds a tree.
func (r *run) tree(no uint32) error {
	w := &walk{r, no, map[uint32]bool{0: true, 1: true}}
	w.page(space.FirstOwned, -1, bounds{})
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.bitmaps(no, w.used)
	return nil
}

func (w *walk) id(no uint32) page.ID { return page.MakeID(w.no, no) }

// claim notes that a page has an owner. False: it had one.
func (w *walk) claim(no uint32) bool {
	if w.used[no] {
		w.bad(w.id(no), "two pages lead to it")
		return false
	}
	w.used[no] = true
	return true
}

// page checks a page and what lies below it. level is what its parent says, -1 for the root.
func (w *walk) page(no uint32, level int, b bounds) {
	if w.ctx.Err() != nil || !w.claim(no) {
		return
	}
	p, id := new(page.Page), w.id(no)
	if !w.read(id, p) {
		return
	}
	if k := p.Kind(); k != page.KindLeaf && k != page.KindInner {
		w.bad(id, "it is a %v page, want a page of a tree", k)
		return
	}
	if level >= 0 && p.Level() != level {
		w.bad(id, "its level is %d, want %d", p.Level(), level)
		return
	}
	if (p.Kind() == page.KindLeaf) != (p.Level() == 0) {
		w.bad(id, "a %v page of level %d", p.Kind(), p.Level())
		return
	}
	w.fence(id, "low", b.low, p.Low)
	w.fence(id, "high", b.high, p.High)
	if p.Kind() == page.KindLeaf {
		w.leaf(p)
		return
	}
	n := p.Slots()
	if n == 0 {
		w.bad(id, "an inner page without children")
		return
	}
	if first := p.AppendKey(nil, 0); !bytes.Equal(first, b.low) {
		w.bad(id, "its first key is %q, want its low fence %q", first, b.low)
	}
	for i := range n {
		child, ok := p.Child(i)
		if !ok || child <= 1 {
			w.bad(id, "entry %d leads to page %d", i, child)
			continue
		}
		cb := bounds{p.AppendKey(nil, i), b.high}
		if i == 0 {
			cb.low = b.low
		}
		if i+1 < n {
			cb.high = p.AppendKey(nil, i+1)
		}
		w.page(child, p.Level()-1, cb)
	}
}

func (w *walk) fence(id page.ID, which string, want []byte, get func() ([]byte, bool)) {
	if got, has := get(); has != (want != nil) || !bytes.Equal(got, want) {
		w.bad(id, "its %s fence is %q (%v), its parent's entries give %q", which, got, has, want)
	}
}

// leaf checks the versions of a leaf.
func (w *walk) leaf(p *page.Page) {
	for i := range p.Slots() {
		_, cell, _ := p.Cell(i)
		c, ok := txn.ParseCell(cell)
		switch {
		case !ok:
			w.bad(p.ID(), "entry %d is no version", i)
		case c.Tx >= w.ids:
			w.bad(p.ID(), "entry %d is by transaction %d, ids end at %d", i, c.Tx, w.ids)
		case c.Deleted:
			w.bad(p.ID(), "entry %d is deleted by transaction %d and was not purged", i, c.Tx)
		case c.Large:
			w.chain(p.ID(), i, c)
		}
	}
}

// chain follows a large value.
func (w *walk) chain(leaf page.ID, entry int, c txn.Cell) {
	var p page.Page
	size := int64(0)
	for no := c.First; no != 0; no = p.OverflowNext() {
		if w.ctx.Err() != nil || !w.claim(no) || !w.read(w.id(no), &p) {
			return
		}
		if p.Kind() != page.KindOverflow {
			w.bad(w.id(no), "it is a %v page, want a piece of the value in page %v", p.Kind(), leaf)
			return
		}
		size += int64(len(p.OverflowData()))
	}
	if size != c.Size {
		w.bad(leaf, "entry %d has a value of %d bytes, its pieces have %d", entry, c.Size, size)
	}
}
