package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// thousands are round numbers, written short: 250, 10k, 1.5M.
type thousands struct{}

func (thousands) Ticks(lo, hi float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = short(ticks[i].Value)
		}
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
	return ticks
}

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
