package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxIovecs is how many buffers one preadv or pwritev takes (IOV_MAX of Linux).
const maxIovecs = 1024

// osFile is an os.File, which keeps rule 7 and whose ReadAt of a page is one pread and no allocation, and the calls
// that os.File lacks.
type osFile struct {
	*os.File
	conn   syscall.RawConn
	direct bool
	unit   int

	ring    *ring        // reads of a file opened Direct go through it; nil where there is none
	fd      int          // for the ring, while reading is held
	reading sync.RWMutex // shared by reads through the ring; exclusive to close
	closed  bool         // guarded by reading
}

func newOSFile(f *os.File, direct bool) (*osFile, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	of := &osFile{File: f, conn: conn}
	if direct {
		of.direct, err = of.tryDirect()
		if err != nil {
			return nil, err
		}
	}
	if of.direct {
		of.unit, of.ring = of.atomicUnit(), theRing()
		err = of.do("open", func(fd int) error { of.fd = fd; return nil })
	}
	return of, err
}

// ReadAt reads through the ring what it takes. What the ring does not bring, for whatever reason, pread brings or says why not.
func (f *osFile) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	if f.ring != nil && len(p) > 0 && len(p) <= ringBuffer && off >= 0 && Aligned(p) {
		f.reading.RLock()
		if !f.closed {
			n = f.ring.read(f.fd, p, off)
		}
		f.reading.RUnlock()
	}
	if n == len(p) && n > 0 {
		return n, nil
	}
	m, err := f.File.ReadAt(p[n:], off+int64(n))
	return n + m, err
}

// Close waits for the reads that have the descriptor in the ring; the rest os.File does.
func (f *osFile) Close() error {
	f.reading.Lock()
	f.closed = true
	f.reading.Unlock()
	return f.File.Close()
}

// tryDirect turns O_DIRECT on after the open. Asking open itself for it is wrong together with O_CREAT|O_EXCL: a file
// system without O_DIRECT makes the file, answers EINVAL, and the second try finds the file there.
func (f *osFile) tryDirect() (bool, error) {
	var st unix.Statx_t
	if err := f.statx(unix.STATX_DIOALIGN, &st); err == nil && st.Mask&unix.STATX_DIOALIGN != 0 {
		if st.Dio_offset_align == 0 || st.Dio_offset_align > Alignment || st.Dio_mem_align > Alignment {
			return false, nil
		}
	}
	err := f.do("fcntl", func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_DIRECT)
		return err
	})
	if errors.Is(err, unix.EINVAL) {
		return false, nil
	}
	return err == nil, err
}

// atomicUnit asks the file system; one that does not know the question cannot do it.
func (f *osFile) atomicUnit() int {
	var st unix.Statx_t
	if err := f.statx(unix.STATX_WRITE_ATOMIC, &st); err != nil {
		return 0
	}
	if st.Mask&unix.STATX_WRITE_ATOMIC == 0 || st.Attributes&unix.STATX_ATTR_WRITE_ATOMIC == 0 {
		return 0
	}
	return int(st.Atomic_write_unit_max)
}

func (f *osFile) statx(mask int, st *unix.Statx_t) error {
	return f.do("statx", func(fd int) error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, st) })
}

// do runs one system call while the descriptor cannot be closed, again as long as a signal interrupts it.
func (f *osFile) do(op string, call func(fd int) error) error {
	var err error
	closed := f.conn.Control(func(fd uintptr) {
		for {
			if err = call(int(fd)); err != unix.EINTR {
				return
			}
		}
	})
	if closed != nil {
		// RawConn answers with an error of its own that is not fs.ErrClosed.
		err = fs.ErrClosed
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}

func (f *osFile) Direct() bool    { return f.direct }
func (f *osFile) AtomicUnit() int { return f.unit }

func (f *osFile) Sync() error { return f.do("fdatasync", unix.Fdatasync) }

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) WriteAtomic(p []byte, off int64) error {
	return f.do("write atomically", func(fd int) error {
		n, err := unix.Pwritev2(fd, [][]byte{p}, off, unix.RWF_ATOMIC)
		if err == nil && n != len(p) {
			return io.ErrShortWrite
		}
		return err
	})
}

func (f *osFile) WriteVecAt(bufs [][]byte, off int64) (int, error) {
	return f.vec("write", unix.Pwritev, bufs, off, io.ErrShortWrite)
}

func (f *osFile) ReadVecAt(bufs [][]byte, off int64) (int, error) {
	return f.vec("read", unix.Preadv, bufs, off, io.EOF)
}

// vec repeats a vectored call until every buffer is done; ended is what it means when the kernel does nothing more.
func (f *osFile) vec(op string, call func(int, [][]byte, int64) (int, error), bufs [][]byte, off int64, ended error) (int, error) {
	done := 0
	for {
		for len(bufs) > 0 && len(bufs[0]) == 0 {
			bufs = bufs[1:]
		}
		if len(bufs) == 0 {
			return done, nil
		}
		var n int
		err := f.do(op, func(fd int) (err error) {
			n, err = call(fd, bufs[:min(len(bufs), maxIovecs)], off+int64(done))
			return err
		})
		if err != nil {
			return done, err
		}
		if n == 0 {
			if ended != io.EOF {
				ended = &fs.PathError{Op: op, Path: f.Name(), Err: ended}
			}
			return done, ended
		}
		done += n
		bufs = skipBytes(bufs, n)
	}
}

// skipBytes is bufs without their first n bytes. The caller's slice is left as it is.
func skipBytes(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n == 0 {
		return bufs
	}
	rest := append([][]byte(nil), bufs...)
	rest[0] = rest[0][n:]
	return rest
}

func (f *osFile) Allocate(off, n int64) error {
	err := f.do("allocate", func(fd int) error { return unix.Fallocate(fd, 0, off, n) })
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	// No promise of room here, only the length; a full disk will show at the write.
	size, err := f.Size()
	if err != nil || size >= off+n {
		return err
	}
	return f.Truncate(off + n)
}

func (f *osFile) Punch(off, n int64) error {
	return f.do("punch", func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}
