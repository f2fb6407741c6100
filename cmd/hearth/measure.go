package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hearthdb/hearth/internal/bench"
)

// measureFlags are shared by all verbs that measure.
type measureFlags struct {
	Quick bool   `help:"A small run of under a minute on 2 cores."`
	JSON  bool   `name:"json" help:"Print one object a line instead of text: measure, system, case, threads, value, unit, runs."`
	Dir   string `help:"Where the data goes; what is made there is removed at the end. Default: a temporary folder." type:"path" placeholder:"DIR"`
	Seed  uint64 `default:"1" help:"Seed of everything random."`
}

// report runs a measurement. Progress goes to standard error. Figures go to standard
// output: with --json each as it comes, otherwise as tables at the end.
func (f measureFlags) report(measure func(bench.Output) error) error {
	var results []bench.Result
	lines := json.NewEncoder(os.Stdout)
	err := measure(bench.Output{
		Progress: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Result: func(r bench.Result) {
			if f.JSON {
				lines.Encode(r) // a reader that went away is no failure of the measurement
			}
			results = append(results, r)
		},
	})
	if f.JSON || len(results) == 0 {
		return err
	}
	if werr := bench.WriteTables(os.Stdout, commandLine(), results); err == nil {
		err = werr
	}
	return err
}
