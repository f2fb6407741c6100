package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/testbed"
)

// childEnv tells the test binary which child it is to be.
const childEnv = "HEARTH_TORTURE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "dies":
		fmt.Fprintln(os.Stderr, "no life for me")
		os.Exit(3)
	}
	if err := Child(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// testConfig is a small run in folders of the test.
func testConfig(t *testing.T, child string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Dir: t.TempDir(), Memory: testbed.MemoryDir(t), Kills: 8, Rows: 2000, LargeValue: 200_000, Writers: 4,
		Durability: hearth.DurabilityCommit, Seed: uint64(time.Now().UnixNano()), Corrupt: true, CheckEvery: 3, LoadTime: 100 * time.Millisecond,
		Child: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), childEnv+"="+child)
			return cmd
		},
		Progress: t.Logf,
	}
}

// foldersLeft counts the folders that a run has not removed.
func foldersLeft(t *testing.T, cfg Config) (n int) {
	t.Helper()
	for _, dir := range []string{cfg.Dir, cfg.Memory} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		n += len(entries)
	}
	return n
}

func TestNothingIsLost(t *testing.T) {
	for _, d := range []hearth.Durability{hearth.DurabilityCommit, hearth.DurabilityProcess} {
		t.Run(string(d), func(t *testing.T) {
			cfg := testConfig(t, "lives")
			cfg.Durability = d
			cfg.Kills = 16
			if testing.Short() {
				cfg.Kills = 4
			}
			t.Logf("seed %d", cfg.Seed)
			acked, checks, kept := 0, 0, testing.Short() // with few lives chance may have damaged the region after each
			for run := 0; acked == 0 || checks == 0 || !kept; run++ {
				if run == 10 {
					t.Fatalf("%d transactions acknowledged, %d checks, a region kept after a kill: %v, in %d runs: nothing was proven", acked, checks, kept, run)
				}
				v, err := Run(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := v.String(), fmt.Sprintf("kills=%d lost=0 torn=0 check=clean", cfg.Kills); got != want || !v.OK() {
					t.Errorf("%s, want %s", got, want)
				}
				if n := foldersLeft(t, cfg); n != 0 {
					t.Errorf("%d folders stay", n)
				}
				acked, checks, kept = acked+v.Acknowledged, checks+v.Checks, kept || v.Starts[string(hearth.StartCrashRegion)] > 0
				cfg.Seed++
			}
		})
	}
}

// TestCanaries: a torture that cannot fail proves nothing.
func TestCanaries(t *testing.T) {
	for _, c := range []struct {
		canary     Canary
		lost, torn int
	}{{CanaryLost, 1, 0}, {CanaryTorn, 0, 1}, {CanaryKept, 0, 1}} {
		t.Run(string(c.canary), func(t *testing.T) {
			cfg := testConfig(t, "lives")
			cfg.Canary = c.canary
			cfg.Kills = 50 // it ends long before
			v, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			// One lie may be seen twice: a transaction that is missing is a hole as well when a later one is there.
			if v.Lost < c.lost || v.Torn < c.torn || v.OK() {
				t.Errorf("lost %d, torn %d, OK %v; want at least %d, %d, and false", v.Lost, v.Torn, v.OK(), c.lost, c.torn)
			}
			if len(v.Kept) != 2 || foldersLeft(t, cfg) != 2 {
				t.Errorf("kept for whoever looks into it: %v; want the data and the region", v.Kept)
			}
		})
	}
}

func TestChildThatDies(t *testing.T) {
	cfg := testConfig(t, "dies")
	_, err := Run(t.Context(), cfg)
	if !errors.Is(err, errChild) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error is %v, want %v with its exit status", err, errChild)
	}
}

// TestInterrupted: whoever ends a run early finds nothing left of it.
func TestInterrupted(t *testing.T) {
	cfg := testConfig(t, "lives")
	cfg.Kills = 1000
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want %v", err, context.DeadlineExceeded)
	}
	if n := foldersLeft(t, cfg); n != 0 {
		t.Errorf("%d folders stay", n)
	}
}

func TestValidate(t *testing.T) {
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Kills = 0 },
		func(c *Config) { c.Writers = 0 },
		func(c *Config) { c.Writers = maxWriters + 1 },
		func(c *Config) { c.Rows = 3 },
		func(c *Config) { c.Pool = 1 },
		func(c *Config) { c.CheckEvery = 0 },
		func(c *Config) { c.LargeValue = 10 },
		func(c *Config) { c.Durability = "none" },
	} {
		cfg := testConfig(t, "lives")
		spoil(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil {
			t.Errorf("%+v passes", cfg)
		}
	}
}
