package btree

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/space"
)

const rootNo = space.FirstOwned

// ascendingRun is how many inserts in a row, each just behind the last, make a leaf split where the next one goes
// instead of in its middle.
const ascendingRun = 8

// cutting is the plan for one page that splits.
type cutting struct {
	h   *pool.Held
	at  int    // entries from here on go right
	sep []byte // low fence of the right page
}

// split makes room for a value of room bytes under key: it splits the leaf, and the pages above that have no room
// for another child, in one group.
func (t *Tree) split(ctx context.Context, key []byte, room int) error {
	g := t.pool.Begin(ctx)
	path, err := t.latchPath(g, key)
	if err != nil {
		g.Abort()
		return err
	}
	leaf := path[len(path)-1]
	i, found, ok := leaf.Page.Find(key)
	if !ok || fits(leaf.Page, i, found, key, room) {
		g.Abort() // somebody else has split it
		return nil
	}

	// The plan, from the leaf up, until a page takes the new child without splitting.
	plan := []cutting{cutLeaf(leaf, key, i, found)}
	level := len(path) - 1
	for level > 0 {
		level--
		if roomForChild(path[level].Page, plan[len(plan)-1].sep) {
			break
		}
		plan = append(plan, cutInner(path[level], plan[len(plan)-1].sep))
	}
	top := plan[len(plan)-1].h
	pages := len(plan)
	rootSplits := top.ID == t.root
	if rootSplits {
		pages++
	}
	r, err := t.space.Reserve(g, pages, leaf.ID.No())
	if err != nil {
		g.Abort()
		return err
	}

	// From here on nothing fails. From the top down: each page splits, then takes the entry for the half that splits
	// off below it.
	var parent *pool.Held
	if !rootSplits {
		parent = path[len(path)-1-len(plan)]
	}
	for p := len(plan) - 1; p >= 0; p-- {
		c := plan[p]
		left, right := c.h, r.Take()
		if c.h.ID == t.root {
			left = r.Take()
			splitRoot(g, c, left, right)
		} else {
			splitOff(g, c, right)
			addChild(g, parent, c.sep, right.ID.No())
		}
		if p > 0 {
			parent = left
			if bytes.Compare(plan[p-1].sep, c.sep) >= 0 {
				parent = right
			}
		}
	}
	_, err = g.Commit()
	return err
}

// latchPath latches the pages on the way to key, from the lowest one that surely takes another child down to the leaf.
func (t *Tree) latchPath(g *pool.Group, key []byte) ([]*pool.Held, error) {
	var path []*pool.Held
	id := t.root
	for range maxDepth {
		h, err := g.Fetch(id, pool.Exclusive)
		if err != nil {
			return nil, err
		}
		if h.Page.Kind() == page.KindLeaf {
			return append(path, h), nil
		}
		if h.Page.Kind() != page.KindInner {
			return nil, &page.CorruptError{Page: id, What: fmt.Sprintf("it is a %v page, want a page of a tree", h.Page.Kind())}
		}
		if h.Page.Room() >= page.CellOverhead+MaxKey+4 {
			for _, above := range path {
				g.Release(above)
			}
			path = path[:0]
		}
		path = append(path, h)
		_, child, ok := step(h.Page, key, toKey)
		if !ok {
			return nil, &page.CorruptError{Page: id, What: "it leads to no child"}
		}
		id = t.space.ID(child)
	}
	return nil, &page.CorruptError{Page: id, What: fmt.Sprintf("the tree is more than %d pages deep", maxDepth)}
}

func roomForChild(p *page.Page, sep []byte) bool {
	return p.Room() >= page.CellOverhead+len(sep)-p.PrefixLen()+4
}

func addChild(g *pool.Group, parent *pool.Held, sep []byte, child uint32) {
	i, found, ok := parent.Page.Find(sep)
	if found || !ok {
		panic(fmt.Sprintf("BUG: page %v has separator %q already", parent.ID, sep))
	}
	g.Edit(parent, page.AppendInsert(g.Scratch(), i, sep[parent.Page.PrefixLen():], childValue(child)))
}

func childValue(no uint32) []byte { return binary.LittleEndian.AppendUint32(nil, no) }

// cutLeaf decides where a leaf splits: where the next key of an ascending run goes, or where the bytes are halved.
func cutLeaf(h *pool.Held, key []byte, i int, found bool) cutting {
	p := h.Page
	n := p.Slots()
	if n < 2 {
		panic(fmt.Sprintf("BUG: leaf %v with %d entries and %d bytes free has no room", h.ID, n, p.Room()))
	}
	last, run := p.Last()
	_, bounded := p.High()
	if !found && (i == n && !bounded || run >= ascendingRun && i == last+1) {
		c := cutting{h, n, nil}
		if i < n { // the run goes on in the left page, what lies behind it makes place
			c.at, c.sep = i, separator(key, p.AppendKey(nil, i))
		} else {
			c.sep = separator(p.AppendKey(nil, n-1), key)
		}
		if fenceFits(p, c.at, c.sep) {
			return c
		}
	}
	at := middle(p)
	return cutting{h, at, separator(p.AppendKey(nil, at-1), p.AppendKey(nil, at))}
}

// cutInner decides where an inner page splits that has to take a child at sep.
func cutInner(h *pool.Held, sep []byte) cutting {
	p := h.Page
	at := middle(p)
	if _, bounded := p.High(); !bounded && bytes.Compare(sep, p.AppendKey(nil, p.Slots()-1)) > 0 {
		at = p.Slots() - 1
	}
	return cutting{h, at, p.AppendKey(nil, at)}
}

// fenceFits says whether both parts of a page have room for sep as their new fence: a cut at the end frees nothing in the
// left part, one near the beginning little in the right one. A cut in the middle always frees enough.
func fenceFits(p *page.Page, at int, sep []byte) bool {
	left, right := p.Room(), p.Room()
	for i := range p.Slots() {
		suffix, value, _ := p.Cell(i)
		if size := page.CellOverhead + len(suffix) + len(value); i < at {
			right += size
		} else {
			left += size
		}
	}
	return min(left, right) >= len(sep)
}

// middle is the slot, neither the first nor behind the last, at which the bytes of the entries are most nearly halved.
func middle(p *page.Page) int {
	size := func(i int) int {
		suffix, value, _ := p.Cell(i)
		return page.CellOverhead + len(suffix) + len(value)
	}
	n, half, sum := p.Slots(), p.Used()/2, 0
	for i := range n - 1 {
		s := size(i)
		if sum+s > half && i > 0 {
			if sum+s-half < half-sum {
				return i + 1
			}
			return i
		}
		sum += s
	}
	return n - 1
}

// separator is the shortest key that is above a and not above b (Bayer and Unterauer, "Prefix B-trees", TODS 1977).
func separator(a, b []byte) []byte {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return b[:i+1]
}

// copyRange builds in q a page with the entries [from, to) of p between the given fences.
func copyRange(q, p *page.Page, from, to int, low []byte, hasLow bool, high []byte, hasHigh bool) {
	q.InitSlotted(p.Kind(), p.Level(), low, hasLow, high, hasHigh)
	key := make([]byte, 0, 64)
	for i := from; i < to; i++ {
		_, value, ok := p.Cell(i)
		key = p.AppendKey(key[:0], i)
		if !ok || !q.Append(key, value) {
			panic(fmt.Sprintf("BUG: entry %d of a half of page %v does not fit", i, p.ID()))
		}
	}
}

// splitOff moves the right part of a page to a new one.
func splitOff(g *pool.Group, c cutting, right *pool.Held) {
	p := c.h.Page
	high, hasHigh := p.High()
	var q page.Page
	copyRange(&q, p, c.at, p.Slots(), c.sep, true, high, hasHigh)
	g.Edit(right, page.AppendImage(g.Scratch(), &q))
	g.Edit(c.h, page.AppendCut(g.Scratch(), c.at, c.sep))
}

// splitRoot moves both parts of the root to new pages and puts the root one level above them.
func splitRoot(g *pool.Group, c cutting, left, right *pool.Held) {
	p := c.h.Page
	var q page.Page
	copyRange(&q, p, 0, c.at, nil, false, c.sep, true)
	g.Edit(left, page.AppendImage(g.Scratch(), &q))
	copyRange(&q, p, c.at, p.Slots(), c.sep, true, nil, false)
	g.Edit(right, page.AppendImage(g.Scratch(), &q))
	level := p.Level() + 1
	q.InitSlotted(page.KindInner, level, nil, false, nil, false)
	if !q.Append(nil, childValue(left.ID.No())) || !q.Append(c.sep, childValue(right.ID.No())) {
		panic("BUG: two children do not fit an empty root")
	}
	g.Edit(c.h, page.AppendImage(g.Scratch(), &q))
}
