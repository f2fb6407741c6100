package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
)

type benchReplayVerb struct {
	measureFlags
	Parts       []string      `enum:"${replayParts}" default:"${replayParts}" help:"What to measure: ${replayParts}."`
	Connections int           `default:"16" help:"Connections of the replayer, and of sysbench."`
	Entries     int           `default:"400000" help:"Entries of the logs that are replayed as fast as can be."`
	Runs        int           `default:"5" help:"Runs of each case that takes turns; the median counts."`
	Rows        int           `default:"250000" help:"Rows in each of sysbench's four tables."`
	RunTime     time.Duration `default:"10s" help:"Length of one run of a load."`
	Stall       time.Duration `default:"30s" help:"How long the target stands still in the part stall."`
	PairPool    size          `default:"512MiB" help:"Pools of the servers of the parts pair-sysbench and pair-tpcc."`
	PairTime    time.Duration `default:"30s" help:"How long the pair works before its pools are compared."`
}

// What --quick makes of the flags.
const (
	quickReplayEntries = 40_000
	quickReplayRows    = 20_000
	quickReplayTime    = 3 * time.Second
	quickReplayStall   = 5 * time.Second
	quickReplayPair    = 8 * time.Second
)

func (v *benchReplayVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Entries, v.Rows, v.RunTime, v.Stall, v.PairTime, v.Runs = quickReplayEntries, quickReplayRows, quickReplayTime, quickReplayStall, quickReplayPair, 2
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start: %w", err)
	}
	cfg := bench.ReplayConfig{
		Dir: v.Dir, Parts: v.Parts, Connections: v.Connections, Entries: v.Entries, Runs: v.Runs, Rows: v.Rows, RunTime: v.RunTime, Stall: v.Stall, PairPool: int64(v.PairPool), PairTime: v.PairTime, Seed: v.Seed,
		Daemon: func(ctx context.Context, log, listen string) *exec.Cmd {
			return exec.CommandContext(ctx, self, "slowlogd", "--log", log, "--listen", listen, "--log-level", "warn")
		},
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.Replay(ctx, cfg, out) })
}
