package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/peer"
)

type benchSlowlogCostVerb struct {
	measureFlags
	Rows    int           `default:"200000" help:"Rows of the table, which are read by their key."`
	Pool    size          `default:"512MiB" help:"Buffer pool of each server, and its redo log."`
	Threads int           `default:"8" help:"Threads of sysbench."`
	Runs    int           `default:"7" help:"Runs of each setting of the log; the median counts."`
	RunTime time.Duration `default:"5s" help:"Length of one run of one setting, in whole seconds."`
	Text    bool          `help:"Send statements as text instead of preparing them."`
	Servers []string      `enum:"hearth,mariadb" default:"hearth,mariadb" help:"Servers that take turns: hearth, mariadb."`
}

// What --quick makes of the flags.
const (
	quickLogCostRows = 10_000
	quickLogCostRuns = 3
)

func (v *benchSlowlogCostVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Rows, v.Runs, v.RunTime = quickLogCostRows, quickLogCostRuns, time.Second
	}
	memory, remove, err := benchMemory()
	if err != nil {
		return err
	}
	defer remove()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start: %w", err)
	}
	make := map[string]func(peer.Config) (*peer.Server, error){"mariadb": peer.MariaDB, "hearth": peer.Hearth(self, memory)}
	cfg := bench.SlowLogCostConfig{
		Dir: v.Dir, Rows: v.Rows, Pool: int64(v.Pool), Threads: v.Threads, Runs: v.Runs, RunTime: v.RunTime, Text: v.Text, Seed: v.Seed,
	}
	for _, name := range v.Servers {
		cfg.Servers = append(cfg.Servers, make[name])
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.SlowLogCost(ctx, cfg, out) })
}
