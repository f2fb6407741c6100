package chart

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// round ticks stand at multiples of 1, 2 or 5 times a power of ten, written short: 250, 10k, 1.5M.
type round struct{}

// roundAbout is how many ticks an axis has, about.
const roundAbout = 7

func (round) Ticks(lo, hi float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/roundAbout)))
	for _, n := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (hi-lo)/step <= roundAbout {
			break
		}
		step *= n
	}
	for n := math.Ceil(lo / step); n*step <= hi; n++ {
		at := n*step + 0 // no minus zero
		ticks = append(ticks, plot.Tick{Value: at, Label: short(at)})
	}
	return ticks
}

// decades are powers of ten, with small ticks between.
type decades struct{}

func (decades) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		at := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: at, Label: short(at)})
		for n := 2.0; n < 10; n++ {
			ticks = append(ticks, plot.Tick{Value: n * at})
		}
	}
	// A tick beyond the axis is not drawn, but room is kept for it.
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < lo*(1-tickSlack) || t.Value > hi*(1+tickSlack) })
}

// tickSlack: powers are not exact.
const tickSlack = 1e-9

// short writes a number with three digits and a letter for thousands.
func short(v float64) string {
	for _, u := range []struct {
		at   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.at {
			return strconv.FormatFloat(v/u.at, 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
