package bench

import (
	"math"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/restart"
)

// paperLoad is the load of a heat dump beside reads that arrive at their own pace, as good as a disk lets it be: all its operations are for
// misses, and the load has what is left of its bytes without an operation. Pages are read once. A load knows how hot pages are, not who asks next.
// What is measured can be held against it; a real load is slower, since its reads are operations too and go through pages that are there.
type paperLoad struct {
	heats []float64 // the share of the reads that goes to each page, from hot to cold
	order loadOrder // in which pages come
	rate  float64   // reads that arrive, a second
	disk  restart.Disk

	// singly, when above 0, is the part of the operations that the load takes from misses, one for each page, and all that it has.
	singly float64
}

// loadOrder is how the order of a load and the heat of its pages go together.
type loadOrder int

const (
	hottestFirst loadOrder = iota
	anywhere               // as pages lie on the disk, hot ones among cold ones
	hottestLast            // as pages lie on the disk, hot ones at its end
)

const (
	paperStep  = 50 * time.Millisecond
	paperLimit = 10 * time.Minute
	// paperPart is how many pages of about the same heat are seen as one.
	paperPart = 64
)

// paperRun is what came of one.
type paperRun struct {
	ninety, all time.Duration // until as much is answered as 0.9 of what arrives, and until nobody waits; 0: not within paperLimit
	reads       []float64     // answered in each second
	least       float64       // of the hits of any second but the first over those that the hottest pages would give, as many as are there
}

// run does it.
//
// Reads are a flow: a page of heat h was not asked for by one of S reads with the chance exp(-h*S). So all there is to know is how many were served and
// how far the load is.
func (l paperLoad) run() paperRun {
	step := paperStep.Seconds()
	parts := make([]part, 0, len(l.heats)/paperPart+1)
	for at := 0; at < len(l.heats); at += paperPart {
		p := part{pages: float64(min(paperPart, len(l.heats)-at))}
		for _, h := range l.heats[at:min(at+paperPart, len(l.heats))] {
			p.heat += h / p.pages
		}
		parts = append(parts, p)
	}
	r := paperRun{least: 1}
	served, second, misses, before := 0.0, 0.0, 0.0, 0.0
	for t := paperStep; t <= paperLimit; t += paperStep {
		share, there := 0.0, 0.0 // of the reads that miss; pages
		for _, p := range parts {
			absent := p.absent(served)
			share, there = share+absent*p.heat, there+p.pages-absent
		}
		now := l.rate*t.Seconds() - served // all who wait
		if most := float64(l.disk.IOPS) * (1 - l.singly) * step; now*share > most {
			now = most / share
		}
		pages := float64(l.disk.BytesPerSecond)/hearth.PageSize*step - now*share
		if l.singly > 0 {
			pages = float64(l.disk.IOPS) * l.singly * step
		}
		l.advance(parts, served, pages)
		if r.ninety == 0 && now >= backPart*l.rate*step {
			r.ninety = t
		}
		if served += now; served >= l.rate*t.Seconds()*(1-1e-9) && t > paperStep {
			r.all = t
			return r
		}
		if second, misses = second+now, misses+now*share; t%time.Second == 0 {
			if len(r.reads) > 0 {
				r.least = min(r.least, (1-misses/second)/hottest(parts, (before+there)/2))
			}
			r.reads = append(r.reads, second)
			second, misses, before = 0, 0, there
		}
	}
	return r
}

// hottest is the share of the reads that so many of the hottest pages would serve.
func hottest(parts []part, pages float64) (share float64) {
	for _, p := range parts {
		if pages <= 0 {
			break
		}
		share += min(p.pages, pages) * p.heat
		pages -= p.pages
	}
	return share
}

// part is pages that are about as hot as each other.
type part struct {
	pages, heat float64
	loaded      float64 // the share of them that the load has passed
}

// absent is how many of them are not there after so many reads.
func (p part) absent(served float64) float64 {
	return p.pages * (1 - p.loaded) * math.Exp(-p.heat*served)
}

// advance lets the load bring so many pages.
func (l paperLoad) advance(parts []part, served, pages float64) {
	if l.order == anywhere {
		left := 0.0
		for _, p := range parts {
			left += p.absent(served)
		}
		for i := range parts {
			parts[i].loaded += (1 - parts[i].loaded) * min(pages/max(left, 1e-9), 1)
		}
		return
	}
	for n := range parts {
		i := n
		if l.order == hottestLast {
			i = len(parts) - 1 - n
		}
		if left := parts[i].absent(served); left > 0 && pages > 0 {
			parts[i].loaded += (1 - parts[i].loaded) * min(pages/left, 1)
			pages -= left
		}
	}
}

// fits is how many of the hottest pages have to be there for what arrives to be within what the disk can miss, and when a load that reads nothing
// else has brought them: before, no load whatsoever can keep up.
func (l paperLoad) fits() (pages int, after time.Duration) {
	miss := 1.0
	for pages < len(l.heats) && miss*l.rate > float64(l.disk.IOPS) {
		miss -= l.heats[pages]
		pages++
	}
	return pages, time.Duration(float64(pages) * hearth.PageSize / float64(l.disk.BytesPerSecond) * float64(time.Second))
}
