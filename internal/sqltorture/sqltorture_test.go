package sqltorture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/testbed"
)

// binary is the program that is tortured.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hearth-sql-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "hearth")
	build := exec.Command("go", "build", "-o", binary, "github.com/hearthdb/hearth/cmd/hearth")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// testConfig is a small run in folders of the test.
func testConfig(t *testing.T) Config {
	t.Helper()
	dir, err := os.MkdirTemp("", "hearth-sql-") // shorter than t.TempDir: the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return Config{
		Binary: binary, Dir: dir, Memory: testbed.MemoryDir(t), Kills: 4, Clients: 6, Durable: true, Seed: seed, Corrupt: true,
		CheckEvery: 2, LoadTime: 400 * time.Millisecond, Progress: t.Logf,
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

var grammar = regexp.MustCompile(`^kills=\d+ acked=\d+ maybe=\d+ lost=0 torn=0 duplicates=0 orphans=0 check=clean$`)

func TestNothingIsLost(t *testing.T) {
	for name, durable := range map[string]bool{"commit": true, "process": false} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Durable = durable
			if testing.Short() {
				cfg.Kills = 2
			}
			var acked, checks, changed int
			for run := 0; acked == 0 || checks == 0 || changed == 0; run++ { // a busy machine may get to little between two kills
				if run == 10 {
					t.Fatalf("%d works acknowledged, %d checks, %d definitions changed in %d runs: nothing was proven", acked, checks, changed, run)
				}
				v, err := Run(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				if got := v.String(); !grammar.MatchString(got) || !v.OK() || v.Kills != cfg.Kills {
					t.Errorf("%s, want %d kills and nothing wrong", got, cfg.Kills)
				}
				if n := foldersLeft(t, cfg); n != 0 {
					t.Errorf("%d folders stay", n)
				}
				acked, checks, changed = acked+v.Acked, checks+v.Checks, changed+v.Events["definitions changed"]
				cfg.Seed++
			}
			t.Logf("%d works acknowledged, %d checks, %d definitions changed", acked, checks, changed)
		})
	}
}

// TestCanaries: a torture that cannot fail proves nothing.
func TestCanaries(t *testing.T) {
	for _, c := range Canaries {
		t.Run(string(c), func(t *testing.T) {
			if testing.Short() && c != CanaryLost && c != CanaryGone {
				t.Skip("not in -short")
			}
			cfg := testConfig(t)
			cfg.Canary = c
			cfg.Kills = 250 // it ends long before, unless the machine has much else to do
			v, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			found := map[Canary]int{CanaryLost: v.Lost, CanaryTwice: v.Duplicates, CanaryOrphan: v.Orphans + v.Torn}
			n, counted := found[c]
			if !counted {
				n = v.Torn
			}
			if n == 0 || v.OK() {
				t.Errorf("%v, OK %v", &v, v.OK())
			}
			if len(v.Kept) != 2 || foldersLeft(t, cfg) != 2 {
				t.Errorf("kept for whoever looks into it: %v; want the data and the memory", v.Kept)
			}
		})
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	cfg := testConfig(t)
	cfg.Binary = filepath.Join(cfg.Dir, "no-such-program")
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("error is %v, want one that names the program", err)
	}
}

// TestInterrupted: whoever ends a run early finds nothing left of it.
func TestInterrupted(t *testing.T) {
	cfg := testConfig(t)
	cfg.Kills = 1000
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
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
		func(c *Config) { c.Binary = "" },
		func(c *Config) { c.Kills = 0 },
		func(c *Config) { c.Clients = 0 },
		func(c *Config) { c.Clients = maxClients + 1 },
		func(c *Config) { c.Pool = 1 },
		func(c *Config) { c.CheckEvery = 0 },
		func(c *Config) { c.LoadTime = 0 },
	} {
		cfg := testConfig(t)
		spoil(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil {
			t.Errorf("%+v passes", cfg)
		}
	}
}
