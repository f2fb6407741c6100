package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/restart"
)

type benchRestartVerb struct {
	measureFlags
	Embedded bool     `help:"Measure the engine inside a process of ours, without a server."`
	Profiles []string `default:"hearth-kept,hearth-dump,innodb-dump,innodb-cold" help:"Servers and what their restart finds: hearth-kept, hearth-dump, hearth-cold, innodb-dump, innodb-cold."`
	Workload string   `enum:"point,update,readwrite" default:"point" help:"What clients ask servers for: point, update, readwrite."`
	Redo     size     `default:"0" help:"With updates: let the load run until so much log lies behind the checkpoint."`
	LogSize  size     `default:"2GiB" help:"Redo log of each server."`
	Runs     int      `default:"1" help:"Restarts of each profile; the median counts."`

	Size    size          `default:"3434MiB" help:"Rows; the default is 3.6 GB."`
	Pool    size          `default:"5GiB" help:"Pool; a fifth more than the rows at least."`
	Readers int           `default:"16" help:"Readers, or clients of a server, each without a pause."`
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
	timeline, done, err := v.timelines()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start again: %w", err)
	}
	if !v.Embedded {
		return v.servers(ctx, self, timeline)
	}
	cfg := bench.RestartConfig{
		Dir: v.Dir, Bytes: int64(v.Size), Pool: int64(v.Pool), Readers: v.Readers, Rate: v.Rate, Before: v.Before, After: v.After,
		Disk: restart.Disk{IOPS: v.IOPS, BytesPerSecond: v.MBps * 1e6}, Seed: v.Seed,
		Stops: v.Stops, Memories: v.Memories, Spreads: v.Spreads, Picture: v.Picture, Timeline: timeline,
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, "bench", "restart-child")
		},
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.Restart(ctx, cfg, out) })
}

// timelines opens the file of --timelines; both functions may always be called.
func (v *benchRestartVerb) timelines() (write func(*restart.Timeline), done func() error, err error) {
	if v.Timelines == "" {
		return func(*restart.Timeline) {}, func() error { return nil }, nil
	}
	f, err := os.Create(v.Timelines)
	if err != nil {
		return nil, nil, err
	}
	lines := json.NewEncoder(f)
	var failed error
	write = func(t *restart.Timeline) { failed = errors.Join(failed, lines.Encode(t)) }
	return write, func() error { return errors.Join(failed, f.Close()) }, nil
}

// servers measures over the MySQL protocol.
func (v *benchRestartVerb) servers(ctx context.Context, self string, timeline func(*restart.Timeline)) error {
	memory, remove, err := benchMemory()
	if err != nil {
		return err
	}
	defer remove()
	all := bench.ServerProfiles(self, memory)
	cfg := bench.ServerRestartConfig{
		Dir: v.Dir, Bytes: int64(v.Size), Pool: int64(v.Pool), LogSize: int64(v.LogSize), Clients: v.Readers, Rate: v.Rate,
		Workload: v.Workload, Spread: v.Spreads[0], Stop: v.Stops[0], Before: v.Before, After: v.After, Redo: int64(v.Redo),
		Disk: restart.Disk{IOPS: v.IOPS, BytesPerSecond: v.MBps * 1e6}, Runs: v.Runs, Seed: v.Seed, Picture: v.Picture, Timeline: timeline,
	}
	if len(v.Spreads) > 1 || len(v.Stops) > 1 {
		fmt.Fprintf(os.Stderr, "of servers, one case a run: measuring %s, %s\n", cfg.Stop, cfg.Spread)
	}
	for _, name := range v.Profiles {
		p, ok := all[name]
		if !ok {
			return fmt.Errorf("--profiles: no profile %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		cfg.Profiles = append(cfg.Profiles, p)
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.ServerRestart(ctx, cfg, out) })
}

type benchRestartChildVerb struct{}

func (benchRestartChildVerb) Run(ctx context.Context) error {
	return bench.RestartChild(ctx, os.Stdin, os.Stdout)
}
