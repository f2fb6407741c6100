package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/restart"
	"github.com/hearthdb/hearth/internal/testbed"
)

// builtDir is where hearthBinary builds; TestMain removes it.
var builtDir string

// hearthBinary builds the server, once for all tests.
func hearthBinary(t *testing.T) string {
	t.Helper()
	binary, err := buildHearth()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

var buildHearth = sync.OnceValues(func() (binary string, err error) {
	if builtDir, err = os.MkdirTemp("", "hearth-bench-test-"); err != nil {
		return "", err
	}
	binary = filepath.Join(builtDir, "hearth")
	build := exec.Command("go", "build", "-o", binary, "github.com/hearthdb/hearth/cmd/hearth")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return binary, nil
})

// loadedHearth is a server with the rows that are updated.
func loadedHearth(t *testing.T, cfg ServerRestartConfig) (ServerProfile, *peer.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hearth-l-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := ServerProfiles(hearthBinary(t), testbed.MemoryDir(t))[ProfileHearthKept]
	s, err := p.Make(peer.Config{Dir: filepath.Join(dir, "s"), Pool: cfg.Pool, LogSize: cfg.LogSize, Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := loadServer(t.Context(), cfg, WorkloadUpdate, peerSubject(s), Output{Progress: func(string, ...any) {}}); err != nil {
		t.Fatal(err)
	}
	return p, s
}

// Two systems are measured around a kill under TPC-C although a third one does not come back, which is told. What was loaded is kept,
// and used again.
func TestServerRestart(t *testing.T) {
	memory := testbed.MemoryDir(t)
	dir, err := os.MkdirTemp("", "hearth-b-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	all := ServerProfiles(hearthBinary(t), memory)
	broken := all[ProfileHearthKept]
	broken.Name, broken.After = "broken", []string{"--no-such-flag"}
	out, results := collect(t)
	var lines []*restart.Timeline
	figure := RestartFigures[FigureSurvive]
	cfg := ServerRestartConfig{
		Dir: filepath.Join(dir, "d"), Loaded: filepath.Join(dir, "l"), Bytes: 4 << 20, Pool: 64 << 20, LogSize: 256 << 20, Clients: 4, Before: 3 * time.Second,
		After: time.Second, Whole: true, Runs: 1, Seed: 1, Cases: figure.Cases, Picture: filepath.Join(dir, "p"), Draw: figure.Draw,
		Profiles: []ServerProfile{all[ProfileHearthKept], broken, all[ProfileInnoDBCold]},
		Timeline: func(l *restart.Timeline) { lines = append(lines, l) },
	}
	err = ServerRestart(t.Context(), cfg, out)
	if err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("got %v, want what became of the broken server", err)
	}
	left, err := filepath.Glob(filepath.Join(cfg.Dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	measured := map[string]int{}
	for _, r := range *results {
		measured[r.System]++
	}
	want := map[string]bool{all[ProfileHearthKept].Name: true}
	if _, err := all[ProfileInnoDBCold].Make(peer.Config{Dir: t.TempDir()}); err == nil {
		want[all[ProfileInnoDBCold].Name] = true
	}
	if measured[broken.Name] > 0 || len(measured) != len(want) {
		t.Errorf("measured %v, want %v", measured, want)
	}
	for _, l := range lines {
		if !want[l.Name] {
			continue
		}
		if !strings.Contains(l.Config["verified"], "consistency conditions 1 to 4 hold") || l.Config["server version"] == "" {
			t.Errorf("%s: configuration %v", l.Name, l.Config)
		}
		seen := map[string]bool{}
		for _, k := range l.Ticks {
			for name := range k.Facts {
				seen[name] = true
			}
		}
		for _, name := range []string{factReads, factPagesRead, factDirty, factAge, factLSN, factNewOrders} {
			if !seen[name] {
				t.Errorf("%s: nobody sampled %q", l.Name, name)
			}
		}
		if v, ok := notpmBefore(l); !ok || v <= 0 {
			t.Errorf("%s: %v NOTPM", l.Name, v)
		}
	}
	if _, err := os.Stat(cfg.Picture + "-dark.png"); err != nil {
		t.Error(err)
	}

	var told []string
	out.Progress = func(format string, args ...any) { told = append(told, format) }
	cfg.Profiles, cfg.Cases = cfg.Profiles[:1], []ServerCase{{Workload: WorkloadTPCC, Stop: StopClean}}
	if err := ServerRestart(t.Context(), cfg, out); err != nil {
		t.Error(err)
	}
	if s := strings.Join(told, "\n"); strings.Contains(s, "loading") || !strings.Contains(s, "loaded before") {
		t.Errorf("it was loaded again:\n%s", s)
	}

	// Who interrupts it is told what was measured until then, and keeps the picture.
	ctx, interrupt := context.WithCancel(t.Context())
	before, err := os.Stat(cfg.Picture + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Runs, cfg.Timeline, *results = 2, func(*restart.Timeline) { interrupt() }, nil
	if err := ServerRestart(ctx, cfg, out); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if len(*results) == 0 {
		t.Error("of the restart that was measured nothing is told")
	}
	if after, err := os.Stat(cfg.Picture + ".svg"); err != nil || after.ModTime() != before.ModTime() {
		t.Errorf("the picture is another: %v", err)
	}
}

func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	if err := os.MkdirAll(filepath.Join(from, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a/b/c": "see", "d": "", storeMark: "{}"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(to, "a/b/c")); err != nil || string(b) != "see" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(to, "d")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, storeMark)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark was copied: %v", err)
	}
}

func TestLoadProgress(t *testing.T) {
	for status, want := range map[string]float64{
		"Loaded 12800/51200 pages": 25, "Loaded 1/4 pages, paused": 25, "Buffer pool(s) load completed at 261122  2:40:00": 100,
		"Loading of buffer pool not started": -1, "": -1,
	} {
		got, ok := loadProgress(status)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: got %v, want %v", status, got, want)
		}
	}
}

// tenMilliseconds is a histogram of one answer after 10 ms, as HdrHistogram writes it.
const tenMilliseconds = "HISTFAAAACd42pJpmSzMwMDAzAABTFCaEUQoH3ZjsP8AEdjOxwQIAAD//1RfBG8="

// line of a system that serves 100 a second, is dark for two seconds, and then serves rate.
func line(rate int64) *restart.Timeline {
	l := &restart.Timeline{Stop: int64(100 * time.Second), Config: map[string]string{}}
	for at := -10 * time.Second; at < 20*time.Second; at += restart.Every {
		k := restart.Tick{Begin: l.Stop + int64(at), End: l.Stop + int64(at+restart.Every), Done: 10}
		if at >= 0 {
			k.Done = rate / 10
		}
		if at >= 0 && at < 2*time.Second {
			k.Done = 0
		}
		if k.Done > 0 {
			k.First, k.Last = k.Begin, k.End
			k.Latencies = tenMilliseconds
		}
		if at == -restart.Every {
			k.Facts = map[string]float64{factAge: 64 << 20}
		}
		l.Ticks = append(l.Ticks, k)
	}
	return l
}

// Titles and tables say what was seen, also when nobody came back.
func TestFindingsSayWhatWasSeen(t *testing.T) {
	all := ServerProfiles("", "")
	c := CaseRuns{Case: RestartFigures[FigureSurvive].Cases[0], Profiles: []ProfileRuns{
		{all[ProfileHearthKept], []*restart.Timeline{line(40)}},
		{all[ProfileInnoDBDump], []*restart.Timeline{line(100), line(100), line(40)}},
	}}
	plain := func(s string) string { return strings.ReplaceAll(s, unit, " ") }
	if got, want := plain(surviveTitle(c)), "Back at 90 % of full speed after a kill under a TPC-C-like load: "+
		"memory survived (hearth more than 20 s), restored from a dump (InnoDB 2.0 s)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := plain(minuteTitle(c)), "Served in the first 20 seconds after kill -9, of what full speed would serve: "+
		"hearth, memory kept 36 %; InnoDB, its own dump and load 90 %"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	pictures := blackouts(ServerRestartConfig{}, []CaseRuns{c})
	if len(pictures) != 1 {
		t.Fatalf("%d pictures, want 1", len(pictures))
	}
	for name, want := range map[string]bool{ProfileHearthKept: false, ProfileHearthDump: false, ProfileInnoDBDump: true, ProfileMyRocks: true} {
		if got := all[name].redoesFirst(); got != want {
			t.Errorf("%s: log is redone before the first answer: got %v, want %v", name, got, want)
		}
	}
	out, results := collect(t)
	serverFigures(ServerRestartConfig{Clients: 4}, c, out)
	var b strings.Builder
	if err := WriteTables(&b, "hearth bench restart", *results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**tpcc, kill -9**", "| hearth, memory kept | 100.00 |", "> 20.00 |", "| 2.00 (2.00–20.00) |", "| 32.00 (32.00–32.00) |",
		"p99 before, ms | p99 in the ten seconds after the first answer, ms |", "| 10.05 | 10.05 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

// A second that was not measured is not one in which nothing was answered; reads write no log.
func TestWhatWasNotMeasuredIsNotTold(t *testing.T) {
	short := line(100)
	short.Ticks = slices.DeleteFunc(short.Ticks, func(k restart.Tick) bool { return k.Begin > short.Stop+int64(5*time.Second) })
	c := CaseRuns{Case: RestartFigures[FigureFirstMinute].Cases[0], Profiles: []ProfileRuns{{ServerProfiles("", "")[ProfileInnoDBCold], []*restart.Timeline{short}}}}
	out, results := collect(t)
	serverFigures(ServerRestartConfig{Clients: 4}, c, out)
	if len(*results) == 0 {
		t.Fatal("nothing was told")
	}
	for _, r := range *results {
		for _, unknown := range []string{"fifth second", "first minute", "log"} {
			if r.Value == 0 || strings.Contains(r.Case, unknown) {
				t.Errorf("told: %s %v %s", r.Case, r.Value, r.Unit)
			}
		}
	}
}

// What cannot end well does not begin: nothing is loaded first.
func TestWhatCannotBeMeasuredIsToldFirst(t *testing.T) {
	all := ServerProfiles("/no/such/binary", t.TempDir())
	cfg := ServerRestartConfig{
		Bytes: 1 << 20, Pool: 64 << 20, Clients: 1, Runs: 1, Cases: RestartFigures[FigureFirstMinute].Cases, Profiles: []ServerProfile{all[ProfileHearthKept]},
	}
	out, _ := collect(t)
	cfg.Dir, cfg.Picture = t.TempDir(), filepath.Join(t.TempDir(), "missing", "picture")
	if err := ServerRestart(t.Context(), cfg, out); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "pictures") {
		t.Errorf("no folder for pictures: got %v", err)
	}
	cfg.Dir, cfg.Picture, cfg.Disk = testbed.MemoryDir(t), "", restart.Disk{IOPS: 1000} // memory is no disk that can be held back
	if err := ServerRestart(t.Context(), cfg, out); !errors.Is(err, restart.ErrNoCage) {
		t.Errorf("a disk that cannot be held back: got %v", err)
	}
	picture := filepath.Join(t.TempDir(), "picture")
	if err := drawableAt(picture); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(picture + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPicturesOfCasesAreNamedByWhatDiffers(t *testing.T) {
	crash := ServerRestartConfig{Cases: RestartFigures[FigureCrash].Cases}
	var got []string
	for _, c := range crash.Cases {
		got = append(got, crash.suffix(c))
	}
	if want := "-uniform-4000 -zipf-4000 -uniform-saturated -zipf-saturated"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	one := ServerRestartConfig{Cases: crash.Cases[:1]}
	if got := one.suffix(one.Cases[0]); got != "" {
		t.Errorf("of a single case: got %q, want nothing", got)
	}
}
