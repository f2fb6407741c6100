package heat

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

const testDir = "/db/heat"

func newDisk(t *testing.T) *file.Mem {
	t.Helper()
	disk := file.NewMem(1)
	if err := disk.MkdirAll("/db", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := disk.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	return disk
}

// put writes a dump of n pages as the next one.
func put(t *testing.T, disk *file.Mem, n int) error {
	t.Helper()
	b := newBreath()
	defer b.end()
	var ids []page.ID
	for i := range n {
		ids = append(ids, id(16, uint32(i)))
	}
	h := Header{UUID: testUUID, Pages: uint64(n), Bands: []Band{{4, uint64(n)}}}
	name, err := folder{disk, testDir}.next()
	if err != nil {
		return err
	}
	if err := write(context.Background(), disk, name, &h, [][]page.ID{ids}, b); err != nil {
		return err
	}
	return folder{disk, testDir}.prune(2)
}

var quiet = slog.New(slog.DiscardHandler)

// noFiles are data files for those who have no use for any.
func noFiles(disk *file.Mem) *datafile.Set {
	s, err := datafile.Open(datafile.Config{FS: disk, Dir: "/"})
	if err != nil {
		panic(err)
	}
	return s
}

// newest is the number of pages in the newest whole dump.
func newest(disk *file.Mem) int {
	w := New(Config{FS: disk, Dir: testDir, UUID: testUUID, Logger: quiet, Settings: Settings{}, Files: noFiles(disk)})
	l, err := w.find("", 0)
	if err != nil {
		return 0
	}
	return int(l.header.Pages)
}

func TestKeepsTheNewest(t *testing.T) {
	disk := newDisk(t)
	for n := 1; n <= 5; n++ {
		if err := put(t, disk, n); err != nil {
			t.Fatal(err)
		}
	}
	nos, err := folder{disk, testDir}.numbers()
	if err != nil || !slices.Equal(nos, []uint64{5, 4}) {
		t.Errorf("kept %v, %v", nos, err)
	}
	if n := newest(disk); n != 5 {
		t.Errorf("the newest has %d pages, want 5", n)
	}
}

// TestOlderWhenDamaged: a dump that is damaged does not hide the one before.
func TestOlderWhenDamaged(t *testing.T) {
	disk := newDisk(t)
	for n := 1; n <= 2; n++ {
		if err := put(t, disk, n); err != nil {
			t.Fatal(err)
		}
	}
	f, err := disk.OpenFile(folder{disk, testDir}.path(2), file.ReadWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, 60); err != nil {
		t.Fatal(err)
	}
	if n := newest(disk); n != 1 {
		t.Errorf("found one of %d pages, want that of 1", n)
	}
}

func TestForeign(t *testing.T) {
	disk := newDisk(t)
	if err := put(t, disk, 3); err != nil {
		t.Fatal(err)
	}
	_, err := readFor(disk, folder{disk, testDir}.path(1), [16]byte{9}, 10)
	if !errors.Is(err, ErrForeign) {
		t.Errorf("got %v", err)
	}
	if _, err := readFor(disk, "/db/nothing", testUUID, 0); !errors.Is(err, ErrNoDump) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestDumpOfALargerPool: what has no room anyway takes no memory, and is told as what it is.
func TestDumpOfALargerPool(t *testing.T) {
	disk := newDisk(t)
	b := newBreath()
	defer b.end()
	bands := [][]page.ID{{id(16, 7), id(16, 9)}, {id(16, 1), id(16, 8), id(16, 30)}, {id(16, 2), id(16, 3)}}
	h := Header{UUID: testUUID, Pages: 7, Bands: []Band{{8, 2}, {4, 3}, {2, 2}}}
	if err := write(t.Context(), disk, "/db/large", &h, bands, b); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int][]uint32{0: {1, 2, 3, 7, 8, 9, 30}, 4: {1, 7, 8, 9}, 7: {1, 2, 3, 7, 8, 9, 30}, 8: {1, 2, 3, 7, 8, 9, 30}} {
		l, err := readFor(disk, "/db/large", testUUID, most)
		if err != nil {
			t.Fatal(err)
		}
		l.sort()
		var got []uint32
		for _, p := range l.pages {
			got = append(got, p.id.No())
		}
		var s Status
		x := &load{plan: plan{list: l}, state: StateDone}
		x.counts[pool.NoRoom].Store(int64(l.over))
		x.counts[pool.Loaded].Store(int64(len(got)))
		if x.fill(&s); !slices.Equal(got, want) || s.Total != 7 || s.Left != 0 {
			t.Errorf("most %d: got pages %v, want %v; status %+v", most, got, want, s)
		}
	}
}

// TestWhatIsNoFile: neither a load nor a dump waits for whoever is at the other end of a pipe, nor touches what is not its own.
func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, dir, "/dev/zero"} {
		if _, err := readFor(file.OS, name, testUUID, 0); !errors.Is(err, ErrNotDump) {
			t.Errorf("load %s: got %v", name, err)
		}
		if err := replaceable(file.OS, name); !errors.Is(err, ErrNotDump) {
			t.Errorf("dump to %s: got %v", name, err)
		}
	}
	dump := filepath.Join(dir, "dump")
	for text, ok := range map[string]bool{"": true, magic + "…": true, "somebody's": false} {
		if err := os.WriteFile(dump+newSuffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replaceable(file.OS, dump); (err == nil) != ok {
			t.Errorf("%q is called as a dump that is being written: got %v", text, err)
		}
	}
}

// TestPowerCutDuringDump: whenever the power goes, the newest whole dump is the one before or the new one.
func TestPowerCutDuringDump(t *testing.T) {
	disk := newDisk(t)
	if err := put(t, disk, 1); err != nil {
		t.Fatal(err)
	}
	for n := 2; n <= 6; n++ {
		crashes := 0
		disk.OnOp(func(op file.Op) error {
			if !op.Kind.Changes() {
				return nil
			}
			for _, mode := range []file.CrashMode{file.KeepAll, file.DropUnsynced, file.Random, file.Random} {
				if got := newest(disk.Clone(mode)); got != n-1 && got != n {
					t.Errorf("dump %d, a power cut before %v %s: the newest whole dump has %d pages", n, op.Kind, op.Name, got)
				}
				crashes++
			}
			return nil
		})
		if err := put(t, disk, n); err != nil {
			t.Fatal(err)
		}
		disk.OnOp(nil)
		if got := newest(disk.Clone(file.DropUnsynced)); got != n {
			t.Errorf("dump %d is not durable when its writing ends: found %d", n, got)
		}
		if crashes < 20 {
			t.Errorf("only %d crashes", crashes)
		}
	}
}

// TestErrorDuringDump: whichever call fails, the dump before stays, the next one works, and no half one is left behind.
func TestErrorDuringDump(t *testing.T) {
	full := errors.New("the disk is full")
	for fail := 1; ; fail++ {
		disk := newDisk(t)
		if err := put(t, disk, 1); err != nil {
			t.Fatal(err)
		}
		n := 0
		disk.OnOp(func(op file.Op) error {
			if op.Kind.Changes() && op.Kind != file.OpRemove {
				if n++; n == fail {
					return full
				}
			}
			return nil
		})
		err := put(t, disk, 2)
		disk.OnOp(nil)
		if n < fail {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if !errors.Is(err, full) {
			t.Errorf("call %d fails: got %v", fail, err)
		}
		if got := newest(disk); got != 1 && got != 2 {
			t.Errorf("call %d fails: the newest whole dump has %d pages", fail, got)
		}
		if err := put(t, disk, 3); err != nil || newest(disk) != 3 {
			t.Errorf("call %d failed, and the next dump: %v, %d pages", fail, err, newest(disk))
		}
		entries, err := disk.ReadDir(testDir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, ok := numberOf(e.Name()); !ok {
				t.Errorf("call %d failed: %s is left over", fail, e.Name())
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, bad := range []string{"1.heat", "0000000001.heat.new", "000000000x.heat", "0000000001.heatx"} {
		if _, ok := numberOf(bad); ok {
			t.Errorf("%q is taken for a dump", bad)
		}
	}
	if no, ok := numberOf(nameOf(12)); !ok || no != 12 {
		t.Errorf("%s: %d %v", nameOf(12), no, ok)
	}
}
