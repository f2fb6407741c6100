package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/bench"
	"github.com/hearthdb/hearth/internal/torture"
)

type tortureVerb struct {
	Engine tortureEngineVerb `cmd:"" default:"withargs" help:"Kill a process that works on the engine. This is what is tortured when nothing is named."`
	SQL    tortureSQLVerb    `cmd:"" name:"sql" help:"Kill a server that clients work on over the wire."`
}

type tortureEngineVerb struct {
	// Those of measureFlags, but that a run without a seed draws one.
	Quick bool   `help:"A small run of under a minute on 2 cores."`
	JSON  bool   `name:"json" help:"Print one object a line instead of text: measure, system, case, threads, value, unit, runs."`
	Dir   string `help:"Where the data goes; what is made there is removed at the end, unless something is wrong. Default: a temporary folder." type:"path" placeholder:"DIR"`
	Seed  uint64 `default:"0" help:"Seed of everything random but the moments; 0: a new one, printed."`

	Kills      int    `default:"${kills}" help:"How often the process is killed."`
	Pool       size   `default:"0" help:"Pages in memory; 0: much less than the data in some lives, more in others."`
	Rows       int    `default:"${tortureRows}" help:"Rows at most."`
	Workers    int    `default:"${tortureWriters}" help:"Goroutines that write."`
	Durability string `enum:"commit,process" default:"commit" help:"What the commits wait for: commit, process."`
	Corrupt    bool   `default:"true" negatable:"" help:"Damage or replace the memory that outlives the process between some lives."`
	Canary     string `enum:",lost,torn,kept" default:"" hidden:"" help:"A lie that must be found out."`
}

// What --quick makes of the flags.
const (
	quickKills    = 60
	quickLoadTime = 200 * time.Millisecond
)

func (v *tortureEngineVerb) Run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start again: %w", err)
	}
	cfg := torture.Config{
		Dir: v.Dir, Kills: v.Kills, Pool: int64(v.Pool), Rows: v.Rows, Writers: v.Workers,
		Durability: hearth.Durability(v.Durability), Seed: v.Seed, Corrupt: v.Corrupt,
		LargeValue: torture.DefaultLargeValue, CheckEvery: torture.DefaultCheckEvery, LoadTime: torture.DefaultLoadTime,
		Canary: torture.Canary(v.Canary),
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, "torture-child")
		},
	}
	if v.Quick {
		cfg.Kills, cfg.LoadTime = quickKills, quickLoadTime
	}
	var verdict torture.Verdict
	for cfg.Seed == 0 {
		cfg.Seed = rand.Uint64N(1 << 32) // short enough to be typed
	}
	fmt.Fprintln(os.Stderr, "torture: seed", cfg.Seed)
	flags := measureFlags{v.Quick, v.JSON, v.Dir, cfg.Seed}
	err = flags.report(ctx, func(ctx context.Context, out bench.Output) (err error) {
		cfg.Progress = out.Progress
		verdict, err = torture.Run(ctx, cfg)
		if v.JSON && ctx.Err() == nil {
			v.tell(verdict, out.Result)
		}
		return err
	})
	for _, p := range verdict.Problems {
		fmt.Fprintln(os.Stderr, p)
	}
	for _, dir := range verdict.Kept {
		fmt.Fprintf(os.Stderr, "torture: seed %d; kept for whoever looks into it: %s\n", cfg.Seed, dir)
	}
	if err != nil {
		return err
	}
	v.tellPeople(verdict)
	if !verdict.OK() {
		return errors.New("torture: a promise was broken; --seed repeats the choices, though not the moments")
	}
	return nil
}

// tell gives the verdict as figures.
func (v *tortureEngineVerb) tell(verdict torture.Verdict, result func(bench.Result)) {
	figure := func(name, unit string, runs ...float64) {
		result(bench.NewResult("torture", "hearth", v.Durability+", "+name, v.Workers, unit, runs))
	}
	figure("kills", "count", float64(verdict.Kills))
	figure("lost", "count", float64(verdict.Lost))
	figure("torn", "count", float64(verdict.Torn))
	figure("problems", "count", float64(len(verdict.Problems)))
	figure("checks", "count", float64(verdict.Checks))
	figure("acknowledged", "count", float64(verdict.Acknowledged))
	var opened []float64
	for _, d := range verdict.Opened {
		opened = append(opened, float64(d)/float64(time.Millisecond))
	}
	figure("open", "ms", opened...)
}

// tellPeople says what was covered; the verdict is the last line.
func (v *tortureEngineVerb) tellPeople(verdict torture.Verdict) {
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
	fmt.Fprintf(w, "acknowledged transactions: %d, of them lost with memory that was taken away: %d\n", verdict.Acknowledged, verdict.Forgiven)
	fmt.Fprintln(w, verdict.String())
}

type tortureChildVerb struct{}

func (tortureChildVerb) Run() error { return torture.Child(os.Stdin, os.Stdout) }
