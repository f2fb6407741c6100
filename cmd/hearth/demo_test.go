package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/bench"
)

// The demonstration at its smallest size: it comes back from each of its restarts and loses nothing.
func TestDemo(t *testing.T) {
	binary := os.Getenv("HEARTH_DEMO")
	if binary == "" {
		t.Skip("make demo runs this on the binary that it built (HEARTH_DEMO)")
	}
	if !filepath.IsAbs(binary) {
		binary = filepath.Join("..", "..", binary)
	}
	page := filepath.Join(t.TempDir(), "restart.html")
	cmd := exec.Command(binary, "demo", "--json", "--size=16MiB", "--before=3s", "--after=6s", "--page", page)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var results []bench.DemoResult
	for dec := json.NewDecoder(&out); dec.More(); {
		var r bench.DemoResult
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if len(results) != 4 {
		t.Fatalf("got %d restarts, want 4", len(results))
	}
	for _, r := range results {
		if r.Lost != 0 || r.Acknowledged == 0 {
			t.Errorf("%s: %d commits acknowledged, %d lost", r.Title, r.Acknowledged, r.Lost)
		}
		if r.Blackout <= 0 || r.Before <= 0 {
			t.Errorf("%s: blackout %v s, %v transactions/s before: not measured", r.Title, r.Blackout, r.Before)
		}
	}
	for i, kind := range []string{"crash, region kept", "clean, region kept", "region lost", "region lost"} {
		if !strings.Contains(results[i].Start, kind) {
			t.Errorf("%s: the start was %q, want %q", results[i].Title, results[i].Start, kind)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(html, []byte("<svg")) || !bytes.Contains(html, []byte("kill -9")) {
		t.Error("the page has no picture")
	}
	for _, name := range []string{"restart.svg", "restart.png", "restart-dark.svg", "restart-dark.png"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(page), name)); err != nil {
			t.Error(err)
		}
	}
}
