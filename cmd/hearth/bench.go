package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
)

type benchVerb struct {
	Engine benchEngineVerb `cmd:"" help:"Compare point reads, scans and commits with bbolt, Badger and Pebble, everything in memory."`
}

type benchEngineVerb struct {
	measureFlags
	Rows    int           `default:"5000000" help:"Rows in the table, of 16-byte keys and 120-byte values."`
	Runs    int           `default:"5" help:"Runs of each case; the median counts."`
	RunTime time.Duration `default:"2s" help:"Length of one run."`
	Threads []int         `default:"1,2" help:"Numbers of threads that read, scan and commit without waiting."`
	Systems []string      `placeholder:"NAME,..." help:"Only these of hearth, bbolt, Badger, Pebble."`
}

// What --quick makes of the flags: five runs of 0.2 s are a second a case.
const (
	quickRows    = 200_000
	quickRunTime = 200 * time.Millisecond
)

func (v *benchEngineVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Rows, v.RunTime = quickRows, quickRunTime
	}
	results, err := bench.Engine(ctx, bench.EngineConfig{
		Dir: v.Dir, Rows: v.Rows, Runs: v.Runs, RunTime: v.RunTime,
		Threads: v.Threads, Systems: v.Systems, Seed: v.Seed,
	}, v.output())
	if err != nil || v.JSON {
		return err
	}
	return bench.WriteTable(os.Stdout, "hearth "+strings.Join(os.Args[1:], " "), results)
}
