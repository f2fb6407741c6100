package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
)

// client is one connection with its requests. A lost connection is made again by the next request.
type client struct {
	bed    *bed
	number int
	db     *sql.DB
	rnd    *rand.Rand
	draw   func() int
	n      int64 // number of its last update, acknowledged or not
}

// retryAfter is how long a client waits after an error before it asks again.
const retryAfter = 5 * time.Millisecond

// ops makes the clients.
func (b *bed) ops() []restart.Op {
	var z *zipf
	if b.cfg.Spread == SpreadZipf {
		z = newZipf(b.rows, restartTheta)
	}
	ops := make([]restart.Op, b.cfg.Clients)
	for i := range ops {
		db, err := b.server.Open(serverDatabase)
		if err != nil {
			panic("BUG: the name of our own server: " + err.Error())
		}
		db.SetMaxOpenConns(1)
		c := &client{bed: b, number: i, db: db, rnd: newRand(b.cfg.Seed, 1000+i)}
		c.draw = func() int { return c.rnd.IntN(b.rows) }
		if z != nil {
			c.draw = func() int { return z.draw(c.rnd) }
		}
		b.clients = append(b.clients, c)
		request := map[string]restart.Op{WorkloadPoint: c.point, WorkloadUpdate: c.update, WorkloadReadWrite: c.readWrite}[b.cfg.Workload]
		ops[i] = func(ctx context.Context) error {
			err := request(ctx)
			if err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(retryAfter):
				}
				return err
			}
			if now := time.Now().UnixNano(); !b.launched.Load() {
				b.last.Store(now)
			} else if b.first.Load() == 0 {
				b.first.CompareAndSwap(0, now)
			}
			return nil
		}
	}
	return ops
}

func (c *client) close() { c.db.Close() }

// querier is a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (c *client) read(ctx context.Context, q querier) error {
	id := c.draw()
	var k int
	var text string
	if err := q.QueryRowContext(ctx, "SELECT k, c FROM t WHERE id = ?", id).Scan(&k, &text); err != nil {
		return fmt.Errorf("row %d: %w", id, err)
	}
	return nil
}

func (c *client) point(ctx context.Context) error { return c.read(ctx, c.db) }

// update changes a row, and the client's row of the oracle in the same transaction.
func (c *client) update(ctx context.Context) error { return c.change(ctx, 0) }

func (c *client) readWrite(ctx context.Context) error { return c.change(ctx, 9) }

func (c *client) change(ctx context.Context, reads int) error {
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
	c.bed.acked[c.number].Store(c.n)
	return nil
}

// oracle asks the server for what it acknowledged.
func (b *bed) oracle(ctx context.Context) error {
	if b.cfg.Workload == WorkloadPoint {
		return nil
	}
	db, err := b.server.Open(serverDatabase)
	if err != nil {
		return err
	}
	defer db.Close()
	lost := &LostError{}
	for i := range b.acked {
		var n int64
		if err := db.QueryRowContext(ctx, "SELECT n FROM oracle WHERE client = ?", i).Scan(&n); err != nil {
			return fmt.Errorf("oracle: client %d: %w", i, err)
		}
		if acked := b.acked[i].Load(); n < acked {
			lost.Commits += acked - n
			lost.Client, lost.Acknowledged, lost.Found = i, acked, n
		}
	}
	if lost.Commits > 0 {
		return lost
	}
	return nil
}

// LostError: the server lacks commits that it had acknowledged.
type LostError struct {
	Commits             int64 // in all
	Client              int   // the last of those that lost some
	Acknowledged, Found int64 // its last update that was acknowledged, and the last that the server has
}

func (e *LostError) Error() string {
	return fmt.Sprintf("LOST: %d acknowledged commits; client %d was told that update %d is committed, the server has %d",
		e.Commits, e.Client, e.Acknowledged, e.Found)
}

// waitForRedo lets the load run until a crash would find enough log: figures of each server's own.
func (b *bed) waitForRedo(ctx context.Context, db *sql.DB) error {
	if b.cfg.Redo == 0 || b.cfg.Workload == WorkloadPoint {
		return nil
	}
	for told := time.Now(); ; {
		status, err := b.server.Status(ctx, db)
		if err != nil {
			return err
		}
		age, ok := status["Innodb_checkpoint_age"]
		if !ok {
			return fmt.Errorf("%s has no status value Innodb_checkpoint_age", b.server.Name)
		}
		if int64(age) >= b.cfg.Redo {
			return nil
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			b.out.Progress("%s: %.0f MiB of log behind the checkpoint, %.0f dirty pages", b.p.Name, age/(1<<20), status["Innodb_buffer_pool_pages_dirty"])
		}
		if err := after(time.Second)(ctx); err != nil {
			return err
		}
	}
}

// restart stops the server and starts the next one, while the clients go on asking.
func (b *bed) restart(ctx context.Context, t *restart.Timeline, mu *sync.Mutex) (err error) {
	var cage *restart.Cage
	enter := func(int) error { return nil }
	if b.cfg.Disk != (restart.Disk{}) {
		if cage, err = restart.NewCage(b.server.Config.Dir, b.cfg.Disk); err != nil {
			return err
		}
		enter = cage.Enter
	}
	mu.Lock()
	t.Stop = time.Now().UnixNano()
	mu.Unlock()
	stop := b.server.Stop
	if b.cfg.Stop == StopKill {
		stop = b.server.Kill
	}
	if err := stop(); err != nil {
		return err
	}
	b.stopped()
	if b.p.Lose != nil {
		if err := b.p.Lose(b.server); err != nil {
			return err
		}
	}
	b.server.Config.Extra = b.p.After
	t.Launched = time.Now().UnixNano()
	b.launched.Store(true)
	if err := b.server.Launch(ctx, enter); err != nil {
		return err
	}
	if cage != nil {
		defer func() { err = errors.Join(err, cage.Leave(b.server.Pid()), cage.Remove()) }()
	}
	for end := time.Now().Add(b.cfg.After); time.Now().Before(end); {
		if err := after(time.Second)(ctx); err != nil {
			return err
		}
		if err := b.server.Exited(); err != nil {
			return err
		}
		mu.Lock()
		done := settled(t)
		mu.Unlock()
		if done {
			break
		}
	}
	db, err := b.server.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	t.Report = startReport(ctx, db)
	t.Last, t.First = b.last.Load(), b.first.Load()
	return nil
}

// startReport is what hearth says of its start; other servers have none.
func startReport(ctx context.Context, db *sql.DB) string {
	var kind string
	var seconds float64
	var redo int64
	err := db.QueryRowContext(ctx, "SELECT kind, seconds, redo_bytes FROM information_schema.hearth_start_report").Scan(&kind, &seconds, &redo)
	if err != nil {
		return ""
	}
	report := fmt.Sprintf("%s: open after %.0f ms", kind, 1000*seconds)
	if redo > 0 {
		report += fmt.Sprintf(", %.0f MiB of log redone before", float64(redo)/(1<<20))
	}
	return report
}

// LoseMemory removes what a hearth server keeps in memory, as a reboot does.
func LoseMemory(memoryDir string) error {
	regions, err := filepath.Glob(filepath.Join(memoryDir, "hearth-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range regions {
		errs = append(errs, os.RemoveAll(r))
	}
	return errors.Join(errs...)
}

// serverFigures reports the medians of the runs of one profile.
func serverFigures(cfg ServerRestartConfig, p ServerProfile, all []*restart.Timeline, out Output) {
	put := func(name, unit string, of func(*restart.Timeline) (float64, bool)) {
		var v []float64
		for _, t := range all {
			if x, ok := of(t); ok {
				v = append(v, x)
			}
		}
		if len(v) == len(all) {
			out.Result(NewResult(serverMeasure, p.Name, cfg.Workload+": "+name, cfg.Clients, unit, v))
		} else {
			out.Progress("%s: %s: not reached in %d of %d runs within %v", p.Name, name, len(all)-len(v), len(all), cfg.After)
		}
	}
	put("before", "requests/s", func(t *restart.Timeline) (float64, bool) { return t.Warm(), true })
	put("blackout", "s", func(t *restart.Timeline) (float64, bool) { d, ok := t.Blackout(); return d.Seconds(), ok })
	put("fifth second", "% of before", func(t *restart.Timeline) (float64, bool) { return 100 * t.FifthSecond(), true })
	put("back at 90 % after the first answer", "s", func(t *restart.Timeline) (float64, bool) { d, ok := t.Recovered(0.9); return d.Seconds(), ok })
}

// pictureWindow smoothes what clients of a server see: with some hundred answers in a tick, ticks are noise.
const pictureWindow = 500 * time.Millisecond

// serverPicture draws the run in the middle of each profile.
func serverPicture(cfg ServerRestartConfig, lines []restart.Styled) interface{ Save(string) error } {
	var found []string
	for _, l := range lines {
		if d, ok := l.Recovered(0.9); ok {
			b, _ := l.Blackout()
			found = append(found, fmt.Sprintf("%s %.0f s", l.Label, (b+d).Seconds()))
		} else {
			found = append(found, fmt.Sprintf("%s more than %.0f s", l.Label, cfg.After.Seconds()))
		}
	}
	sub := fmt.Sprintf("%s, %s; %.1f GB of rows, all warm before; %d clients over the MySQL protocol", cfg.Workload, cfg.Spread, float64(cfg.Bytes)/1e9, cfg.Clients)
	if cfg.Rate > 0 {
		sub += fmt.Sprintf(", %.0f requests arriving per second", cfg.Rate)
	}
	if d := cfg.Disk.String(); d != "" {
		sub += "; after the restart the " + d
	}
	return restart.Picture{
		Title: "Seconds from the restart to 90 % of full speed: " + strings.Join(found, ", "), Subtitle: sub,
		Unit: "requests per second", LogY: true, Window: pictureWindow, Mark: map[string]string{StopKill: "kill -9", StopClean: "stop"}[cfg.Stop],
		From: -min(cfg.Before.Seconds(), 10), To: cfg.After.Seconds(),
	}.Lines(slices.Clip(lines))
}
