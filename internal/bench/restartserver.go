package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/restart"
)

// ServerRestartConfig says which restarts of which servers are measured, over the MySQL protocol.
type ServerRestartConfig struct {
	Dir      string
	Bytes    int64 // of rows
	Pool     int64
	LogSize  int64
	Clients  int
	Rate     float64 // requests that arrive per second (open loop); 0: each client without a pause
	Workload string  // WorkloadPoint, WorkloadUpdate, WorkloadReadWrite
	Spread   string
	Stop     string
	Before   time.Duration
	After    time.Duration
	Redo     int64        // with updates: bytes of log that have to be behind the kill, at least
	Disk     restart.Disk // of the server after the restart
	Runs     int
	Seed     uint64
	Picture  string
	Timeline func(*restart.Timeline)

	Profiles []ServerProfile
}

// What clients ask for.
const (
	WorkloadPoint     = "point"     // one row by its primary key
	WorkloadUpdate    = "update"    // one row changed by its primary key, a transaction of its own
	WorkloadReadWrite = "readwrite" // nine rows read and one changed, in one transaction
)

// ServerWorkloads are all there are.
var ServerWorkloads = []string{WorkloadPoint, WorkloadUpdate, WorkloadReadWrite}

// ServerProfile is a server and what its restart finds.
type ServerProfile struct {
	Name  string // "hearth, memory kept"
	Kind  string // profiles of one kind share a server and its rows
	Color chart.Color
	Dash  bool
	Make  func(peer.Config) (*peer.Server, error)
	Load  []string // flags of the load before the restart
	After []string // flags after it
	// Dump, when given, is the statement that writes the list of cached pages before the restart.
	Dump string
	// Lose, when given, throws away what the machine's memory would lose in a reboot, between stop and start.
	Lose func(s *peer.Server) error
}

const (
	serverMeasure  = "restart-server"
	serverDatabase = "bench"
	// serverRow is what a row of the table takes: id, k, c char(120), pad char(60), as in sysbench.
	serverRow   = 190
	serverBatch = 500 // rows of one INSERT
	loaders     = 2
)

// ServerRestart measures the restarts of each profile in turn, Runs times. A kind of server is loaded once.
func ServerRestart(ctx context.Context, cfg ServerRestartConfig, out Output) (err error) {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	servers := map[string]*peer.Server{}
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Kill())
		}
	}()
	var lines []restart.Styled
	for _, p := range cfg.Profiles {
		s := servers[p.Kind]
		if s == nil {
			s, err = p.Make(peer.Config{Dir: filepath.Join(dir, p.Kind), Pool: cfg.Pool, LogSize: cfg.LogSize, Durable: true})
			if errors.Is(err, peer.ErrMissing) {
				out.Progress("%s: %v; measuring without it", p.Name, err)
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			servers[p.Kind] = s
			if err := loadServer(ctx, cfg, s, out); err != nil {
				return fmt.Errorf("%s: load: %w", s.Name, err)
			}
		}
		var all []*restart.Timeline
		for n := range cfg.Runs {
			b := newBed(cfg, p, s, out)
			t := &restart.Timeline{Name: p.Name, System: s.Name, Config: b.config()}
			if err := b.measure(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			blackout, _ := t.Blackout()
			out.Progress("%s: run %d of %d, blackout %v; %s", p.Name, n+1, cfg.Runs, blackout.Round(time.Millisecond), t.Report)
			if cfg.Timeline != nil {
				cfg.Timeline(t)
			}
			all = append(all, t)
		}
		serverFigures(cfg, p, all, out)
		lines = append(lines, restart.Styled{Timeline: all[len(all)/2], Label: p.Name, Color: p.Color, Dashed: p.Dash})
	}
	if cfg.Picture == "" {
		return nil
	}
	return serverPicture(cfg, lines).Save(cfg.Picture)
}

// bed is one server with its table and its clients.
type bed struct {
	cfg    ServerRestartConfig
	p      ServerProfile
	out    Output
	server *peer.Server
	rows   int
	acked  []atomic.Int64 // by client: the number of its last update that was acknowledged

	clients []*client

	launched    atomic.Bool  // the new process was started: all answers from now on are its own
	last, first atomic.Int64 // answers: the last before that, the first after, nanoseconds since 1970

	tick    func(restart.Tick) // told each, besides
	stopped func()             // told when the server was stopped
}

func newBed(cfg ServerRestartConfig, p ServerProfile, s *peer.Server, out Output) *bed {
	return &bed{cfg: cfg, p: p, out: out, server: s, rows: int(cfg.Bytes / serverRow), acked: make([]atomic.Int64, cfg.Clients),
		tick: func(restart.Tick) {}, stopped: func() {}}
}

// loadServer makes the tables and stops the server in order.
func loadServer(ctx context.Context, cfg ServerRestartConfig, s *peer.Server, out Output) error {
	b := newBed(cfg, ServerProfile{Name: s.Name}, s, out)
	out.Progress("%s: loading %d rows", s.Name, b.rows)
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := b.load(ctx); err != nil {
		return err
	}
	return s.Stop()
}

func (b *bed) config() map[string]string {
	c := b.cfg
	return map[string]string{
		"profile": b.p.Name, "flags before": strings.Join(b.p.Load, " "), "flags after": strings.Join(b.p.After, " "),
		"rows": strconv.Itoa(b.rows), "bytes": strconv.FormatInt(c.Bytes, 10), "pool": strconv.FormatInt(c.Pool, 10),
		"log": strconv.FormatInt(c.LogSize, 10), "clients": strconv.Itoa(c.Clients), "rate": strconv.FormatFloat(c.Rate, 'f', -1, 64),
		"workload": c.Workload, "spread": c.Spread, "stop": c.Stop, "disk": c.Disk.String(), "seed": strconv.FormatUint(c.Seed, 10),
	}
}

// load makes the table: rows in order of their key, by a few connections.
func (b *bed) load(ctx context.Context) error {
	db, err := b.server.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE DATABASE " + serverDatabase,
		"CREATE TABLE " + serverDatabase + ".t (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)",
		"CREATE TABLE " + serverDatabase + ".oracle (client INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	for w := range b.cfg.Clients {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s.oracle VALUES (%d, 0)", serverDatabase, w)); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	var loaded atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for l := range loaders {
		wg.Go(func() {
			if err := b.loadPart(ctx, db, l, &loaded); err != nil {
				cancel(err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	for told := time.NewTicker(5 * time.Second); ; {
		select {
		case <-ended:
			return context.Cause(ctx)
		case <-told.C:
			b.out.Progress("%s: loaded %d of %d rows", b.p.Name, loaded.Load(), b.rows)
		}
	}
}

// loadPart loads a range of the keys.
func (b *bed) loadPart(ctx context.Context, db *sql.DB, part int, loaded *atomic.Int64) error {
	rnd := newRand(b.cfg.Seed, part)
	var q strings.Builder
	for id, end := b.rows*part/loaders, b.rows*(part+1)/loaders; id < end; {
		q.Reset()
		q.WriteString("INSERT INTO " + serverDatabase + ".t VALUES ")
		first := id
		for ; id < end && id < first+serverBatch; id++ {
			if id > first {
				q.WriteByte(',')
			}
			fmt.Fprintf(&q, "(%d,%d,'", id, rnd.IntN(b.rows))
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

// measure runs the load, restarts the server in its middle, and fills the timeline.
func (b *bed) measure(ctx context.Context, t *restart.Timeline) error {
	b.server.Config.Extra = b.p.Load
	if err := b.server.Start(ctx); err != nil {
		return err
	}
	db, err := b.server.Open(serverDatabase)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "UPDATE oracle SET n = 0"); err != nil {
		return err
	}
	b.out.Progress("%s: warming", b.p.Name)
	var sum sql.NullFloat64
	if err := db.QueryRowContext(ctx, "SELECT SUM(k) FROM t WHERE pad <> ''").Scan(&sum); err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	load, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	var mu sync.Mutex
	ops := b.ops()
	defer func() {
		for _, c := range b.clients {
			c.close()
		}
	}()
	ended.Go(func() {
		restart.Load{Rate: b.cfg.Rate, Patience: punctual}.Run(load, ops, func(k restart.Tick) {
			mu.Lock()
			t.Ticks = append(t.Ticks, k)
			b.tick(k)
			mu.Unlock()
		})
	})
	if err := after(b.cfg.Before)(ctx); err != nil {
		return err
	}
	if err := b.waitForRedo(ctx, db); err != nil {
		return err
	}
	if b.p.Dump != "" {
		if _, err := db.ExecContext(ctx, b.p.Dump); err != nil {
			return fmt.Errorf("%s: %w", b.p.Dump, err)
		}
		if err := after(b.cfg.Before / 2)(ctx); err != nil {
			return err
		}
	}
	if err := b.restart(ctx, t, &mu); err != nil {
		return err
	}
	stop()
	ended.Wait()
	if err := b.oracle(ctx); err != nil {
		return err
	}
	return b.server.Stop()
}
