package file

import (
	"io"
	"io/fs"
	"math/bits"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// memFile is an open file of a Mem.
type memFile struct {
	m        *Mem
	n        *inode
	name     string
	direct   bool
	readOnly bool
	unit     int
	closed   atomic.Bool
}

func (f *memFile) Name() string    { return f.name }
func (f *memFile) Direct() bool    { return f.direct }
func (f *memFile) AtomicUnit() int { return f.unit }

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return f.err("close", fs.ErrClosed)
	}
	return nil
}

func (f *memFile) err(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// begin is what every call starts with: the hook, then the lock, which the caller gives back. Without an error, or
// with one from a hook that lets some bytes through, allowed is how many of n.
func (f *memFile) begin(kind OpKind, off, n int64) (allowed int64, err error) {
	switch {
	case f.closed.Load():
		err = f.err(kind.String(), fs.ErrClosed)
	case off < 0 || n < 0:
		err = f.err(kind.String(), unix.EINVAL)
	case f.readOnly && kind.Changes() && kind != OpSync:
		err = f.err(kind.String(), unix.EBADF)
	}
	allowed = n
	if err == nil {
		if err = f.m.before(Op{Kind: kind, Name: f.name, Off: off, Len: n}); err != nil {
			allowed = short(err, n)
		}
	} else {
		allowed = 0
	}
	f.m.mu.Lock()
	return allowed, err
}

// aligned is rule 4, with the answer the kernel gives.
func (f *memFile) aligned(op string, bufs [][]byte, off int64) error {
	if !f.direct {
		return nil
	}
	for _, b := range bufs {
		if !Aligned(b) || off%Alignment != 0 {
			return f.err(op, unix.EINVAL)
		}
	}
	return nil
}

func length(bufs [][]byte) (n int64) {
	for _, b := range bufs {
		n += int64(len(b))
	}
	return n
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) { return f.ReadVecAt([][]byte{p}, off) }

func (f *memFile) ReadVecAt(bufs [][]byte, off int64) (int, error) {
	if err := f.aligned("read", bufs, off); err != nil {
		return 0, err
	}
	want := length(bufs)
	allowed, err := f.begin(OpRead, off, want)
	defer f.m.mu.Unlock()
	done := 0
	for _, b := range bufs {
		b = b[:min(int64(len(b)), allowed-int64(done))]
		done += f.n.data.read(b, off+int64(done))
	}
	if err == nil && int64(done) < want {
		err = io.EOF
	}
	return done, err
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) { return f.write([][]byte{p}, off, false) }

func (f *memFile) WriteVecAt(bufs [][]byte, off int64) (int, error) {
	return f.write(bufs, off, false)
}

func (f *memFile) WriteAtomic(p []byte, off int64) error {
	if len(p) > f.unit || bits.OnesCount(uint(len(p))) != 1 || off%int64(len(p)) != 0 {
		return f.err("write atomically", unix.EINVAL)
	}
	_, err := f.write([][]byte{p}, off, true)
	return err
}

func (f *memFile) write(bufs [][]byte, off int64, atomic bool) (int, error) {
	if err := f.aligned("write", bufs, off); err != nil {
		return 0, err
	}
	allowed, err := f.begin(OpWrite, off, length(bufs))
	defer f.m.mu.Unlock()
	if atomic && err != nil {
		return 0, err
	}
	data := slices.Concat(bufs...)[:allowed]
	if len(data) > 0 {
		f.n.do(change{kind: changeWrite, off: off, data: data, atomic: atomic})
	}
	return len(data), err
}

func (f *memFile) Sync() error {
	_, err := f.begin(OpSync, 0, 0)
	defer f.m.mu.Unlock()
	if err == nil {
		f.n.sync()
	} else {
		f.n.failSync()
	}
	return err
}

func (f *memFile) Truncate(size int64) error {
	return f.alter(OpTruncate, 0, size, change{kind: changeResize, n: size})
}

func (f *memFile) Allocate(off, n int64) error {
	return f.alter(OpAllocate, off, n, change{kind: changeGrow, n: off + n})
}

func (f *memFile) Punch(off, n int64) error {
	return f.alter(OpPunch, off, n, change{kind: changeZero, off: off, n: n})
}

func (f *memFile) alter(kind OpKind, off, n int64, c change) error {
	_, err := f.begin(kind, off, n)
	defer f.m.mu.Unlock()
	if err == nil {
		f.n.do(c)
	}
	return err
}

func (f *memFile) Size() (int64, error) {
	_, err := f.begin(OpStat, 0, 0)
	defer f.m.mu.Unlock()
	return f.n.data.size, err
}
