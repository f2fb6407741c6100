package heat

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// planOf is a plan over pages given by band; in says which are in the pool.
func planOf(physical bool, in map[page.ID]bool, bands ...[]page.ID) (*plan, *[pool.Outcomes]int) {
	l := new(list)
	for band, ids := range bands {
		for _, id := range ids {
			l.add(band, id)
		}
		l.header.Bands = append(l.header.Bands, Band{Heat: uint32(1) << (len(bands) - band), Pages: uint64(len(ids))})
	}
	l.sort()
	counts := new([pool.Outcomes]int)
	return &plan{
		list: l, physical: physical, has: func(id page.ID) bool { return in[id] }, taken: make([]atomic.Bool, len(l.pages)),
		settle: func(_ int, o pool.Outcome) { counts[o]++ },
	}, counts
}

// reads carries a plan out: the pages that each read wants, by number.
func reads(p *plan, most, free int) (all [][]uint32) {
	r := new(pool.Run)
	for p.next(r, most, free) {
		var nos []uint32
		for i := range r.Pages {
			if r.Pages[i].Outcome != pool.Unwanted {
				nos = append(nos, r.First.No()+uint32(i))
				r.Pages[i].Outcome = pool.Loaded
			}
		}
		p.came(r)
		all = append(all, nos)
	}
	return all
}

func ids(nos ...uint32) (all []page.ID) {
	for _, no := range nos {
		all = append(all, id(16, no))
	}
	return all
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name       string
		physical   bool
		in         []uint32
		bands      [][]page.ID
		most, free int
		want       [][]uint32
	}{
		{name: "hot before cold, neighbours together", bands: [][]page.ID{ids(50, 51, 52, 90), ids(1, 2)}, most: 16, free: 2,
			want: [][]uint32{{50, 51, 52}, {90}, {1, 2}}},
		{name: "physical", physical: true, bands: [][]page.ID{ids(50, 51), ids(1, 2)}, most: 16, free: 2,
			want: [][]uint32{{1, 2}, {50, 51}}},
		{name: "no longer than asked", bands: [][]page.ID{ids(1, 2, 3, 4, 5)}, most: 2, free: 2, want: [][]uint32{{1, 2}, {3, 4}, {5}}},
		{name: "through a short gap, not a long one", bands: [][]page.ID{ids(1, 4, 9)}, most: 16, free: 2, want: [][]uint32{{1, 4}, {9}}},
		{name: "what is in the gap and colder comes along", bands: [][]page.ID{ids(1, 5), ids(2, 3, 4), ids(9)}, most: 16, free: 2,
			want: [][]uint32{{1, 2, 3, 4, 5}, {9}}},
		{name: "much colder pages are a gap", bands: [][]page.ID{ids(1, 5), ids(), ids(), ids(), ids(2, 3, 4)}, most: 16, free: 2,
			want: [][]uint32{{1}, {5}, {2, 3, 4}}},
		{name: "present pages are skipped, and are a gap", in: []uint32{2, 3, 4, 9}, bands: [][]page.ID{ids(1, 2, 3, 4, 5, 9)}, most: 16, free: 2,
			want: [][]uint32{{1}, {5}}},
		{name: "where operations are dear all neighbours come", bands: [][]page.ID{ids(20), ids(), ids(), ids(19, 21, 24, 27, 29)}, most: 16, free: 8,
			want: [][]uint32{{20, 21, 24, 27}, {19}, {29}}},
		{name: "spaces are files", bands: [][]page.ID{{id(16, 1), id(17, 2), id(17, 3)}}, most: 16, free: 2, want: [][]uint32{{1}, {2, 3}}},
		{name: "a page in two bands is in the hotter", bands: [][]page.ID{ids(7), ids(7, 8)}, most: 16, free: 0, want: [][]uint32{{7}, {8}}},
		{name: "the last page there can be", bands: [][]page.ID{ids(1<<32-2, 1<<32-1)}, most: 16, free: 2, want: [][]uint32{{1<<32 - 2, 1<<32 - 1}}},
	} {
		in := map[page.ID]bool{}
		for _, no := range c.in {
			in[id(16, no)] = true
		}
		p, _ := planOf(c.physical, in, c.bands...)
		got := reads(p, c.most, c.free)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: reads %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPlanSettlesEachPageOnce: whatever sizes are asked for, and whatever misses bring along meanwhile.
func TestPlanSettlesEachPageOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		in := map[page.ID]bool{}
		bands := make([][]page.ID, 1+rng.IntN(5))
		n := 0
		for no := range uint32(300) {
			if rng.IntN(3) == 0 {
				continue
			}
			b := rng.IntN(len(bands))
			bands[b] = append(bands[b], id(16+no/200, no))
			n++
			in[id(16+no/200, no)] = rng.IntN(10) == 0
		}
		p, counts := planOf(rng.IntN(4) == 0, in, bands...)
		r := new(pool.Run)
		for {
			if rng.IntN(3) == 0 { // a miss
				miss := p.list.pages[rng.IntN(len(p.list.pages))].id
				if !in[miss] && p.around(r, miss, 1+rng.IntN(8)) {
					arrive(r, in, rng)
					p.came(r)
				}
				in[miss] = true
			}
			if rng.IntN(200) == 0 {
				p.rest(pool.NoRoom)
			}
			if !p.next(r, 1+rng.IntN(32), rng.IntN(16)) {
				break
			}
			arrive(r, in, rng)
			p.came(r)
		}
		sum := 0
		for _, c := range counts {
			sum += c
		}
		if sum != n || counts[pool.Unwanted] != 0 {
			t.Fatalf("%d pages, outcomes %v", n, *counts)
		}
	}
}

// arrive makes wanted pages come, or not.
func arrive(r *pool.Run, in map[page.ID]bool, rng *rand.Rand) {
	for i := range r.Pages {
		if r.Pages[i].Outcome == pool.Unwanted {
			continue
		}
		r.Pages[i].Outcome = pool.Loaded + pool.Outcome(rng.IntN(pool.Outcomes-1))
		if r.Pages[i].Outcome == pool.Loaded {
			in[r.First+page.ID(i)] = true
		}
	}
}
