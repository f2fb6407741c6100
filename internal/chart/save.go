package chart

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Size of a picture; a PNG has pngDPI/72 pixels a point.
const (
	width       = 9 * vg.Inch
	height      = 5 * vg.Inch
	panelHeight = 2 * vg.Inch // of each panel below
	pngDPI      = 144
)

// saveAll draws on both papers, as SVG and PNG.
func saveAll(base string, height vg.Length, paint func(draw.Canvas, theme) error) error {
	base = strings.TrimSuffix(strings.TrimSuffix(base, ".svg"), ".png")
	for _, t := range themes {
		svg := newSVG(width, height)
		if err := paint(draw.New(svg), t); err != nil {
			return err
		}
		if err := write(base+t.suffix+".svg", svg); err != nil {
			return err
		}
		img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
		if err := paint(draw.New(img), t); err != nil {
			return err
		}
		if err := write(base+t.suffix+".png", vgimg.PngCanvas{Canvas: img}); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, picture io.WriterTo) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	_, err = picture.WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("picture %s: %w", name, err)
	}
	return nil
}
