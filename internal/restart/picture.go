package restart

import (
	"fmt"
	"math"
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

	// Percentile of the latencies, of each second, in a panel under the throughput; 0: none.
	Percentile float64

	Below []Below
}

// leastMilliseconds is where the axis of latencies begins.
const leastMilliseconds = 0.1

// Below is a fact of the server that is drawn under the throughput.
type Below struct {
	Fact  string // of Tick.Facts
	Label string // with unit
	Rate  bool   // it only grows: draw what it grows by a second
	Share bool   // draw it in percent of the last value before the restart
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
	l.Lines = p.lines(all, func(t *Timeline) []chart.Point { return t.rates(p.Window) })
	if p.Percentile > 0 {
		l.Below = append(l.Below, chart.Panel{
			Y: fmt.Sprintf("p%g of latency, ms (log.)", p.Percentile), LogY: true, Floor: leastMilliseconds,
			Lines: p.lines(all, func(t *Timeline) []chart.Point { return t.latencies(p.Percentile) }),
		})
	}
	for _, b := range p.Below {
		l.Below = append(l.Below, chart.Panel{Y: b.Label, Lines: p.lines(all, b.points)})
	}
	return l
}

// lines are those of all timelines, within the picture.
func (p Picture) lines(all []Styled, points func(*Timeline) []chart.Point) (lines []chart.Line) {
	for _, s := range all {
		line := chart.Line{Name: s.Label, Color: s.Color, Dashed: s.Dashed}
		for _, pt := range points(s.Timeline) {
			if p.From != p.To && (pt.X < p.From || pt.X > p.To) {
				continue
			}
			line.Points = append(line.Points, pt)
		}
		lines = append(lines, line)
	}
	return lines
}

// factGap: facts further apart are not joined; the server was away.
const factGap = 4 * time.Second

// points of a fact over time. Where a count falls, a new process has begun to count.
func (b Below) points(t *Timeline) (points []chart.Point) {
	var at int64
	var last float64
	whole := 100.0
	if b.Share {
		whole, _ = t.FactBefore(b.Fact)
	}
	for _, k := range t.Ticks {
		v, ok := k.Facts[b.Fact]
		if !ok || whole == 0 || k.End > t.Stop && k.Begin < t.Launched { // asked for before the stop, and answered by the old process
			continue
		}
		v *= 100 / whole
		x := float64(k.End-t.Stop) / 1e9
		away := at != 0 && (k.End-at > int64(factGap) || at < t.Stop && k.End >= t.Stop)
		if away {
			points = append(points, chart.Point{X: x, Y: math.NaN()})
		}
		switch {
		case !b.Rate:
			points = append(points, chart.Point{X: x, Y: v})
		case at != 0 && !away && v >= last:
			points = append(points, chart.Point{X: x, Y: (v - last) * 1e9 / float64(k.End-at)})
		}
		at, last = k.End, v
	}
	return points
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

// latencies are a percentile of each second, in milliseconds, at its middle. A second without an answer is a gap.
func (t *Timeline) latencies(percentile float64) (points []chart.Point) {
	for _, s := range t.Seconds() {
		p := chart.Point{X: float64(s.Start) + 0.5, Y: math.NaN()}
		from := time.Duration(s.Start) * time.Second
		if took, ok := t.Latency(percentile, from, from+time.Second); ok {
			p.Y = float64(took) / float64(time.Millisecond)
		}
		points = append(points, p)
	}
	return points
}
