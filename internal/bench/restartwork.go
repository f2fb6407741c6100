package bench

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/restart"
)

// dataset is what servers are filled with.
type dataset struct {
	name  string
	fill  func(ctx context.Context, cfg ServerRestartConfig, db *sql.DB, progress func(done, all int)) error
	scans func(cfg ServerRestartConfig) []string // statements that read everything, each a part, with one number as its answer
}

// work is what clients ask for around one restart, and what they were told.
type work interface {
	// reset makes a database, fresh or not, what the work expects.
	reset(ctx context.Context, db *sql.DB) error
	// client makes one client, which works through a connection of its own.
	client(number int, db *sql.DB) restart.Op
	// acknowledged is how many commits.
	acknowledged() int64
	// verify looks for them in the database. A LostError says how many are not there.
	verify(ctx context.Context, db *sql.DB) (verdict string, err error)
	// facts are added to the server's counters; nil: there are none.
	facts() map[string]float64
}

func datasetOf(workload string) dataset {
	if workload == WorkloadTPCC {
		return tpccTables
	}
	return rowsTable
}

func newWork(cfg ServerRestartConfig, c ServerCase) work {
	if c.Workload == WorkloadTPCC {
		return newTPCCWork(cfg)
	}
	return newRowsWork(cfg, c)
}

// LostError: the server lacks commits that it had acknowledged.
type LostError struct {
	Commits int64  // in all
	What    string // one of them
}

func (e *LostError) Error() string {
	return fmt.Sprintf("LOST: %d acknowledged commits; %s", e.Commits, e.What)
}

// rowsWork reads and changes rows of one table. Each client has a row in the table oracle, changed by each of its transactions.
type rowsWork struct {
	cfg   ServerRestartConfig
	c     ServerCase
	rows  int
	zipf  *zipf
	acked [serverClients]atomic.Int64 // by client: the number of its last update that was acknowledged
}

func newRowsWork(cfg ServerRestartConfig, c ServerCase) *rowsWork {
	w := &rowsWork{cfg: cfg, c: c, rows: cfg.rows()}
	w.zipf = newSpread(c.Spread, w.rows)
	return w
}

func (w *rowsWork) reset(ctx context.Context, db *sql.DB) error {
	if w.c.Workload == WorkloadPoint {
		return nil
	}
	_, err := db.ExecContext(ctx, "UPDATE oracle SET n = 0")
	return err
}

func (w *rowsWork) facts() map[string]float64 { return nil }

func (w *rowsWork) acknowledged() (n int64) {
	for i := range w.acked {
		n += w.acked[i].Load()
	}
	return n
}

func (w *rowsWork) verify(ctx context.Context, db *sql.DB) (string, error) {
	if w.c.Workload == WorkloadPoint {
		return "", nil
	}
	lost := &LostError{}
	for i := range w.acked {
		var n int64
		if err := db.QueryRowContext(ctx, "SELECT n FROM oracle WHERE client = ?", i).Scan(&n); err != nil {
			return "", fmt.Errorf("oracle: client %d: %w", i, err)
		}
		if acked := w.acked[i].Load(); n < acked {
			lost.Commits += acked - n
			lost.What = fmt.Sprintf("client %d was told that update %d is committed, the server has %d", i, acked, n)
		}
	}
	if lost.Commits > 0 {
		return "", lost
	}
	return fmt.Sprintf("%d commits acknowledged, 0 lost", w.acknowledged()), nil
}

// rowsClient is one connection with its requests.
type rowsClient struct {
	work   *rowsWork
	number int
	db     *sql.DB
	rnd    *rand.Rand
	n      int64 // number of its last update, acknowledged or not
}

func (w *rowsWork) client(number int, db *sql.DB) restart.Op {
	c := &rowsClient{work: w, number: number, db: db, rnd: newRand(w.cfg.Seed, 1000+number)}
	switch w.c.Workload {
	case WorkloadPoint:
		return func(ctx context.Context) error { return c.read(ctx, c.db) }
	case WorkloadUpdate:
		return func(ctx context.Context) error { return c.change(ctx, 0) }
	case WorkloadReadWrite:
		return func(ctx context.Context) error { return c.change(ctx, 9) }
	}
	panic(fmt.Sprintf("BUG: workload %q on rows", w.c.Workload))
}

// draw a row.
func (c *rowsClient) draw() int {
	if c.work.zipf != nil {
		return c.work.zipf.draw(c.rnd)
	}
	return c.rnd.IntN(c.work.rows)
}

// rowQuerier is a connection or a transaction.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (c *rowsClient) read(ctx context.Context, q rowQuerier) error {
	id := c.draw()
	var k int
	var text string
	if err := q.QueryRowContext(ctx, "SELECT k, c FROM t WHERE id = ?", id).Scan(&k, &text); err != nil {
		return fmt.Errorf("row %d: %w", id, err)
	}
	return nil
}

// change a row, and the client's row of the oracle in the same transaction.
func (c *rowsClient) change(ctx context.Context, reads int) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for range reads {
		if err := c.read(ctx, tx); err != nil {
			return err
		}
	}
	c.n++
	if _, err := tx.ExecContext(ctx, "UPDATE t SET c = ? WHERE id = ?", fmt.Sprintf("%0119d", c.rnd.Uint64()), c.draw()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE oracle SET n = ? WHERE client = ?", c.n, c.number); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	c.work.acked[c.number].Store(c.n)
	return nil
}
