package heat

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// plan cuts a list into reads: band by band from hot to cold, by place on the disk inside a band.
//
// A read is more than the pages of its band where that costs nothing: an operation takes as long as some bytes do (see
// datafile.Turn), so a gap that is shorter than that is read through, and the listed pages in it come along. A page of a colder band in
// the gap is worth something, half as much for each band that it is colder.
type plan struct {
	list     *list
	physical bool
	has      func(page.ID) bool // is in the pool
	settle   func(i int, o pool.Outcome)

	taken []atomic.Bool // by index of list: somebody sees to it, and will settle it

	mu   sync.Mutex // guards what follows
	band int
	at   int // index of list, in this pass over it
}

// rank of a page is the pass in which it is read.
func (p *plan) rank(i int) int {
	if p.physical {
		return 0
	}
	return int(p.list.pages[i].band)
}

func (p *plan) ranks() int {
	if p.physical {
		return min(len(p.list.header.Bands), 1)
	}
	return len(p.list.header.Bands)
}

// current is the band that is being loaded.
func (p *plan) current() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.band, max(p.ranks()-1, 0))
}

// take makes page i the caller's. False: somebody has it.
func (p *plan) take(i int) bool { return p.taken[i].CompareAndSwap(false, true) }

// next makes r the next read, of most pages at most; free pages cost as much as an operation. False: nothing is left.
func (p *plan) next(r *pool.Run, most, free int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.band < p.ranks(); p.band, p.at = p.band+1, 0 {
		for ; p.at < len(p.list.pages); p.at++ {
			if p.rank(p.at) > p.band || p.taken[p.at].Load() || !p.take(p.at) {
				continue
			}
			if p.has(p.list.pages[p.at].id) {
				p.settle(p.at, pool.Present)
				continue
			}
			p.build(r, p.at, most, free)
			p.at++
			return true
		}
	}
	return false
}

// wholesale is from how many free pages on every read is at least that long: operations are so dear that it does not matter
// what is hot. Below it, what is read is what is hot.
const wholesale = 8

// build makes r the read that begins with page i.
func (p *plan) build(r *pool.Run, i, most, free int) {
	first := p.list.pages[i].id
	most = min(most, pool.MaxRun, int(math.MaxUint32-first.No())+1)
	r.Reset(first, most)
	r.Want(0, p.list.heat(p.list.pages[i].band))
	least := 1
	if free >= wholesale {
		least = min(free, most)
	}
	end, gap, last, from := 1, 0.0, 0, i+1 // end of the read so far, what lies behind it, and the first listed page there
	for k := i + 1; k < len(p.list.pages); k++ {
		off := int(p.list.pages[k].id - first)
		if p.list.pages[k].id.Space() != first.Space() || off >= most {
			break
		}
		gap += float64(off - last - 1)
		last = off
		if gap > float64(free) && off >= least {
			break
		}
		switch colder := p.rank(k) - p.band; {
		case p.taken[k].Load() || p.has(p.list.pages[k].id):
			gap++
			continue
		case colder > 0 && off >= least:
			gap += 1 - math.Exp2(-float64(colder))
			continue
		}
		p.along(r, from, k)
		end, gap, from = off+1, 0, k+1
	}
	r.Pages = r.Pages[:end]
}

// along wants the listed pages from index from to k that nobody has taken.
func (p *plan) along(r *pool.Run, from, k int) {
	for ; from <= k; from++ {
		if l := p.list.pages[from]; !p.has(l.id) && p.take(from) {
			r.Want(int(l.id-r.First), p.list.heat(l.band))
		}
	}
}

// around wants the untaken pages of the block of n pages that id lies in.
func (p *plan) around(r *pool.Run, id page.ID, n int) bool {
	first := id - page.ID(id.No()%uint32(n))
	r.Reset(first, n)
	any := false
	at, _ := p.list.find(first)
	for ; at < len(p.list.pages) && p.list.pages[at].id-first < page.ID(n); at++ {
		if l := p.list.pages[at]; l.id != id && !p.has(l.id) && p.take(at) {
			r.Want(int(l.id-first), p.list.heat(l.band))
			any = true
		}
	}
	return any
}

// came settles the pages of a read.
func (p *plan) came(r *pool.Run) {
	at, _ := p.list.find(r.First)
	for ; at < len(p.list.pages) && p.list.pages[at].id-r.First < page.ID(len(r.Pages)); at++ {
		if o := r.Pages[p.list.pages[at].id-r.First].Outcome; o != pool.Unwanted {
			p.settle(at, o)
		}
	}
}

// rest takes and settles everything that nobody has taken.
func (p *plan) rest(o pool.Outcome) {
	for i := range p.list.pages {
		if p.take(i) {
			if p.has(p.list.pages[i].id) {
				p.settle(i, pool.Present)
			} else {
				p.settle(i, o)
			}
		}
	}
}
