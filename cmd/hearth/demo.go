package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hearthdb/hearth/internal/bench"
)

type demoVerb struct {
	Size   size          `placeholder:"BYTES" help:"Rows; default: fitted to the machine, 256 MiB at most."`
	Dir    string        `type:"path" placeholder:"DIR" help:"Where the database lies; what is made there is removed at the end. Default: a temporary folder."`
	Page   string        `type:"path" default:"restart.html" help:"The page with what was seen; its pictures (SVG, PNG) lie beside it."`
	Before time.Duration `default:"5s" help:"How long the load runs before each restart."`
	After  time.Duration `default:"15s" help:"How long after each restart, at most; it ends earlier when all is as before."`
	Seed   uint64        `default:"1" help:"Seed of everything random."`
	JSON   bool          `name:"json" help:"Print the results as JSON, an object a line, and what happens meanwhile to standard error."`
}

func (demoVerb) Help() string {
	return `Makes a database, starts "hearth serve" on it as a process of its own, loads rows over the MySQL protocol, and then, under load,
restarts it in four ways: kill -9; a clean restart; kill -9 with its memory lost, as in a reboot; the same without a heat dump. A bar a second
shows what was answered. At the end every acknowledged commit is looked for. Takes less than two minutes and leaves only the page behind.`
}

func (v *demoVerb) Run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to start: %w", err)
	}
	var out io.Writer = os.Stdout
	if v.JSON {
		out = os.Stderr
	}
	results, err := bench.Demo(ctx, bench.DemoConfig{
		Dir: v.Dir, Bytes: int64(v.Size), Before: v.Before, After: v.After, Page: v.Page, Binary: self, Seed: v.Seed,
	}, out)
	if err != nil {
		return err
	}
	if v.JSON {
		enc := json.NewEncoder(os.Stdout)
		for _, r := range results {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintf(out, "\n%-56s %9s %13s %13s %6s\n", "restart", "blackout", "fifth second", "back at 90 %", "lost")
	for _, r := range results {
		fmt.Fprintf(out, "%-56s %7.2f s %13s %13s %6d\n", r.Title, r.Blackout, r.Fifth(), r.Back(), r.Lost)
	}
	fmt.Fprintf(out, "\nThe picture: %s\n", v.Page)
	return nil
}
