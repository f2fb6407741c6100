package pool

import (
	"time"

	"github.com/hearthdb/hearth/internal/region"
)

// The heat word of a descriptor: bits 0-1 count uses for replacement (S3-FIFO's freq), the rest is the heat, a
// count of sampled hits that halves every heatHalfLife.
const (
	freqMask  = 3
	heatShift = 2
	// MaxHeat is where the heat of a page stops growing.
	MaxHeat = 1 << 24
	// hitSample: one hit in so many is counted, so that hot pages are rarely written to.
	hitSample    = 32
	heatHalfLife = time.Minute
)

// touch notes a use of a frame. A frame that is hot already is written to in one of hitSample cases only.
// Two touches at once may count as one: replacement and heat are guesses, and nothing else reads them.
func touch(p *Pool, d *region.Desc, f, dice uint32) {
	h := d.Heat.Load()
	if h&freqMask != freqMask {
		d.Heat.Store(h + 1)
	}
	if dice%hitSample == 0 {
		if h>>heatShift < MaxHeat {
			d.Heat.Store(h + 1<<heatShift)
		}
		p.stats.hits[f%hitStripes].n.Add(1)
	}
}

// cool halves all heat every heatHalfLife.
func (p *Pool) cool() {
	t := time.NewTicker(heatHalfLife)
	defer t.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-t.C:
		}
		for f := range uint32(p.n) {
			d := p.desc(f)
			if h := d.Heat.Load(); h>>heatShift != 0 {
				d.Heat.Store(h>>(heatShift+1)<<heatShift | h&freqMask)
			}
		}
	}
}
