package bench

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// rowsTable is one table as sysbench has it, and the oracle.
var rowsTable = dataset{name: "rows", fill: fillRows, scans: scanRows}

const (
	// serverRow is what a row of the table takes: id, k, c char(120), pad char(60), as in sysbench.
	serverRow   = 190
	serverBatch = 500 // rows of one INSERT
	loaders     = 2
	tellEvery   = 10 * time.Second
)

func (cfg ServerRestartConfig) rows() int { return int(cfg.Bytes / serverRow) }

// scanRows reads the table in ranges of its key.
func scanRows(cfg ServerRestartConfig) (scans []string) {
	rows := cfg.rows()
	for part := range warmers {
		scans = append(scans, fmt.Sprintf("SELECT SUM(k) FROM t WHERE id >= %d AND id < %d", rows*part/warmers, rows*(part+1)/warmers))
	}
	return scans
}

// fillRows makes the tables: rows in order of their key, by a few connections.
func fillRows(ctx context.Context, cfg ServerRestartConfig, db *sql.DB, progress func(done, all int)) error {
	var oracle []string
	for c := range serverClients {
		oracle = append(oracle, fmt.Sprintf("(%d, 0)", c))
	}
	for _, q := range []string{
		"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)",
		"CREATE TABLE oracle (client INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
		"INSERT INTO oracle VALUES " + strings.Join(oracle, ", "),
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%.80s: %w", q, err)
		}
	}
	var wg sync.WaitGroup
	var loaded atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for l := range loaders {
		wg.Go(func() {
			if err := fillPart(ctx, cfg, db, l, &loaded); err != nil {
				cancel(err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	told := time.NewTicker(tellEvery)
	defer told.Stop()
	for {
		select {
		case <-ended:
			return context.Cause(ctx)
		case <-told.C:
			progress(int(loaded.Load()), cfg.rows())
		}
	}
}

// fillPart loads a range of the keys.
func fillPart(ctx context.Context, cfg ServerRestartConfig, db *sql.DB, part int, loaded *atomic.Int64) error {
	rnd, rows := newRand(cfg.Seed, part), cfg.rows()
	var q strings.Builder
	for id, end := rows*part/loaders, rows*(part+1)/loaders; id < end; {
		q.Reset()
		q.WriteString("INSERT INTO t VALUES ")
		first := id
		for ; id < end && id < first+serverBatch; id++ {
			if id > first {
				q.WriteByte(',')
			}
			fmt.Fprintf(&q, "(%d,%d,'", id, rnd.IntN(rows))
			digits(&q, rnd, 119)
			q.WriteString("','")
			digits(&q, rnd, 59)
			q.WriteString("')")
		}
		if _, err := db.ExecContext(ctx, q.String()); err != nil {
			return fmt.Errorf("load rows from %d: %w", first, err)
		}
		loaded.Add(int64(id - first))
	}
	return nil
}

// digits writes n random digits.
func digits(q *strings.Builder, rnd *rand.Rand, n int) {
	for n > 0 {
		x := rnd.Uint64()
		for range min(n, 16) {
			q.WriteByte('0' + byte(x%10))
			x /= 10
			n--
		}
	}
}
