package chart

import (
	"image/color"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Layout, in points.
const (
	margin       = 14
	titleSize    = 13
	subtitleSize = 8.5
	keySize      = 8.5
	labelSize    = 8.5
	lineGap      = 1.45 // of a text's size
)

// key is a line of the legend.
type key struct {
	name  string
	style draw.LineStyle
}

func (t theme) text(size float64, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		Handler: plot.DefaultTextHandler,
	}
}

// head writes title, subtitle and legend, and returns the canvas that is left for the drawing.
func head(c draw.Canvas, t theme, title, subtitle string, keys []key) draw.Canvas {
	c.SetColor(t.paper)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, vg.Points(margin), -vg.Points(margin), vg.Points(margin), -vg.Points(margin))
	y := c.Max.Y
	put := func(s string, size float64, col color.Color, bold bool) {
		style := t.text(size, col)
		if bold {
			style.Font.Weight = xfont.WeightBold
		}
		for _, line := range wrap(s, func(s string) bool { return style.Width(s) <= c.Max.X-c.Min.X }) {
			y -= vg.Points(size)
			c.FillText(style, vg.Point{X: c.Min.X, Y: y}, line)
			y -= vg.Points(size * (lineGap - 1))
		}
	}
	put(title, titleSize, t.ink, true)
	y -= vg.Points(1)
	put(subtitle, subtitleSize, t.soft, false)
	y -= vg.Points(keySize + 4)
	x, style := c.Min.X, t.text(keySize, t.ink)
	for _, k := range keys {
		w := vg.Points(22) + style.Width(k.name) + vg.Points(14)
		if x > c.Min.X && x+w > c.Max.X {
			x = c.Min.X
			y -= vg.Points(keySize * lineGap)
		}
		mid := y + vg.Points(keySize*0.35)
		k.style.Width *= 1.4
		c.StrokeLine2(k.style, x, mid, x+vg.Points(17), mid)
		c.FillText(style, vg.Point{X: x + vg.Points(22), Y: y}, k.name)
		x += w
	}
	y -= vg.Points(4)
	return draw.Crop(c, 0, 0, 0, y-c.Max.Y)
}

// wrap breaks s between words so that each line fits. A no-break space (U+00A0) is not between words: "93 %" stays together.
func wrap(s string, fits func(string) bool) (lines []string) {
	now := ""
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' }) {
		if next := strings.TrimSpace(now + " " + word); now == "" || fits(next) {
			now = next
			continue
		}
		lines, now = append(lines, now), word
	}
	if now != "" {
		lines = append(lines, now)
	}
	return lines
}

// dressAxis gives an axis its look.
func dressAxis(a *plot.Axis, t theme, label string) {
	a.Label.Text = label
	style := t.text(labelSize, t.soft)
	keep := a.Label.TextStyle
	keep.Color, keep.Font = style.Color, style.Font
	a.Label.TextStyle = keep
	tick := a.Tick.Label
	tick.Color, tick.Font = style.Color, style.Font
	a.Tick.Label = tick
	a.LineStyle.Color, a.Tick.LineStyle.Color = t.soft, t.soft
	a.Padding = vg.Points(2)
}
