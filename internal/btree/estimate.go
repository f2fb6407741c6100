package btree

import (
	"context"
	"math"

	"github.com/hearthdb/hearth/internal/page"
)

// rung is one page on the way to a key: which of its entries leads on, and how many it has.
type rung struct{ slot, of int }

// Estimate guesses how many entries lie in [lo, hi); nil bounds are infinite. It reads the pages on the two ways
// down, so it is exact inside one leaf and elsewhere as good as pages are alike.
func (t *Tree) Estimate(ctx context.Context, lo, hi []byte) (uint64, error) {
	if hi == nil {
		hi = highest[:]
	}
	if string(lo) >= string(hi) {
		return 0, nil
	}
	a, err := t.ladder(ctx, lo)
	if err != nil {
		return 0, err
	}
	b, err := t.ladder(ctx, hi)
	if err != nil {
		return 0, err
	}
	if len(a) != len(b) { // the root moved between the two ways down: try the common part
		n := min(len(a), len(b))
		a, b = a[len(a)-n:], b[len(b)-n:]
	}
	d := 0
	for d < len(a)-1 && a[d].slot == b[d].slot {
		d++
	}
	// Below the level where they part, a position is a slot and the fraction of the child that lies before it.
	fraction := func(l []rung) float64 {
		f := 0.0
		for i := len(l) - 1; i > d; i-- {
			f = (float64(l[i].slot) + f) / math.Max(1, float64(l[i].of))
		}
		return float64(l[d].slot) + f
	}
	per := 1.0
	for i := d + 1; i < len(a); i++ {
		per *= math.Max(1, float64(a[i].of+b[i].of)/2)
	}
	return uint64(math.Max(0, math.Round((fraction(b)-fraction(a))*per))), nil
}

// ladder is the way down to a key.
func (t *Tree) ladder(ctx context.Context, key []byte) ([]rung, error) {
	for try := 0; ; try++ {
		var l []rung
		id := t.root
		for len(l) < maxDepth {
			k, ok := t.pool.Peek(id)
			if !ok {
				if err := t.pool.Await(ctx, id); err != nil {
					return nil, err
				}
				continue
			}
			kind, n := k.Page.Kind(), k.Page.Slots()
			if kind == page.KindLeaf {
				i, _, _ := k.Page.Find(key)
				if k.End() {
					return append(l, rung{i, n}), nil
				}
				break
			}
			slot, child, ok := step(k.Page, key, toKey)
			if !k.End() {
				break
			}
			if kind != page.KindInner || !ok {
				if try < maxDepth { // it was given back between the look at its parent and the look at it
					break
				}
				return nil, &page.CorruptError{Page: id, What: "it leads to no child"}
			}
			l = append(l, rung{slot, n})
			id = t.space.ID(child)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}
