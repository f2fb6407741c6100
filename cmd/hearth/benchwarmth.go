package main

import (
	"context"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
)

type benchWarmthVerb struct {
	measureFlags
	Parts     []string      `enum:"heat,dump-stall,prewarm,prewarm-floor" default:"heat,dump-stall,prewarm,prewarm-floor" help:"What to measure: heat (the cost of counting uses and of dumps), dump-stall, prewarm (alone, beside fio), prewarm-floor (beside readers)."`
	Size      size          `default:"2GiB" help:"Rows of the parts heat, prewarm and prewarm-floor; the pool is half as much again."`
	StallSize size          `default:"6GiB" help:"Rows of the part dump-stall, whose pages are a third more: 8 GiB."`
	Threads   int           `default:"2" help:"Readers of cached rows."`
	Readers   int           `default:"32" help:"Readers that saturate the disk."`
	Runs      int           `default:"5" help:"Runs of each; the median counts."`
	RunTime   time.Duration `default:"2s" help:"Length of one look."`
}

// What --quick makes of the flags: sizes that are loaded in seconds.
const (
	quickWarmthSize = 192 << 20
	quickWarmthTime = 400 * time.Millisecond
	quickWarmthRuns = 2
)

func (v *benchWarmthVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Size, v.StallSize, v.RunTime, v.Runs = quickWarmthSize, quickWarmthSize, quickWarmthTime, quickWarmthRuns
	}
	cfg := bench.WarmthConfig{
		Dir: v.Dir, Bytes: int64(v.Size), Threads: v.Threads, Readers: v.Readers, Runs: v.Runs, RunTime: v.RunTime, Seed: v.Seed,
	}
	stall := cfg
	stall.Bytes = int64(v.StallSize)
	return v.report(ctx, func(ctx context.Context, out bench.Output) error {
		for _, part := range []struct {
			name    string
			cfg     bench.WarmthConfig
			measure func(context.Context, bench.WarmthConfig, bench.Output) error
		}{
			{"heat", cfg, bench.HeatCost}, {"dump-stall", stall, bench.DumpStall},
			{"prewarm", cfg, bench.PrewarmAlone}, {"prewarm-floor", cfg, bench.PrewarmFloor},
		} {
			if !slices.Contains(v.Parts, part.name) {
				continue
			}
			if err := part.measure(ctx, part.cfg, out); err != nil {
				return err
			}
		}
		return nil
	})
}
