package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
)

// rate is how many statements a second the replayer can send at all: to a server that knows one answer. Both share the machine.
func (b *replayBench) rate(ctx context.Context) error {
	stub, err := startStub()
	if err != nil {
		return err
	}
	defer stub.close()
	name, err := b.pointLog(replayStubRows)
	if err != nil {
		return err
	}
	var rates, cpu []float64
	for n := range b.Runs {
		before := processorTime(syscall.RUSAGE_SELF)
		r, err := b.playFile(ctx, name, "reader@tcp("+stub.addr()+")/sbtest")
		if err != nil {
			return err
		}
		spent := perEntry(processorTime(syscall.RUSAGE_SELF)-before, float64(b.Entries))
		b.tell("rate: run %d of %d: %.0f entries/s, %.1f µs of processor time each", n+1, b.Runs, r, spent)
		rates, cpu = append(rates, r), append(cpu, spent)
	}
	b.put("a server that knows one answer", "entries/s", rates...)
	b.put("a server that knows one answer, CPU an entry, both sides", "µs", cpu...)
	return nil
}

// processorTime of this process or of its children that have ended: what a busy machine does to a rate, it does not do to this.
func processorTime(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(fmt.Sprintf("BUG: getrusage(%d): %v", who, err)) // it has no other reason to fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perEntry is a time in µs.
func perEntry(d time.Duration, entries float64) float64 {
	return float64(d.Nanoseconds()) / 1e3 / entries
}

// replayStubRows is how many rows the statements for the stub are about: all texts differ.
const replayStubRows = 1 << 30

// playFile replays a log of reads as fast as can be and returns entries a second. All of them must have been run.
func (b *replayBench) playFile(ctx context.Context, name, dsn string) (float64, error) {
	c := b.player(dsn)
	c.Policy = replay.PolicyBlock
	p, err := replay.New(ctx, c)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	f, err := replay.OpenLog(name, 0)
	if err != nil {
		return 0, err
	}
	src := replay.NewLogSource(f, replay.Place{}, false)
	defer src.Close()
	start := time.Now()
	if err := p.Run(ctx, src); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if t := p.Accounts.Totals(); t.Sum(replay.Run) != int64(b.Entries) {
		return 0, fmt.Errorf("%d of %d entries were run: %s", t.Sum(replay.Run), b.Entries, t)
	}
	return rate(b.Entries, took), nil
}

// replayPool holds all of sysbench's tables, whatever --rows is within reason.
const replayPool = 1 << 30

// startMariaDB makes a server with sysbench's tables in its pool.
func (b *replayBench) startMariaDB(ctx context.Context, name string, pool int64, extra ...string) (*peer.Server, sysbench, error) {
	s, err := peer.MariaDB(peer.Config{Dir: filepath.Join(b.dir, name), Pool: pool, LogSize: 256 << 20, Extra: append([]string{
		"--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0"}, extra...)})
	if err != nil {
		return nil, sysbench{}, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, sysbench{}, err
	}
	tool := sysbench{server: s, database: "sbtest", tables: replayTables, rows: b.Rows, seed: b.Seed, text: true}
	if err := b.loadSysbench(ctx, s, tool); err != nil {
		return nil, tool, errors.Join(err, s.Kill())
	}
	return s, tool, nil
}

func (b *replayBench) loadSysbench(ctx context.Context, s *peer.Server, tool sysbench) error {
	b.tell("loading %d tables of %d rows", tool.tables, tool.rows)
	if err := execAll(ctx, s, "", "CREATE DATABASE sbtest"); err != nil {
		return err
	}
	_, err := tool.prepare(ctx)
	return err
}

// execAll runs statements on one connection.
func execAll(ctx context.Context, s *peer.Server, database string, statements ...string) error {
	db, err := s.Open(database)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range statements {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Name, q, err)
		}
	}
	return nil
}

// points is what the replayer does beside what sysbench does: the same point reads, as text, over the same number of connections
// to the same socket, in turns.
func (b *replayBench) points(ctx context.Context) error {
	s, tool, err := b.mariadb(ctx)
	if err != nil {
		return err
	}
	name, err := b.pointLog(b.Rows)
	if err != nil {
		return err
	}
	if _, err := tool.run(ctx, "oltp_point_select", b.Connections, min(b.RunTime, 3*time.Second)); err != nil { // warm
		return err
	}
	var theirs, ours, share, theirCPU, ourCPU, theirServer, ourServer []float64
	for n := range b.Runs {
		before := processorTime(syscall.RUSAGE_CHILDREN)
		r, err := tool.run(ctx, "oltp_point_select", b.Connections, b.RunTime)
		if err != nil {
			return err
		}
		client := perEntry(processorTime(syscall.RUSAGE_CHILDREN)-before, r.Queries*b.RunTime.Seconds())
		before = processorTime(syscall.RUSAGE_SELF)
		serverBefore, err := s.CPU()
		if err != nil {
			return err
		}
		v, err := b.playFile(ctx, name, s.DSN("sbtest"))
		if err != nil {
			return err
		}
		serverAfter, err := s.CPU()
		if err != nil {
			return err
		}
		replayer := perEntry(processorTime(syscall.RUSAGE_SELF)-before, float64(b.Entries))
		b.tell("point reads: run %d of %d: sysbench %.0f/s, %.1f µs each; replay %.0f/s, %.1f µs each", n+1, b.Runs, r.Queries, client, v, replayer)
		theirs, ours, share = append(theirs, r.Queries), append(ours, v), append(share, 100*v/r.Queries)
		theirCPU, ourCPU = append(theirCPU, client), append(ourCPU, replayer)
		theirServer, ourServer = append(theirServer, r.CPU), append(ourServer, perEntry(serverAfter-serverBefore, float64(b.Entries)))
	}
	tools := func(name, unit string, runs []float64) {
		b.out.Result(NewResult(replayMeasure, "sysbench", "point reads on MariaDB"+name, b.Connections, unit, runs))
	}
	tools("", "queries/s", theirs)
	tools(", client CPU each", "µs", theirCPU)
	tools(", server CPU each", "µs", theirServer)
	b.put("point reads on MariaDB", "entries/s", ours...)
	b.put("point reads on MariaDB, client CPU each", "µs", ourCPU...)
	b.put("point reads on MariaDB, server CPU each", "µs", ourServer...)
	b.put("point reads on MariaDB, of sysbench in the same pair", "%", share...)
	return nil
}
