package restart

import (
	"time"

	"github.com/hearthdb/hearth/internal/chart"
)

// Picture says how timelines are drawn side by side, the restart at zero.
type Picture struct {
	Title, Subtitle string
	Unit            string // "reads per second"
	LogY            bool
	From, To        float64 // seconds around the restart; both 0: all there is
	Mark            string  // what happened at zero

	// Window is what one point is the mean of; 0: a tick.
	Window time.Duration
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
		for _, pt := range s.rates(p.Window) {
			if p.From != p.To && (pt.X < p.From || pt.X > p.To) {
				continue
			}
			line.Points = append(line.Points, pt)
		}
		l.Lines = append(l.Lines, line)
	}
	return l
}

// rates is the throughput of each window, at its middle. A tick that came right after a late one is counted with its successor.
// Where no tick was measured, between the death of one process and the
// first word of the next, nothing was answered.
func (t *Timeline) rates(window time.Duration) (points []chart.Point) {
	least := max(int64(Every)/2, int64(window)-int64(Every)/2)
	at := func(ns int64) float64 { return float64(ns-t.Stop) / 1e9 }
	var done, begin int64
	for i, k := range t.Ticks {
		if i > 0 && k.Begin-t.Ticks[i-1].End > int64(Every)/2 {
			points = append(points, chart.Point{X: at(t.Ticks[i-1].End)}, chart.Point{X: at(k.Begin)})
			done, begin = 0, 0
		}
		if begin == 0 {
			begin = k.Begin
		}
		done += k.Done
		if k.End-begin < least && !(k.Begin < t.Stop && k.End >= t.Stop) { // no window reaches over the stop
			continue
		}
		points = append(points, chart.Point{X: at((begin + k.End) / 2), Y: float64(done) * 1e9 / float64(k.End-begin)})
		done, begin = 0, 0
	}
	return points
}
