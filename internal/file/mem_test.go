package file

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"testing"

	"golang.org/x/sys/unix"
)

// durable makes a file whose first n bytes are b, durable with its name.
func durable(t *testing.T, m *Mem, name string, n int, b byte) File {
	t.Helper()
	f := open(t, m, name, ReadWrite|Create)
	_, err := f.WriteAt(fill(n, b), 0)
	must(t, err)
	must(t, f.Sync())
	must(t, m.SyncDir(path.Dir(name)))
	return f
}

func content(t *testing.T, m *Mem, name string) []byte {
	t.Helper()
	f := open(t, m, name, ReadOnly)
	size, err := f.Size()
	must(t, err)
	p := make([]byte, size)
	if n, err := f.ReadAt(p, 0); n != len(p) || err != nil {
		t.Fatalf("read %s: %d of %d, %v", name, n, size, err)
	}
	return p
}

func exists(m *Mem, name string) bool {
	_, err := m.Stat(name)
	return err == nil
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for _, mode := range []CrashMode{KeepAll, DropUnsynced, Random} {
		m := NewMem(2)
		durable(t, m, "a", 3000, 1)
		c := m.Clone(mode)
		if got := content(t, c, "a"); !bytes.Equal(got, fill(3000, 1)) {
			t.Errorf("mode %d: got %d bytes", mode, len(got))
		}
	}
}

func TestCrashAndUnsyncedWrites(t *testing.T) {
	m := NewMem(3)
	f := durable(t, m, "a", 8*sectorSize, 1)
	f.WriteAt(fill(16*sectorSize, 2), 0)
	all := m.Clone(KeepAll)
	if got := content(t, all, "a"); !bytes.Equal(got, fill(16*sectorSize, 2)) {
		t.Error("a dead process lost what it had written")
	}
	if got := content(t, all.Clone(DropUnsynced), "a"); !bytes.Equal(got, fill(8*sectorSize, 1)) {
		t.Error("a power cut after the death of the process kept what nobody synced")
	}
	if got := content(t, m.Clone(DropUnsynced), "a"); !bytes.Equal(got, fill(8*sectorSize, 1)) {
		t.Error("a power cut kept what nobody synced")
	}
	var whole, none, torn int
	for range 200 {
		got := content(t, m.Clone(Random), "a")
		twos := bytes.Count(got, []byte{2})
		for i := 0; i < len(got); i += sectorSize {
			if s := got[i : i+sectorSize]; !bytes.Equal(s, fill(sectorSize, s[0])) {
				t.Fatal("a sector is torn")
			}
		}
		switch twos {
		case 16 * sectorSize:
			whole++
		case 0:
			none++
		default:
			torn++
		}
	}
	if whole < 20 || none < 20 || torn < 20 {
		t.Errorf("of 200 power cuts %d kept the write, %d lost it, %d tore it", whole, none, torn)
	}
}

func TestCrashAndAtomicWrites(t *testing.T) {
	m := NewMem(4)
	m.SetAtomicUnit(16384)
	f := open(t, m, "a", ReadWrite|Create|Direct)
	must(t, m.SyncDir("/"))
	if err := f.WriteAtomic(fill(16384, 1), 8192); !errors.Is(err, unix.EINVAL) {
		t.Errorf("crooked atomic write: %v", err)
	}
	must(t, f.WriteAtomic(fill(16384, 1), 16384))
	for range 50 {
		got := content(t, m.Clone(Random), "a")
		if n := bytes.Count(got, []byte{1}); n != 0 && n != 16384 {
			t.Fatalf("an atomic write left %d bytes", n)
		}
	}
}

func TestCrashAndNames(t *testing.T) {
	m := NewMem(5)
	durable(t, m, "old", 10, 1)
	must(t, m.MkdirAll("d/e", 0o755))
	durable(t, m, "d/e/deep", 10, 1)
	f := open(t, m, "new", ReadWrite|Create)
	f.WriteAt(fill(10, 2), 0)
	must(t, f.Sync())
	if exists(m.Clone(DropUnsynced), "new") {
		t.Error("a synced file kept its name without a SyncDir")
	}
	must(t, m.Rename("new", "old"))
	for range 50 {
		c := m.Clone(Random)
		switch got := content(t, c, "old")[0]; {
		case got == 1: // the rename is lost, "new" may or may not be there
		case got != 2 || exists(c, "new"):
			t.Fatalf("half a rename: old holds %d", got)
		}
	}
	if exists(m.Clone(DropUnsynced), "d") {
		t.Error("a directory kept its name without a SyncDir of its parent")
	}
	must(t, m.SyncDir("/"))
	c := m.Clone(DropUnsynced)
	if content(t, c, "old")[0] != 2 || exists(c, "new") || !exists(c, "d") {
		t.Error("SyncDir did not make the names durable")
	}
	if exists(c, "d/e") {
		t.Error("SyncDir of one directory made names in another durable")
	}
	must(t, m.SyncDir("d"))
	if !exists(m.Clone(DropUnsynced), "d/e/deep") {
		t.Error("the deep file is lost")
	}
	must(t, m.Remove("old"))
	if !exists(m.Clone(DropUnsynced), "old") {
		t.Error("a removal was durable without SyncDir")
	}
}

// TestRenameCarriesItsPast: a file that was never durable where it was made is durable where it was moved to, and
// no longer where it came from.
func TestRenameCarriesItsPast(t *testing.T) {
	m := NewMem(6)
	must(t, m.MkdirAll("a", 0o755))
	must(t, m.MkdirAll("b", 0o755))
	must(t, m.SyncDir("/"))
	open(t, m, "a/f", ReadWrite|Create)
	must(t, m.Rename("a/f", "b/f"))
	must(t, m.SyncDir("b"))
	for _, mode := range []CrashMode{DropUnsynced, Random, KeepAll} {
		if c := m.Clone(mode); exists(c, "a/f") || !exists(c, "b/f") {
			t.Errorf("mode %d: a/f %v, b/f %v", mode, exists(c, "a/f"), exists(c, "b/f"))
		}
	}
}

func TestFailedSyncLosesForGood(t *testing.T) {
	m := NewMem(7)
	f := durable(t, m, "a", 100, 1)
	f.WriteAt(fill(100, 2), 0)
	m.OnOp(func(op Op) error {
		if op.Kind == OpSync {
			return unix.EIO
		}
		return nil
	})
	wantPathError(t, f.Sync(), "a", unix.EIO)
	m.OnOp(nil)
	must(t, f.Sync())
	if content(t, m, "a")[0] != 2 || content(t, m.Clone(DropUnsynced), "a")[0] != 1 {
		t.Error("a sync after a failed one brought the bytes back")
	}
}

func TestHookSeesAndStopsCalls(t *testing.T) {
	m := NewMem(8)
	f := durable(t, m, "a", 100, 1)
	var seen []string
	m.OnOp(func(op Op) error {
		seen = append(seen, fmt.Sprintf("%v %s %d+%d", op.Kind, op.Name, op.Off, op.Len))
		switch op.Kind {
		case OpWrite:
			return &ShortError{Done: 7, Err: unix.ENOSPC}
		case OpRead:
			return &ShortError{Done: 5, Err: unix.EIO}
		}
		return nil
	})
	n, err := f.WriteAt(fill(10, 2), 50)
	if n != 7 || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("short write: %d, %v", n, err)
	}
	p := make([]byte, 10)
	n, err = f.ReadAt(p, 50)
	if n != 5 || !errors.Is(err, unix.EIO) || !bytes.Equal(p, []byte{2, 2, 2, 2, 2, 0, 0, 0, 0, 0}) {
		t.Errorf("short read: %d, %v, %v", n, err, p)
	}
	must(t, f.Sync())
	m.OnOp(nil)
	if got := fmt.Sprint(seen); got != "[write a 50+10 read a 50+10 sync a 0+0]" {
		t.Errorf("hook saw %s", got)
	}
	if got := content(t, m, "a"); !bytes.Equal(got[50:60], []byte{2, 2, 2, 2, 2, 2, 2, 1, 1, 1}) {
		t.Errorf("short write left %v", got[50:60])
	}
}

func TestDirectWantsAlignment(t *testing.T) {
	m := NewMem(9)
	f := open(t, m, "a", ReadWrite|Create|Direct)
	for _, err := range []error{
		second(f.WriteAt(fill(4096, 1), 512)), second(f.WriteAt(fill(8192, 1)[512:4608], 0)), second(f.ReadAt(fill(100, 1), 0)),
	} {
		wantPathError(t, err, "a", unix.EINVAL)
	}
}

// TestSameSeedSameDisk runs the same random calls twice: every clone must be the same.
func TestSameSeedSameDisk(t *testing.T) {
	run := func(seed uint64) uint32 {
		m, rng := NewMem(seed), rand.New(rand.NewPCG(seed, 1))
		sum := crc32.NewIEEE()
		m.MkdirAll("d", 0o755)
		for range 300 {
			name := fmt.Sprintf("d/%d", rng.IntN(5))
			switch rng.IntN(8) {
			case 0:
				m.Remove(name)
			case 1:
				m.Rename(name, fmt.Sprintf("d/%d", rng.IntN(5)))
			case 2:
				m.SyncDir("d")
			case 3:
				m.SyncDir("/")
			case 4:
				dump(m.Clone(Random), sum)
			default:
				f, _ := m.OpenFile(name, ReadWrite|Create, 0o600)
				f.WriteAt(fill(rng.IntN(9000), byte(rng.Int())), int64(rng.IntN(9000)))
				if rng.IntN(3) == 0 {
					f.Truncate(int64(rng.IntN(9000)))
				}
				if rng.IntN(3) == 0 {
					f.Sync()
				}
			}
		}
		return sum.Sum32()
	}
	for range 5 {
		seed := rand.Uint64()
		if a, b := run(seed), run(seed); a != b {
			t.Errorf("seed %d: got %08x and %08x", seed, a, b)
		}
	}
}

func dump(m *Mem, w io.Writer) {
	list, err := m.ReadDir("d")
	fmt.Fprintln(w, err)
	for _, e := range list {
		f, _ := m.OpenFile("d/"+e.Name(), ReadOnly, 0)
		size, _ := f.Size()
		p := make([]byte, size)
		f.ReadAt(p, 0)
		fmt.Fprintln(w, e.Name(), size)
		w.Write(p)
	}
}

// TestBlobAgainstBytes: the sharing of chunks must never show.
func TestBlobAgainstBytes(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	type pair struct {
		b    blob
		want []byte
	}
	pairs := []pair{{b: newBlob()}}
	for step := range 2000 {
		p := &pairs[rng.IntN(len(pairs))]
		off, n := rng.IntN(3*chunkSize), rng.IntN(2*chunkSize)
		switch rng.IntN(4) {
		case 0:
			p.b.write(fill(n, byte(step)), int64(off))
			if n > 0 && off+n > len(p.want) {
				p.want = append(p.want, make([]byte, off+n-len(p.want))...)
			}
			copy(p.want[min(off, len(p.want)):], fill(n, byte(step)))
		case 1:
			p.b.resize(int64(n))
			if n <= len(p.want) {
				p.want = p.want[:n:n]
			} else {
				p.want = append(p.want, make([]byte, n-len(p.want))...)
			}
		case 2:
			if off+n <= len(p.want) {
				p.b.zero(int64(off), int64(n))
				clear(p.want[off : off+n])
			}
		case 3:
			pairs = append(pairs, pair{p.b.clone(), bytes.Clone(p.want)})
		}
		pairs = pairs[max(0, len(pairs)-6):]
		for i := range pairs {
			got := make([]byte, len(pairs[i].want)+10)
			if n := pairs[i].b.read(got, 0); n != len(pairs[i].want) || !bytes.Equal(got[:n], pairs[i].want) {
				t.Fatalf("seed %d step %d: blob %d differs", seed, step, i)
			}
		}
	}
}

func TestClosedMemFile(t *testing.T) {
	m := NewMem(10)
	f := open(t, m, "a", ReadWrite|Create)
	must(t, m.Remove("a"))
	if _, err := f.WriteAt([]byte{1}, 0); err != nil {
		t.Errorf("a removed file that is open takes no bytes: %v", err)
	}
	must(t, f.Close())
	wantPathError(t, f.Sync(), "a", fs.ErrClosed)
}
