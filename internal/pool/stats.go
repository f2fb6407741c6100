package pool

import (
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/region"
)

const hitStripes = 64

type counters struct {
	hits [hitStripes]struct { // sampled: one in hitSample
		n         atomic.Int64
		prewarmed atomic.Int64 // of them, of pages that Load brought in
		_         [48]byte
	}
	prewarmed, prewarmedUsed, prewarmedLost atomic.Int64

	misses, evictions, writes         atomic.Int64
	missNanos, writeNanos             atomic.Int64
	survivorsReread, survivorsRebuilt atomic.Int64

	mu    sync.Mutex // guards what follows
	err   error      // the last failed write-back
	short error      // why the pool is smaller than it was to be
}

func (c *counters) noteShort(err error) {
	c.mu.Lock()
	c.short = err
	c.mu.Unlock()
}

func (c *counters) noteError(err error) {
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
}

func (c *counters) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Stats of a pool. Counts since it was made; pages and frames are one unit.
type Stats struct {
	Frames, Free, Dirty int   // Free includes those that are still to come
	Coming              int   // frames whose memory is still being reserved, behind a start
	Short               error // why there are fewer frames than wanted; nil: there are not
	Hits                int64 // estimated from a sample
	Misses              int64
	Evictions           int64
	Writes              int64
	MissNanos           int64 // time spent reading missing pages, summed
	WriteNanos          int64
	SurvivorsReread     int64 // clean survivors whose checksum failed
	SurvivorsRebuilt    int64 // changed survivors whose structure failed
	Prewarmed           Prewarmed
	LastWriteError      error
}

// Prewarmed says what became of the pages that Load brought in.
type Prewarmed struct {
	Pages   int64 // brought in
	Used    int64 // and used since
	Evicted int64 // and gone before anybody used them
	Hits    int64 // that they served; estimated from a sample
}

// Short is why the pool has fewer frames than it was to have; nil unless memory ran out.
func (p *Pool) Short() error {
	p.stats.mu.Lock()
	defer p.stats.mu.Unlock()
	return p.stats.short
}

// Prewarmed counts without a walk.
func (p *Pool) Prewarmed() Prewarmed {
	c := &p.stats
	v := Prewarmed{Pages: c.prewarmed.Load(), Used: c.prewarmedUsed.Load(), Evicted: c.prewarmedLost.Load()}
	for i := range c.hits {
		v.Hits += c.hits[i].prewarmed.Load() * hitSample
	}
	return v
}

func (c *counters) sampled() (n int64) {
	for i := range c.hits {
		n += c.hits[i].n.Load()
	}
	return n
}

// Stats takes a look around. Dirty is counted by a walk over the descriptors.
func (p *Pool) Stats() Stats {
	s := Stats{
		Frames: p.Frames(), Misses: p.stats.misses.Load(), Evictions: p.stats.evictions.Load(), Writes: p.stats.writes.Load(),
		MissNanos: p.stats.missNanos.Load(), WriteNanos: p.stats.writeNanos.Load(),
		SurvivorsReread: p.stats.survivorsReread.Load(), SurvivorsRebuilt: p.stats.survivorsRebuilt.Load(),
		LastWriteError: p.stats.lastError(),
	}
	s.Hits = p.stats.sampled() * hitSample
	s.Prewarmed = p.Prewarmed()
	p.repl.mu.Lock()
	s.Free, s.Coming = len(p.repl.free)+p.repl.coming, p.repl.coming
	p.repl.mu.Unlock()
	s.Short = p.Short()
	for f := range uint32(p.n) {
		if d := p.desc(f); d.First.Load() != 0 && d.State.Load() != region.StateFree {
			s.Dirty++
		}
	}
	return s
}
