package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
	"github.com/hearthdb/hearth/internal/slowlog"
)

// replayMeasure is the name of these figures.
const replayMeasure = "replay"

// ReplayConfig of a measurement of the replayer, alone, on a server and on a pair of servers.
type ReplayConfig struct {
	Dir         string
	Parts       []string
	Connections int // of the replayer and of sysbench
	Entries     int // of a log of point reads that is replayed as fast as can be
	Runs        int // of each case that takes turns
	Rows        int // in each of four tables of sysbench
	RunTime     time.Duration
	Stall       time.Duration // how long the target stands still
	PairPool    int64         // bytes of the pools of the pair
	PairTime    time.Duration // how long the pair works before its pools are compared
	Seed        uint64

	// Daemon makes the command that serves a log.
	Daemon func(ctx context.Context, log, listen string) *exec.Cmd
}

// replayParts are what Replay measures, in this order.
var replayParts = []struct {
	name    string
	measure func(*replayBench, context.Context) error
}{
	{"rate", (*replayBench).rate},
	{"points", (*replayBench).points},
	{"lag", (*replayBench).lag},
	{"stall", (*replayBench).stall},
	{"daemon", (*replayBench).daemon},
	{"pair-sysbench", (*replayBench).pairSysbench},
	{"pair-tpcc", (*replayBench).pairTPCC},
}

// ReplayParts are the names of the parts.
func ReplayParts() (names []string) {
	for _, p := range replayParts {
		names = append(names, p.name)
	}
	return names
}

// Replay measures the parts that are asked for.
func Replay(ctx context.Context, cfg ReplayConfig, out Output) (err error) {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	b := &replayBench{ReplayConfig: cfg, dir: dir, out: out}
	defer func() {
		if b.server != nil {
			err = errors.Join(err, b.server.Kill())
		}
	}()
	for _, p := range replayParts {
		if !slices.Contains(cfg.Parts, p.name) {
			continue
		}
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

type replayBench struct {
	ReplayConfig
	dir string
	out Output

	server *peer.Server // MariaDB with sysbench's tables, for the parts that need one server
	tool   sysbench
}

func (b *replayBench) tell(format string, args ...any) { b.out.Progress("replay, "+format, args...) }

// mariadb is the server of the parts that need one.
func (b *replayBench) mariadb(ctx context.Context) (_ *peer.Server, _ sysbench, err error) {
	if b.server == nil {
		b.server, b.tool, err = b.startMariaDB(ctx, "m", replayPool)
	}
	return b.server, b.tool, err
}

// put reports a figure of ours.
func (b *replayBench) put(name, unit string, runs ...float64) {
	b.out.Result(NewResult(replayMeasure, ours, name, b.Connections, unit, runs))
}

// pointLog writes a log of sysbench's point reads, of twice as many sessions as there are connections, and returns its name.
func (b *replayBench) pointLog(rows int) (string, error) {
	name := filepath.Join(b.dir, "points.log")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var log []byte
	at := time.Now()
	for i := range b.Entries {
		log = slowlog.AppendEntry(log, pointEntry(i, rows, 2*b.Connections, at), false)
		if len(log) >= 1<<20 || i == b.Entries-1 {
			if _, err := f.Write(log); err != nil {
				return "", err
			}
			log = log[:0]
		}
	}
	return name, f.Close()
}

// pointEntry is the i-th point read, as sysbench's oltp_point_select writes it.
func pointEntry(i, rows, sessions int, at time.Time) *slowlog.Entry {
	row := 1 + int(uint64(i)*2654435761%uint64(rows))
	return &slowlog.Entry{
		Kind: slowlog.Query, Text: fmt.Appendf(nil, "SELECT c FROM sbtest%d WHERE id=%d", 1+i%replayTables, row), Schema: []byte("sbtest"), SchemaKnown: true,
		User: []byte("app"), Host: []byte("web1"), IP: []byte("10.2.0.3"), ThreadID: uint64(100 + i%sessions), HasThreadID: true,
		QueryTime: 200 * time.Microsecond, Started: at.Add(-200 * time.Microsecond), Ended: at, RowsSent: 1, RowsExamined: 1,
	}
}

// replayTables is how many tables sysbench has.
const replayTables = 4

// player is the configuration of a replay to a target, as hearth replay has it unless it is told otherwise.
func (b *replayBench) player(dsn string) replay.Config {
	return replay.Config{
		Target:      replay.TargetConfig{DSN: dsn, Limits: replay.DefaultLimits, Writes: replay.WritesRewrite, MayWrite: true, AccountWrite: true},
		Connections: b.Connections, QueueBytes: replay.DefaultQueueBytes, QueueAge: replay.DefaultQueueAge, Policy: replay.PolicyNovelty,
	}
}
