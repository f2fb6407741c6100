package chart

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// svgCanvas is gonum's, for readers whose machine lacks the font that all was measured with: other fonts are named, and each text says
// how wide it is, so that what stands beside it stays beside it. (Embedding the font would make a picture of 10 KB one of 1 MB.)
type svgCanvas struct {
	*vgsvg.Canvas
	widths []vg.Length // of the texts, in order
}

func newSVG(w, h vg.Length) *svgCanvas { return &svgCanvas{Canvas: vgsvg.New(w, h)} }

// FillString notes how wide the text is.
func (c *svgCanvas) FillString(f font.Face, at vg.Point, s string) {
	c.widths = append(c.widths, f.Width(s))
	c.Canvas.FillString(f, at, s)
}

// What gonum writes, and what is made of it. Arial and Helvetica are as wide as Liberation Sans, glyph by glyph.
const (
	svgText     = "<text "
	svgFamily   = "font-family:Liberation Sans;"
	svgFamilies = "font-family:Liberation Sans,Arial,Helvetica,sans-serif;"
)

// WriteTo writes the picture.
func (c *svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var drawn bytes.Buffer
	if _, err := c.Canvas.WriteTo(&drawn); err != nil {
		return 0, err
	}
	parts := strings.Split(drawn.String(), svgText) // what is written is escaped: there is no other such word
	if len(parts) != len(c.widths)+1 {
		panic(fmt.Sprintf("BUG: texts of a picture: got %d, want %d", len(parts)-1, len(c.widths)))
	}
	var out strings.Builder
	out.WriteString(parts[0])
	for i, part := range parts[1:] {
		fmt.Fprintf(&out, `%stextLength="%.4g" lengthAdjust="spacingAndGlyphs" %s`, svgText, c.widths[i].Points(), strings.Replace(part, svgFamily, svgFamilies, 1))
	}
	n, err := io.WriteString(w, out.String())
	return int64(n), err
}
