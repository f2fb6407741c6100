package btree

import (
	"context"
	"fmt"
	"runtime"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/space"
)

const (
	// MaxKey is the longest key, in bytes (InnoDB's limit for an index record of 16 KiB pages).
	MaxKey = 3072
	// MaxCell is the largest key and value together, in bytes: two of them and two fences of MaxKey fit a page,
	// so that a split always makes room.
	MaxCell = 5000
	// maxDepth bounds every way down; 32 levels hold more keys than a space has bytes.
	maxDepth = 32
)

// Two cells of the largest size, with both fences, must fit; an inner page must hold three of the longest keys.
var (
	_ [page.Size - page.HeaderSize - 2*(MaxCell+page.CellOverhead) - 2*MaxKey]struct{}
	_ [page.Size - page.HeaderSize - 3*(MaxKey+4+page.CellOverhead) - 2*MaxKey]struct{}
)

// Tree is a B+tree in a space of its own. It may be used by many goroutines.
type Tree struct {
	pool  *pool.Pool
	space *space.Space
	root  page.ID
}

// Open is the tree in a space that Create made.
func Open(p *pool.Pool, no uint32) *Tree {
	return &Tree{pool: p, space: space.Open(p, no), root: page.MakeID(no, space.FirstOwned)}
}

// Create makes an empty tree in a new space.
func Create(ctx context.Context, p *pool.Pool, no uint32) (*Tree, error) {
	_, err := space.Create(ctx, p, no, space.OwnerTree, func(g *pool.Group, h *pool.Held) {
		var q page.Page
		q.InitSlotted(page.KindLeaf, 0, nil, false, nil, false)
		g.Edit(h, page.AppendImage(nil, &q))
	})
	if err != nil {
		return nil, err
	}
	return Open(p, no), nil
}

// Space the tree lives in.
func (t *Tree) Space() *space.Space { return t.space }

// aim says which way down to take.
type aim uint8

const (
	toKey    aim = iota // to the leaf whose range holds the key
	toBefore            // to the leaf that holds the keys just below the key
)

// step finds the child of an inner page. ok is false when the bytes make no sense, which is damage only if
// the page did not change meanwhile.
func step(p *page.Page, key []byte, a aim) (slot int, child uint32, ok bool) {
	if a == toKey {
		slot, ok = p.FindChild(key)
	} else if slot, ok = p.FindChildBefore(key); !ok {
		slot, ok = 0, p.Slots() > 0
	}
	if !ok || slot >= p.Slots() {
		return 0, 0, false
	}
	child, ok = p.Child(slot)
	return slot, child, ok
}

// descend goes down optimistically and returns the leaf, peeked. onParent, when given, is told the parent of the
// leaf while it is still to be believed or not; what it noted counts only if descend succeeds without another call.
func (t *Tree) descend(ctx context.Context, key []byte, a aim, onParent func(p *page.Page, slot int)) (pool.Peek, page.ID, error) {
	for try := 0; ; try++ {
		if try > 0 {
			if err := ctx.Err(); err != nil {
				return pool.Peek{}, 0, err
			}
			if try > 16 {
				runtime.Gosched()
			}
		}
		k, id, retry, err := t.descendOnce(ctx, key, a, onParent)
		if !retry || err != nil {
			return k, id, err
		}
	}
}

func (t *Tree) descendOnce(ctx context.Context, key []byte, a aim, onParent func(*page.Page, int)) (_ pool.Peek, _ page.ID, retry bool, _ error) {
	id := t.root
	k, ok := t.pool.Peek(id)
	if !ok {
		return pool.Peek{}, 0, true, t.pool.Await(ctx, id)
	}
	for range maxDepth {
		switch k.Page.Kind() {
		case page.KindLeaf:
			return k, id, false, nil
		case page.KindInner:
		default:
			kind := k.Page.Kind()
			if k.End() {
				return pool.Peek{}, 0, false, &page.CorruptError{Page: id, What: fmt.Sprintf("it is a %v page, want a page of a tree", kind)}
			}
			return pool.Peek{}, 0, true, nil
		}
		slot, child, ok := step(k.Page, key, a)
		if !ok {
			if k.End() {
				return pool.Peek{}, 0, false, &page.CorruptError{Page: id, What: "it leads to no child"}
			}
			return pool.Peek{}, 0, true, nil
		}
		if onParent != nil && k.Page.Level() == 1 {
			onParent(k.Page, slot)
		}
		cid := t.space.ID(child)
		c, there := t.pool.Peek(cid)
		if !k.End() {
			if there {
				c.End()
			}
			return pool.Peek{}, 0, true, nil
		}
		if !there {
			return pool.Peek{}, 0, true, t.pool.Await(ctx, cid)
		}
		k, id = c, cid
	}
	if k.End() {
		return pool.Peek{}, 0, false, &page.CorruptError{Page: id, What: fmt.Sprintf("the tree is more than %d pages deep", maxDepth)}
	}
	return pool.Peek{}, 0, true, nil
}

// Get appends a copy of key's value to dst. It takes no latch.
func (t *Tree) Get(ctx context.Context, key, dst []byte) ([]byte, bool, error) {
	for {
		k, id, err := t.descend(ctx, key, toKey, nil)
		if err != nil {
			return dst, false, err
		}
		i, found, ok := k.Page.FindWithin(key)
		out := dst
		if found && ok {
			var v []byte
			if _, v, ok = k.Page.Cell(i); ok {
				out = append(dst, v...)
			}
		}
		if !k.End() {
			continue
		}
		if !ok {
			return dst, false, &page.CorruptError{Page: id, What: "an entry points outside the page"}
		}
		return out, found, nil
	}
}

// holds says whether a key lies in the range of a page.
func holds(p *page.Page, key []byte) bool {
	if low, ok := p.Low(); ok && string(key) < string(low) {
		return false
	}
	high, ok := p.High()
	return !ok || string(key) < string(high)
}
