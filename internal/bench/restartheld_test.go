package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
)

// A disk that is held back is held back before the restart as after it, and let go at the end.
func TestHeldAroundTheRestart(t *testing.T) {
	disk := restart.Disk{IOPS: 1 << 20, BytesPerSecond: 1 << 40} // what counts is who is in the group
	if err := restart.CanHold(os.TempDir(), disk); errors.Is(err, restart.ErrNoCage) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	cfg := ServerRestartConfig{
		Bytes: 1 << 20, Pool: 64 << 20, LogSize: 256 << 20, Clients: 2, Before: time.Second, After: time.Second, Disk: disk, Runs: 1, Seed: 1,
	}
	p, s := loadedHearth(t, cfg)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	held := map[int]bool{} // by process, while it was asked
	b := newBed(cfg, ServerCase{Workload: WorkloadUpdate, Spread: SpreadUniform, Stop: StopKill}, p, peerSubject(s), Output{Progress: func(string, ...any) {}})
	b.tick = func(restart.Tick) {
		if pid := s.Pid(); s.Exited() == nil {
			group, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
			held[pid] = strings.Contains(string(group), "hearth-bench-") || held[pid]
		}
	}
	if err := b.measure(t.Context(), &restart.Timeline{Config: b.config()}); err != nil {
		t.Fatal(err)
	}
	if len(held) != 2 {
		t.Errorf("seen: %v, want two processes", held)
	}
	for pid, in := range held {
		if !in {
			t.Errorf("process %d was not held back", pid)
		}
	}
	group, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.Pid()), "cgroup"))
	if err != nil || strings.Contains(string(group), "hearth-bench-") {
		t.Errorf("at the end: %s, %v", group, err)
	}
}
