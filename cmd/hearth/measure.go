package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hearthdb/hearth/internal/bench"
)

// measureFlags are shared by all verbs that measure.
type measureFlags struct {
	Quick bool   `help:"A small run of under a minute on 2 cores."`
	JSON  bool   `name:"json" help:"Print one object a line instead of text: measure, system, case, threads, value, unit, runs."`
	Dir   string `help:"Where the data goes; what is made there is removed at the end. (default: a temporary folder)" type:"path" placeholder:"DIR"`
	Seed  uint64 `default:"1" help:"Seed of everything random."`
}

// output sends progress to standard error and figures to standard output.
func (f measureFlags) output() bench.Output {
	return bench.Output{
		Progress: progressTo(os.Stderr),
		Result:   f.resultTo(os.Stdout),
	}
}

func progressTo(w io.Writer) func(string, ...any) {
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, format+"\n", args...)
	}
}

func (f measureFlags) resultTo(w io.Writer) func(bench.Result) {
	var mu sync.Mutex
	enc := json.NewEncoder(w)
	return func(r bench.Result) {
		mu.Lock()
		defer mu.Unlock()
		if f.JSON {
			enc.Encode(r) // a reader that went away is no failure of the measurement
			return
		}
		fmt.Fprintf(w, "%-16s %-14s %-22s %3d threads %14.1f %s\n", r.Measure, r.System, r.Case, r.Threads, r.Value, r.Unit)
	}
}
