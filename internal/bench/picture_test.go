package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The picture says the median of the slowest pool, and has a dot for each kill and InnoDB beside it.
func TestAttachPicture(t *testing.T) {
	bars := attachBars([]attachedPool{
		{bytes: 4 << 30, dirty: 240_275, log: 1 << 30, firstMs: []float64{302, 33.05, 34.76, 42.1, 120.46}, medianMs: 42.1},
		{bytes: 8 << 30, dirty: 240_055, log: 1 << 30, firstMs: []float64{153.11, 63.01, 56.67, 91.18, 64}, medianMs: 64},
	})
	if got, want := strings.ReplaceAll(bars.Title, unit, " "), "After kill -9, hearth answers in 0.06 s, with every page where it was"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	base := filepath.Join(t.TempDir(), "attach")
	if err := bars.Save(base); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(base + "-dark.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"pool of 8 GiB, full", "240,055 changed pages", "36\u00a0s", "seconds from starting"} {
		if !strings.Contains(string(svg), word) {
			t.Errorf("the picture lacks %q", word)
		}
	}
	if runs := len(bars.Groups[0].Bars[0].Runs); len(bars.Groups) != 3 || runs != 5 {
		t.Errorf("got %d groups, %d runs, want 3 and 5", len(bars.Groups), runs)
	}
}
