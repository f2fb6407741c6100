package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
	"github.com/hearthdb/hearth/internal/tpcc"
)

// Of the pair. The load is one that leaves processor time to all servers, which share the machine.
const (
	pairRate      = 60 // transactions a second
	pairClients   = 8
	pairPromotion = 3 * time.Second // without a statement: the replay has stopped
	failoverTime  = 10 * time.Second
	tpccBytes     = 200 << 20
)

// pairLoad is what clients do.
type pairLoad struct {
	name string
	load func(ctx context.Context, s *peer.Server) error
	// run works for a while and returns the 99th percentile of its transactions, in ms.
	run func(ctx context.Context, s *peer.Server, d time.Duration) (p99 float64, err error)
}

func (b *replayBench) pairSysbench(ctx context.Context) error {
	tool := sysbench{database: "sbtest", tables: replayTables, rows: b.Rows, seed: b.Seed, text: true, rate: pairRate}
	return b.pair(ctx, pairLoad{
		name: "sysbench oltp_read_write",
		load: func(ctx context.Context, s *peer.Server) error { return b.loadSysbench(ctx, s, tool.on(s)) },
		run: func(ctx context.Context, s *peer.Server, d time.Duration) (float64, error) {
			return tool.on(s).p99(ctx, "oltp_read_write", pairClients, d)
		},
	})
}

func (b *replayBench) pairTPCC(ctx context.Context) error {
	driver := tpcc.NewDriver(tpcc.ScaleFor(tpccBytes), b.Seed)
	return b.pair(ctx, pairLoad{
		name: "TPC-C",
		load: func(ctx context.Context, s *peer.Server) error {
			b.tell("loading TPC-C, %d MB", tpccBytes>>20)
			if err := execAll(ctx, s, "", "CREATE DATABASE tpcc"); err != nil {
				return err
			}
			db, err := s.Open("tpcc")
			if err != nil {
				return err
			}
			defer db.Close()
			return tpcc.Load(ctx, db, tpcc.LoadConfig{Scale: tpcc.ScaleFor(tpccBytes), Loaders: loaders, Seed: b.Seed, Progress: func(int) {}})
		},
		run: func(ctx context.Context, s *peer.Server, d time.Duration) (float64, error) {
			return tpccP99(ctx, driver, s, d)
		},
	})
}

// on is the tool for another server.
func (s sysbench) on(server *peer.Server) sysbench {
	s.server = server
	return s
}

var sysbenchP99 = regexp.MustCompile(`99th percentile:\s+([0-9.]+)`)

// p99 of transactions, in ms.
func (s sysbench) p99(ctx context.Context, script string, threads int, d time.Duration) (float64, error) {
	out, err := s.call(ctx, s.args(script, "run", fmt.Sprintf("--threads=%d", threads), fmt.Sprintf("--rate=%d", s.rate), "--percentile=99",
		fmt.Sprintf("--time=%d", max(1, int(d.Seconds()))), "--mysql-ignore-errors=1213,1020,1205"))
	if err != nil {
		return 0, err
	}
	m := sysbenchP99.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("sysbench: no 99th percentile in its report: %s", lastLines(out, 20))
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// tpccP99 runs terminals at pairRate together.
func tpccP99(ctx context.Context, driver *tpcc.Driver, s *peer.Server, d time.Duration) (float64, error) {
	db, err := s.Open("tpcc")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var clients sync.WaitGroup
	took, errs := make([][]time.Duration, pairClients), make([]error, pairClients)
	start := time.Now()
	for c := range pairClients {
		clients.Go(func() {
			t := driver.Terminal(c, db)
			for n := 0; errs[c] == nil; n++ {
				due := start.Add(time.Duration(n*pairClients+c) * time.Second / pairRate) // the wait for a late one counts
				if due.Sub(start) >= d {
					return
				}
				time.Sleep(time.Until(due))
				errs[c] = t.Do(ctx)
				took[c] = append(took[c], time.Since(due))
			}
		})
	}
	clients.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return 0, errors.Join(err, errors.New("TPC-C: nothing was done"))
	}
	return all[len(all)*99/100].Seconds() * 1e3, nil
}

// trio is a primary, its standby under replay, and a standby that has only replication.
type trio struct {
	primary, standby, control *peer.Server
}

// startPair loads one server and makes the three of copies of its files, so that their pages have the same numbers.
func (b *replayBench) startPair(ctx context.Context, l pairLoad, dir string) (p *trio, err error) {
	make := func(name string, extra ...string) (*peer.Server, error) {
		return peer.MariaDB(peer.Config{Dir: filepath.Join(dir, name), Pool: b.PairPool, LogSize: 256 << 20, Extra: append([]string{
			"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--innodb-stats-auto-recalc=0",
			"--innodb-buffer-pool-dump-pct=100"}, extra...)})
	}
	golden, err := make("golden")
	if err != nil {
		return nil, err
	}
	if err := golden.Start(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(l.load(ctx, golden), execAll(ctx, golden, "", "CREATE USER repl@'%' IDENTIFIED BY 'repl'", "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
		"CREATE USER warm@localhost", "GRANT SELECT, PROCESS, REPLICATION CLIENT, SLAVE MONITOR ON *.* TO warm@localhost", "SET GLOBAL innodb_fast_shutdown=0")); err != nil {
		return nil, errors.Join(err, golden.Kill())
	}
	if err := golden.Stop(); err != nil {
		return nil, err
	}
	p = &trio{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.kill())
		}
	}()
	for i, m := range []struct {
		s     **peer.Server
		name  string
		extra []string
	}{
		{&p.primary, "primary", []string{"--log-bin=binlog", "--binlog-format=ROW", "--slow-query-log=1", "--long-query-time=0", "--log-output=FILE",
			"--slow-query-log-file=" + filepath.Join(dir, "slow.log")}},
		{&p.standby, "standby", []string{"--read-only=1"}},
		{&p.control, "control", []string{"--read-only=1"}},
	} {
		s, err := make(m.name, append(m.extra, fmt.Sprintf("--server-id=%d", i+1))...)
		if err != nil {
			return p, err
		}
		if err := os.CopyFS(s.Data(), os.DirFS(golden.Data())); err != nil {
			return p, fmt.Errorf("copy the files: %w", err)
		}
		if err := s.Start(ctx); err != nil {
			return p, err
		}
		*m.s = s
		if i > 0 {
			if err := execAll(ctx, s, "", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='repl', MASTER_PASSWORD='repl', "+
				"MASTER_USE_GTID=slave_pos", p.primary.Port), "START SLAVE"); err != nil {
				return p, err
			}
		}
	}
	return p, os.RemoveAll(golden.Config.Dir)
}

func (p *trio) kill() error {
	var errs []error
	for _, s := range []*peer.Server{p.primary, p.standby, p.control} {
		if s != nil {
			errs = append(errs, s.Kill())
		}
	}
	return errors.Join(errs...)
}

// caughtUp waits until a standby has all of the primary's changes.
func (p *trio) caughtUp(ctx context.Context, standby *peer.Server) error {
	from, err := p.primary.Open("")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := standby.Open("")
	if err != nil {
		return err
	}
	defer to.Close()
	var pos string
	if err := from.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&pos); err != nil {
		return err
	}
	var late sql.NullInt64
	if err := to.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, 300)", pos).Scan(&late); err != nil {
		return err
	}
	if late.Int64 != 0 {
		return fmt.Errorf("%s does not catch up with its primary", standby.Config.Dir)
	}
	return nil
}

// pair measures all that needs one, under one load.
func (b *replayBench) pair(ctx context.Context, l pairLoad) (err error) {
	dir, err := os.MkdirTemp(b.dir, "pair-")
	if err != nil {
		return err
	}
	p, err := b.startPair(ctx, l, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.kill(), os.RemoveAll(dir)) }()
	daemon, url, err := b.startDaemon(ctx, filepath.Join(dir, "slow.log"))
	if err != nil {
		return err
	}
	defer endProcess(daemon)
	c := b.player("")
	c.Log = b.tell
	c.Target = replay.TargetConfig{DSN: "warm@unix(" + p.standby.Socket + ")/", Source: p.primary.DSN(""), Limits: replay.DefaultLimits, Writes: replay.WritesRewrite}
	player, err := replay.New(ctx, c)
	if err != nil {
		return err
	}
	defer player.Close()
	src, err := replay.OpenSource(ctx, replay.SourceConfig{From: url, Log: b.tell})
	if err != nil {
		return err
	}
	defer src.Close()
	playing, stop := context.WithCancel(ctx)
	defer stop()
	played := make(chan error, 1)
	go func() { played <- player.Run(playing, src) }()

	b.tell("pair, %s: %v of it", l.name, b.PairTime)
	if _, err := l.run(ctx, p.primary, b.PairTime); err != nil {
		return err
	}
	for _, s := range []*peer.Server{p.standby, p.control} {
		if err := p.caughtUp(ctx, s); err != nil {
			return err
		}
	}
	for player.Status().Queue.Waiting > 0 && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	if err := b.coverage(ctx, p, l); err != nil {
		return err
	}
	if err := b.promotion(ctx, p, l, player); err != nil {
		return err
	}
	stop()
	if err := <-played; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the replay ended: %w", err)
	}
	t := player.Accounts.Totals()
	b.tell("pair, %s: %s", l.name, t)
	b.put(l.name+": entries failed", "%", 100*float64(t.Sum(replay.Failed))/float64(t.Received))
	return b.failover(ctx, p, l)
}

// coverage is how much of the primary's pool the standbys hold.
func (b *replayBench) coverage(ctx context.Context, p *trio, l pairLoad) error {
	sets := make([]replay.PageSet, 3)
	for i, s := range []*peer.Server{p.primary, p.standby, p.control} {
		if err := dumpOrLoad(ctx, s, "innodb_buffer_pool_dump_now", "Innodb_buffer_pool_dump_status", "dump completed"); err != nil {
			return err
		}
		f, err := os.Open(filepath.Join(s.Data(), "ib_buffer_pool"))
		if err != nil {
			return err
		}
		sets[i], err = replay.ReadPoolDump(f, f.Name())
		f.Close()
		if err != nil {
			return err
		}
		if len(sets[i]) == 0 {
			return fmt.Errorf("%s: empty", f.Name())
		}
	}
	b.put(l.name+": pages in the primary's pool", "pages", float64(len(sets[0])))
	b.put(l.name+": of them, the standby under replay holds", "%", 100*replay.Compare(sets[0], sets[1]).Share)
	b.out.Result(NewResult(replayMeasure, "replication only", l.name+": of them, the standby holds", 0, "%", []float64{100 * replay.Compare(sets[0], sets[2]).Share}))
	return nil
}

// promotion is how long after read_only=0 the last statement leaves, while the primary goes on.
func (b *replayBench) promotion(ctx context.Context, p *trio, l pairLoad, player *replay.Player) error {
	loading, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for loading.Err() == nil {
			if _, err := l.run(loading, p.primary, failoverTime); err != nil && loading.Err() == nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	defer func() {
		stop()
		<-ended
	}()
	var took []float64
	for range b.Runs {
		for sent := player.Status().Sent; player.Status().Sent < sent+100; time.Sleep(20 * time.Millisecond) {
			if len(ended) > 0 || ctx.Err() != nil {
				return errors.Join(ctx.Err(), errors.New("nothing is replayed before the promotion"))
			}
		}
		if err := execAll(ctx, p.standby, "", "SET GLOBAL read_only=0"); err != nil {
			return err
		}
		promoted := time.Now()
		sent, last := player.Status().Sent, promoted
		for time.Since(last) < pairPromotion && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
			if now := player.Status().Sent; now != sent {
				sent, last = now, time.Now()
			}
		}
		took = append(took, last.Sub(promoted).Seconds())
		if err := execAll(ctx, p.standby, "", "SET GLOBAL read_only=1"); err != nil {
			return err
		}
	}
	b.put(l.name+": from promotion to the last statement", "s", took...)
	return nil
}

// poolReads counts pages that were not in the pool.
const poolReads = "Innodb_buffer_pool_reads"

// failover kills the primary and gives the load to each standby, as it is.
func (b *replayBench) failover(ctx context.Context, p *trio, l pairLoad) error {
	for _, s := range []*peer.Server{p.standby, p.control} {
		if err := p.caughtUp(ctx, s); err != nil {
			return err
		}
	}
	if err := p.primary.Kill(); err != nil {
		return err
	}
	for _, m := range []struct {
		s      *peer.Server
		system string
	}{{p.standby, ours}, {p.control, "replication only"}} {
		if err := execAll(ctx, m.s, "", "STOP SLAVE", "SET GLOBAL read_only=0"); err != nil {
			return err
		}
		db, err := m.s.Open("")
		if err != nil {
			return err
		}
		defer db.Close()
		before, err := m.s.Status(ctx, db)
		if err != nil {
			return err
		}
		first, err := l.run(ctx, m.s, failoverTime)
		if err != nil {
			return err
		}
		after, err := m.s.Status(ctx, db)
		if err != nil {
			return err
		}
		if _, err := l.run(ctx, m.s, b.PairTime); err != nil {
			return err
		}
		steady, err := l.run(ctx, m.s, failoverTime)
		if err != nil {
			return err
		}
		put := func(name, unit string, v float64) {
			b.out.Result(NewResult(replayMeasure, m.system, l.name+", "+name, pairClients, unit, []float64{v}))
		}
		put("first 10 s after failover, p99", "ms", first)
		put("steady, p99", "ms", steady)
		put("first 10 s of steady, p99", "×", first/steady)
		put("first 10 s after failover, disk reads", "pages", after[poolReads]-before[poolReads])
		if err := m.s.Kill(); err != nil { // it leaves the processors to the next
			return err
		}
	}
	return nil
}
