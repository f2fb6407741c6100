package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
)

type benchSlowlogVerb struct {
	measureFlags
	Entries int  `default:"500000" help:"Entries of some 400 bytes in the log that is read."`
	Relay   size `default:"1GiB" help:"Log that is relayed to one client."`
	Runs    int  `default:"5" help:"Runs of each case; the median counts."`
	Delays  int  `default:"2000" help:"Entries whose way from the writer to a client is timed, in each run."`
	Clients int  `default:"100" help:"Clients at a time."`

	Steady time.Duration `default:"15s" help:"How long the daemon follows a log at 5 MB/s."`
}

// What --quick makes of the flags.
const (
	quickSlowlogEntries = 50_000
	quickSlowlogRelay   = 64 << 20
	quickSlowlogDelays  = 300
	quickSlowlogSteady  = 2 * time.Second
)

func (v *benchSlowlogVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Entries, v.Relay, v.Delays, v.Runs, v.Steady = quickSlowlogEntries, quickSlowlogRelay, quickSlowlogDelays, 3, quickSlowlogSteady
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start: %w", err)
	}
	cfg := bench.SlowlogConfig{
		Dir: v.Dir, Entries: v.Entries, Relay: int64(v.Relay), Runs: v.Runs, Delays: v.Delays, Clients: v.Clients, Steady: v.Steady,
		Daemon: func(ctx context.Context, log, listen string) *exec.Cmd {
			return exec.CommandContext(ctx, self, "slowlogd", "--log", log, "--listen", listen, "--max-clients", fmt.Sprint(v.Clients+1), "--log-level", "warn")
		},
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.Slowlog(ctx, cfg, out) })
}
