package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/hearthdb/hearth/internal/replay"
)

// rate is how many statements a second the replayer can send at all: to a server that knows one answer. Both share the machine.
func (b *replayBench) rate(ctx context.Context) error {
	stub, err := startStub()
	if err != nil {
		return err
	}
	defer stub.close()
	name, err := b.pointLog(replayStubRows)
	if err != nil {
		return err
	}
	var rates []float64
	for n := range b.Runs {
		r, err := b.playFile(ctx, name, "reader@tcp("+stub.addr()+")/sbtest")
		if err != nil {
			return err
		}
		b.tell("rate: run %d of %d: %.0f entries/s", n+1, b.Runs, r)
		rates = append(rates, r)
	}
	b.put("a server that knows one answer", "entries/s", rates...)
	return nil
}

// replayStubRows is how many rows the statements for the stub are about: all texts differ.
const replayStubRows = 1 << 30

// playFile replays a log of reads as fast as can be and returns entries a second. All of them must have been run.
func (b *replayBench) playFile(ctx context.Context, name, dsn string) (float64, error) {
	c := b.player(dsn)
	c.Policy = replay.PolicyBlock
	p, err := replay.New(ctx, c)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	f, err := replay.OpenLog(name, 0)
	if err != nil {
		return 0, err
	}
	src := replay.NewLogSource(f, replay.Place{}, false)
	defer src.Close()
	start := time.Now()
	if err := p.Run(ctx, src); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if t := p.Accounts.Totals(); t.Sum(replay.Run) != int64(b.Entries) {
		return 0, fmt.Errorf("%d of %d entries were run: %s", t.Sum(replay.Run), b.Entries, t)
	}
	return rate(b.Entries, took), nil
}
