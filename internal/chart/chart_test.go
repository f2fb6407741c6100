package chart

import (
	"errors"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func sample() Lines {
	var kept, dump, cold []Point
	for s := -10.0; s <= 60; s++ {
		kept = append(kept, Point{s, 85_000})
		dump = append(dump, Point{s, min(85_000, 3_000+max(0, s)*2_500)})
		cold = append(cold, Point{s, 3_000 + max(0, s)*400})
	}
	cold[20].Y = math.NaN()
	return Lines{
		Title:    "A restart that nobody noticed: with its memory kept, hearth answers at full speed at once",
		Subtitle: "16 readers, 3.6 GB of rows, uniform; disk held to 3,000 IOPS and 125 MB/s; kill -9 at zero",
		X:        "seconds since the kill", Y: "reads per second", LogY: true, Floor: 100,
		Lines: []Line{{"memory kept", Hearth, false, kept}, {"heat dump", Dump, false, dump}, {"cold", Cold, true, cold}},
		Marks: []Mark{{0, "kill -9"}},
	}
}

func TestSaveWritesLightAndDark(t *testing.T) {
	base := filepath.Join(t.TempDir(), "restart")
	if err := sample().Save(base + ".svg"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "-dark"} {
		svg, err := os.ReadFile(base + name + ".svg")
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"nobody noticed", "memory kept", "kill -9", "seconds since the kill"} {
			if !strings.Contains(string(svg), word) {
				t.Errorf("%s.svg lacks %q", name, word)
			}
		}
		f, err := os.Open(base + name + ".png")
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := img.Bounds().Dx(), int(float64(width)/72*pngDPI); got != want {
			t.Errorf("%s.png is %d pixels wide, want %d", name, got, want)
		}
	}
}

// Where the font is not there another one is as wide: no text reaches into its neighbour or over the edge.
func TestTextsOfAnSVGSayHowWideTheyAre(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	if err := sample().Save(base); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(base + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.Split(string(svg), "<text ")[1:]
	if len(texts) < 10 {
		t.Fatalf("got %d texts", len(texts))
	}
	for _, text := range texts {
		text, _, _ = strings.Cut(text, "</text>")
		var wide float64
		if n, err := fmt.Sscanf(text, `textLength="%g" lengthAdjust="spacingAndGlyphs"`, &wide); n != 1 || wide <= 0 || wide > float64(width) {
			t.Errorf("no width in %q: %v", text, err)
		}
		if !strings.Contains(text, ",sans-serif;") {
			t.Errorf("no other font in %q", text)
		}
	}
}

func TestNothingToDrawIsAnError(t *testing.T) {
	l := sample()
	for i := range l.Lines {
		l.Lines[i].Points = []Point{{1, math.NaN()}}
	}
	if err := l.Save(filepath.Join(t.TempDir(), "x")); !errors.Is(err, ErrEmpty) {
		t.Fatalf("got %v, want ErrEmpty", err)
	}
}

func TestANaNBreaksALine(t *testing.T) {
	l := sample()
	if got := len(l.parts(l.Lines[2])); got != 2 {
		t.Fatalf("got %d parts, want 2", got)
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 250: "250", 10_000: "10k", 1_500_000: "1.5M", 2e9: "2G"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestRoundTicks(t *testing.T) {
	for _, x := range []struct {
		lo, hi float64
		want   string
	}{{-2, 5, "-2 -1 0 1 2 3 4 5"}, {-10, 60, "-10 0 10 20 30 40 50 60"}, {0, 85_000, "0 20k 40k 60k 80k"}} {
		var got []string
		for _, k := range (round{}).Ticks(x.lo, x.hi) {
			got = append(got, k.Label)
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("from %v to %v: got %v, want %s", x.lo, x.hi, got, x.want)
		}
	}
}

// Nothing beyond the ends of the axis: room would be kept for it.
func TestDecades(t *testing.T) {
	var labels []string
	ticks := (decades{}).Ticks(0.1, 1000)
	for _, k := range ticks {
		if k.Label != "" {
			labels = append(labels, k.Label)
		}
	}
	if got := strings.Join(labels, " "); got != "0.1 1 10 100 1k" || len(ticks) != 4*9+1 {
		t.Errorf("got %d ticks, labels %s, want 37, 0.1 1 10 100 1k", len(ticks), got)
	}
}

// A panel below is drawn over the same X axis, and one without data is left out.
func TestPanelsBelow(t *testing.T) {
	l := sample()
	l.Below = []Panel{{Y: "dirty pages", Lines: l.Lines}, {Y: "of nobody", Lines: nil}}
	base := filepath.Join(t.TempDir(), "x")
	if err := l.Save(base); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(base + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	if s := string(svg); !strings.Contains(s, "dirty pages") || strings.Contains(s, "of nobody") || strings.Count(s, "seconds since the kill") != 1 {
		t.Error("want the panel of dirty pages, no other, and the time named once")
	}
	if n := strings.Count(string(svg), "kill -9"); n != 2 {
		t.Errorf("the kill is named %d times, want once in the subtitle and once at its mark: a name over the lines of a low panel hides them", n)
	}
}

func TestBars(t *testing.T) {
	b := Bars{
		Title: "hearth is dark for 0.1 s, InnoDB for 36 s", Subtitle: "kill -9", X: "seconds (logarithmic)", Floor: 0.01,
		Groups: []Group{{"4,000 updates/s, uniform", []Bar{{"hearth", Hearth, 0.1, []float64{0.09, 0.1, 0.12}, "0.1 s"}, {"InnoDB", InnoDB, 36, nil, "36 s"}}}},
	}
	base := filepath.Join(t.TempDir(), "x")
	if err := b.Save(base); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(base + "-dark.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"hearth is dark", "36 s", "4,000 updates/s", "seconds (logarithmic)"} {
		if !strings.Contains(string(svg), word) {
			t.Errorf("lacks %q", word)
		}
	}
	if err := (Bars{}).Save(base); !errors.Is(err, ErrEmpty) {
		t.Errorf("got %v, want ErrEmpty", err)
	}
}

func TestFewBarsMakeALowPicture(t *testing.T) {
	group := Group{"case", make([]Bar, 3)}
	few, many := Bars{Groups: []Group{group}}, Bars{Groups: []Group{group, group, group, group, group}}
	if got := few.height(); got >= height || got < vg.Points(headRoom+3*barMost) {
		t.Errorf("three bars: got %v, want less than %v", got, height)
	}
	if got := many.height(); got != height {
		t.Errorf("fifteen bars: got %v, want %v", got, height)
	}
}

func TestWrapKeepsANumberWithItsUnit(t *testing.T) {
	got := wrap("memory kept 93\u00a0% of all", func(s string) bool { return len([]rune(s)) <= 14 })
	if want := []string{"memory kept", "93\u00a0% of all"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALogarithmicAxisHasADecadeAtLeast(t *testing.T) {
	p, err := Lines{X: "s", Y: "ms", LogY: true, Floor: 0.1, Lines: []Line{{"quick", Hearth, false, []Point{{0, 0.01}, {9, 0.1}}}}}.plot(themes[0])
	if err != nil {
		t.Fatal(err)
	}
	if p.Y.Min != 0.1 || p.Y.Max != 1 {
		t.Errorf("got an axis from %v to %v, want 0.1 to 1", p.Y.Min, p.Y.Max)
	}
}

func TestAnAxisOfZerosBeginsAtZero(t *testing.T) {
	p, err := Lines{X: "s", Y: "pages", Lines: []Line{{"idle", Hearth, false, []Point{{0, 0}, {9, 0}}}}}.plot(themes[0])
	if err != nil {
		t.Fatal(err)
	}
	if p.Y.Min != 0 || p.Y.Max != 1 {
		t.Errorf("got an axis from %v to %v, want 0 to 1", p.Y.Min, p.Y.Max)
	}
}
