package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
)

// SQLConfig says what sysbench does to each server.
type SQLConfig struct {
	Dir     string
	Tables  int
	Rows    int // in each table
	Pool    int64
	LogSize int64
	Scripts []string
	Threads []int
	Runs    int
	RunTime time.Duration
	Text    bool // statements as text instead of prepared ones
	Durable bool // a commit is on the disk when it is acknowledged
	Rate    int  // transactions a second; 0: as many as there can be
	Seed    uint64

	// Servers makes the servers in the order they take turns: each gets a folder of its own.
	Servers []func(peer.Config) (*peer.Server, error)
}

// SQLScripts are those of sysbench that are compared.
var SQLScripts = []string{
	"oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_update_index", "oltp_update_non_index", "oltp_insert",
}

const sqlMeasure = "sql"

// SQL runs sysbench against one server after the other: the same rows, the same memory.
// Only one server is up at a time.
func SQL(ctx context.Context, cfg SQLConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	for i, server := range cfg.Servers {
		s, err := server(peer.Config{Dir: filepath.Join(dir, fmt.Sprint(i)), Pool: cfg.Pool, LogSize: cfg.LogSize, Durable: cfg.Durable})
		if errors.Is(err, peer.ErrMissing) {
			out.Progress("sql: %v; measuring without it", err)
			continue
		}
		if err != nil {
			return err
		}
		if err := sqlServer(ctx, cfg, s, out); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// sqlServer measures one server.
func sqlServer(ctx context.Context, cfg SQLConfig, s *peer.Server, out Output) (err error) {
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := s.Start(ctx); err != nil {
		return err
	}
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE sbtest"); err != nil {
		return err
	}
	bench := sysbench{server: s, database: "sbtest", tables: cfg.Tables, rows: cfg.Rows, seed: cfg.Seed, text: cfg.Text, rate: cfg.Rate}
	out.Progress("sql, %s: loading %d tables of %d rows", s.Name, cfg.Tables, cfg.Rows)
	loaded, err := bench.prepare(ctx)
	if err != nil {
		return err
	}
	out.Result(NewResult(sqlMeasure, s.Name, "load, with its index", 1, "rows/s", []float64{loaded}))
	for _, script := range cfg.Scripts {
		for _, threads := range cfg.Threads {
			var tps, qps, p95, cpu, failed, early, late []float64
			for n := range cfg.Runs {
				r, err := bench.run(ctx, script, threads, cfg.RunTime)
				if err != nil {
					return err
				}
				out.Progress("sql, %s: %s, %d threads, run %d of %d: %.0f queries/s", s.Name, script, threads, n+1, cfg.Runs, r.Queries)
				tps, qps, p95 = append(tps, r.Transactions), append(qps, r.Queries), append(p95, r.P95)
				cpu, failed = append(cpu, r.CPU), append(failed, float64(r.Errors))
				early, late = append(early, r.Early), append(late, r.Late)
			}
			put := func(what, unit string, v []float64) {
				out.Result(NewResult(sqlMeasure, s.Name, script+": "+what, threads, unit, v))
			}
			put("transactions", "1/s", tps)
			put("queries", "1/s", qps)
			put("95th percentile", "ms", p95)
			put("server CPU a query", "µs", cpu)
			put("errors", "1", failed)
			put("own memory, second quarter", "MiB", early)
			put("own memory, last quarter", "MiB", late)
		}
	}
	return s.Stop()
}
