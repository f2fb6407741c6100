package bench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// zipf draws from [0,n) so that number k comes up in proportion to 1/(k+1)^theta, for
// theta below 1, which math/rand cannot. The method is of Gray et al., "Quickly
// Generating Billion-Record Synthetic Databases" (1994); YCSB uses the same. Different
// from YCSB, drawn numbers are spread over the table by a multiplicative step, not a
// hash, so that no two of them fall onto the same row; or they count from the newest row
// back, which is YCSB's "latest".
type zipf struct {
	n                 int
	theta             float64
	alpha, zetan, eta float64
	half              float64
	step              int
	newest            bool // number k is the row k before the last, instead of one anywhere
}

// newSpread draws the rows of a restart's load; nil where all are alike.
func newSpread(spread string, n int) *zipf {
	if spread != SpreadZipf && spread != SpreadLatest {
		return nil
	}
	z := newZipf(n, restartTheta)
	z.newest = spread == SpreadLatest
	return z
}

func newZipf(n int, theta float64) *zipf {
	// Beyond the first terms the sum is as good as its integral: a child that is to answer soon cannot add up millions.
	const exact = 100_000
	zeta := func(n int) (sum float64) {
		for i := 1; i <= min(n, exact); i++ {
			sum += math.Pow(float64(i), -theta)
		}
		if n > exact {
			sum += (math.Pow(float64(n)+0.5, 1-theta) - math.Pow(exact+0.5, 1-theta)) / (1 - theta)
		}
		return sum
	}
	z := &zipf{n: n, theta: theta, alpha: 1 / (1 - theta), zetan: zeta(n), half: 1 + math.Pow(0.5, theta)}
	z.eta = (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta(2)/z.zetan)
	z.step = coprimeStep(n)
	return z
}

func (z *zipf) draw(rnd *rand.Rand) int {
	u := rnd.Float64()
	var k int
	switch uz := u * z.zetan; {
	case uz < 1:
		k = 0
	case uz < z.half:
		k = 1
	default:
		k = int(float64(z.n) * math.Pow(z.eta*u-z.eta+1, z.alpha))
	}
	return z.row(min(k, z.n-1))
}

// row is where number k lies in the table.
func (z *zipf) row(k int) int {
	if z.newest {
		return z.n - 1 - k
	}
	return int(uint64(k) * uint64(z.step) % uint64(z.n))
}

// pages is the part of the draws that falls onto each page of a table with so many rows a page, from hot to cold.
func (z *zipf) pages(rows float64) []float64 {
	heats := make([]float64, int(float64(z.n)/rows)+1)
	for k := range z.n {
		heats[int(float64(z.row(k))/rows)] += math.Pow(float64(k+1), -z.theta) / z.zetan
	}
	slices.SortFunc(heats, func(a, b float64) int { return cmp.Compare(b, a) })
	return heats
}

// coprimeStep is near the golden section of n and shares no factor with it, so that its
// multiples visit every number below n once, and neighbours end up far apart.
func coprimeStep(n int) int {
	for step := int(float64(n)*0.6180339887) | 1; ; step++ {
		a, b := n, step
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return step
		}
	}
}
