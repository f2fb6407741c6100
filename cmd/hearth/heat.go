package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/heat"
)

// heatVerb looks at heat dumps; nobody needs to be running.
type heatVerb struct {
	Show   heatShowVerb   `cmd:"" help:"Print what is in a heat dump: header, bands, pages per tree. A tree is called by the number of its space; a running server says whose it is (information_schema.hearth_pool_by_tree)."`
	Verify heatVerifyVerb `cmd:"" help:"Say whether a heat dump is whole."`
}

type heatFlags struct {
	File string `arg:"" type:"path" help:"The dump; those of a database are in the folder heat of its directory."`
	JSON bool   `name:"json" help:"Print a JSON object instead of text."`
}

// knownSpaces are the same in every database.
var knownSpaces = map[uint32]string{1: " (undo)", 2: " (catalog)"}

type heatShowVerb struct{ heatFlags }

func (v *heatShowVerb) Run() error {
	d, err := heat.Describe(v.File)
	if err != nil {
		return err
	}
	if v.JSON {
		return json.NewEncoder(os.Stdout).Encode(d)
	}
	fmt.Printf("file      %s\ndatabase  %s\nmade      %s, at LSN %d\npages     %d (%.1f MiB), of a pool of %d\n\n", d.File, d.UUID,
		d.At.Format(time.RFC3339), d.LSN, d.Pages, float64(d.Bytes)/(1<<20), d.Frames)
	fmt.Printf("%4s  %10s  %10s  %7s\n", "band", "heat from", "pages", "sum")
	var sum uint64
	for i, b := range d.Bands {
		sum += b.Pages
		fmt.Printf("%4d  %10d  %10d  %5.1f %%\n", i, b.Heat, b.Pages, 100*float64(sum)/float64(d.Pages))
	}
	fmt.Printf("\n%-20s  %10s  %s\n", "tree", "pages", "hottest band")
	for _, s := range d.Spaces {
		name := fmt.Sprintf("space %d", s.Space) + knownSpaces[s.Space]
		fmt.Printf("%-20s  %10d  %d\n", name, s.Pages, slices.IndexFunc(s.Bands, func(n uint64) bool { return n > 0 }))
	}
	return nil
}

type heatVerifyVerb struct{ heatFlags }

func (v *heatVerifyVerb) Run() error {
	d, err := heat.Describe(v.File)
	if !v.JSON {
		if err == nil {
			fmt.Printf("%s: whole, %d pages in %d bands\n", v.File, d.Pages, len(d.Bands))
		}
		return err
	}
	answer := struct {
		File  string `json:"file"`
		Whole bool   `json:"whole"`
		Pages uint64 `json:"pages"`
		Error string `json:"error,omitempty"`
	}{File: v.File, Whole: err == nil, Pages: d.Pages}
	if err != nil {
		answer.Error = err.Error()
	}
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(answer))
}
