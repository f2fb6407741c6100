package main

import (
	"context"

	"github.com/hearthdb/hearth/internal/bench"
)

// replayWarmthVerb measures what a replay is worth.
type replayWarmthVerb struct {
	measureFlags
	Pool       size     `default:"128MiB" help:"Buffer pool of the server."`
	Rows       int      `default:"4000000" help:"Rows of the table, of about 400 bytes with their indexes."`
	Chunks     int      `default:"4" help:"Chunks of the log; each pair of neighbours is measured."`
	Statements int      `default:"200000" help:"Statements in a chunk."`
	Clients    int      `default:"16" help:"Clients that make the log, and connections that replay it."`
	HotPercent float64  `default:"2" help:"Percent of the rows that most statements are about."`
	Elsewhere  float64  `default:"0.0005" help:"Share of statements about any other row."`
	Controls   []string `default:"self,reads-only,dedupe,sample,sample-sessions,scan,dump-load" help:"Other ways to warm, measured with chunk 2."`
	Picture    string   `type:"path" placeholder:"NAME" help:"Draw reads per second into NAME.svg and NAME.png."`
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
	return v.report(ctx, func(ctx context.Context, out bench.Output) error {
		return bench.ReplayWarmth(ctx, bench.ReplayWarmthConfig{
			Dir: v.Dir, Pool: int64(v.Pool), Rows: v.Rows, Chunks: v.Chunks, Statements: v.Statements, Clients: v.Clients,
			HotPercent: v.HotPercent, Elsewhere: v.Elsewhere, Controls: v.Controls, Picture: v.Picture, Seed: v.Seed,
		}, out)
	})
}
