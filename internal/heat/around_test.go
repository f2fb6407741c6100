package heat

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// TestAround: a miss of a listed page brings along those of its neighbours that are listed and not there, as many as the disk has bytes for,
// and they count as brought by it. A page that is not listed, a disk without room and a load that is paused bring nothing.
func TestAround(t *testing.T) {
	var there []page.ID
	wide := 4
	var x *load
	begin := func() {
		l := &list{file: "x", header: Header{Bands: []Band{{8, 3}, {2, 3}}}}
		for i, no := range []uint32{5, 8, 9, 10, 11, 20} {
			l.add(i/3, id(16, no))
		}
		l.sort()
		x = &load{state: StateLoading, wide: func() int { return wide }}
		x.plan = plan{
			list: l, has: func(id page.ID) bool { return slices.Contains(there, id) }, taken: make([]atomic.Bool, len(l.pages)),
			settle: func(_ int, o pool.Outcome) { x.counts[o].Add(1) },
		}
	}
	// miss of a page brings those that are wanted along, which all can be read.
	miss := func(no uint32) (came []uint32) {
		t.Helper()
		var r pool.Run
		heat, along := x.Around(id(16, no), &r)
		if at, listed := x.plan.list.find(id(16, no)); listed != (heat > 0) || listed && heat != x.plan.list.heat(x.plan.list.pages[at].band) {
			t.Errorf("page %d: heat %d", no, heat)
		}
		if !along {
			return nil
		}
		for i := range r.Pages {
			if p := &r.Pages[i]; p.Outcome != pool.Unwanted {
				p.Outcome = pool.Loaded
				came = append(came, (r.First + page.ID(i)).No())
			}
		}
		x.Came(&r)
		return came
	}
	check := func(what string, got []uint32, want ...uint32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: pages %v came along, want %v", what, got, want)
		}
	}

	begin()
	there = []page.ID{id(16, 10)}
	check("two neighbours", miss(9), 8, 11)
	if n, b, l := x.along.Load(), x.bytes.Load(), x.counts[pool.Loaded].Load(); n != 2 || b != 2*page.Size || l != 2 {
		t.Errorf("%d came along, %d bytes, %d loaded; want 2 pages", n, b, l)
	}
	check("the same again, before they are there", miss(9))
	check("nothing listed in the block", miss(20))
	check("not listed", miss(7))

	begin()
	wide = 1
	check("no bytes to spare", miss(9))
	wide = 4
	x.pause()
	check("paused", miss(9))
	x.resume()
	check("resumed", miss(9), 8, 11)
}
