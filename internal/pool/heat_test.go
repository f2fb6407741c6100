package pool

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hearthdb/hearth/internal/region"
)

func heatOf(d *region.Desc) int { return int(d.Heat.Load() & Heats >> heatShift) }

// TestHeatCounts: exactly while uses are few, about right beyond, and no further than MaxHeat.
func TestHeatCounts(t *testing.T) {
	var p Pool
	for _, uses := range []int{0, 1, 2, exactUses, 3 * exactUses, 20 * exactUses, 200 * exactUses} {
		const pages = 300
		sum, least, most := 0, math.MaxInt, 0
		for f := range uint32(pages) {
			d := new(region.Desc)
			for range uses {
				touch(&p, d, f)
			}
			h := heatOf(d)
			sum, least, most = sum+h, min(least, h), max(most, h)
			if got, want := int(d.Heat.Load()&freqMask), min(uses, freqMask); got != want {
				t.Fatalf("%d uses: freq %d, want %d", uses, got, want)
			}
		}
		// A count is off by a fifth at most on average; what is told here happens once in millions of runs.
		if mean := float64(sum) / pages; math.Abs(mean-float64(uses)) > 0.08*float64(uses) {
			t.Errorf("%d uses count as %.1f on average", uses, mean)
		}
		if uses <= exactUses && (least != uses || most != uses) {
			t.Errorf("%d uses count as %d to %d, want them counted exactly", uses, least, most)
		}
		if most > 3*uses || least < uses/3 {
			t.Errorf("%d uses count as %d to %d", uses, least, most)
		}
	}
	d := new(region.Desc)
	d.Heat.Store(MaxHeat<<heatShift | markUsed)
	for range 10 * hitSample {
		touch(&p, d, 0)
	}
	if h := d.Heat.Load(); heatOf(d) != MaxHeat || h&markMask != markUsed {
		t.Errorf("the heat word of the hottest page became %#x", h)
	}
	p.CountUses(false)
	d = new(region.Desc)
	for range 1000 {
		touch(&p, d, 0)
	}
	if h := d.Heat.Load(); h != freqMask {
		t.Errorf("uses do not count, but the heat word became %#x, want %#x", h, freqMask)
	}
}

// TestHotPagesAreRarelyWrittenTo: a hit of a hot page writes to its word in about one of hitSample cases.
func TestHotPagesAreRarelyWrittenTo(t *testing.T) {
	var p Pool
	d := new(region.Desc)
	d.Heat.Store(sampledFrom<<heatShift | freqMask)
	const uses = 64000
	writes := 0
	for range uses {
		before := d.Heat.Load()
		if touch(&p, d, 0); d.Heat.Load() != before {
			writes++
		}
	}
	if most := uses / hitSample * 5 / 4; writes > most || writes < uses/hitSample*3/4 {
		t.Errorf("%d uses wrote to the heat word %d times, want about one in %d", uses, writes, hitSample)
	}
}

// TestHeatTellsPages is what a count is for. Rows that are read by zipf's law and spread over a table leave each page a few uses a minute,
// on top of a few hundred that have many. Loaded by the logarithm of their heat, the pages shall serve, however many of them are there, nearly as many reads as
// the truly hottest would. After a minute of four reads a page even an exact count does not know more than 0.95 of that.
func TestHeatTellsPages(t *testing.T) {
	const pages, perPage, reads = 20_000, 93, 4 * 20_000
	rng := rand.New(rand.NewPCG(7, 7))
	heats, sum := make([]float64, pages), 0.0
	for k, row := range rng.Perm(pages * perPage) {
		w := math.Pow(float64(k+1), -0.99)
		heats[row/perPage] += w
		sum += w
	}
	cum, at := make([]float64, pages), 0.0
	for i, h := range heats {
		at += h / sum
		cum[i] = at
	}
	var p Pool
	descs := make([]region.Desc, pages)
	for range reads {
		i, _ := slices.BinarySearch(cum, rng.Float64())
		i = min(i, pages-1)
		touch(&p, &descs[i], uint32(i))
	}
	byHeat, byCount := make([]int, pages), make([]int, pages)
	for i := range pages {
		byHeat[i], byCount[i] = i, i
	}
	slices.SortFunc(byHeat, func(a, b int) int { return cmp.Compare(heats[b], heats[a]) })
	slices.SortFunc(byCount, func(a, b int) int {
		return cmp.Or(cmp.Compare(bits.Len32(descs[b].Heat.Load()), bits.Len32(descs[a].Heat.Load())), cmp.Compare(a, b))
	})
	best, got := 0.0, 0.0
	for k := range pages {
		best, got = best+heats[byHeat[k]], got+heats[byCount[k]]
		if part := got / best; k >= pages/100 && part < 0.90 {
			t.Fatalf("the %d pages of the most heat serve %.3f of what the %d hottest would, want 0.90", k+1, part, k+1)
		}
	}
}
