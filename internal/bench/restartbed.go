package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
)

// bed is one server with its tables and its clients, around one restart.
type bed struct {
	subject
	cfg    ServerRestartConfig
	c      ServerCase
	p      ServerProfile
	out    Output
	tables dataset
	work   work

	mu          sync.Mutex   // guards the ticks of the timeline while clients work
	launched    atomic.Bool  // the new process was started: all answers from now on are its own
	held        atomic.Bool  // clients are not let in
	scanning    atomic.Bool  // startScans has not read everything yet
	last, first atomic.Int64 // answers: the last before that, the first after, nanoseconds since 1970

	tick    func(restart.Tick) // told each, besides
	stopped func()             // told when the server was stopped
}

func newBed(cfg ServerRestartConfig, c ServerCase, p ServerProfile, s subject, out Output) *bed {
	return &bed{
		subject: s, cfg: cfg, c: c, p: p, out: out, tables: datasetOf(c.Workload), work: newWork(cfg, c),
		tick: func(restart.Tick) {}, stopped: func() {},
	}
}

// loadServer makes the tables of a workload in a server that answers.
func loadServer(ctx context.Context, cfg ServerRestartConfig, workload string, s subject, out Output) error {
	out.Progress("%s: loading %s", s.name, cfg.size())
	start := time.Now()
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+s.schema); err != nil {
		return err
	}
	in, err := s.Open(s.schema)
	if err != nil {
		return err
	}
	defer in.Close()
	progress := func(done, all int) {
		took := time.Since(start)
		left := time.Duration(float64(took) * float64(all-done) / float64(max(1, done)))
		out.Progress("%s: loaded %d %%, %v to go", s.name, 100*done/all, left.Round(time.Second))
	}
	if err := datasetOf(workload).fill(ctx, cfg, in, progress); err != nil {
		return err
	}
	out.Progress("%s: loaded after %v", s.name, time.Since(start).Round(time.Second))
	return nil
}

func (b *bed) config() map[string]string {
	c := b.cfg
	config := map[string]string{
		"profile": b.p.Name, "flags before": strings.Join(b.p.Load, " "), "flags after": strings.Join(b.p.After, " "),
		"bytes": strconv.FormatInt(c.Bytes, 10), "pool": strconv.FormatInt(c.Pool, 10), "log": strconv.FormatInt(c.LogSize, 10),
		"clients": strconv.Itoa(b.clients()), "rate": strconv.FormatFloat(b.c.Rate, 'f', -1, 64), "workload": b.c.Workload, "spread": b.c.Spread,
		"stop": b.c.Stop, "redo": strconv.FormatInt(c.Redo, 10), "before": c.Before.String(), "after": c.After.String(),
		"disk": c.Disk.String(), "seed": strconv.FormatUint(c.Seed, 10), "cpus": strconv.Itoa(runtime.NumCPU()),
		"command": c.Command,
	}
	if o := b.p.Other; o != nil {
		config["pool"], config["log"] = "its own", "its own"
		config["start"], config["stopped by"], config["cold"] = o.Start, map[string]string{StopKill: o.Kill, StopClean: o.Stop}[b.c.Stop], o.Cold
	}
	return config
}

func (b *bed) clients() int {
	if b.c.Rate > 0 {
		return max(b.cfg.Clients, openClients)
	}
	return b.cfg.Clients
}

// measure runs the load, restarts the server in its middle, fills the timeline, and verifies. The server runs on.
func (b *bed) measure(ctx context.Context, t *restart.Timeline) (err error) {
	b.flags(b.p.Load)
	if err := b.server.Start(ctx); err != nil {
		return err
	}
	db, err := b.server.Open(b.schema)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version{t}); err != nil {
		return err
	}
	if err := b.work.reset(ctx, db); err != nil {
		return err
	}
	b.out.Progress("%s: %s: warming", b.c, b.p.Name)
	if err := b.scan(ctx, db, warmers); err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	enter, release, err := b.hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	load, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	ops, hangUp := b.ops()
	defer hangUp()
	samples := newSampler(b.server, b.p.Facts)
	ended.Go(func() { samples.run(load) })
	ended.Go(func() {
		restart.Load{Rate: b.c.Rate, Patience: punctual, Facts: func() map[string]float64 {
			return samples.take(b.work.facts)
		}}.Run(load, ops, func(k restart.Tick) {
			b.mu.Lock()
			t.Ticks = append(t.Ticks, k)
			b.tick(k)
			b.mu.Unlock()
		})
	})
	if err := after(b.cfg.Before)(ctx); err != nil {
		return err
	}
	if err := b.waitForRedo(ctx, t); err != nil {
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
	if err := b.restart(ctx, t, enter); err != nil {
		return err
	}
	stop()
	ended.Wait()
	verdict, err := b.work.verify(ctx, db)
	if err != nil {
		return err
	}
	t.Config["verified"] = verdict
	if verdict != "" {
		b.out.Progress("%s: %s: %s", b.c, b.p.Name, verdict)
	}
	return nil
}

// version puts what a server says of itself into a timeline.
type version struct{ t *restart.Timeline }

func (v *version) Scan(from any) error {
	v.t.Config["server version"] = fmt.Sprintf("%s", from)
	return nil
}

// retryAfter is how long a client waits after an error before it asks again.
const retryAfter = 5 * time.Millisecond

// errHeld: this client is not let in yet.
var errHeld = errors.New("clients are held back until the scans are done")

// ops makes the clients, a connection each. A lost connection is made again by the next request.
func (b *bed) ops() (ops []restart.Op, hangUp func()) {
	var all []*sql.DB
	for i := range b.clients() {
		db, err := b.server.Open(b.schema)
		if err != nil {
			panic("BUG: the name of our own server: " + err.Error())
		}
		db.SetMaxOpenConns(1)
		all = append(all, db)
		request := b.work.client(i, db)
		ops = append(ops, func(ctx context.Context) error {
			err := errHeld
			if !b.held.Load() {
				err = request(ctx)
			}
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
		})
	}
	return ops, func() {
		for _, db := range all {
			db.Close()
		}
	}
}

// warmers read everything before a restart, each a part: one alone waits for a disk that could do more.
const warmers = 4

// scan reads everything, so many statements at a time.
func (b *bed) scan(ctx context.Context, db *sql.DB, atOnce int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan string)
	var scanning sync.WaitGroup
	for range atOnce {
		scanning.Go(func() {
			for q := range todo {
				var found sql.NullFloat64
				if err := db.QueryRowContext(ctx, q).Scan(&found); err != nil {
					cancel(fmt.Errorf("%s: %w", q, err)) // the first counts
				}
			}
		})
	}
	for _, q := range b.tables.scans(b.cfg) {
		todo <- q
	}
	close(todo)
	scanning.Wait()
	return context.Cause(ctx)
}

// redoPatience is how long the load may take to write the log that is wanted: a server that checkpoints all the time never gets there.
const redoPatience = 5 * time.Minute

// waitForRedo lets the load run until a crash would find enough log: figures of each server's own.
func (b *bed) waitForRedo(ctx context.Context, t *restart.Timeline) error {
	if _, tells := b.p.Facts[checkpointAge]; !tells || b.cfg.Redo == 0 || b.c.Workload == WorkloadPoint {
		return nil
	}
	start := time.Now()
	for told := start; ; {
		b.mu.Lock()
		age, ok := t.FactNow(factAge)
		dirty, _ := t.FactNow(factDirty)
		b.mu.Unlock()
		if !ok && time.Since(start) > samplePatience {
			b.out.Progress("%s: does not say how much log lies behind its checkpoint (%s); not waiting for %.0f MiB of it",
				b.p.Name, checkpointAge, float64(b.cfg.Redo)/(1<<20))
			return nil
		}
		if int64(age) >= b.cfg.Redo {
			return nil
		}
		if time.Since(start) > redoPatience {
			b.out.Progress("%s: after %v still only %.0f MiB of log behind the checkpoint; going on with that", b.p.Name, redoPatience, age/(1<<20))
			return nil
		}
		if time.Since(told) > 15*time.Second {
			told = time.Now()
			b.out.Progress("%s: %.0f MiB of log behind the checkpoint, %.0f dirty pages", b.p.Name, age/(1<<20), dirty)
		}
		if err := after(time.Second)(ctx); err != nil {
			return err
		}
	}
}

// hold holds the server's disk back, if that is wanted, from now on until release: what is done before the restart is done on the same
// disk as what is done after it. enter is for the process of the restart.
func (b *bed) hold() (enter func(pid int) error, release func() error, err error) {
	if b.cfg.Disk == (restart.Disk{}) {
		return nil, func() error { return nil }, nil
	}
	cage, err := restart.NewCage(b.data, b.cfg.Disk)
	if err != nil {
		return nil, nil, err
	}
	pids, err := b.server.Processes()
	for _, pid := range pids {
		err = errors.Join(err, cage.Enter(pid))
	}
	if err != nil {
		return nil, nil, errors.Join(err, cage.Remove())
	}
	if len(pids) == 0 {
		b.out.Progress("%s: does not say which processes are its own (--pid): its disk is held back from the restart on only", b.p.Name)
	}
	return cage.Enter, cage.Remove, nil
}

// restart stops the server and starts the next one, while the clients go on asking.
func (b *bed) restart(ctx context.Context, t *restart.Timeline, enter func(pid int) error) error {
	b.mu.Lock()
	t.Stop = time.Now().UnixNano()
	b.mu.Unlock()
	stop := b.server.Stop
	if b.c.Stop == StopKill {
		stop = b.server.Kill
	}
	if err := stop(); err != nil {
		return err
	}
	b.stopped()
	if b.p.Lose {
		if err := errors.Join(b.cold(), loseMemory(b.p.Memory, b.data)); err != nil {
			return err
		}
	}
	b.flags(b.p.After)
	b.held.Store(b.p.Scan == ScanBefore)
	t.Launched = time.Now().UnixNano()
	b.launched.Store(true)
	if err := b.server.Launch(ctx, enter); err != nil {
		return err
	}
	scans := b.startScans(ctx)
	err := b.watch(ctx, t)
	scanned := scans()
	if err != nil {
		return err
	}
	db, err := b.server.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	t.Report = strings.TrimPrefix(startReport(ctx, db)+scanned, "; ")
	t.Last, t.First = b.last.Load(), b.first.Load()
	return nil
}

// answerPatience is how long a server may take to its first answer after the restart: crash recovery is measured in minutes.
const answerPatience = 20 * time.Minute

// watch waits until the restart is over.
func (b *bed) watch(ctx context.Context, t *restart.Timeline) error {
	start := time.Now()
	for told := start; ; {
		if err := after(time.Second)(ctx); err != nil {
			return err
		}
		if err := b.server.Exited(); err != nil {
			return err
		}
		first := b.first.Load()
		if first == 0 {
			if time.Since(start) > b.wait {
				return fmt.Errorf("no answer within %v of the start", b.wait)
			}
			if time.Since(told) > 15*time.Second {
				told = time.Now()
				b.out.Progress("%s: no answer for %v", b.p.Name, time.Since(start).Round(time.Second))
			}
			continue
		}
		if time.Now().UnixNano()-first >= int64(b.cfg.After) {
			return nil
		}
		b.mu.Lock()
		over := !b.cfg.Whole && !b.scanning.Load() && settled(t, settleServed, b.c.Rate > 0)
		b.mu.Unlock()
		if over {
			return nil
		}
	}
}

// startScans reads everything as the profile says. The function it returns ends the scans, and tells what became of them.
func (b *bed) startScans(ctx context.Context) (end func() string) {
	if b.p.Scan == ScanNever {
		return func() string { return "" }
	}
	ctx, cancel := context.WithCancel(ctx)
	told := make(chan string, 1)
	b.scanning.Store(true)
	go func() {
		start := time.Now()
		err := b.scanWhenUp(ctx)
		b.held.Store(false)
		b.scanning.Store(false)
		took := time.Since(start).Seconds()
		switch {
		case ctx.Err() != nil:
			told <- fmt.Sprintf("; scans not done after %.0f s", took)
		case err != nil:
			told <- fmt.Sprintf("; scans failed after %.0f s: %v", took, err)
		default:
			told <- fmt.Sprintf("; scans done %.0f s after the start", took)
		}
	}()
	return func() string { cancel(); return <-told }
}

func (b *bed) scanWhenUp(ctx context.Context) error {
	db, err := b.server.Open(b.schema)
	if err != nil {
		return err
	}
	defer db.Close()
	for db.PingContext(ctx) != nil {
		if err := after(50 * time.Millisecond)(ctx); err != nil {
			return err
		}
	}
	return b.scan(ctx, db, 1)
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
		report += fmt.Sprintf(", %.0f MiB of log redone behind that", float64(redo)/(1<<20))
	}
	return report
}
