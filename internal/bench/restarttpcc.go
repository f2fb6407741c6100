package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
	"github.com/hearthdb/hearth/internal/tpcc"
)

// tpccTables are the nine of TPC-C.
var tpccTables = dataset{name: "tpcc", fill: fillTPCC, scans: func(ServerRestartConfig) []string { return tpcc.Scans }}

func fillTPCC(ctx context.Context, cfg ServerRestartConfig, db *sql.DB, progress func(done, all int)) error {
	s := tpcc.ScaleFor(cfg.Bytes)
	var mu sync.Mutex
	told := time.Now()
	err := tpcc.Load(ctx, db, tpcc.LoadConfig{Scale: s, Loaders: loaders, Seed: cfg.Seed, Progress: func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(told) >= tellEvery {
			told = time.Now()
			progress(n, s.Warehouses)
		}
	}})
	if err != nil {
		return err
	}
	if err := tpcc.Check(ctx, db); err != nil {
		return fmt.Errorf("before anything was done: %w", err)
	}
	return nil
}

// tpccWork is the load of TPC-C.
type tpccWork struct{ *tpcc.Driver }

func newTPCCWork(cfg ServerRestartConfig) tpccWork {
	return tpccWork{tpcc.NewDriver(tpcc.ScaleFor(cfg.Bytes), cfg.Seed)}
}

// reset has nothing to do: terminals go on where others left off.
func (w tpccWork) reset(context.Context, *sql.DB) error { return nil }

func (w tpccWork) client(number int, db *sql.DB) restart.Op { return w.Terminal(number, db).Do }

func (w tpccWork) acknowledged() int64 { return w.Ledger.Acknowledged() }

func (w tpccWork) verify(ctx context.Context, db *sql.DB) (string, error) {
	if err := tpcc.Check(ctx, db); err != nil {
		return "", fmt.Errorf("after the restart: %w", err)
	}
	err := w.Ledger.Verify(ctx, db)
	var lost *tpcc.LostError
	if errors.As(err, &lost) {
		return "", &LostError{lost.Commits, lost.First}
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("consistency conditions 1 to 4 hold; %d New-Orders and Payments acknowledged, 0 lost; %d tries after conflicts",
		w.acknowledged(), w.Stats.Report().Retries), nil
}

func (w tpccWork) facts() map[string]float64 {
	r := w.Stats.Report()
	return map[string]float64{factNewOrders: float64(r.Committed[tpcc.NewOrder]), factConflictTries: float64(r.Retries)}
}
