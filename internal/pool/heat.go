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

// The heat word of a descriptor: bits 0-1 count uses for replacement (S3-FIFO's freq), then the heat, an approximate count of
// uses that is halved now and then (see cool). The two highest bits mark a page that Load brought in: before its first use, and
// after it. The third marks a free page.
//
// The first exactUses are counted one by one. Beyond, each doubling of the heat doubles the step, and a use takes it with one chance in
// the step, up to hitSample (Morris, "Counting Large Numbers of Events in Small Registers", CACM 1978): so hot pages are rarely written
// to, and a count is off by a fifth or so. Most pages of a large pool are used a few times a minute. Before, one use in hitSample was
// counted of those as well: the hottest pages by such a minute served 0.82 of what the truly hottest would, and serve 0.94 now, where an
// exact count knows 0.95 (285,000 pages, 20,000 reads a second by zipf's law).
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

	// MaxHeat is where the heat of a page stops growing: a page that is used half a million times a second.
	MaxHeat = 1 << 26
	// exactUses are counted one by one.
	exactUses = 32
	// hitSample is the largest step, and one hit in so many is counted for the statistics.
	hitSample = 32
	// sampledFrom is the heat from which on only those hits write to a heat word.
	sampledFrom = exactUses * hitSample / 2

	coolEvery = time.Minute
	// coolShare: heat is halved when the hits since the last time are at least so much of it, 1/coolShare. Under a steady load that
	// is always so; a database that nobody uses at night knows in the morning what was hot the day before.
	coolShare = 4
	// coolUses: and when there were so many for each page. Fewer do not tell pages from each other, and a page that was used once would
	// be forgotten before it is used again. (The reset of Einziger et al., "TinyLFU", ACM TOS 2017, has the same measure.)
	coolUses = 10
)

// CountUses says whether uses count as heat. They do, but for who measures what that costs.
func (p *Pool) CountUses(yes bool) { p.uncounted.Store(!yes) }

// touch notes a use of a frame. A frame that is hot already is written to in one of hitSample cases only.
// Two touches at once may count as one: replacement and heat are guesses, and nothing else reads them.
func touch(p *Pool, d *region.Desc, f uint32) {
	dice, few := uint32(1), uint32(0)
	if !p.uncounted.Load() {
		dice, few = rand.Uint32(), sampledFrom<<heatShift
	}
	if h := d.Heat.Load(); h&freqMask != freqMask || h&Heats < few || dice%hitSample == 0 { // this is all that most hits do
		p.note(d, h, f, dice, few != 0)
	}
}

// note writes a use into the heat word h.
func (p *Pool) note(d *region.Desc, h, f, dice uint32, counts bool) {
	if h&markUnused != 0 {
		p.firstUse(d, h)
		return
	}
	next := h
	if h&freqMask != freqMask {
		next++
	}
	if heat := h & Heats >> heatShift; counts && heat < MaxHeat {
		if step := stepAt(heat); dice%step == 0 {
			next += step << heatShift
		}
	}
	if next != h {
		d.Heat.Store(next)
	}
	if dice%hitSample != 0 {
		return
	}
	p.stats.hits[f%hitStripes].n.Add(1)
	if h&markUsed != 0 {
		p.stats.hits[f%hitStripes].prewarmed.Add(1)
	}
}

// stepAt is what a use adds to a heat, with one chance in as many.
func stepAt(heat uint32) uint32 { return 1 << min(bits.Len32(heat/exactUses), bits.Len32(hitSample)-1) }

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
const Heats = 1<<29 - 1

// heatClass sorts pages by the logarithm of their heat: those in one class are about as hot as each other.
func heatClass(heat uint32) int {
	if heat&markFreed != 0 {
		return 0
	}
	return bits.Len32(heat & Heats)
}

// heatClasses is how many there are.
const heatClasses = 30

// Both fit, with the step that reaches MaxHeat, and the marks lie above.
const _ = uint(Heats - ((MaxHeat+hitSample)<<heatShift | freqMask))
const _ = uint(markFreed - 1 - Heats)

// cool halves all heat, at most every coolEvery.
func (p *Pool) cool() {
	t := time.NewTicker(coolEvery)
	defer t.Stop()
	var seen int64 // hits at the last halving
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-t.C:
		}
		hits, pages := p.stats.sampled()*hitSample, int64(p.Frames()-p.Free())
		if hits-seen < max(p.totalHeat()/coolShare, pages*coolUses) {
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
