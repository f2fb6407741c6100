package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/restart"
	"github.com/hearthdb/hearth/internal/testbed"
)

// A disk that is held back is held back before the restart as after it, and let go at the end.
func TestHeldAroundTheRestart(t *testing.T) {
	dir, err := os.MkdirTemp("", "hearth-h-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	disk := restart.Disk{IOPS: 1 << 20, BytesPerSecond: 1 << 40} // what counts is who is in the group
	c, err := restart.NewCage(dir, disk)
	if errors.Is(err, restart.ErrNoCage) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(); err != nil {
		t.Fatal(err)
	}
	p := ServerProfiles(hearthBinary(t), testbed.MemoryDir(t))[ProfileHearthKept]
	s, err := p.Make(peer.Config{Dir: filepath.Join(dir, "s"), Pool: 64 << 20, LogSize: 256 << 20, Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := ServerRestartConfig{
		Dir: dir, Bytes: 1 << 20, Pool: 64 << 20, LogSize: 256 << 20, Clients: 2, Before: time.Second, After: time.Second, Disk: disk, Runs: 1, Seed: 1,
	}
	quiet := Output{Progress: func(string, ...any) {}}
	if err := loadServer(t.Context(), cfg, WorkloadUpdate, peerSubject(s), quiet); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	held := map[int]bool{} // by process, while it was asked
	b := newBed(cfg, ServerCase{Workload: WorkloadUpdate, Spread: SpreadUniform, Stop: StopKill}, p, peerSubject(s), quiet)
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
