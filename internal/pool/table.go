package pool

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/page"
)

// table finds the frame of a page: chains of frames in a fixed array of heads.
//
// Readers take no lock. A frame that moves to another chain while they walk may lead them astray: they then miss
// (and ask again under the stripe's lock, see Pool.claim) or find a frame, whose id they check. A walk is bounded.
type table struct {
	heads   []atomic.Uint32 // frame + 1, 0 = empty
	next    []atomic.Uint32 // by frame: the one behind it in its chain, + 1. Apart from the frames: a start touches them all
	shift   uint
	stripes [tableStripes]paddedMutex
}

const (
	tableStripes = 256
	// maxChain bounds a walk without a lock; a chain is about one frame long.
	maxChain = 64
)

type paddedMutex struct {
	sync.Mutex
	_ [56]byte
}

func (t *table) init(frames int) {
	n := max(bits.Len(uint(frames-1)), 8) // at least one head a frame, rounded up
	t.heads = make([]atomic.Uint32, 1<<n)
	t.shift = uint(64 - n)
	t.next = make([]atomic.Uint32, frames)
}

// hash spreads ids, whose low bits run on, over the heads (Fibonacci hashing, Knuth vol. 3, 6.4).
func hash(id page.ID) uint64 { return uint64(id) * 0x9E3779B97F4A7C15 }

func (t *table) head(id page.ID) *atomic.Uint32 { return &t.heads[hash(id)>>t.shift] }

// stripe guards changes of the chain that id belongs to.
func (t *table) stripe(id page.ID) *paddedMutex {
	return &t.stripes[(hash(id)>>t.shift)%tableStripes]
}

func (t *table) find(p *Pool, id page.ID) (uint32, bool) {
	at := t.head(id).Load()
	for range maxChain {
		if at == 0 {
			return 0, false
		}
		if page.ID(p.desc(at-1).ID.Load()) == id {
			return at - 1, true
		}
		at = t.next[at-1].Load()
	}
	return 0, false
}

func (t *table) findLocked(p *Pool, id page.ID) (uint32, bool) {
	for at := t.head(id).Load(); at != 0; at = t.next[at-1].Load() {
		if page.ID(p.desc(at-1).ID.Load()) == id {
			return at - 1, true
		}
	}
	return 0, false
}

// push enters f, under the stripe's lock.
func (t *table) push(p *Pool, id page.ID, f uint32) {
	h := t.head(id)
	t.next[f].Store(h.Load())
	h.Store(f + 1)
}

// pushUnique enters f at start, when nobody else uses the chain, unless id is there already.
func (t *table) pushUnique(p *Pool, id page.ID, f uint32) bool {
	h := t.head(id)
	old := h.Load()
	for at := old; at != 0; at = t.next[at-1].Load() {
		if page.ID(p.desc(at-1).ID.Load()) == id {
			return false
		}
	}
	if old != 0 {
		t.next[f].Store(old)
	}
	h.Store(f + 1)
	return true
}

// part says which of n parts of the chains an id belongs to.
func (t *table) part(id page.ID, n int) int { return int(hash(id)>>t.shift) * n / len(t.heads) }

// remove takes f out, under the stripe's lock.
func (t *table) remove(p *Pool, id page.ID, f uint32) {
	at := t.head(id)
	for at.Load() != f+1 {
		if at.Load() == 0 {
			panic("BUG: frame " + id.String() + " is not in its chain")
		}
		at = &t.next[at.Load()-1]
	}
	at.Store(t.next[f].Load())
}
