package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
)

type benchVerb struct {
	Engine      benchEngineVerb      `cmd:"" help:"Compare reads, scans and commits with bbolt, Badger and Pebble; then random reads beyond memory with fio, and a zipf load with and without a scan beside it."`
	Attach      benchAttachVerb      `cmd:"" help:"Measure how long after kill -9 the next process answers."`
	AttachChild benchAttachChildVerb `cmd:"" hidden:"" help:"The process that attach kills."`

	Warmth benchWarmthVerb `cmd:"" help:"Measure what counting heat and dumping it costs, what a dump does to readers, and how fast it is loaded: alone, beside fio, and beside readers."`

	SQL         benchSQLVerb         `cmd:"" name:"sql" help:"Run sysbench against hearth and MariaDB, in turn."`
	Slowlog     benchSlowlogVerb     `cmd:"" help:"Measure how fast slow logs are read, beside percona/go-mysql, and relayed by slowlogd."`
	SlowlogCost benchSlowlogCostVerb `cmd:"" help:"Measure what a server pays for its slow log: off, on, and with every statement in it."`
	Replay      benchReplayVerb      `cmd:"" help:"Measure the replayer: alone, beside sysbench on MariaDB, live behind slowlogd, and on a replicating pair of MariaDB."`
	Restart     benchRestartVerb     `cmd:"" help:"Measure what users notice of a restart, second by second: of hearth and of MariaDB, or (--embedded) of the engine inside a process."`

	GMSMemory    benchGMSVerb          `cmd:"" name:"gms-memory" hidden:"" help:"The server that bench sql compares with."`
	RestartChild benchRestartChildVerb `cmd:"" hidden:"" help:"The process that restart restarts."`
}

// Parts of bench engine.
const (
	partPeers  = "peers"
	partBeyond = "beyond-memory"
	partScan   = "scan-resistance"
)

type benchEngineVerb struct {
	measureFlags
	Parts   []string      `enum:"peers,beyond-memory,scan-resistance" default:"peers,beyond-memory,scan-resistance" help:"What to measure: peers, beyond-memory, scan-resistance."`
	Rows    int           `default:"5000000" help:"Rows in the table compared, of 16-byte keys and 120-byte values."`
	Runs    int           `default:"5" help:"Runs of each case; the median counts."`
	RunTime time.Duration `default:"2s" help:"Length of one run."`
	Threads []int         `default:"1,2" help:"Numbers of threads that read, scan and commit without waiting."`
	Systems []string      `placeholder:"NAME,..." help:"Compare only these of hearth, bbolt, Badger, Pebble."`
	Pool    size          `default:"256MiB" help:"Pool of the parts beyond-memory and scan-resistance."`
}

const (
	// beyondTimes, beyondReaders, scanTimes and scanThreads are what issue 2 asks for.
	beyondTimes   = 8
	beyondReaders = 32
	scanTimes     = 10
	scanThreads   = 2
)

// What --quick makes of the flags: five runs of 0.2 s are a second a case.
const (
	quickRows    = 200_000
	quickRunTime = 200 * time.Millisecond
	quickRuns    = 3 // of the parts without peers
	quickPool    = 16 << 20
)

func (v *benchEngineVerb) Run(ctx context.Context) error {
	otherRuns := v.Runs
	if v.Quick {
		v.Rows, v.RunTime, v.Pool, otherRuns = quickRows, quickRunTime, quickPool, quickRuns
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error {
		if slices.Contains(v.Parts, partPeers) {
			err := bench.Engine(ctx, bench.EngineConfig{
				Dir: v.Dir, Rows: v.Rows, Runs: v.Runs, RunTime: v.RunTime,
				Threads: v.Threads, Systems: v.Systems, Seed: v.Seed,
			}, out)
			if err != nil {
				return err
			}
		}
		if slices.Contains(v.Parts, partBeyond) {
			err := bench.Beyond(ctx, bench.BeyondConfig{
				Dir: v.Dir, Pool: int64(v.Pool), Times: beyondTimes, Readers: beyondReaders,
				Runs: otherRuns, RunTime: v.RunTime, Seed: v.Seed,
			}, out)
			if err != nil {
				return err
			}
		}
		if slices.Contains(v.Parts, partScan) {
			err := bench.ScanResistance(ctx, bench.ScanConfig{
				Dir: v.Dir, Pool: int64(v.Pool), Times: scanTimes, Threads: scanThreads,
				Runs: otherRuns, RunTime: v.RunTime, Seed: v.Seed,
			}, out)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type benchAttachVerb struct {
	measureFlags
	Pools []size `default:"4GiB" help:"Sizes of the pool, each full when the process is killed."`
	Dirty int    `default:"200000" help:"Frames changed and not written back at the kill."`
	Log   size   `default:"1GiB" help:"Log since the checkpoint at the kill."`
	Runs  int    `default:"5" help:"Kills and starts with each pool; the median counts."`

	Picture string `type:"path" placeholder:"BASE" help:"Draw the first answers into BASE.svg, .png, -dark.svg, -dark.png."`
}

// What --quick makes of the flags.
const (
	quickAttachPool  = 256 << 20
	quickAttachDirty = 8_000
	quickAttachLog   = 64 << 20
)

func (v *benchAttachVerb) Run(ctx context.Context) error {
	if v.Quick {
		v.Pools, v.Dirty, v.Log = []size{quickAttachPool}, quickAttachDirty, quickAttachLog
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start again: %w", err)
	}
	cfg := bench.AttachConfig{
		Dir: v.Dir, Dirty: v.Dirty, Log: int64(v.Log), Runs: v.Runs, Seed: v.Seed, Picture: v.Picture,
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, "bench", "attach-child")
		},
	}
	for _, p := range v.Pools {
		cfg.Pools = append(cfg.Pools, int64(p))
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.Attach(ctx, cfg, out) })
}

type benchAttachChildVerb struct{}

func (benchAttachChildVerb) Run(ctx context.Context) error {
	return bench.AttachChild(ctx, os.Stdin, os.Stdout)
}

// commandLine is what the table in the documentation says how to repeat it.
func commandLine() string { return quoted(os.Args[1:]) }

// quoted is a command line of hearth. Passwords stay out of it, and arguments that a shell would take apart are in quotes.
func quoted(args []string) string {
	line := []string{"hearth"}
	for _, arg := range args {
		arg = password.ReplaceAllString(arg, "$1:***@$2")
		if strings.ContainsAny(arg, " ()'\"\\$&|;<>*?`\n") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		line = append(line, arg)
	}
	return strings.Join(line, " ")
}

// password in a data source name: "user:password@unix(".
var password = regexp.MustCompile(`^((?:--dsn=)?[^:@/]*):.*@([a-z0-9]*\()`)
