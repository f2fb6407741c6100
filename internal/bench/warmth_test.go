package bench

import (
	"context"
	"testing"
	"time"
)

// What warmth costs and gives is measured of a small database, each figure is there, and nothing stays behind. Not how large they
// are: this is a test.
func TestWarmth(t *testing.T) {
	for _, c := range []struct {
		name    string
		measure func(context.Context, WarmthConfig, Output) error
		results int
	}{
		{"heat", HeatCost, 6},
		{"dump-stall", DumpStall, 7},
		{"prewarm", PrewarmAlone, 1}, // and those of fio, if there is one
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name == "prewarm" {
				t.Skip("fio takes seconds")
			}
			dir := t.TempDir()
			out, results := collect(t)
			cfg := WarmthConfig{Dir: dir, Bytes: 8 << 20, Threads: 2, Readers: 4, Runs: 1, RunTime: 40 * time.Millisecond, Seed: 1}
			if err := c.measure(t.Context(), cfg, out); err != nil {
				t.Fatal(err)
			}
			nothingLeft(t, dir)
			if len(*results) < c.results {
				t.Errorf("%d results, want %d", len(*results), c.results)
			}
			for _, r := range *results {
				if len(r.Runs) != cfg.Runs {
					t.Errorf("%+v: want %d runs", r, cfg.Runs)
				}
			}
		})
	}
}
