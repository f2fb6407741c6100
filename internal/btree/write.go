package btree

import (
	"context"
	"fmt"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// Pos is a place in a leaf that a group holds latched exclusively.
type Pos struct {
	Found bool // the key is there

	g    *pool.Group
	leaf *pool.Held
	slot int
	key  []byte
}

// Seek latches the leaf for key in g and guarantees that a value of room bytes can be put there under key,
// splitting pages first, in groups of their own, if need be. The group must hold no other page.
func (t *Tree) Seek(ctx context.Context, g *pool.Group, key []byte, room int) (Pos, error) {
	if len(key) > MaxKey || len(key)+room > MaxCell {
		panic(fmt.Sprintf("BUG: a key of %d and a value of %d bytes, want at most %d and %d together", len(key), room, MaxKey, MaxCell))
	}
	for {
		k, id, err := t.leafFor(ctx, key)
		if err != nil {
			return Pos{}, err
		}
		h, err := g.Fetch(id, pool.Exclusive)
		if err != nil {
			return Pos{}, err
		}
		if !g.Same(h, k) && (h.Page.Kind() != page.KindLeaf || !holds(h.Page, key)) {
			g.Release(h) // the tree changed its shape between the look and the latch
			continue
		}
		i, found, ok := h.Page.FindWithin(key)
		if !ok {
			g.Release(h)
			return Pos{}, &page.CorruptError{Page: id, What: "an entry points outside the page"}
		}
		if fits(h.Page, i, found, key, room) {
			return Pos{Found: found, g: g, leaf: h, slot: i, key: key}, nil
		}
		g.Release(h)
		if err := t.split(ctx, key, room); err != nil {
			return Pos{}, err
		}
	}
}

// fits says whether a value of room bytes can be put under key, which is or would be in slot i.
func fits(p *page.Page, i int, found bool, key []byte, room int) bool {
	need := page.CellOverhead + len(key) - p.PrefixLen() + room
	if found {
		suffix, value, _ := p.Cell(i)
		need -= page.CellOverhead + len(suffix) + len(value)
	}
	return p.Room() >= need
}

// leafFor finds the leaf for a key without a latch: where it was a moment ago. The Peek has ended.
func (t *Tree) leafFor(ctx context.Context, key []byte) (pool.Peek, page.ID, error) {
	for {
		k, id, err := t.descend(ctx, key, toKey, nil)
		if err != nil {
			return k, 0, err
		}
		if k.End() {
			return k, id, nil
		}
	}
}

// Value is the value at the position: into the page, valid until the group changes it or ends.
func (p *Pos) Value() []byte {
	_, v, ok := p.leaf.Page.Cell(p.slot)
	if !p.Found || !ok {
		panic(fmt.Sprintf("BUG: value of key %q, which is not there", p.key))
	}
	return v
}

// Put sets the value, which must not be longer than Seek was told.
func (p *Pos) Put(value []byte) {
	if p.Found {
		p.g.Edit(p.leaf, page.AppendReplace(p.g.Scratch(), p.slot, value))
		return
	}
	p.g.Edit(p.leaf, page.AppendInsert(p.g.Scratch(), p.slot, p.key[p.leaf.Page.PrefixLen():], value))
	p.Found = true
}

// Remove takes the entry away. Tidy afterwards, when the group has ended, if it says so.
func (p *Pos) Remove() (tidy bool) {
	p.g.Edit(p.leaf, page.AppendRemove(p.g.Scratch(), p.slot))
	p.Found = false
	return p.leaf.Page.Used() < underfull && p.leaf.ID.No() != rootNo
}
