package chart

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is one figure: the median of some runs, and the runs.
type Bar struct {
	Name  string // the system
	Color Color
	Value float64
	Runs  []float64 // drawn as dots
	Text  string    // the value, with its unit
}

// Group is a case that several systems were measured in.
type Group struct {
	Name string
	Bars []Bar
}

// Bars is a picture of horizontal bars, in groups, on a logarithmic axis: what is compared differs by orders of magnitude.
type Bars struct {
	Title, Subtitle string
	X               string // label with unit
	Floor           float64
	Groups          []Group
}

// Save draws into the four files of base, see Lines.Save.
func (b Bars) Save(base string) error { return saveAll(base, b.height(), b.draw) }

// height is lower than that of other pictures where few bars would leave half of it empty.
func (b Bars) height() vg.Length {
	_, slots := b.rows()
	return min(height, vg.Points(headRoom+axisRoom+2*margin+barMost*slots))
}

// rows are the bars; slots count the gaps between their groups, too.
func (b Bars) rows() (rows int, slots float64) {
	for _, g := range b.Groups {
		rows += len(g.Bars)
	}
	return rows, float64(rows) + groupGap*float64(len(b.Groups))
}

// Layout of bars, in points.
const (
	barLeast  = 6
	barMost   = 18
	groupGap  = 1.3 // bars
	barText   = 8
	axisRoom  = 26
	valueRoom = 96
	headRoom  = 100 // title, subtitle and legend
)

func (b Bars) draw(c draw.Canvas, t theme) error {
	most := b.Floor
	var keys []key
	seen := map[string]bool{}
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			most = max(most, bar.Value)
			for _, v := range bar.Runs {
				most = max(most, v)
			}
			if !seen[bar.Name] {
				seen[bar.Name] = true
				keys = append(keys, key{bar.Name, draw.LineStyle{Color: t.series[bar.Color], Width: vg.Points(4)}})
			}
		}
	}
	rows, slots := b.rows()
	if rows == 0 {
		return ErrEmpty
	}
	c = head(c, t, b.Title, b.Subtitle, keys)
	label := t.text(labelSize, t.ink)
	var names vg.Length
	for _, g := range b.Groups {
		names = max(names, label.Width(g.Name))
	}
	area := draw.Crop(c, names+vg.Points(10), -vg.Points(valueRoom), vg.Points(axisRoom), -vg.Points(4))
	lo, hi := math.Log10(b.Floor), math.Ceil(math.Log10(most*1.0001))
	at := func(v float64) vg.Length {
		part := (math.Log10(max(v, b.Floor)) - lo) / max(1, hi-lo)
		return area.Min.X + vg.Length(part)*(area.Max.X-area.Min.X)
	}
	soft := t.text(barText, t.soft)
	for e := lo; e <= hi; e++ {
		x := at(math.Pow(10, e))
		area.StrokeLine2(draw.LineStyle{Color: t.net, Width: vg.Points(0.6)}, x, area.Min.Y, x, area.Max.Y)
		s := short(math.Pow(10, e))
		area.FillText(soft, vg.Point{X: x - soft.Width(s)/2, Y: area.Min.Y - vg.Points(barText+3)}, s)
	}
	area.FillText(soft, vg.Point{X: (area.Min.X + area.Max.X - soft.Width(b.X)) / 2, Y: area.Min.Y - vg.Points(2*barText+6)}, b.X)
	h := min(vg.Points(barMost), max(vg.Points(barLeast), (area.Max.Y-area.Min.Y)/vg.Length(slots)))
	y := area.Max.Y
	for _, g := range b.Groups {
		y -= h * vg.Length(groupGap) / 2
		middle := y - h*vg.Length(len(g.Bars))/2 - vg.Points(labelSize*0.35)
		area.FillText(label, vg.Point{X: c.Min.X, Y: middle}, g.Name)
		for _, bar := range g.Bars {
			b.bar(area, t, bar, at, y, h)
			y -= h
		}
		y -= h * vg.Length(groupGap) / 2
	}
	return nil
}

// bar draws one between its upper edge y and y-h.
func (b Bars) bar(area draw.Canvas, t theme, bar Bar, at func(float64) vg.Length, y, h vg.Length) {
	end := at(bar.Value)
	upper, lower := y-h*0.12, y-h*0.88
	area.FillPolygon(t.series[bar.Color], []vg.Point{{X: area.Min.X, Y: lower}, {X: end, Y: lower}, {X: end, Y: upper}, {X: area.Min.X, Y: upper}})
	far := end
	if len(bar.Runs) > 1 {
		for _, v := range bar.Runs {
			far = max(far, at(v))
			area.DrawGlyph(draw.GlyphStyle{Color: t.ink, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}, vg.Point{X: at(v), Y: y - h/2})
		}
	}
	area.FillText(t.text(barText, t.ink), vg.Point{X: far + vg.Points(5), Y: y - h/2 - vg.Points(barText*0.35)}, bar.Text)
}
