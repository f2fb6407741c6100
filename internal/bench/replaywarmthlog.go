package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
	"github.com/hearthdb/hearth/internal/slowlog"
)

const (
	hotRun          = 64  // rows that are hot together: some pages
	sessionLength   = 100 // statements of one session: a client has many, one after the other
	replayWarmthPad = 300
	loadBatch       = 500     // rows
	roomEvery       = 8       // rows: behind each of them another one is loaded and deleted, for pages of a table that has lived have room
	roomBatch       = 100_000 // keys that one DELETE looks at
)

// prepare loads the data, keeps a copy, and captures the chunks from clients of another copy, which it keeps as they left it.
func (w *replayWarmth) prepare(ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	logs := filepath.Join(w.dir, "slow.log")
	s, remove, err := w.restore(ctx, logs)
	if err != nil {
		return err
	}
	defer remove()
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if w.version, err = serverVersion(ctx, db); err != nil {
		return err
	}
	for k := range w.Chunks {
		if _, err := db.ExecContext(ctx, "SET GLOBAL slow_query_log_file = '"+w.chunk(k)+"'"); err != nil {
			return err
		}
		w.tell("capturing chunk %d: %d statements of %d clients", k+1, w.Statements, w.Clients)
		// What the active server reads itself for a chunk is what the best of standbys would.
		name := fmt.Sprintf("chunk %d on the active server", k+1)
		if err := w.observe(ctx, name, s, 0, func(ctx context.Context, s *peer.Server) (played, error) { return w.work(ctx, s, k) }); err != nil {
			return err
		}
	}
	if err := w.dumpPool(ctx, s, w.activePool()); err != nil {
		return err
	}
	if err := s.Stop(); err != nil { // what was logged is in the files
		return err
	}
	if err := os.Mkdir(w.successor(), 0o755); err != nil {
		return err
	}
	return os.Rename(s.Data(), filepath.Join(w.successor(), "data"))
}

// load makes the copy that all runs begin with.
func (w *replayWarmth) load(ctx context.Context) error {
	s, remove, err := w.start(ctx, w.golden(), "")
	if err != nil {
		return err
	}
	defer remove()
	w.tell("loading %d rows", w.Rows)
	began := time.Now()
	if err := loadReplayWarmth(ctx, s, w.Rows); err != nil {
		return err
	}
	w.tell("loaded in %.0f s", time.Since(began).Seconds())
	return s.Stop()
}

// itemName is what a row is called: things of one group have names beside each other, groups have not.
func itemName(row int) string {
	return fmt.Sprintf("n%08x-%02d", uint32(row/hotRun)*2654435761, row%hotRun)
}

func loadReplayWarmth(ctx context.Context, s *peer.Server, rows int) error {
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range []string{"CREATE DATABASE warmth", "USE warmth", `CREATE TABLE item (id INT PRIMARY KEY, grp INT NOT NULL, name VARCHAR(40) NOT NULL,
		stock INT NOT NULL, pad VARCHAR(400) NOT NULL, KEY grp (grp), KEY name (name)) ENGINE=InnoDB`} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	pad := strings.Repeat("x", replayWarmthPad)
	var b strings.Builder
	for i := 0; i < rows; i += loadBatch {
		b.Reset()
		b.WriteString("INSERT INTO item VALUES ")
		for j := i; j < min(i+loadBatch, rows); j++ {
			if j > i {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "(%d,%d,'%s',0,'%s')", 2*j, j/hotRun, itemName(j), pad)
			if j%roomEvery == 0 {
				fmt.Fprintf(&b, ",(%d,%d,'%s+',0,'%s')", 2*j+1, j/hotRun, itemName(j), pad)
			}
		}
		if _, err := db.ExecContext(ctx, b.String()); err != nil {
			return err
		}
	}
	for i := 0; i < 2*rows; i += roomBatch {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("DELETE FROM item WHERE id BETWEEN %d AND %d AND id %% 2 = 1", i, i+roomBatch-1)); err != nil {
			return err
		}
	}
	for _, q := range []string{"CREATE TABLE stir (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB", "ANALYZE TABLE item"} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return purged(ctx, s, db)
}

// purged waits until no version of a row is left that nobody can see.
func purged(ctx context.Context, s *peer.Server, db *sql.DB) error {
	for {
		status, err := s.Status(ctx, db)
		if err != nil || status["Innodb_history_list_length"] == 0 {
			return err
		}
		if err := after(100 * time.Millisecond)(ctx); err != nil {
			return err
		}
	}
}

// stirs of each client are enough changes for a server to have met all of its rollback segments: InnoDB has 128.
const stirs = 100

// stir has all clients change another table at once: pages that every change needs are in memory then, and only those of the rows and
// indexes are counted.
func (w *replayWarmth) stir(ctx context.Context, s *peer.Server) (played, error) {
	var clients sync.WaitGroup
	errs := make([]error, w.Clients)
	for c := range w.Clients {
		clients.Go(func() {
			errs[c] = inSession(s, func(db *sql.DB) error {
				for n := range stirs {
					if _, err := db.ExecContext(ctx, fmt.Sprintf("REPLACE INTO stir VALUES (%d, %d)", c, n)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	clients.Wait()
	return played{}, errors.Join(errs...)
}

// first does one step before another.
func first(a, b step) step {
	return func(ctx context.Context, s *peer.Server) (played, error) {
		if p, err := a(ctx, s); err != nil {
			return p, err
		}
		return b(ctx, s)
	}
}

// work is a chunk of statements of all clients: point reads, reads by two indexes, and changes.
func (w *replayWarmth) work(ctx context.Context, s *peer.Server, chunk int) (played, error) {
	began := time.Now()
	var clients sync.WaitGroup
	errs := make([]error, w.Clients)
	groups := w.Rows / hotRun
	runs := max(1, int(float64(groups)*w.HotPercent/100))
	hot := newZipf(runs, w.Zipf)
	for c := range w.Clients {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(w.Seed, uint64(chunk*1000+c)))
			about := func() int {
				if r.Float64() < w.Elsewhere {
					return r.IntN(w.Rows)
				}
				return hot.draw(r)*(groups/runs)*hotRun + r.IntN(hotRun) // spread over the table
			}
			for left := w.Statements / w.Clients; left > 0 && errs[c] == nil; left -= sessionLength {
				errs[c] = inSession(s, func(db *sql.DB) error {
					for range min(left, sessionLength) {
						if err := drain(ctx, db, statementAbout(r, about())); err != nil {
							return err
						}
					}
					return nil
				})
			}
		})
	}
	clients.Wait()
	return played{sent: int64(w.Statements / w.Clients * w.Clients), took: time.Since(began)}, errors.Join(errs...)
}

func statementAbout(r *rand.Rand, row int) string {
	switch p := r.IntN(100); {
	case p < 70:
		return fmt.Sprintf("SELECT name, stock, pad FROM item WHERE id = %d", 2*row)
	case p < 78:
		return fmt.Sprintf("SELECT SUM(stock) FROM item WHERE grp = %d", row/hotRun)
	case p < 84:
		return fmt.Sprintf("SELECT id, stock FROM item WHERE name = '%s'", itemName(row))
	case p < 92:
		return fmt.Sprintf("UPDATE item SET stock = stock + 1 WHERE id = %d", 2*row)
	case p < 96:
		return fmt.Sprintf("INSERT IGNORE INTO item VALUES (%d, %d, '%s+', 1, 'new')", 2*row+1, row/hotRun, itemName(row))
	default:
		return fmt.Sprintf("DELETE FROM item WHERE id = %d", 2*row+1)
	}
}

// inSession runs do on a connection of its own.
func inSession(s *peer.Server, do func(*sql.DB) error) error {
	db, err := s.Open("warmth")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return do(db)
}

// onlyChanges matches those of the statements that change something.
var onlyChanges = regexp.MustCompile(`^(UPDATE|INSERT|DELETE) `)

// drain runs a statement and throws its result away.
func drain(ctx context.Context, db *sql.DB, q string) error {
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// execute has clients run a chunk as it was, changes and all, each session's statements in order; only, when given, says which of them.
func (w *replayWarmth) execute(chunk int, only *regexp.Regexp) step {
	return func(ctx context.Context, s *peer.Server) (done played, err error) {
		began := time.Now()
		defer func() { done.took = time.Since(began) }()
		log, err := replay.OpenLog(w.chunk(chunk), 0)
		if err != nil {
			return done, err
		}
		defer log.Close()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var clients sync.WaitGroup
		lanes := make([]chan string, w.Clients)
		for i := range lanes {
			lanes[i] = make(chan string, laneLength)
			clients.Go(func() {
				if err := inSession(s, func(db *sql.DB) error { return runLane(ctx, db, lanes[i]) }); err != nil {
					cancel(err)
				}
			})
		}
		defer func() {
			for _, lane := range lanes {
				close(lane)
			}
			clients.Wait()
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
		}()
		entries := slowlog.NewReader(log, slowlog.Options{})
		var e slowlog.Entry
		for {
			if err := entries.Next(&e); err != nil {
				if err == io.EOF {
					err = nil
				}
				return done, err
			}
			if e.Kind != slowlog.Query || string(e.Schema) != "warmth" || only != nil && !only.Match(e.Text) {
				continue
			}
			select {
			case lanes[e.ThreadID%uint64(w.Clients)] <- string(e.Text):
				done.sent++
			case <-ctx.Done():
				return done, nil // the cause is told
			}
		}
	}
}

// laneLength is how many statements of one client are read ahead.
const laneLength = 64

// runLane runs statements until there are no more.
func runLane(ctx context.Context, db *sql.DB, statements <-chan string) error {
	for q := range statements {
		if err := drain(ctx, db, q); err != nil {
			return err
		}
	}
	return nil
}
