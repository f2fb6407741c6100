package btree

import (
	"context"

	"github.com/hearthdb/hearth/internal/page"
)

const (
	// readAheadPages is how many of the leaves to come a scan asks for; readAheadEvery how many leaves pass
	// before it asks again.
	readAheadPages = 16
	readAheadEvery = 8
	// readAheadRun is how many leaves in a row make a scan.
	readAheadRun = 2
)

// Iter walks a tree in key order, over a private copy of one leaf at a time: between calls it holds nothing, and a
// change of the leaf after it was copied is not seen until the leaf is left. Not for concurrent use.
type Iter struct {
	t    *Tree
	leaf page.Page
	n    int // entries of the leaf
	slot int
	have bool // leaf holds a copy
	key  []byte
	plen int // the leading bytes of key that hold the leaf's prefix
	err  error

	suffix  []byte // of the entry, behind the prefix, if the last move was a Step
	stepped bool

	run   int // leaves passed in a row in one direction, negative when backwards
	ahead []page.ID
	note  func(p *page.Page, slot int)
	bound []byte
}

// NewIter is an iterator that stands nowhere.
func (t *Tree) NewIter() *Iter {
	it := &Iter{}
	it.Init(t)
	return it
}

// Init makes an iterator, new or used before, one of tree t that stands nowhere.
func (it *Iter) Init(t *Tree) {
	it.t, it.have, it.err, it.run = t, false, nil, 0
	if it.note == nil {
		it.note = it.noteParent
	}
}

// noteParent lists the leaves that come next, for read-ahead. The page may be changing: numbers that make no sense
// only cost a useless read.
func (it *Iter) noteParent(p *page.Page, slot int) {
	it.ahead = it.ahead[:0]
	dir := 1
	if it.run < 0 {
		dir = -1
	} else if it.run == 0 {
		return
	}
	if max(it.run, -it.run) < readAheadRun || slot%readAheadEvery != 0 && max(it.run, -it.run) != readAheadRun {
		return
	}
	for i, n := slot+dir, 0; n < readAheadPages && i >= 0 && i < p.Slots(); i, n = i+dir, n+1 {
		if no, ok := p.Child(i); ok {
			it.ahead = append(it.ahead, it.t.space.ID(no))
		}
	}
}

// loadLeaf copies the leaf the aim leads to and stands nowhere in it.
func (it *Iter) loadLeaf(ctx context.Context, key []byte, a aim) bool {
	for {
		k, id, err := it.t.descend(ctx, key, a, it.note)
		if err != nil {
			it.err, it.have = err, false
			return false
		}
		it.leaf = *k.Page
		if !k.End() {
			continue
		}
		_ = id
		break
	}
	if len(it.ahead) > 0 {
		it.t.pool.Prefetch(it.ahead)
		it.ahead = it.ahead[:0]
	}
	it.have, it.stepped = true, false
	it.n = it.leaf.Slots()
	prefix := it.leaf.Prefix()
	it.key = append(it.key[:0], prefix...)
	it.plen = len(prefix)
	return true
}

// SeekGE goes to the first entry whose key is not below key.
func (it *Iter) SeekGE(ctx context.Context, key []byte) bool {
	it.run = 0
	return it.seekGE(ctx, key)
}

func (it *Iter) seekGE(ctx context.Context, key []byte) bool {
	if !it.loadLeaf(ctx, key, toKey) {
		return false
	}
	i, _, ok := it.leaf.Find(key)
	if !ok {
		return it.damaged()
	}
	it.slot = i
	return it.settle(ctx)
}

// settle moves on to the next leaf while the position lies behind this one's last entry.
func (it *Iter) settle(ctx context.Context) bool {
	for it.slot >= it.n {
		high, ok := it.leaf.High()
		if !ok {
			it.have = false
			return false
		}
		it.run = max(it.run, 0) + 1
		it.bound = append(it.bound[:0], high...)
		if !it.loadLeaf(ctx, it.bound, toKey) {
			return false
		}
		it.slot = 0
		if i, _, ok := it.leaf.Find(it.bound); ok { // the leaf may have grown to the left by a merge
			it.slot = i
		}
	}
	return true
}

// SeekLT goes to the last entry whose key is below key.
func (it *Iter) SeekLT(ctx context.Context, key []byte) bool {
	it.run = 0
	return it.seekLT(ctx, key)
}

func (it *Iter) seekLT(ctx context.Context, key []byte) bool {
	for {
		if !it.loadLeaf(ctx, key, toBefore) {
			return false
		}
		i, _, ok := it.leaf.Find(key)
		if !ok {
			return it.damaged()
		}
		it.slot = i - 1
		if it.slot >= 0 {
			return true
		}
		low, ok := it.leaf.Low()
		if !ok {
			it.have = false
			return false
		}
		it.run = min(it.run, 0) - 1
		it.bound = append(it.bound[:0], low...)
		key = it.bound
	}
}

// First goes to the first entry.
func (it *Iter) First(ctx context.Context) bool { return it.SeekGE(ctx, nil) }

// Last goes to the last entry.
func (it *Iter) Last(ctx context.Context) bool {
	it.run = 0
	if !it.loadLeaf(ctx, highest[:], toKey) {
		return false
	}
	if it.slot = it.n - 1; it.slot >= 0 {
		return true
	}
	low, ok := it.leaf.Low()
	if !ok {
		it.have = false
		return false
	}
	it.bound = append(it.bound[:0], low...)
	return it.seekLT(ctx, it.bound)
}

// highest is above every key: longer than the longest, of the largest byte.
var highest = func() (b [MaxKey + 1]byte) {
	for i := range b {
		b[i] = 0xff
	}
	return b
}()

// Next goes one entry on. False: there is none, or an error.
func (it *Iter) Next(ctx context.Context) bool {
	if !it.have {
		return false
	}
	it.stepped = false
	it.slot++
	if it.slot < it.n {
		return true
	}
	return it.settle(ctx)
}

// Prev goes one entry back. False: there is none, or an error.
func (it *Iter) Prev(ctx context.Context) bool {
	if !it.have {
		return false
	}
	it.stepped = false
	it.slot--
	if it.slot >= 0 {
		return true
	}
	low, ok := it.leaf.Low()
	if !ok {
		it.have = false
		return false
	}
	it.run = min(it.run, 0) - 1
	it.bound = append(it.bound[:0], low...)
	return it.seekLT(ctx, it.bound)
}

// Step is Next inside the leaf, for those who walk far: it returns the value as well. False: use Next.
func (it *Iter) Step() (value []byte, ok bool) {
	if !it.have || it.slot+1 >= it.n {
		return nil, false
	}
	it.slot++
	it.suffix, value, ok = it.leaf.Cell(it.slot)
	it.stepped = ok
	return value, ok
}

// Valid says whether the iterator stands on an entry.
func (it *Iter) Valid() bool { return it.have && it.slot >= 0 && it.slot < it.n }

// Key of the entry, valid until the next move.
func (it *Iter) Key() []byte {
	suffix := it.suffix
	if !it.stepped {
		suffix, _ = it.leaf.Suffix(it.slot)
	}
	if it.plen == 0 {
		return suffix
	}
	it.key = append(it.key[:it.plen], suffix...)
	return it.key
}

// Value of the entry, valid until the next move.
func (it *Iter) Value() []byte {
	_, v, _ := it.leaf.Cell(it.slot)
	return v
}

// Err is the error that ended the walk, if one did.
func (it *Iter) Err() error { return it.err }

func (it *Iter) damaged() bool {
	it.err = &page.CorruptError{Page: it.leaf.ID(), What: "an entry points outside the page"}
	it.have = false
	return false
}
