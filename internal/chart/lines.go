package chart

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point of a line, in the units of the axes.
type Point struct{ X, Y float64 }

// Line is one series. A point that is NaN breaks it.
type Line struct {
	Name   string
	Color  Color
	Dashed bool
	Points []Point
}

// Mark is a vertical line with a word: something happened at X.
type Mark struct {
	X    float64
	Name string
}

// Lines is a picture of lines over a common X axis.
type Lines struct {
	Title    string // the finding, in a sentence
	Subtitle string // what was measured, and how
	X, Y     string // labels with units
	LogY     bool   // then what is below Floor is drawn at Floor
	Floor    float64
	Lines    []Line
	Marks    []Mark
	Below    []Panel // under it, over the same X axis
}

// Panel is a second picture of the same time: a counter beside what it explains. Its lines are those of the legend.
type Panel struct {
	Y     string // label with unit
	LogY  bool
	Floor float64 // as in Lines
	Lines []Line
}

// ErrEmpty: there is nothing to draw.
var ErrEmpty = errors.New("picture: nothing was measured")

// Save draws into base.svg, base.png, base-dark.svg and base-dark.png; a suffix .svg or .png of base is cut off.
func (l Lines) Save(base string) error {
	h := height
	for _, p := range l.Below {
		if p.drawable() {
			h += panelHeight
		}
	}
	return saveAll(base, h, l.draw)
}

// drawable: somebody has this counter.
func (p Panel) drawable() bool {
	for _, line := range p.Lines {
		if len((Lines{}).parts(line)) > 0 {
			return true
		}
	}
	return false
}

func (l Lines) draw(c draw.Canvas, t theme) error {
	p, err := l.plot(t)
	if err != nil {
		return err
	}
	var keys []key
	for _, line := range l.Lines {
		keys = append(keys, key{line.Name, t.stroke(line)})
	}
	plots := []*plot.Plot{p}
	for _, panel := range l.Below {
		if !panel.drawable() {
			continue
		}
		below, err := Lines{X: l.X, Y: panel.Y, LogY: panel.LogY, Floor: panel.Floor, Lines: panel.Lines, Marks: unnamed(l.Marks)}.plot(t)
		if err != nil {
			return err
		}
		below.X.Min, below.X.Max = p.X.Min, p.X.Max
		plots = append(plots, below)
	}
	stack(head(c, t, l.Title, l.Subtitle, keys), plots)
	return nil
}

// unnamed are the same moments under a picture that names them.
func unnamed(marks []Mark) (moments []Mark) {
	for _, m := range marks {
		moments = append(moments, Mark{X: m.X})
	}
	return moments
}

// stack draws plots one below the other, their X axes in line; only the last one names its axis.
func stack(c draw.Canvas, plots []*plot.Plot) {
	for _, p := range plots[:len(plots)-1] {
		p.X.Label.Text = ""
	}
	canvases := make([]draw.Canvas, len(plots))
	bottom, left, right := c.Min.Y, c.Min.X, c.Max.X // of the data
	for i := len(plots) - 1; i >= 0; i-- {
		top := bottom + panelHeight
		if i == 0 {
			top = c.Max.Y
		}
		canvases[i] = draw.Crop(c, 0, 0, bottom-c.Min.Y, top-c.Max.Y)
		bottom = top
		data := plots[i].DataCanvas(canvases[i])
		left, right = max(left, data.Min.X), min(right, data.Max.X)
	}
	for i, p := range plots {
		data := p.DataCanvas(canvases[i])
		p.Draw(draw.Crop(canvases[i], left-data.Min.X, right-data.Max.X, 0, 0))
	}
}

func (l Lines) plot(t theme) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = t.paper
	dressAxis(&p.X, t, l.X)
	dressAxis(&p.Y, t, l.Y)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = t.net, t.net
	p.Add(grid)
	drawn := false
	for _, line := range l.Lines {
		for _, part := range l.parts(line) {
			d, err := plotter.NewLine(part)
			if err != nil {
				return nil, fmt.Errorf("picture: line %q: %w", line.Name, err)
			}
			d.LineStyle = t.stroke(line)
			p.Add(d)
			drawn = true
		}
	}
	if !drawn {
		return nil, ErrEmpty
	}
	p.X.Tick.Marker = round{}
	if l.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
		p.Y.Min = l.Floor
		p.Y.Max = max(10*l.Floor, math.Pow(10, math.Ceil(math.Log10(p.Y.Max)))) // a decade at least, when all lies at the floor
	} else {
		p.Y.Min = min(0, p.Y.Min)
		if p.Y.Max *= 1.05; p.Y.Max == 0 { // nothing but zeros: without this the axis goes from -1 to 1
			p.Y.Max = 1
		}
		p.Y.Tick.Marker = round{}
	}
	for _, m := range l.Marks {
		p.Add(drawnMark{m, t})
	}
	return p, nil
}

// parts cuts a line at its NaNs and lifts what lies below the floor of a logarithmic axis.
func (l Lines) parts(line Line) (parts []plotter.XYs) {
	var now plotter.XYs
	flush := func() {
		if len(now) > 0 {
			parts = append(parts, now)
		}
		now = nil
	}
	for _, p := range line.Points {
		if math.IsNaN(p.X) || math.IsNaN(p.Y) {
			flush()
			continue
		}
		if l.LogY {
			p.Y = max(p.Y, l.Floor)
		}
		now = append(now, plotter.XY{X: p.X, Y: p.Y})
	}
	flush()
	return parts
}

// stroke is how a line is drawn.
func (t theme) stroke(l Line) draw.LineStyle {
	s := draw.LineStyle{Color: t.series[l.Color], Width: vg.Points(1.6)}
	if l.Dashed {
		s.Dashes = []vg.Length{vg.Points(4), vg.Points(2.5)}
	}
	return s
}

// drawnMark draws a Mark over the whole height.
type drawnMark struct {
	Mark
	t theme
}

func (m drawnMark) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	x := toX(m.X)
	if x < c.Min.X || x > c.Max.X {
		return
	}
	c.StrokeLine2(draw.LineStyle{Color: m.t.soft, Width: vg.Points(0.8), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}, x, c.Min.Y, x, c.Max.Y)
	c.FillText(m.t.text(8, m.t.soft), vg.Point{X: x + vg.Points(3), Y: c.Max.Y - vg.Points(9)}, m.Name)
}
