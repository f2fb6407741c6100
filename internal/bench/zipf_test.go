package bench

import (
	"math"
	"testing"
)

// Draws follow the law: number k comes up 1/(k+1)^theta times as often as number 0, wherever it lies.
func TestZipf(t *testing.T) {
	const n, draws = 10_000, 1_000_000
	for _, spread := range []string{SpreadZipf, SpreadLatest} {
		z, rnd := newSpread(spread, n), newRand(1, 0)
		count := make([]int, n)
		for range draws {
			count[z.draw(rnd)]++
		}
		for _, k := range []int{0, 1, 9, 99} {
			row := k * z.step % n
			if spread == SpreadLatest {
				row = n - 1 - k
			}
			got := float64(count[row])
			want := draws / z.zetan / math.Pow(float64(k+1), restartTheta)
			if math.Abs(got-want) > 0.15*want+5*math.Sqrt(want) {
				t.Errorf("%s, number %d: %.0f draws, want about %.0f", spread, k, got, want)
			}
		}
	}
}

func TestCoprimeStepVisitsAll(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 997, 1000, 65536} {
		step, seen := coprimeStep(n), make([]bool, n)
		for k := range n {
			seen[k*step%n] = true
		}
		for i, ok := range seen {
			if !ok {
				t.Fatalf("n=%d, step %d: %d is never visited", n, step, i)
			}
		}
	}
}

// The sum that a law is scaled by is exact enough where most of it is an integral.
func TestZipfScale(t *testing.T) {
	const n = 1_000_000
	var want float64
	for i := 1; i <= n; i++ {
		want += math.Pow(float64(i), -restartTheta)
	}
	if got := newZipf(n, restartTheta).zetan; math.Abs(got-want) > 1e-9*want {
		t.Errorf("got %.12f, want %.12f", got, want)
	}
}
