package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
)

// ReplayWarmthConfig says how the founding experiment is repeated: a log of real statements is cut into chunks; a cold server is
// warmed by one chunk, and what it then reads from its disk for the next one is counted.
type ReplayWarmthConfig struct {
	Dir        string
	Pool       int64
	Rows       int
	Chunks     int
	Statements int // in each chunk
	Clients    int
	HotPercent float64 // of the rows, in runs of hotRun, that most statements are about
	Elsewhere  float64 // share of statements about any row
	Controls   []string
	Picture    string // base name of pictures; empty: none
	Seed       uint64
}

// ReplayWarmthControls are the ways of warming that are compared, besides one chunk warming the next.
var ReplayWarmthControls = []string{"self", "reads-only", "dedupe", "sample", "sample-sessions", "scan", "dump-load"}

const (
	replayWarmthMeasure = "replay-warmth"
	hotRun              = 64 // rows that are hot together: some pages
	replayWarmthPad     = 300
	loadBatch           = 500
)

// ReplayWarmth runs the experiment on MariaDB. Before each run the same copy of the data is restored, and the server starts cold.
func ReplayWarmth(ctx context.Context, cfg ReplayWarmthConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	w := &replayWarmth{ReplayWarmthConfig: cfg, dir: dir, out: out}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	for k := 1; k < cfg.Chunks; k++ {
		cold, err := w.run(ctx, fmt.Sprintf("chunk %d cold", k+1), nil, k)
		if err != nil {
			return err
		}
		warm, err := w.run(ctx, fmt.Sprintf("chunk %d after chunk %d", k+1, k), w.playChunk(k-1, nil), k)
		if err != nil {
			return err
		}
		if k > 1 {
			continue
		}
		if err := w.picture(cold, warm); err != nil {
			return err
		}
		for _, c := range cfg.Controls {
			name, measured := "chunk 2 after "+c, k
			var before func(context.Context, *peer.Server) error
			switch c {
			case "self":
				name, before = "chunk 2 after itself", w.playChunk(1, nil)
			case "reads-only":
				before = w.playChunk(0, func(c *replay.Config) { c.Target.Writes = replay.WritesSkip })
			case "dedupe":
				before = w.playChunk(0, func(c *replay.Config) { c.Dedupe, c.Residency = true, time.Minute })
			case "sample":
				before = w.playChunk(0, func(c *replay.Config) { c.Filter.Entries = 0.1 })
			case "sample-sessions":
				before = w.playChunk(0, func(c *replay.Config) { c.Filter.Sessions = 0.1 })
			case "scan":
				before = scanAll
			case "dump-load":
				before = w.loadDump
			default:
				return fmt.Errorf("control %q: want one of %s", c, strings.Join(ReplayWarmthControls, ", "))
			}
			if _, err := w.run(ctx, name, before, measured); err != nil {
				return err
			}
		}
	}
	return nil
}

type replayWarmth struct {
	ReplayWarmthConfig
	dir  string
	out  Output
	dump string // a pool's list after chunk 1
}

func (w *replayWarmth) golden() string { return filepath.Join(w.dir, "golden") }
func (w *replayWarmth) chunk(k int) string {
	return filepath.Join(w.dir, fmt.Sprintf("chunk%d.log", k+1))
}
func (w *replayWarmth) tell(f string, a ...any) { w.out.Progress("warmth: "+f, a...) }

// server makes one over a folder, with nothing in its pool when it starts.
func (w *replayWarmth) server(dir string) (*peer.Server, error) {
	return peer.MariaDB(peer.Config{Dir: dir, Pool: w.Pool, LogSize: 64 << 20, Extra: []string{
		"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--innodb-fast-shutdown=0", "--innodb-stats-auto-recalc=0"}})
}

// prepare loads the data, keeps a copy, and captures the chunks from clients of another copy.
func (w *replayWarmth) prepare(ctx context.Context) error {
	s, err := w.server(w.golden())
	if err != nil {
		return err
	}
	defer s.Kill()
	if err := s.Start(ctx); err != nil {
		return err
	}
	w.tell("loading %d rows", w.Rows)
	if err := loadReplayWarmth(ctx, s, w.Rows); err != nil {
		return err
	}
	if err := s.Stop(); err != nil {
		return err
	}
	s, remove, err := w.restore()
	if err != nil {
		return err
	}
	defer remove()
	defer s.Kill()
	if err := s.Start(ctx); err != nil {
		return err
	}
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, q := range []string{"SET GLOBAL log_output = 'FILE'", "SET GLOBAL long_query_time = 0", "SET GLOBAL slow_query_log = 1"} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	for k := range w.Chunks {
		if _, err := db.ExecContext(ctx, "SET GLOBAL slow_query_log_file = '"+w.chunk(k)+"'"); err != nil {
			return err
		}
		w.tell("capturing chunk %d: %d statements of %d clients", k+1, w.Statements, w.Clients)
		if err := w.work(ctx, s, k); err != nil {
			return err
		}
	}
	return nil
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
			fmt.Fprintf(&b, "(%d,%d,'n%08x',0,'%s')", 2*j, j/hotRun, uint32(j)*2654435761, pad)
		}
		if _, err := db.ExecContext(ctx, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// work is a chunk of statements of all clients: point reads, reads by two indexes, and changes.
func (w *replayWarmth) work(ctx context.Context, s *peer.Server, chunk int) error {
	var clients sync.WaitGroup
	errs := make([]error, w.Clients)
	runs := max(1, int(float64(w.Rows/hotRun)*w.HotPercent/100))
	for c := range w.Clients {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(w.Seed, uint64(chunk*1000+c)))
			db, err := s.Open("warmth")
			if err != nil {
				errs[c] = err
				return
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			for range w.Statements / w.Clients {
				row := r.IntN(w.Rows)
				if r.Float64() >= w.Elsewhere {
					hot := r.IntN(runs) * (w.Rows / hotRun / runs) // spread over the table
					row = min(hot*hotRun+r.IntN(hotRun), w.Rows-1)
				}
				if err := oneStatement(ctx, db, r, row); err != nil {
					errs[c] = err
					return
				}
			}
		})
	}
	clients.Wait()
	return errors.Join(errs...)
}

func oneStatement(ctx context.Context, db *sql.DB, r *rand.Rand, row int) error {
	var q string
	switch p := r.IntN(100); {
	case p < 70:
		q = fmt.Sprintf("SELECT name, stock, pad FROM item WHERE id = %d", 2*row)
	case p < 78:
		q = fmt.Sprintf("SELECT SUM(stock) FROM item WHERE grp = %d", row/hotRun)
	case p < 84:
		q = fmt.Sprintf("SELECT id, stock FROM item WHERE name = 'n%08x'", uint32(row)*2654435761)
	case p < 92:
		q = fmt.Sprintf("UPDATE item SET stock = stock + 1 WHERE id = %d", 2*row)
	case p < 96:
		q = fmt.Sprintf("INSERT IGNORE INTO item VALUES (%d, %d, 'n%08x', 1, 'new')", 2*row+1, row/hotRun, uint32(row)*2654435761+1)
	default:
		q = fmt.Sprintf("DELETE FROM item WHERE id = %d", 2*row+1)
	}
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return fmt.Errorf("%s: %w", q, err)
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// restore makes a server over a fresh copy of the data.
func (w *replayWarmth) restore() (s *peer.Server, remove func(), err error) {
	dir, err := os.MkdirTemp(w.dir, "run-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(w.golden(), "data"))); err != nil {
		remove()
		return nil, nil, fmt.Errorf("restore the copy: %w", err)
	}
	s, err = w.server(dir)
	return s, remove, err
}

// series is what was read from the disk, second by second.
type replaySeries struct {
	name   string
	points []chart.Point
	reads  float64
}

// run restores, starts cold, warms, and measures a chunk.
func (w *replayWarmth) run(ctx context.Context, name string, before func(context.Context, *peer.Server) error, chunk int) (replaySeries, error) {
	out := replaySeries{name: name}
	s, remove, err := w.restore()
	if err != nil {
		return out, err
	}
	defer remove()
	defer s.Kill()
	if err := s.Start(ctx); err != nil {
		return out, err
	}
	if before != nil {
		if err := before(ctx, s); err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
	}
	db, err := s.Open("")
	if err != nil {
		return out, err
	}
	defer db.Close()
	start, err := diskReads(ctx, s, db)
	if err != nil {
		return out, err
	}
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- w.playChunk(chunk, nil)(ctx, s) }()
	last := start
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				return out, fmt.Errorf("%s: %w", name, err)
			}
			running = false
		case <-time.After(time.Second):
		}
		now, err := diskReads(ctx, s, db)
		if err != nil {
			return out, err
		}
		out.points = append(out.points, chart.Point{X: time.Since(began).Seconds(), Y: now - last})
		last = now
	}
	out.reads = last - start
	w.tell("%s: %.0f reads", name, out.reads)
	w.out.Result(NewResult(replayWarmthMeasure, "MariaDB", name, w.Clients, "disk reads", []float64{out.reads}))
	return out, nil
}

func diskReads(ctx context.Context, s *peer.Server, db *sql.DB) (float64, error) {
	status, err := s.Status(ctx, db)
	return status["Innodb_buffer_pool_reads"], err
}

// playChunk replays a chunk; change makes another replay of it.
func (w *replayWarmth) playChunk(k int, change func(*replay.Config)) func(context.Context, *peer.Server) error {
	return func(ctx context.Context, s *peer.Server) error {
		c := replay.Config{
			Target:      replay.TargetConfig{DSN: s.DSN(""), Limits: replay.DefaultLimits, Writes: replay.WritesRewrite, MayWrite: true, AccountWrite: true},
			Connections: w.Clients, QueueBytes: replay.DefaultQueueBytes, Policy: replay.PolicyBlock,
		}
		if change != nil {
			change(&c)
		}
		p, err := replay.New(ctx, c)
		if err != nil {
			return err
		}
		defer p.Close()
		f, err := replay.OpenLog(w.chunk(k), 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := p.Run(ctx, replay.NewLogSource(f, replay.Place{}, false)); err != nil {
			return err
		}
		t := p.Accounts.Totals()
		if t.Sum(replay.Run)+t.Sum(replay.Rewritten) == 0 && change == nil {
			return fmt.Errorf("nothing of chunk %d was replayed: %s", k+1, t)
		}
		if t.Sum(replay.Failed) > t.Received/100 {
			return fmt.Errorf("the target refused much of chunk %d: %s", k+1, t)
		}
		return nil
	}
}

// scanAll reads all of the table, by its rows and by its indexes.
func scanAll(ctx context.Context, s *peer.Server) error {
	db, err := s.Open("warmth")
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	for _, q := range []string{"SELECT COUNT(pad) FROM item", "SELECT COUNT(*) FROM item FORCE INDEX (name) WHERE name > ''", "SELECT COUNT(*) FROM item FORCE INDEX (grp) WHERE grp >= 0"} {
		if err := db.QueryRowContext(ctx, q).Scan(&n); err != nil {
			return err
		}
	}
	return nil
}

// loadDump loads the list of pages that a server had after chunk 1.
func (w *replayWarmth) loadDump(ctx context.Context, s *peer.Server) error {
	if w.dump == "" {
		if err := w.makeDump(ctx); err != nil {
			return err
		}
	}
	b, err := os.ReadFile(w.dump)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Data(), "ib_buffer_pool"), b, 0o644); err != nil {
		return err
	}
	return dumpOrLoad(ctx, s, "innodb_buffer_pool_load_now", "Innodb_buffer_pool_load_status", "load completed")
}

func (w *replayWarmth) makeDump(ctx context.Context) error {
	s, remove, err := w.restore()
	if err != nil {
		return err
	}
	defer remove()
	defer s.Kill()
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := w.playChunk(0, nil)(ctx, s); err != nil {
		return err
	}
	if err := dumpOrLoad(ctx, s, "innodb_buffer_pool_dump_now", "Innodb_buffer_pool_dump_status", "dump completed"); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(s.Data(), "ib_buffer_pool"))
	if err != nil {
		return err
	}
	w.dump = filepath.Join(w.dir, "ib_buffer_pool")
	return os.WriteFile(w.dump, b, 0o644)
}

// dumpOrLoad asks for it and waits until the server says that it is done.
func dumpOrLoad(ctx context.Context, s *peer.Server, variable, status, done string) error {
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "SET GLOBAL innodb_buffer_pool_dump_pct = 100"); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "SET GLOBAL "+variable+" = 1"); err != nil {
		return err
	}
	for {
		var name, value string
		if err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+status+"'").Scan(&name, &value); err != nil {
			return err
		}
		if strings.Contains(value, done) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// picture draws the founding picture: reads per second of chunk 2, cold and after chunk 1.
func (w *replayWarmth) picture(cold, warm replaySeries) error {
	if w.Picture == "" {
		return nil
	}
	times := "far fewer"
	if warm.reads > 0 {
		times = fmt.Sprintf("%.0f times fewer", cold.reads/warm.reads)
	}
	return chart.Lines{
		Title:    "A standby that replays its primary's log reads " + times + " pages from its disk",
		Subtitle: fmt.Sprintf("MariaDB, %d rows, pool of %d MiB; chunk 2 of a log replayed by %d clients", w.Rows, w.Pool>>20, w.Clients),
		X:        "seconds", Y: "disk reads per second", LogY: true, Floor: 0.1,
		Lines: []chart.Line{
			{Name: cold.name, Color: chart.Cold, Points: cold.points},
			{Name: warm.name, Color: chart.InnoDB, Points: warm.points},
		},
	}.Save(w.Picture)
}
