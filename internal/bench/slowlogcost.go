package bench

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
)

// SlowLogCostConfig says how what a server pays for its slow log is measured.
type SlowLogCostConfig struct {
	Dir     string
	Rows    int
	Pool    int64 // bytes, room for all rows
	Threads int   // of sysbench
	Runs    int
	RunTime time.Duration // of one setting in one run, in whole seconds
	Text    bool          // statements as text instead of prepared ones, whose values the log fills in
	Seed    uint64
	Servers []func(peer.Config) (*peer.Server, error)
}

const slowLogCostMeasure = "slow-log-cost"

// logSettings are what is compared, in the order they take turns. The name of the first one is what the others are held against.
var logSettings = []struct{ name, set string }{
	{"log off", "SET GLOBAL slow_query_log = 0, long_query_time = 10"},
	{"log on, 10 s", "SET GLOBAL slow_query_log = 1, long_query_time = 10"},
	{"every statement", "SET GLOBAL slow_query_log = 1, long_query_time = 0"},
}

// SlowLogCost has sysbench read rows by their keys as fast as it can, while the log is off, on for slow statements, and on for every
// statement. The settings take turns on one server within each run, in an order that turns with the runs. A machine that others use
// sways by more than a log costs, so the processor time a query is told, too.
func SlowLogCost(ctx context.Context, cfg SlowLogCostConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	for i, server := range cfg.Servers {
		s, err := server(peer.Config{Dir: filepath.Join(dir, string(rune('0'+i))), Pool: cfg.Pool, LogSize: cfg.Pool})
		if errors.Is(err, peer.ErrMissing) {
			out.Progress("slow log: %v; measuring without it", err)
			continue
		}
		if err == nil {
			err = slowLogCostOf(ctx, cfg, s, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func slowLogCostOf(ctx context.Context, cfg SlowLogCostConfig, s *peer.Server, out Output) (err error) {
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := s.Start(ctx); err != nil {
		return err
	}
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	log := filepath.Join(s.Data(), "cost.log")
	for _, q := range []string{"CREATE DATABASE sbtest", "SET GLOBAL slow_query_log_file = '" + log + "'"} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	load := sysbench{server: s, database: "sbtest", tables: 1, rows: cfg.Rows, seed: cfg.Seed, text: cfg.Text}
	out.Progress("slow log, %s: loading %d rows", s.Name, cfg.Rows)
	if _, err := load.prepare(ctx); err != nil {
		return err
	}
	queries, cpu := make([][]float64, len(logSettings)), make([][]float64, len(logSettings))
	for run := range cfg.Runs {
		for turn := range logSettings {
			k := (turn + run) % len(logSettings)
			r, err := logTurn(ctx, cfg, db, load, logSettings[k].set)
			if err != nil {
				return err
			}
			out.Progress("slow log, %s, run %d of %d: %s: %.0f queries/s, %.2f µs a query", s.Name, run+1, cfg.Runs, logSettings[k].name, r.Queries, r.CPU)
			queries[k], cpu[k] = append(queries[k], r.Queries), append(cpu[k], r.CPU)
		}
		if err := os.Truncate(log, 0); err != nil { // it is opened for appending: the disk need not hold all of it
			return err
		}
	}
	for k, l := range logSettings {
		out.Result(NewResult(slowLogCostMeasure, s.Name, l.name+": queries", cfg.Threads, "1/s", queries[k]))
		out.Result(NewResult(slowLogCostMeasure, s.Name, l.name+": server CPU a query", cfg.Threads, "µs", cpu[k]))
		if k == 0 {
			continue
		}
		lost, more := make([]float64, cfg.Runs), make([]float64, cfg.Runs) // in pairs of one run
		for i := range cfg.Runs {
			lost[i], more[i] = 100*(1-queries[k][i]/queries[0][i]), 100*(cpu[k][i]/cpu[0][i]-1)
		}
		out.Result(NewResult(slowLogCostMeasure, s.Name, l.name+": fewer queries", cfg.Threads, "%", lost))
		out.Result(NewResult(slowLogCostMeasure, s.Name, l.name+": more CPU", cfg.Threads, "%", more))
	}
	return nil
}

// logTurn measures one setting, of sessions that begin with it.
func logTurn(ctx context.Context, cfg SlowLogCostConfig, db *sql.DB, load sysbench, set string) (r sysbenchRun, err error) {
	if _, err := db.ExecContext(ctx, set); err != nil {
		return r, err
	}
	return load.run(ctx, "oltp_point_select", cfg.Threads, cfg.RunTime)
}
