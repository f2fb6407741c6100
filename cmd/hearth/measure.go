package main

import (
	"context"
	"encoding/json"
	"errors"
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
// output: with --json each as it comes, otherwise as tables at the end. When nobody reads
// the figures any more the measurement ends, and cleans up.
func (f measureFlags) report(ctx context.Context, measure func(context.Context, bench.Output) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var results []bench.Result
	lines := json.NewEncoder(os.Stdout)
	err := measure(ctx, bench.Output{
		Progress: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Result: func(r bench.Result) {
			results = append(results, r)
			if !f.JSON {
				return
			}
			if err := lines.Encode(r); err != nil {
				cancel(fmt.Errorf("write a figure: %w", err))
			}
		},
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if f.JSON || len(results) == 0 {
		return err
	}
	return errors.Join(err, bench.WriteTables(os.Stdout, commandLine(), results))
}
