package datafile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// crashes keeps clones of a disk, made before the calls that change something.
type crashes struct {
	mu    sync.Mutex
	disks []*file.Mem
	ops   []file.Op
}

// watch makes every changing call on m clone it as each kind of crash would leave it.
func (c *crashes) watch(m *file.Mem) {
	m.OnOp(func(op file.Op) error {
		if !op.Kind.Changes() || op.Kind == file.OpOpen {
			return nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, mode := range []file.CrashMode{file.KeepAll, file.DropUnsynced, file.Random, file.Random} {
			c.disks = append(c.disks, m.Clone(mode))
			c.ops = append(c.ops, op)
		}
		return nil
	})
}

// TestCrashDuringWritePages is the promise of this package: whenever the crash comes, and whenever another comes
// during the repair, each page is the old one or the new one; once WritePages has returned, the new one.
func TestCrashDuringWritePages(t *testing.T) {
	seed := rand.Uint64()
	for _, unit := range []int{0, page.Size} {
		t.Run(fmt.Sprintf("atomic unit %d", unit), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			rng := rand.New(rand.NewPCG(seed, 0))
			m := newDisk(seed)
			m.SetAtomicUnit(unit)
			s := openSet(t, m, "/db")
			must(t, s.Create(1))
			must(t, s.Create(2))
			last := map[page.ID]uint64{}
			for round := uint64(1); round <= 3; round++ {
				ids := randomIDs(rng)
				var c crashes
				c.watch(m)
				must(t, s.WritePages(ctx, writes(round, ids...)))
				m.OnOp(nil)
				for i, disk := range c.disks {
					checkOldOrNew(t, disk, last, ids, round, fmt.Sprintf("round %d, crash before %+v", round, c.ops[i]))
				}
				for _, id := range ids {
					last[id] = round
				}
				checkAll(t, openSet(t, m.Clone(file.DropUnsynced), "/db"), last)
			}
		})
	}
}

// randomIDs is a few runs of pages in two spaces.
func randomIDs(rng *rand.Rand) []page.ID {
	var ids []page.ID
	for range 2 + rng.IntN(3) {
		first := page.MakeID(uint32(1+rng.IntN(2)), uint32(rng.IntN(20)))
		for i := range 1 + rng.IntN(4) {
			ids = append(ids, first+page.ID(i))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func checkOldOrNew(t *testing.T, disk *file.Mem, last map[page.ID]uint64, ids []page.ID, round uint64, when string) {
	t.Helper()
	// A crash during the repair first: the next repair must find the same.
	var again crashes
	again.watch(disk)
	openSet(t, disk, "/db")
	disk.OnOp(nil)
	for i, d := range append([]*file.Mem{disk}, again.disks...) {
		if i%5 != 0 {
			continue // a fifth will do
		}
		s := openEarly(t, d, "/db") // pages are read while they are mended
		for _, id := range ids {
			if v := versionAt(t, s, id); v != last[id] && v != round {
				t.Fatalf("%s: page %v has version %d, want %d or %d", when, id, v, last[id], round)
			}
		}
		for id, want := range last {
			if v := versionAt(t, s, id); v != want && !slices.Contains(ids, id) {
				t.Fatalf("%s: page %v, which was not written, has version %d, want %d", when, id, v, want)
			}
		}
	}
}

func checkAll(t *testing.T, s *Set, want map[page.ID]uint64) {
	t.Helper()
	for id, v := range want {
		if got := versionAt(t, s, id); got != v {
			t.Fatalf("page %v has version %d, want %d", id, got, v)
		}
	}
}

// TestCrashDuringManyWriters: batches of several callers share the slots. Each page belongs to one caller, and what
// a caller was told is durable stays so.
func TestCrashDuringManyWriters(t *testing.T) {
	const writers, rounds = 6, 8
	seed := rand.Uint64()
	m := newDisk(seed)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	var acked [writers]uint64
	var mu sync.Mutex
	type crash struct {
		disk  *file.Mem
		acked [writers]uint64
	}
	var found []crash
	rng := rand.New(rand.NewPCG(seed, 1))
	m.OnOp(func(op file.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(12) == 0 {
			found = append(found, crash{acked: acked, disk: m.Clone(file.Random)})
		}
		return nil
	})
	idOf := func(w, i int) page.ID { return page.MakeID(1, uint32(w*4+i)) }
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for v := uint64(1); v <= rounds; v++ {
				if err := s.WritePages(ctx, writes(v, idOf(w, 0), idOf(w, 1), idOf(w, 2))); err != nil {
					t.Error(err)
				}
				mu.Lock()
				acked[w] = v
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	m.OnOp(nil)
	for _, c := range found {
		s := openSet(t, c.disk, "/db")
		for w := range writers {
			for i := range 3 {
				if v := versionAt(t, s, idOf(w, i)); v < c.acked[w] || v > c.acked[w]+1 {
					t.Fatalf("seed %d: page %v has version %d, %d was acknowledged", seed, idOf(w, i), v, c.acked[w])
				}
			}
		}
	}
	t.Logf("%d crashes", len(found))
}

// TestFailureAtEveryCall injects an error at the Nth changing call. Nothing is torn after a crash, and once a home
// write or a sync failed nothing is written any more.
func TestFailureAtEveryCall(t *testing.T) {
	ids := []page.ID{page.MakeID(1, 0), page.MakeID(1, 1), page.MakeID(1, 7), page.MakeID(2, 3)}
	last := map[page.ID]uint64{}
	for _, id := range ids {
		last[id] = 1
	}
	for n := 1; ; n++ {
		m := newDisk(uint64(n))
		s := openSet(t, m, "/db")
		must(t, s.Create(1))
		must(t, s.Create(2))
		must(t, s.WritePages(ctx, writes(1, ids...)))
		var mu sync.Mutex
		calls := 0
		var failed file.Op
		m.OnOp(func(op file.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if !op.Kind.Changes() {
				return nil
			}
			if calls++; calls != n {
				return nil
			}
			failed = op
			return &file.ShortError{Done: 5000, Err: unix.EIO}
		})
		ids2 := append(slices.Clone(ids), page.MakeID(1, 40)) // needs room, too
		err := s.WritePages(ctx, writes(2, ids2...))
		m.OnOp(nil)
		if calls < n {
			must(t, err)
			if n < 8 {
				t.Fatalf("only %d calls", n)
			}
			return
		}
		if !errors.Is(err, unix.EIO) {
			t.Fatalf("call %d, %+v failed: got %v", n, failed, err)
		}
		var stopped *StoppedError
		wantStop := failed.Kind == file.OpSync || failed.Kind == file.OpWrite && failed.Name != "/db/doublewrite"
		if errors.As(err, &stopped) != wantStop {
			t.Fatalf("call %d, %+v failed: got %v, stopped should be %v", n, failed, err, wantStop)
		}
		for range 5 {
			checkOldOrNew(t, m.Clone(file.Random), last, ids2, 2, fmt.Sprintf("after a failed %+v", failed))
		}
		for range slots + 1 {
			if err := s.WritePages(ctx, writes(2, ids2...)); errors.As(err, &stopped) != wantStop {
				t.Fatalf("after a failed %+v: got %v", failed, err)
			}
		}
		must(t, s.ReadPage(ctx, ids2[0], newPage(), ClassMiss))
	}
}

// TestFullDiskIsNoEnd: room is taken before anything is written, so the writer may try again.
func TestFullDiskIsNoEnd(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	id := page.MakeID(1, 0)
	left := int64(0)
	m.OnOp(func(op file.Op) error {
		if op.Kind == file.OpAllocate && op.Off+op.Len > left && op.Name != "/db/doublewrite" {
			return unix.ENOSPC
		}
		return nil
	})
	if err := s.WritePages(ctx, writes(1, id)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	left = page.Size // enough for the page, not for growing ahead
	must(t, s.WritePages(ctx, writes(1, id)))
	if v := versionAt(t, s, id); v != 1 {
		t.Errorf("version %d, want 1", v)
	}
}

// TestReadOnlyMendsInMemory: a torn page reads whole, and the disk is not touched.
func TestReadOnlyMendsInMemory(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	id := page.MakeID(1, 2)
	must(t, s.WritePages(ctx, writes(1, id)))
	tear(t, m, id)
	m.OnOp(func(op file.Op) error {
		if op.Kind.Changes() && op.Kind != file.OpOpen {
			t.Errorf("read-only, and %+v", op)
		}
		return nil
	})
	ro, err := Open(Config{FS: m, Dir: "/db", ReadOnly: true})
	must(t, err)
	got, err := mend(ro)
	if err != nil || !slices.Equal(got, []page.ID{id}) {
		t.Errorf("restored %v, %v", got, err)
	}
	if v := versionAt(t, ro, id); v != 1 {
		t.Errorf("version %d, want 1", v)
	}
	pages := []*page.Page{newPage(), newPage()}
	must(t, ro.ReadPages(ctx, id, pages, ClassRedo))
	must(t, pages[0].Verify(id))
}

// TestRestoreLeavesRemovedSpacesAlone, and mends the others.
func TestRestoreLeavesRemovedSpacesAlone(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	must(t, s.Create(2))
	kept, removed := page.MakeID(1, 2), page.MakeID(2, 2)
	must(t, s.WritePages(ctx, writes(1, kept, removed)))
	must(t, s.Remove(2))
	tear(t, m, kept)
	again, err := Open(Config{FS: m, Dir: "/db"})
	must(t, err)
	got, err := mend(again)
	if err != nil || !slices.Equal(got, []page.ID{kept}) {
		t.Errorf("restored %v, %v", got, err)
	}
	tear(t, m, kept)
	if got, err := mend(again); err != nil || len(got) != 0 {
		t.Errorf("an image outlived its restoring: %v, %v", got, err)
	}
}

// tear damages a sector of a page of space 1 on the disk.
func tear(t *testing.T, m *file.Mem, id page.ID) {
	t.Helper()
	f, err := m.OpenFile("/db/spaces/00000001.hs", file.ReadWrite, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt(make([]byte, 512), offset(id)+1024)
	must(t, err)
	must(t, f.Sync())
}

// TestReadWhileMending holds the mending back at each of its calls. Suspects that are whole are read meanwhile; a torn one
// waits, and so does a write; nobody waits when nothing is torn.
func TestReadWhileMending(t *testing.T) {
	whole, torn := page.MakeID(1, 1), page.MakeID(1, 2)
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	must(t, s.WritePages(ctx, writes(1, whole, torn)))
	must(t, s.Close())
	tear(t, m, torn)
	for n := 1; ; n++ {
		d := m.Clone(file.KeepAll)
		held, release := make(chan file.Op, 1), make(chan struct{})
		var mending atomic.Bool
		var calls atomic.Int32
		d.OnOp(func(op file.Op) error {
			if mending.Load() && int(calls.Add(1)) == n {
				held <- op
				<-release
			}
			return nil
		})
		s, err := Open(Config{FS: d, Dir: "/db"})
		must(t, err)
		must(t, s.ReadPage(ctx, page.MakeID(1, 9), newPage(), ClassMiss)) // the file is open
		mending.Store(true)
		over := make(chan error, 1)
		go func() {
			_, err := mend(s)
			over <- err
		}()
		var op file.Op
		select {
		case op = <-held:
			mending.Store(false)
		case err := <-over:
			must(t, err)
			if n < 8 {
				t.Fatalf("only %d calls", n)
			}
			must(t, s.Close())
			return
		}
		if s.restored.Load() { // it goes on behind
			if v := versionAt(t, s, whole); v != 1 {
				t.Fatalf("held at %+v: version %d, want 1", op, v)
			}
			short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			if err := s.WritePages(short, writes(2, whole)); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("held at %+v: write while mending: %v", op, err)
			}
			p := newPage()
			if err := s.ReadPage(short, torn, p, ClassMiss); err == nil && p.Verify(torn) != nil {
				t.Fatalf("held at %+v: read a torn page", op)
			}
			cancel()
		}
		close(release)
		if v := versionAt(t, waitRestore(t, s), torn); v != 1 {
			t.Fatalf("held at %+v: version %d, want 1", op, v)
		}
		must(t, s.WritePages(ctx, writes(2, torn)))
		must(t, s.Close())
	}
}

// waitRestore waits until RestoreTorn has begun.
func waitRestore(t *testing.T, s *Set) *Set {
	for !s.restored.Load() {
		time.Sleep(time.Millisecond)
	}
	return s
}

// TestMendingFails: reading goes on, torn pages are an error and not bytes, and nothing is written any more.
func TestMendingFails(t *testing.T) {
	whole, torn := page.MakeID(1, 1), page.MakeID(1, 2)
	for _, kind := range []file.OpKind{file.OpRead, file.OpWrite, file.OpSync} {
		m := newDisk(1)
		s := openSet(t, m, "/db")
		must(t, s.Create(1))
		must(t, s.WritePages(ctx, writes(1, whole, torn)))
		tear(t, m, torn)
		m.OnOp(func(op file.Op) error {
			if op.Kind == kind && (kind != file.OpRead || op.Name == "/db/doublewrite" && op.Len > slotHeader) {
				return unix.EIO
			}
			return nil
		})
		s = openEarly(t, m, "/db")
		if _, err := s.Torn(ctx); !errors.Is(err, unix.EIO) {
			t.Errorf("%v failed: got %v", kind, err)
		}
		if v := versionAt(t, s, whole); v != 1 {
			t.Errorf("%v failed: version %d, want 1", kind, v)
		}
		p := newPage()
		if err := s.ReadPage(ctx, torn, p, ClassMiss); err == nil && p.Verify(torn) != nil {
			t.Errorf("%v failed: read a torn page", kind)
		}
		if err := s.WritePages(ctx, writes(2, whole)); !errors.As(err, new(*StoppedError)) {
			t.Errorf("%v failed: write: %v", kind, err)
		}
		m.OnOp(nil)
		if v := versionAt(t, openSet(t, m, "/db"), torn); v != 1 {
			t.Errorf("%v failed: version %d after another start, want 1", kind, v)
		}
	}
}
