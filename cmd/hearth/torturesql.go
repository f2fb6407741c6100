package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/sqltorture"
)

type tortureSQLVerb struct {
	Quick bool   `help:"A small run of under 40 seconds on 2 cores."`
	JSON  bool   `name:"json" help:"Print one object a line instead of text: measure, system, case, threads, value, unit, runs."`
	Dir   string `help:"Where the data goes; what is made there is removed at the end, unless something is wrong. Default: a temporary folder." type:"path" placeholder:"DIR"`
	Seed  uint64 `default:"0" help:"Seed of everything random but the moments; 0: a new one, printed."`

	Kills      int           `default:"${sqlKills}" help:"How often the server is killed."`
	Pool       size          `default:"0" help:"Pages in memory; 0: less than the data in some lives, more in others."`
	Clients    int           `default:"${sqlClients}" help:"Connections that write; those that change definitions, watch and disturb come besides."`
	Durability string        `enum:"commit,process" default:"commit" help:"What the commits wait for: commit, process."`
	LoadTime   time.Duration `default:"${sqlLoadTime}" help:"The longest load before a kill."`
	Corrupt    bool          `default:"true" negatable:"" help:"Damage or replace the memory that outlives the server between some lives."`
	Canary     string        `enum:",${sqlCanaries}" default:"" hidden:"" help:"A lie that must be found out."`
}

// What --quick makes of the flags.
const (
	quickSQLKills    = 14
	quickSQLLoadTime = 700 * time.Millisecond
)

// canaries for the list of what a flag may be.
func canaries() string {
	var all []string
	for _, c := range sqltorture.Canaries {
		all = append(all, string(c))
	}
	return strings.Join(all, ",")
}

func (v *tortureSQLVerb) Run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start as a server: %w", err)
	}
	cfg := sqltorture.Config{
		Binary: self, Dir: v.Dir, Kills: v.Kills, Pool: int64(v.Pool), Clients: v.Clients, Durable: v.Durability == "commit", Seed: v.Seed,
		Corrupt: v.Corrupt, CheckEvery: sqltorture.DefaultCheckEvery, LoadTime: v.LoadTime, Canary: sqltorture.Canary(v.Canary),
	}
	if v.Quick {
		cfg.Kills, cfg.LoadTime = quickSQLKills, quickSQLLoadTime
	}
	for cfg.Seed == 0 {
		cfg.Seed = rand.Uint64N(1 << 32) // short enough to be typed
	}
	fmt.Fprintln(os.Stderr, "torture sql: seed", cfg.Seed)
	var verdict sqltorture.Verdict
	flags := measureFlags{v.Quick, v.JSON, v.Dir, cfg.Seed}
	err = flags.report(ctx, func(ctx context.Context, out bench.Output) (err error) {
		cfg.Progress = out.Progress
		verdict, err = sqltorture.Run(ctx, cfg)
		if v.JSON && ctx.Err() == nil {
			v.tell(verdict, out.Result)
		}
		return err
	})
	for _, p := range verdict.Problems {
		fmt.Fprintln(os.Stderr, p)
	}
	for _, dir := range verdict.Kept {
		fmt.Fprintf(os.Stderr, "torture sql: seed %d; kept for whoever looks into it: %s\n", cfg.Seed, dir)
	}
	if err != nil {
		return err
	}
	v.tellPeople(verdict)
	if !verdict.OK() {
		return errors.New("torture sql: a promise was broken; --seed repeats the choices, though not the moments")
	}
	return nil
}

// tell gives the verdict as figures.
func (v *tortureSQLVerb) tell(verdict sqltorture.Verdict, result func(bench.Result)) {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"kills", verdict.Kills}, {"acked", verdict.Acked}, {"maybe", verdict.Maybe}, {"lost", verdict.Lost}, {"torn", verdict.Torn},
		{"duplicates", verdict.Duplicates}, {"orphans", verdict.Orphans}, {"problems", len(verdict.Problems)}, {"checks", verdict.Checks},
	} {
		result(bench.NewResult("torture sql", "hearth", v.Durability+", "+f.name, v.Clients, "count", []float64{float64(f.value)}))
	}
}

// tellPeople says what was covered; the verdict is the last line.
func (v *tortureSQLVerb) tellPeople(verdict sqltorture.Verdict) {
	w := os.Stdout
	if v.JSON {
		w = os.Stderr
	}
	for _, kind := range slices.Sorted(maps.Keys(verdict.Starts)) {
		fmt.Fprintf(w, "starts, %s: %d\n", kind, verdict.Starts[kind])
	}
	for _, event := range slices.Sorted(maps.Keys(verdict.Events)) {
		fmt.Fprintf(w, "%s: %d\n", event, verdict.Events[event])
	}
	fmt.Fprintf(w, "offline checks: %d\n", verdict.Checks)
	fmt.Fprintf(w, "acknowledged works: %d, of them lost with memory that was taken away: %d\n", verdict.Acked, verdict.Forgiven)
	fmt.Fprintln(w, verdict.String())
}
