package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/restart"
)

type benchRestartVerb struct {
	measureFlags
	Embedded bool `required:"" help:"Measure the engine inside a process of ours, without a server."`

	Size    size          `default:"3434MiB" help:"Rows, of 16-byte keys and 120-byte values; the default is 3.6 GB."`
	Pool    size          `default:"5GiB" help:"Pool; a fifth more than the rows at least."`
	Readers int           `default:"16" help:"Readers, each without a pause."`
	Rate    float64       `help:"Reads that arrive per second, whoever answers them (open loop), instead of readers without a pause."`
	Before  time.Duration `default:"15s" help:"How long the load runs before a restart."`
	After   time.Duration `default:"90s" help:"How long after it, at most; it ends earlier when all is as before."`

	Stops    []string `enum:"kill,clean" default:"kill,clean" help:"How a process ends: kill, clean."`
	Memories []string `enum:"kept,dump,physical,cold" default:"kept,dump,cold" help:"What the next one finds: its memory kept, a heat dump, the same loaded in physical order, nothing (cold)."`
	Spreads  []string `enum:"uniform,zipf" default:"uniform,zipf" help:"Which rows are read: uniform, zipf (theta 0.99)."`

	IOPS int64 `name:"iops" help:"Hold the disk to so many operations per second after the restart. Needs root." placeholder:"N"`
	MBps int64 `name:"mbps" help:"Hold the disk to so many MB (10^6 bytes) per second after the restart. Needs root." placeholder:"N"`

	Picture   string `type:"path" placeholder:"BASE" help:"Draw throughput over time into BASE-uniform.svg, .png, -dark.svg, -dark.png and so on."`
	Timelines string `type:"path" placeholder:"FILE" help:"Write all that was measured into this file, one restart a line, as JSON."`
}

// What --quick makes of the flags.
const (
	quickRestartSize   = 64 << 20
	quickRestartPool   = 128 << 20
	quickRestartBefore = 2 * time.Second
	quickRestartAfter  = 5 * time.Second
)

func (v *benchRestartVerb) Run(ctx context.Context) (err error) {
	if v.Quick {
		v.Size, v.Pool, v.Before, v.After = quickRestartSize, quickRestartPool, quickRestartBefore, quickRestartAfter
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start again: %w", err)
	}
	cfg := bench.RestartConfig{
		Dir: v.Dir, Bytes: int64(v.Size), Pool: int64(v.Pool), Readers: v.Readers, Rate: v.Rate, Before: v.Before, After: v.After,
		Disk: restart.Disk{IOPS: v.IOPS, BytesPerSecond: v.MBps * 1e6}, Seed: v.Seed,
		Stops: v.Stops, Memories: v.Memories, Spreads: v.Spreads, Picture: v.Picture,
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, "bench", "restart-child")
		},
	}
	if v.Timelines != "" {
		f, err := os.Create(v.Timelines)
		if err != nil {
			return err
		}
		lines := json.NewEncoder(f)
		var failed error
		cfg.Timeline = func(t *restart.Timeline) { failed = errors.Join(failed, lines.Encode(t)) }
		defer func() { err = errors.Join(err, failed, f.Close()) }()
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.Restart(ctx, cfg, out) })
}

type benchRestartChildVerb struct{}

func (benchRestartChildVerb) Run(ctx context.Context) error {
	return bench.RestartChild(ctx, os.Stdin, os.Stdout)
}
