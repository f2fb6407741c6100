package pool

import (
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/region"
)

const hitStripes = 64

type counters struct {
	hits [hitStripes]struct { // sampled: one in hitSample
		n atomic.Int64
		_ [56]byte
	}
	misses, evictions, writes         atomic.Int64
	missNanos, writeNanos             atomic.Int64
	survivorsReread, survivorsRebuilt atomic.Int64

	mu  sync.Mutex
	err error // the last failed write-back; guarded by mu
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
	Frames, Free, Dirty int
	Hits                int64 // estimated from a sample
	Misses              int64
	Evictions           int64
	Writes              int64
	MissNanos           int64 // time spent reading missing pages, summed
	WriteNanos          int64
	SurvivorsReread     int64 // clean survivors whose checksum failed
	SurvivorsRebuilt    int64 // changed survivors whose structure failed
	LastWriteError      error
}

// Stats takes a look around. Dirty is counted by a walk over the descriptors.
func (p *Pool) Stats() Stats {
	s := Stats{
		Frames: p.n, Misses: p.stats.misses.Load(), Evictions: p.stats.evictions.Load(), Writes: p.stats.writes.Load(),
		MissNanos: p.stats.missNanos.Load(), WriteNanos: p.stats.writeNanos.Load(),
		SurvivorsReread: p.stats.survivorsReread.Load(), SurvivorsRebuilt: p.stats.survivorsRebuilt.Load(),
		LastWriteError: p.stats.lastError(),
	}
	for i := range p.stats.hits {
		s.Hits += p.stats.hits[i].n.Load() * hitSample
	}
	p.repl.mu.Lock()
	s.Free = len(p.repl.free)
	p.repl.mu.Unlock()
	for f := range uint32(p.n) {
		if d := p.desc(f); d.First.Load() != 0 && d.State.Load() != region.StateFree {
			s.Dirty++
		}
	}
	return s
}
