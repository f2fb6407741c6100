package restart

import (
	"github.com/hearthdb/hearth/internal/chart"
)

// Picture says how timelines are drawn side by side, the restart at zero.
type Picture struct {
	Title, Subtitle string
	Unit            string // "reads per second"
	LogY            bool
	From, To        float64 // seconds around the restart; both 0: all there is
	Mark            string  // what happened at zero
}

// Styled is a timeline with its place in the picture.
type Styled struct {
	*Timeline
	Label  string
	Color  chart.Color
	Dashed bool
}

// Lines makes the drawing: throughput over time, a point each smoothing window.
func (p Picture) Lines(all []Styled) chart.Lines {
	l := chart.Lines{
		Title: p.Title, Subtitle: p.Subtitle, X: "seconds since the restart began", Y: p.Unit, LogY: p.LogY, Floor: 10,
		Marks: []chart.Mark{{X: 0, Name: p.Mark}},
	}
	for _, s := range all {
		line := chart.Line{Name: s.Label, Color: s.Color, Dashed: s.Dashed}
		for _, pt := range s.rates() {
			if p.From != p.To && (pt.X < p.From || pt.X > p.To) {
				continue
			}
			line.Points = append(line.Points, pt)
		}
		l.Lines = append(l.Lines, line)
	}
	return l
}

// rates is the throughput of each tick, at its middle. Where no tick was measured, between the death of one process and the
// first word of the next, nothing was answered.
func (t *Timeline) rates() (points []chart.Point) {
	at := func(ns int64) float64 { return float64(ns-t.Stop) / 1e9 }
	for i, k := range t.Ticks {
		if i > 0 && k.Begin-t.Ticks[i-1].End > int64(Every)/2 {
			points = append(points, chart.Point{X: at(t.Ticks[i-1].End)}, chart.Point{X: at(k.Begin)})
		}
		points = append(points, chart.Point{X: at((k.Begin + k.End) / 2), Y: float64(k.Done) / k.seconds()})
	}
	return points
}
