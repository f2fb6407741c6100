package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// beAttachChild in the environment makes this test binary the process that Attach kills.
const beAttachChild = "HEARTH_BENCH_ATTACH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(beAttachChild) != "" {
		fmt.Fprintln(os.Stderr, AttachChild(context.Background(), os.Stdin, os.Stdout))
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(builtDir)
	os.Exit(code)
}

// collect is an Output for tests.
func collect(t *testing.T) (Output, *[]Result) {
	var results []Result
	return Output{
		Progress: t.Logf,
		Result:   func(r Result) { results = append(results, r) },
	}, &results
}

// nothingLeft tells what a measurement forgot to remove.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{filepath.Join(dir, "*"), filepath.Join(sharedMemory, fmt.Sprintf("hearth-bench-%d-*", os.Getpid()))} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// All systems load the same rows, give them back, in order, and take commits.
func TestEngine(t *testing.T) {
	dir := t.TempDir()
	out, results := collect(t)
	cfg := EngineConfig{Dir: dir, Rows: 5000, Runs: 3, RunTime: 20 * time.Millisecond, Threads: []int{1, 2}, Seed: 1}
	if err := Engine(t.Context(), cfg, out); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, dir)
	const want = 4*(3*2+1) + 1 // systems × (three cases of two thread counts, one of one), and bbolt's second way
	if len(*results) != want {
		t.Errorf("%d results, want %d", len(*results), want)
	}
	for _, r := range *results {
		if len(r.Runs) != cfg.Runs || r.Value <= 0 {
			t.Errorf("%+v: want %d runs of something", r, cfg.Runs)
		}
	}
}

func TestEngineKnowsItsSystems(t *testing.T) {
	out, _ := collect(t)
	cfg := EngineConfig{Dir: t.TempDir(), Rows: 10, Runs: 1, Systems: []string{"nobody"}}
	if err := Engine(t.Context(), cfg, out); err == nil {
		t.Error("no error for an unknown system")
	}
}

// A measurement that is interrupted says so and cleans up.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out, _ := collect(t)
	out.Progress = func(string, ...any) { cancel() }
	cfg := EngineConfig{Dir: dir, Rows: 1000, Runs: 1000, RunTime: time.Minute, Threads: []int{1}, Seed: 1}
	if err := Engine(ctx, cfg, out); err == nil {
		t.Error("no error")
	}
	nothingLeft(t, dir)
}

func TestBeyond(t *testing.T) {
	dir := t.TempDir()
	out, results := collect(t)
	cfg := BeyondConfig{Dir: dir, Pool: 4 << 20, Times: 8, Readers: 8, Runs: 1, RunTime: 20 * time.Millisecond, Seed: 1}
	if err := Beyond(t.Context(), cfg, out); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, dir)
	if len(*results) < 2 {
		t.Errorf("results: %+v", *results)
	}
}

func TestAttach(t *testing.T) {
	dir := t.TempDir()
	out, results := collect(t)
	cfg := AttachConfig{
		Dir: dir, Pools: []int64{16 << 20, 32 << 20}, Dirty: 100, Log: 1 << 20, Runs: 2, Seed: 1,
		Child: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), beAttachChild+"=1")
			return cmd
		},
	}
	if err := Attach(t.Context(), cfg, out); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, dir)
	if len(*results) != 2*5+1 {
		t.Errorf("results: %+v", *results)
	}
}

// The names in a result are a promise to the programs that read them.
func TestResultJSON(t *testing.T) {
	got, err := json.Marshal(NewResult("m", "s", "c", 2, "u", []float64{1, 2}))
	const want = `{"measure":"m","system":"s","case":"c","threads":2,"value":1.5,"unit":"u","runs":[1,2]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
