package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hearthdb/hearth/internal/bench"
)

// replayWarmthVerb measures what a replay is worth.
type replayWarmthVerb struct {
	measureFlags
	Pool       size     `default:"128MiB" help:"Buffer pool of the server."`
	Rows       int      `default:"4000000" help:"Rows of the table, of about 400 bytes with their indexes."`
	Chunks     int      `default:"3" help:"Chunks of the log; each pair of neighbours is measured."`
	Statements int      `default:"200000" help:"Statements in a chunk."`
	Clients    int      `default:"16" help:"Clients that make the log, and connections that replay it."`
	HotPercent float64  `default:"1.5" help:"Percent of the rows that most statements are about."`
	Zipf       float64  `default:"0.8" help:"How uneven those are asked for, from 0 (evenly) to below 1."`
	Elsewhere  float64  `default:"0.00001" help:"Share of statements about any other row, which no log foretells."`
	Servers    []string `enum:"mariadb,hearth" default:"mariadb,hearth" help:"Servers that take turns: mariadb, hearth."`
	Controls   []string `enum:"self,reads-only,rewrite,dedupe,sample,sample-sessions,scan,dump-load,clients,changes,pair" default:"self,reads-only,rewrite,dedupe,sample,sample-sessions,scan,dump-load,clients,changes,pair" help:"What is measured beside a chunk that warms the next: self (the same chunk twice), other ways to warm chunk 2 (reads-only, rewrite, dedupe, sample, sample-sessions, scan, dump-load), clients (chunk 2 as it was, changes and all), changes (only those), pair (how much of the active server's pool the standby holds)."`
	Picture    string   `type:"path" placeholder:"NAME" help:"Draw reads per second into NAME.svg and NAME.png, and the controls into NAME-controls."`
}

// What --quick makes of the flags.
const (
	quickWarmthPool       = 24 << 20
	quickWarmthRows       = 150_000
	quickWarmthChunks     = 2
	quickWarmthStatements = 10_000
	quickWarmthClients    = 4
)

func (v *replayWarmthVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Pool, v.Rows, v.Chunks, v.Statements, v.Clients = quickWarmthPool, quickWarmthRows, quickWarmthChunks, quickWarmthStatements, quickWarmthClients
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
	cfg := bench.ReplayWarmthConfig{
		Dir: v.Dir, Pool: int64(v.Pool), Rows: v.Rows, Chunks: v.Chunks, Statements: v.Statements, Clients: v.Clients,
		HotPercent: v.HotPercent, Zipf: v.Zipf, Elsewhere: v.Elsewhere, Controls: v.Controls, Picture: v.Picture, Seed: v.Seed,
	}
	for _, name := range v.Servers {
		switch name {
		case "mariadb":
			cfg.Servers = append(cfg.Servers, bench.ReplayWarmthMariaDB())
		case "hearth":
			cfg.Servers = append(cfg.Servers, bench.ReplayWarmthHearth(self, memory))
		}
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.ReplayWarmth(ctx, cfg, out) })
}
