package heat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// spreadZipf is the heat of pages whose rows are read by zipf's law, theta 0.99, the hot ones spread evenly over the table: the reads of each are its
// part of all.
func spreadZipf(rows, pages int) []float64 {
	heats, sum := make([]float64, pages), 0.0
	for k := range rows {
		page, _ := bits.Mul64(uint64(k)*0x9E3779B97F4A7C15, uint64(pages)) // by the golden section
		w := math.Pow(float64(k+1), -0.99)
		heats[page] += w
		sum += w
	}
	for i := range heats {
		heats[i] /= sum
	}
	return heats
}

// counted is the band of each page after so many reads of the table, counted exactly.
func counted(rng *rand.Rand, heats []float64, reads float64) []int {
	all, most := make([]int, len(heats)), 0
	for i, h := range heats {
		n, mean := 0, h*reads
		if mean > 50 {
			n = int(mean + math.Sqrt(mean)*rng.NormFloat64())
		} else {
			for p := rng.Float64(); p > math.Exp(-mean); p *= rng.Float64() {
				n++
			}
		}
		all[i] = bits.Len(uint(n))
		most = max(most, all[i])
	}
	for i := range all {
		all[i] = most - all[i]
	}
	return all
}

// TestLoadBesideArrivals: far more reads arrive than the disk answers. Those who wait are answered sooner with a load than without one, in any
// order, and whether heat is known or was counted in a minute.
func TestLoadBesideArrivals(t *testing.T) {
	const pages, perPage, rate, long = 71_000, 93, 20_000, 40
	heats := spreadZipf(pages*perPage, pages)
	bands := counted(rand.New(rand.NewPCG(7, 7)), heats, rate*15)
	var cold []second
	var alone int // seconds until all are answered without a load
	for _, c := range []struct {
		name  string
		order Order
		bands []int
	}{
		{name: "no load"},
		{name: "physical order", order: OrderPhysical},
		{name: "true heat", order: OrderHeat},
		{name: "counted heat", order: OrderHeat, bands: bands},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seconds []second
			synctest.Test(t, func(t *testing.T) {
				x := trial{pages: pages, readers: 64, rate: rate, theta: 0.99, table: heats, bands: c.bands, order: c.order, seconds: long, hit: 4 * time.Microsecond}
				x.disk = &throttle{iops: 3000, bytesPerSecond: 125e6, slice: 100 * time.Millisecond,
					below: &flash{latency: 90 * time.Microsecond, bytesPerSecond: 900e6, channels: make([]time.Time, 8)}}
				seconds, _ = x.run(t)
			})
			caught, done := long, 0
			for i, s := range seconds {
				if done += s.reads; caught == long && done >= (i+1)*rate*999/1000 {
					caught = i + 1
				}
				t.Logf("%3d %v", i+1, s)
			}
			if c.order == "" {
				cold, alone = seconds, caught
				return
			}
			if caught >= alone {
				t.Errorf("all are answered after %d s, without a load after %d", caught, alone)
			}
			for i, s := range seconds[:min(8, len(seconds), len(cold))] {
				if float64(s.reads) < 0.85*float64(cold[i].reads) {
					t.Errorf("second %d: %d reads, want 0.85 of the %d of a cold start", i+1, s.reads, cold[i].reads)
				}
			}
			t.Logf("all are answered after %d s, without a load after %d", caught, alone)
		})
	}
}
