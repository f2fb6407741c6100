package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/testbed"
)

// The experiment comes out in small as it does in large, on hearth: one chunk warms the next, itself, and the changes in it, with far
// fewer statements too; what is not a replay of the log does not; and the standby has what its active server has.
func TestReplayWarmth(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers again and again")
	}
	memory := testbed.MemoryDir(t)
	dir, err := os.MkdirTemp("", "hearth-b-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	missing := ReplayWarmthServer{Name: "missing", make: func(peer.Config, string) (*peer.Server, func() error, error) {
		return nil, nil, peer.ErrMissing
	}}
	out, results := collect(t)
	cfg := ReplayWarmthConfig{
		Dir: filepath.Join(dir, "d"), Pool: 24 << 20, Rows: 40_000, Chunks: 2, Statements: 3000, Clients: 4, HotPercent: 5, Zipf: 0.5,
		Controls: []string{"self", "dedupe", "sample-sessions", "changes", "pair"}, Picture: filepath.Join(dir, "p"), Seed: 1,
		Servers: []ReplayWarmthServer{missing, ReplayWarmthHearth(hearthBinary(t), memory)},
	}
	if err := ReplayWarmth(t.Context(), cfg, out); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(memory, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	nothingLeft(t, cfg.Dir)
	got := map[string]Result{}
	for _, r := range *results {
		got[r.Case] = r
		if r.Config["rows"] != "40000" || r.Config["server version"] == "" {
			t.Errorf("%s: configuration %v", r.Case, r.Config)
		}
	}
	cold := got[caseCold]
	if cold.Value < 50 || len(cold.Series["disk reads/s"]) == 0 || cold.Also["MiB read"] <= 0 {
		t.Fatalf("cold: %+v", cold)
	}
	for name, most := range map[string]float64{
		caseWarm: cold.Value / 10, "chunk 2 after itself": 0, caseWarm + ", deduplicated": cold.Value / 10,
		"changes of chunk 2 after their replay": 1, // now and then one page is read, it is not known which
	} {
		if r, ok := got[name]; !ok || r.Value > most {
			t.Errorf("%s: %v reads, want at most %v (cold: %v)", name, r.Value, most, cold.Value)
		}
	}
	if c := got["changes of chunk 2, cold"]; c.Value < 50 {
		t.Errorf("changes, cold: %v reads, too few to show something", c.Value)
	}
	if all, few := got[caseWarm].Also["statements to warm"], got[caseWarm+", deduplicated"].Also["statements to warm"]; few > all*0.8 {
		t.Errorf("%v of %v statements were left after deduplication", few, all)
	}
	if r := got[casePair]; r.Value < 95 {
		t.Errorf("the standby holds %.1f %% of the active server's pages, want 95: %v", r.Value, r.Also)
	}
	for _, name := range []string{"p.svg", "p-dark.png", "p-controls.svg"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	var table strings.Builder
	if err := WriteTables(&table, "hearth", *results); err != nil || !strings.Contains(table.String(), "| hearth | "+caseCold+" | ") {
		t.Errorf("%v\n%s", err, table.String())
	}

	cfg.Controls = []string{"prayer"}
	if err := ReplayWarmth(t.Context(), cfg, out); err == nil || !strings.Contains(err.Error(), "prayer") {
		t.Errorf("got %v, want an error that names the control", err)
	}
}

func TestBytesFromDisk(t *testing.T) {
	if _, err := bytesFromDisk(os.Getpid()); err != nil && !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}

func TestOfCold(t *testing.T) {
	for want, v := range map[string][2]float64{"1/250": {4, 1000}, "0": {0, 1000}, "50 %": {500, 1000}, "100 %": {7, 7}} {
		if got := ofCold(v[0], v[1]); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
