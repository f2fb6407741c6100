package hearth

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallMemory gives the site a memory directory of so many bytes. Needs the right to mount.
func (s *site) smallMemory(size string) {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		s.t.Skip("mount:", err)
	}
	s.t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			s.t.Error(err)
		}
	})
	s.opts.MemoryDir = dir
}

func awaitGrown(t *testing.T, db *DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := db.pool.Grown(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestStartGrows: a large pool gets most of its memory behind the first answer, also over a death in the middle of that.
func TestStartGrows(t *testing.T) {
	s := newSite(t)
	s.opts.PoolSize, s.opts.RingSize = 4*firstFrames*PageSize, 1<<20
	db := s.open(StartNew, "")
	if r := db.StartReport(); r.PoolFrames != 4*firstFrames || r.PoolReserved != firstFrames || r.PoolShort != "" {
		t.Errorf("report: %+v", r)
	}
	s.fill(db, 200)
	awaitGrown(t, db)
	if st := db.Stats().Pool; st.Frames != 4*firstFrames || st.Coming != 0 || st.Short != nil {
		t.Errorf("grown: %+v", st)
	}
	s.close(db)
	db = s.open(StartCleanRegion, "")
	if r := db.StartReport(); r.PoolReserved != 4*firstFrames {
		t.Errorf("report of the second start: %+v", r)
	}
	s.close(db)
}

// TestNoRoomToGrow: a pool that survived is to be larger than its memory-dir. It is kept with all that it has, commits that only
// memory knows included, and grows as far as there is room.
func TestNoRoomToGrow(t *testing.T) {
	for _, c := range []struct {
		name string
		room string // of the memory-dir
		hog  int64  // bytes that others take
	}{
		{"none", "24m", 0}, // not even for the first chunk
		{"some", "256m", 0},
		{"filled by others", "256m", 100 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.smallMemory(c.room)
			s.opts.Durability, s.opts.RingSize = DurabilityProcess, 1<<20
			s.killChild(200)
			if c.hog > 0 {
				hog, err := os.Create(filepath.Join(s.opts.MemoryDir, "hog"))
				if err != nil {
					t.Fatal(err)
				}
				defer hog.Close()
				if err := unix.Fallocate(int(hog.Fd()), 0, 0, c.hog); err != nil {
					t.Fatal(err)
				}
			}
			s.opts.PoolSize = 1 << 30
			db := s.openAfterKill(StartCrashRegion, "")
			awaitGrown(t, db)
			st, r := db.Stats().Pool, db.StartReport()
			if st.Frames*PageSize >= 1<<30 || st.Frames != r.PoolFrames || r.PoolShort == "" {
				t.Errorf("%d pages of a pool of %d, report: %+v", st.Frames, s.opts.PoolSize/PageSize, r)
			}
			t.Logf("%d pages: %s", st.Frames, r.PoolShort)
			s.fill(db, 3000) // more than the smallest of these pools holds
			s.close(db)
			db = s.open(StartCleanRegion, "")
			s.fill(db, 10)
			s.close(db)
		})
	}
}
