package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/restart"
)

// otherServerFlags are a server that is neither hearth nor MariaDB from this machine's packages.
type otherServerFlags struct {
	DSN   string        `name:"dsn" env:"HEARTH_BENCH_DSN" placeholder:"user:password@unix(/run/mysqld.sock)/" help:"Measure any server of the MySQL protocol, alone or (--profiles hearth-kept,other) beside others. Its tables go into the schema hearth_bench, or the one named here, which must not be there; it is dropped at the end unless --loaded is given."`
	Name  string        `default:"other" help:"What it is called in pictures and tables."`
	Start string        `placeholder:"CMD" help:"The command that starts it, run by /bin/sh -c. It may return at once or stay while the server runs; started is who answers."`
	Stop  string        `placeholder:"CMD" help:"The command that stops it in order. It is over when nobody answers, no process of --pid lives, and a --start that stayed has returned."`
	Kill  string        `placeholder:"CMD" help:"The command that kills it. The same."`
	Cold  string        `placeholder:"CMD" help:"A command between stop and start: what a reboot takes. With --data, its files leave the system's cache too."`
	Pid   string        `placeholder:"CMD" help:"A command that prints its process ids, as pidof does: to know that it is gone, and to hold back its disk if another process (systemd) starts it."`
	Data  string        `type:"path" placeholder:"DIR" help:"Its data directory: which disk to hold back, whose files to drop from the cache."`
	Wait  time.Duration `default:"10m" help:"How long each start, stop and command may take."`
}

type benchRestartVerb struct {
	measureFlags
	Figure string `enum:",survive,scans,first-minute,crash" default:"" help:"One of the founding figures: survive, scans, first-minute, crash. It sets profiles, workload, stops, spreads, rate, times and --redo unless they are given, and writes FIGURE.svg, .png, -dark.svg, -dark.png, .md and .jsonl unless --picture names another place."`

	Other otherServerFlags `embed:"" group:"Another server:"`

	Embedded bool     `help:"Measure the engine inside a process of ours, without a server."`
	Profiles []string `placeholder:"NAME,..." help:"Servers and what their restart finds: hearth-kept, hearth-dump, hearth-scan, hearth-cold, innodb-dump, innodb-scan, innodb-scan-first, innodb-cold, myrocks, other (scan: everything is read by full scans after the restart; first: before clients are let in; other: the server of --dsn). Default: hearth-kept,hearth-dump,innodb-dump,innodb-cold; with --dsn: other."`
	Workload string   `enum:",point,update,readwrite,tpcc" default:"" help:"What clients ask servers for: point (default), update, readwrite, tpcc."`
	Redo     size     `placeholder:"BYTES" help:"With updates: let the load run until so much log lies behind the checkpoint, five minutes at most."`
	LogSize  size     `default:"2GiB" help:"Redo log of each server."`
	Runs     int      `default:"1" help:"Restarts of each profile, in turn; the median counts."`
	Loaded   string   `type:"path" placeholder:"DIR" help:"Keep loaded databases there for the next measurement with the same --size and --seed, instead of loading again."`

	Size    size          `default:"3434MiB" aliases:"rows-size" help:"Rows; the default is 3.6 GB."`
	Pool    size          `default:"5GiB" help:"Pool; a fifth more than the rows at least."`
	Readers int           `default:"16" aliases:"clients" help:"Readers, or clients of a server, each without a pause."`
	Rate    float64       `help:"Requests that arrive per second, whoever answers them (open loop), instead of clients without a pause."`
	Before  time.Duration `placeholder:"15s" help:"How long the load runs before a restart."`
	After   time.Duration `placeholder:"90s" help:"How long after it, at most, of servers counted from their first answer; it ends earlier when all is as before."`

	Stops    []string `enum:"kill,clean" placeholder:"HOW,..." help:"How a process ends: kill, clean. Default: both embedded, kill of servers."`
	Memories []string `enum:"kept,dump,physical,cold" default:"kept,dump,cold" help:"Embedded: what the next one finds: its memory kept, a heat dump, the same loaded in physical order, nothing (cold)."`
	Spreads  []string `enum:"uniform,zipf,latest" placeholder:"HOW,..." help:"Which rows are read: uniform; zipf (theta 0.99), from anywhere in the table; latest, by the same law, the newest the most. Default: the first two embedded, uniform of servers."`

	IOPS int64 `name:"iops" help:"Hold the disk to so many operations per second: a server under its load, before and after the restart; embedded after it. Needs root." placeholder:"N"`
	MBps int64 `name:"mbps" help:"Hold the disk to so many MB (10^6 bytes) per second, likewise. Needs root." placeholder:"N"`

	Picture   string `type:"path" placeholder:"BASE" help:"Draw throughput over time, and the server's counters under it, into BASE.svg, .png, -dark.svg, -dark.png; with several cases, one picture each."`
	Timelines string `type:"path" placeholder:"FILE" help:"Write all that was measured into this file, one restart a line, as JSON."`
}

func (benchRestartVerb) Help() string {
	return `Examples, at the size of the documentation (loading takes minutes and is done once with --loaded):

  hearth bench restart --figure survive --loaded /var/tmp/loaded
  hearth bench restart --figure first-minute --loaded /var/tmp/loaded --iops 3000 --mbps 125 --picture first-minute-3000
  hearth bench restart --profiles hearth-kept,innodb-dump,myrocks --workload tpcc --runs 3

Another server, here a MySQL that systemd runs, beside hearth:

  hearth bench restart --profiles hearth-kept,other --name "MySQL 8.4" --dsn 'root@unix(/run/mysqld/mysqld.sock)/' \
    --start 'systemctl start mysql' --stop 'systemctl stop mysql' --kill 'systemctl kill -s KILL mysql' \
    --pid 'pidof mysqld' --data /var/lib/mysql --workload update

A restart that fails is told and left out; the others are measured all the same. The exit status tells.`
}

// What --quick makes of the flags.
const (
	quickRestartSize   = 64 << 20
	quickRestartPool   = 128 << 20
	quickRestartBefore = 2 * time.Second
	quickRestartAfter  = 5 * time.Second
)

// What flags are when nobody sets them, neither a user nor a figure.
const (
	defaultRestartBefore = 15 * time.Second
	defaultRestartAfter  = 90 * time.Second
)

func (v *benchRestartVerb) Run(ctx context.Context) (err error) {
	if v.Quick {
		v.Size, v.Pool, v.Before, v.After = quickRestartSize, quickRestartPool, quickRestartBefore, quickRestartAfter
	}
	if v.Figure != "" && v.Picture == "" {
		v.Picture = v.Figure
	}
	if v.Figure != "" && v.Timelines == "" {
		v.Timelines = v.Picture + ".jsonl"
	}
	timeline, done, err := v.timelines()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start again: %w", err)
	}
	if !v.Embedded {
		return v.servers(ctx, self, timeline)
	}
	if v.Other.DSN != "" {
		return errors.New("--embedded measures no server: leave out --dsn")
	}
	cfg := bench.RestartConfig{
		Dir: v.Dir, Bytes: int64(v.Size), Pool: int64(v.Pool), Readers: v.Readers, Rate: v.Rate,
		Before: cmp.Or(v.Before, defaultRestartBefore), After: cmp.Or(v.After, defaultRestartAfter),
		Disk: v.disk(), Seed: v.Seed, Stops: orAll(v.Stops, bench.RestartStops), Memories: v.Memories,
		Spreads: orAll(v.Spreads, []string{bench.SpreadUniform, bench.SpreadZipf}), Picture: v.Picture, Timeline: timeline,
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, "bench", "restart-child")
		},
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) error { return bench.Restart(ctx, cfg, out) })
}

func (v *benchRestartVerb) disk() restart.Disk {
	return restart.Disk{IOPS: v.IOPS, BytesPerSecond: v.MBps * 1e6}
}

// orAll is given, or all when nothing is.
func orAll(given, all []string) []string {
	if len(given) > 0 {
		return given
	}
	return all
}

// timelines opens the file of --timelines; both functions may always be called.
func (v *benchRestartVerb) timelines() (write func(*restart.Timeline), done func() error, err error) {
	if v.Timelines == "" {
		return func(*restart.Timeline) {}, func() error { return nil }, nil
	}
	f, err := os.Create(v.Timelines)
	if err != nil {
		return nil, nil, err
	}
	lines := json.NewEncoder(f)
	var failed error
	write = func(t *restart.Timeline) { failed = errors.Join(failed, lines.Encode(t)) }
	return write, func() error { return errors.Join(failed, f.Close()) }, nil
}

// servers measures over the MySQL protocol.
func (v *benchRestartVerb) servers(ctx context.Context, self string, timeline func(*restart.Timeline)) error {
	memory, remove, err := benchMemory()
	if err != nil {
		return err
	}
	defer remove()
	figure := bench.RestartFigures[v.Figure] // of none: all zero
	cfg := bench.ServerRestartConfig{
		Dir: v.Dir, Loaded: v.Loaded, Bytes: int64(v.Size), Pool: int64(v.Pool), LogSize: int64(v.LogSize), Clients: v.Readers,
		Before: cmp.Or(v.Before, figure.Before, defaultRestartBefore), After: cmp.Or(v.After, figure.After, defaultRestartAfter),
		Whole: figure.Whole, Redo: cmp.Or(int64(v.Redo), figure.Redo), Disk: v.disk(), Runs: v.Runs, Seed: v.Seed,
		Cases: v.cases(figure.Cases), Picture: v.Picture, Draw: bench.DrawRestarts, Timeline: timeline,
		Command: commandLine(),
	}
	if figure.Draw != nil {
		cfg.Draw = figure.Draw
	}
	all := bench.ServerProfiles(self, memory)
	if o := v.Other; o.DSN != "" {
		all[bench.ProfileOther] = bench.OtherProfile(bench.OtherServer{
			DSN: o.DSN, Name: o.Name, Start: o.Start, Stop: o.Stop, Kill: o.Kill, Cold: o.Cold, Pid: o.Pid, Data: o.Data, Wait: o.Wait, Keep: v.Loaded != "",
		})
	}
	names, err := v.profiles(figure.Profiles)
	if err != nil {
		return err
	}
	for _, name := range names {
		p, ok := all[name]
		if !ok {
			return fmt.Errorf("--profiles: no profile %q; there are %s", name, strings.Join(append(bench.ServerProfileNames, bench.ProfileOther), ", "))
		}
		cfg.Profiles = append(cfg.Profiles, p)
	}
	return v.report(ctx, func(ctx context.Context, out bench.Output) (err error) {
		if v.Figure == "" {
			return bench.ServerRestart(ctx, cfg, out)
		}
		var results []bench.Result
		tell := out.Result
		out.Result = func(r bench.Result) { results = append(results, r); tell(r) }
		defer func() { err = errors.Join(err, writeTables(v.Picture+".md", results)) }()
		return bench.ServerRestart(ctx, cfg, out)
	})
}

// profiles are those asked for, or else those of the figure, or the usual ones; and the other server wherever there is one.
func (v *benchRestartVerb) profiles(figure []string) ([]string, error) {
	there, asked := v.Other.DSN != "", slices.Contains(v.Profiles, bench.ProfileOther)
	switch {
	case there && len(v.Profiles) > 0 && !asked:
		return nil, errors.New("--dsn: --profiles names others only; add the profile other")
	case !there && (asked || v.Other.Start != "" || v.Other.Stop != "" || v.Other.Kill != ""):
		return nil, errors.New("--dsn is missing: where the other server answers")
	case len(v.Profiles) > 0:
		return v.Profiles, nil
	case there:
		return append(slices.Clone(figure), bench.ProfileOther), nil
	}
	return orAll(figure, []string{
		bench.ProfileHearthKept, bench.ProfileHearthDump, bench.ProfileInnoDBDump, bench.ProfileInnoDBCold,
	}), nil
}

// writeTables writes what was found into a file.
func writeTables(name string, results []bench.Result) error {
	if len(results) == 0 {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(bench.WriteTables(f, commandLine(), results), f.Close())
}

// cases are those of a figure, changed by what is given on the command line, or those that the command line asks for.
func (v *benchRestartVerb) cases(figure []bench.ServerCase) (cases []bench.ServerCase) {
	if len(figure) == 0 || len(v.Stops) > 0 || len(v.Spreads) > 0 {
		var base bench.ServerCase
		if len(figure) > 0 {
			base = figure[0]
		}
		figure = nil
		for _, stop := range orAll(v.Stops, []string{cmp.Or(base.Stop, bench.StopKill)}) {
			for _, spread := range orAll(v.Spreads, []string{cmp.Or(base.Spread, bench.SpreadUniform)}) {
				figure = append(figure, bench.ServerCase{Workload: cmp.Or(base.Workload, bench.WorkloadPoint), Stop: stop, Spread: spread, Rate: base.Rate})
			}
		}
	}
	for _, c := range figure {
		c.Workload = cmp.Or(v.Workload, c.Workload)
		if c.Rate > 0 || v.Figure == "" { // a figure's saturated cases stay so
			c.Rate = cmp.Or(v.Rate, c.Rate)
		}
		cases = append(cases, c)
	}
	return cases
}

type benchRestartChildVerb struct{}

func (benchRestartChildVerb) Run(ctx context.Context) error {
	return bench.RestartChild(ctx, os.Stdin, os.Stdout)
}
