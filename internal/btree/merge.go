package btree

import (
	"context"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

const (
	// underfull is how many bytes of entries a page must have to be left alone: a quarter of a page.
	underfull = page.Size / 4
	// mergedMost is how full a merged page may be, in bytes of entries, so that it does not split at once.
	mergedMost = page.Size * 3 / 4
)

// Tidy gives back what a removed key's leaf, and the pages above it, no longer need: an underfull page is merged
// with a neighbour under the same parent, and a root with one child takes the child's place.
func (t *Tree) Tidy(ctx context.Context, key []byte) error {
	for range maxDepth {
		again, err := t.tidyOnce(ctx, key)
		if !again || err != nil {
			return err
		}
	}
	return nil
}

// tidyOnce makes the first merge it finds on the way down to key, in one group.
func (t *Tree) tidyOnce(ctx context.Context, key []byte) (merged bool, err error) {
	g := t.pool.Begin(ctx)
	parent, err := g.Fetch(t.root, pool.Exclusive)
	for err == nil && parent.Page.Kind() == page.KindInner {
		slot, no, ok := step(parent.Page, key, toKey)
		if !ok {
			err = &page.CorruptError{Page: parent.ID, What: "it leads to no child"}
			break
		}
		var child *pool.Held
		if child, err = g.Fetch(t.space.ID(no), pool.Exclusive); err != nil {
			break
		}
		merged := false
		switch {
		case parent.ID == t.root && parent.Page.Slots() == 1:
			merged, err = t.collapse(g, parent, child)
		case child.Page.Used() < underfull && parent.Page.Slots() > 1:
			merged, err = t.merge(g, parent, child, slot)
		}
		if err != nil {
			break
		}
		if merged {
			_, err := g.Commit()
			return true, err
		}
		g.Release(parent)
		parent = child
	}
	g.Abort()
	return false, err
}

// collapse puts the only child of the root in the root's place.
func (t *Tree) collapse(g *pool.Group, root, child *pool.Held) (bool, error) {
	if err := t.space.PrepareFree(g, child.ID.No()); err != nil {
		return false, err
	}
	g.Edit(root, page.AppendImage(g.Scratch(), child.Page))
	t.space.Free(g, child)
	return true, nil
}

// merge puts the entries of a page and a neighbour together in the left one, if they fit well.
func (t *Tree) merge(g *pool.Group, parent, child *pool.Held, slot int) (bool, error) {
	other := slot + 1
	if other == parent.Page.Slots() {
		other = slot - 1
	}
	no, ok := parent.Page.Child(other)
	if !ok {
		return false, &page.CorruptError{Page: parent.ID, What: "an entry has no child"}
	}
	sibling, err := g.Fetch(t.space.ID(no), pool.Exclusive)
	if err != nil {
		return false, err
	}
	left, right, rightSlot := child, sibling, other
	if other < slot {
		left, right, rightSlot = sibling, child, slot
	}
	var q page.Page
	low, hasLow := left.Page.Low()
	high, hasHigh := right.Page.High()
	q.InitSlotted(left.Page.Kind(), left.Page.Level(), low, hasLow, high, hasHigh)
	if left.Page.Kind() != right.Page.Kind() || left.Page.Level() != right.Page.Level() {
		return false, &page.CorruptError{Page: parent.ID, What: "its children are of different kinds"}
	}
	if !appendAll(&q, left.Page) || !appendAll(&q, right.Page) || q.Used() > mergedMost {
		g.Release(sibling)
		return false, nil
	}
	if err := t.space.PrepareFree(g, right.ID.No()); err != nil {
		return false, err
	}
	g.Edit(left, page.AppendImage(g.Scratch(), &q))
	g.Edit(parent, page.AppendRemove(g.Scratch(), rightSlot))
	t.space.Free(g, right)
	return true, nil
}

func appendAll(q, p *page.Page) bool {
	key := make([]byte, 0, 64)
	for i := range p.Slots() {
		_, value, ok := p.Cell(i)
		key = p.AppendKey(key[:0], i)
		if !ok || !q.Append(key, value) {
			return false
		}
	}
	return true
}
