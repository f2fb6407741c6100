package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// both runs a test on the real file system and on the one in memory: they must answer alike.
func both(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, OS, t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		m := NewMem(1)
		must(t, m.MkdirAll("/db", 0o755))
		test(t, m, "/db")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, fsys FS, name string, flag OpenFlag) File {
	t.Helper()
	f, err := fsys.OpenFile(name, flag, 0o600)
	must(t, err)
	return f
}

func fill(n int, b byte) []byte {
	p := AlignedBuf(n)
	for i := range p {
		p[i] = b
	}
	return p
}

func TestReadAndWrite(t *testing.T) {
	for _, flag := range []OpenFlag{ReadWrite | Create, ReadWrite | Create | Direct} {
		both(t, func(t *testing.T, fsys FS, dir string) {
			f := open(t, fsys, filepath.Join(dir, "a"), flag)
			defer f.Close()
			n, err := f.WriteVecAt([][]byte{fill(4096, 1), nil, fill(8192, 2)}, 4096)
			if n != 12288 || err != nil {
				t.Fatalf("write: got %d, %v", n, err)
			}
			one, two := fill(4096, 9), fill(4096, 9)
			n, err = f.ReadVecAt([][]byte{one, two}, 0)
			if n != 8192 || err != nil || !bytes.Equal(one, fill(4096, 0)) || !bytes.Equal(two, fill(4096, 1)) {
				t.Fatalf("read: got %d, %v", n, err)
			}
			n, err = f.ReadVecAt([][]byte{one, two}, 12288)
			if n != 4096 || err != io.EOF || !bytes.Equal(one, fill(4096, 2)) {
				t.Fatalf("vectored read across the end: got %d, %v", n, err)
			}
			if n, err = f.ReadAt(fill(8192, 0), 12288); n != 4096 || err != io.EOF {
				t.Fatalf("read across the end: got %d, %v", n, err)
			}
			if n, err = f.ReadAt(one, 1<<20); n != 0 || err != io.EOF {
				t.Fatalf("read beyond the end: got %d, %v", n, err)
			}
			must(t, f.Allocate(0, 32768))
			must(t, f.Punch(4096, 4096))
			if size, err := f.Size(); size != 32768 || err != nil {
				t.Fatalf("size: got %d, %v", size, err)
			}
			if _, err = f.ReadAt(one, 4096); err != nil || !bytes.Equal(one, fill(4096, 0)) {
				t.Fatalf("read of the punched: %v", err)
			}
			must(t, f.Allocate(0, 4096))
			must(t, f.Truncate(8192))
			must(t, f.Sync())
			if size, err := f.Size(); size != 8192 || err != nil {
				t.Fatalf("size after truncate: got %d, %v", size, err)
			}
		})
	}
}

func TestVectorsBeyondTheKernelsLimit(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		f := open(t, fsys, filepath.Join(dir, "a"), ReadWrite|Create)
		defer f.Close()
		var in, out [][]byte
		for i := range maxIovecs + 7 {
			in, out = append(in, []byte{byte(i), byte(i >> 8)}), append(out, make([]byte, 2))
		}
		n, err := f.WriteVecAt(in, 1)
		if n != 2*len(in) || err != nil {
			t.Fatalf("write: got %d, %v", n, err)
		}
		n, err = f.ReadVecAt(out, 1)
		if n != 2*len(in) || err != nil || !bytes.Equal(bytes.Join(in, nil), bytes.Join(out, nil)) {
			t.Fatalf("read: got %d, %v", n, err)
		}
	})
}

func TestSkipBytes(t *testing.T) {
	bufs := [][]byte{{1, 2}, {3}, {4, 5}}
	for n := range 6 {
		if got := bytes.Join(skipBytes(bufs, n), nil); !bytes.Equal(got, []byte{1, 2, 3, 4, 5}[n:]) {
			t.Errorf("skip %d: got %v", n, got)
		}
	}
	if len(bufs[0]) != 2 || len(bufs[2]) != 2 {
		t.Error("the caller's buffers were changed")
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "a")
		_, err := fsys.OpenFile(name, ReadOnly, 0)
		wantPathError(t, err, name, fs.ErrNotExist)
		wantPathError(t, fsys.Remove(name), name, fs.ErrNotExist)
		_, err = fsys.Stat(name)
		wantPathError(t, err, name, fs.ErrNotExist)
		_, err = fsys.ReadDir(name)
		wantPathError(t, err, name, fs.ErrNotExist)
		wantPathError(t, fsys.SyncDir(name), name, fs.ErrNotExist)
		if err = fsys.Rename(name, name+"b"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("rename: %v", err)
		}
		f := open(t, fsys, name, ReadWrite|Create|Exclusive)
		_, err = fsys.OpenFile(name, ReadWrite|Create|Exclusive, 0o600)
		wantPathError(t, err, name, fs.ErrExist)
		must(t, f.Close())
		for what, err := range map[string]error{
			"sync": f.Sync(), "allocate": f.Allocate(0, 1), "close": f.Close(), "truncate": f.Truncate(1),
			"read": second(f.ReadAt(make([]byte, 1), 0)), "write": second(f.WriteAt(make([]byte, 1), 0)),
			"readv": second(f.ReadVecAt([][]byte{{1}}, 0)), "writev": second(f.WriteVecAt([][]byte{{1}}, 0)),
		} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s after close: %v", what, err)
			}
			wantPathError(t, err, name, fs.ErrClosed)
		}
		r := open(t, fsys, name, ReadOnly)
		wantPathError(t, second(r.WriteAt([]byte{1}, 0)), name, syscall.EBADF)
		r.Close()
	})
}

func second[T any](_ T, err error) error { return err }

func wantPathError(t *testing.T, err error, name string, want error) {
	t.Helper()
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != name || !errors.Is(err, want) {
		t.Errorf("got error %v, want %v naming %s", err, want, name)
	}
}

func TestDirectories(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(filepath.Join(dir, "x", "y"), 0o755))
		must(t, fsys.MkdirAll(filepath.Join(dir, "x", "y"), 0o755))
		for _, name := range []string{"b", "a"} {
			open(t, fsys, filepath.Join(dir, "x", name), ReadWrite|Create).Close()
		}
		must(t, fsys.Rename(filepath.Join(dir, "x", "b"), filepath.Join(dir, "x", "y", "c")))
		must(t, fsys.SyncDir(filepath.Join(dir, "x")))
		list, err := fsys.ReadDir(filepath.Join(dir, "x"))
		must(t, err)
		if len(list) != 2 || list[0].Name() != "a" || list[0].IsDir() || list[1].Name() != "y" || !list[1].IsDir() {
			t.Errorf("got %v", list)
		}
		if err := fsys.Remove(filepath.Join(dir, "x")); err == nil {
			t.Error("removed a directory that is not empty")
		}
		info, err := fsys.Stat(filepath.Join(dir, "x", "y", "c"))
		if err != nil || info.Name() != "c" || info.Size() != 0 || info.IsDir() {
			t.Errorf("stat: %v, %v", info, err)
		}
		if free, err := fsys.Free(dir); free == 0 || err != nil {
			t.Errorf("free: %d, %v", free, err)
		}
	})
}

func TestLock(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "lock")
		held, err := fsys.Lock(name)
		must(t, err)
		_, err = fsys.Lock(name)
		wantPathError(t, err, name, ErrInUse)
		must(t, held.Close())
		held, err = fsys.Lock(name)
		must(t, err)
		held.Close()
	})
}

func TestAligned(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 16384} {
		buf := AlignedBuf(n)
		if len(buf) != n || cap(buf) != n {
			t.Errorf("AlignedBuf(%d) has length %d, capacity %d", n, len(buf), cap(buf))
		}
		if n%Alignment == 0 && !Aligned(buf) {
			t.Errorf("AlignedBuf(%d) is not aligned", n)
		}
	}
	if buf := AlignedBuf(8192); Aligned(buf[512:4608]) || Aligned(buf[:100]) {
		t.Error("Aligned takes what is not")
	}
}

// TestDirectSaysWhatItGot: with or without O_DIRECT, and without leaving a file behind that stops an exclusive open.
func TestDirectSaysWhatItGot(t *testing.T) {
	f := open(t, OS, filepath.Join(t.TempDir(), "a"), ReadWrite|Create|Exclusive|Direct)
	defer f.Close()
	if !f.Direct() && f.AtomicUnit() != 0 {
		t.Errorf("a buffered file claims atomic writes of %d bytes", f.AtomicUnit())
	}
	if n, err := f.WriteAt(fill(4096, 1), 0); n != 4096 || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	if unit := f.AtomicUnit(); unit > 0 {
		must(t, f.WriteAtomic(fill(unit, 2), 0))
	}
	t.Logf("direct %v, atomic unit %d", f.Direct(), f.AtomicUnit())
}
