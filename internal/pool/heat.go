package pool

import (
	"iter"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// The heat word of a descriptor: bits 0-1 count uses for replacement (S3-FIFO's freq), then the heat, a count of sampled
// hits that is halved now and then (see cool). The two highest bits mark a page that Load brought in: before its first use, and
// after it. The third marks a free page.
//
// A page before its first use has a freq below freqMask, so that its first touch writes to the word and sees the mark: for a
// hit of a hot page the marks cost nothing.
const (
	freqMask   = 3
	heatShift  = 2
	markUnused = 1 << 31
	markUsed   = 1 << 30
	markFreed  = 1 << 29 // the page was given back to its space: nobody wants it again
	markMask   = markUnused | markUsed | markFreed

	// MaxHeat is where the heat of a page stops growing.
	MaxHeat = 1 << 24
	// hitSample: one hit in so many is counted, so that hot pages are rarely written to.
	hitSample = 32
	coolEvery = time.Minute
	// coolShare: heat is halved when the hits since the last time are at least so much of it, 1/coolShare. Under a steady load that
	// is always so; a database that nobody uses at night knows in the morning what was hot the day before.
	coolShare = 4
)

// CountUses says whether uses count as heat. They do, but for who measures what that costs.
func (p *Pool) CountUses(yes bool) { p.uncounted.Store(!yes) }

// touch notes a use of a frame. A frame that is hot already is written to in one of hitSample cases only.
// Two touches at once may count as one: replacement and heat are guesses, and nothing else reads them.
func touch(p *Pool, d *region.Desc, f uint32) {
	dice := uint32(1)
	if !p.uncounted.Load() {
		dice = rand.Uint32()
	}
	if h := d.Heat.Load(); h&freqMask != freqMask || dice%hitSample == 0 { // this is all that most hits do
		p.note(d, h, f, dice)
	}
}

// note writes a use into the heat word h.
func (p *Pool) note(d *region.Desc, h, f, dice uint32) {
	if h&freqMask != freqMask {
		if h&markUnused != 0 {
			p.firstUse(d, h)
			return
		}
		d.Heat.Store(h + 1)
	}
	if dice%hitSample != 0 {
		return
	}
	if h&Heats>>heatShift < MaxHeat {
		d.Heat.Store(h + 1<<heatShift)
	}
	p.stats.hits[f%hitStripes].n.Add(1)
	if h&markUsed != 0 {
		p.stats.hits[f%hitStripes].prewarmed.Add(1)
	}
}

// firstUse notes that a page which Load brought in was of use. Whoever is first counts: all who see the mark come here.
func (p *Pool) firstUse(d *region.Desc, h uint32) {
	if d.Heat.CompareAndSwap(h, h&^markUnused|markUsed+1) {
		p.stats.prewarmedUsed.Add(1)
	}
}

// change alters a heat word that others may be touching, unless they do at this moment.
func change(d *region.Desc, from, to uint32) { d.Heat.CompareAndSwap(from, to) }

// noteFreed marks a page that a group has given back to its space, or takes the mark away. It is latched exclusively.
func noteFreed(d *region.Desc, pg *page.Page) {
	h := d.Heat.Load()
	switch freed := pg.Kind() == page.KindFree; {
	case freed && h&markFreed == 0:
		d.Heat.Store(h | markFreed)
	case !freed && h&markFreed != 0:
		d.Heat.Store(h &^ markFreed)
	}
}

// Heats masks heat and freq in a heat word: what Snapshot tells and Want takes.
const Heats = 1<<27 - 1

// heatClass sorts pages by the logarithm of their heat: those in one class are about as hot as each other.
func heatClass(heat uint32) int {
	if heat&markFreed != 0 {
		return 0
	}
	return bits.Len32(heat & Heats)
}

// heatClasses is how many there are.
const heatClasses = 28

// Both fit, and the marks lie above.
const _ = uint(Heats - (MaxHeat<<heatShift | freqMask))
const _ = uint(markFreed - 1 - Heats)

// cool halves all heat, at most every coolEvery.
func (p *Pool) cool() {
	t := time.NewTicker(coolEvery)
	defer t.Stop()
	var seen int64 // sampled hits at the last halving
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-t.C:
		}
		hits := p.stats.sampled()
		if heat := p.totalHeat(); heat == 0 || hits-seen < heat/coolShare {
			continue
		}
		seen = hits
		p.halve()
	}
}

func (p *Pool) totalHeat() (sum int64) {
	for f := range uint32(p.n) {
		sum += int64(p.desc(f).Heat.Load() &^ markMask >> heatShift)
		p.breathe(f)
	}
	return sum
}

func (p *Pool) halve() {
	for f := range uint32(p.n) {
		d := p.desc(f)
		if h := d.Heat.Load(); h&^markMask>>heatShift != 0 {
			change(d, h, h&^markMask>>(heatShift+1)<<heatShift|h&(markMask|freqMask))
		}
		p.breathe(f)
	}
}

// breathe lets others run after every so many frames, some 100 us.
func (p *Pool) breathe(f uint32) {
	const after = 16 << 10
	if f%after == after-1 {
		runtime.Gosched()
	}
}

// Warm is a page in the pool and its heat word, masked by Heats.
type Warm struct {
	ID   page.ID
	Heat uint32
}

// walkSlice is how many descriptors Snapshot looks at for one slice, in frames: some 10 us.
const walkSlice = 1024

// Snapshot walks over the descriptors, without a latch, and tells which pages are in the pool, save those that are free. What comes or goes meanwhile
// may be told or not. It gives slices, behind each of which the caller should let others run.
func (p *Pool) Snapshot() iter.Seq[[]Warm] {
	return func(yield func([]Warm) bool) {
		slice := make([]Warm, 0, walkSlice)
		for f := range uint32(p.n) {
			d := p.desc(f)
			id, state := page.ID(d.ID.Load()), d.State.Load()
			if h := d.Heat.Load(); h&markFreed == 0 && (state == region.StateReady || state == region.StateUnverified) {
				slice = append(slice, Warm{id, h &^ markMask})
			}
			if f%walkSlice == walkSlice-1 || int(f) == p.n-1 {
				if !yield(slice) {
					return
				}
				slice = slice[:0]
			}
		}
	}
}
