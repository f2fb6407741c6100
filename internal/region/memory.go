package region

import (
	"errors"
	"fmt"
	"os"

	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoRoom is what every *NoRoomError is.
var ErrNoRoom = errors.New("memory-dir has no room")

// NoRoomError reports a memory-dir that cannot hold the region.
type NoRoomError struct {
	Dir       string
	Wanted    int64 // bytes still to be reserved
	Available int64 // bytes free in Dir
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%v: %s needs %d bytes more and has %d free: lower the pool or ring size, or enlarge the mount",
		ErrNoRoom, e.Dir, e.Wanted, e.Available)
}

func (e *NoRoomError) Is(target error) bool { return target == ErrNoRoom }

// reserveChunk is how much one fallocate asks for. A signal undoes a whole call in tmpfs, so calls stay near
// 20 ms; a larger one gains nothing.
const reserveChunk = 64 << 20

// memory is the three windows: of a file, or anonymous when file is nil. The windows are mapped for the most
// that could ever be reserved, so that pages never move.
type memory struct {
	file    *os.File
	dir     string
	granule int64 // what can be reserved at once: a page, or a huge page
	windows [3][]byte
}

// The windows, and where each starts in the file.
const (
	headWindow = iota // header and ring
	descWindow
	frameWindow
)

var windowOffsets = [3]int64{headWindow: 0, descWindow: descOffset, frameWindow: frameOffset}

// mapWindows maps the parts with room for the given bytes each. Nothing may be touched before reserve.
func (m *memory) mapWindows(headBytes, descBytes, frameBytes int64) error {
	for i, n := range [3]int64{headBytes, descBytes, frameBytes} {
		n = m.roundUp(n)
		fd, prot, flags := -1, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE
		if m.file != nil {
			// NORESERVE: hugetlbfs would set aside the whole window.
			fd, prot, flags = int(m.file.Fd()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE
		}
		b, err := mapAligned(fd, windowOffsets[i], n, prot, flags)
		if err != nil {
			m.unmap()
			return fmt.Errorf("map %d bytes of the region: %w", n, err)
		}
		m.windows[i] = b
	}
	return nil
}

// hugePage is the alignment that lets the kernel map a window by huge pages; the windows' places in the file have it.
const hugePage = 2 << 20

// mapAligned maps n bytes at an address aligned to hugePage: it sets aside more, and maps over the aligned part of that.
func mapAligned(fd int, off, n int64, prot, flags int) ([]byte, error) {
	spare, err := unix.MmapPtr(-1, 0, nil, uintptr(n+hugePage), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	skip := -uintptr(spare) & (hugePage - 1)
	p, err := unix.MmapPtr(fd, off, unsafe.Add(spare, skip), uintptr(n), prot, flags|unix.MAP_FIXED)
	if err != nil {
		unix.MunmapPtr(spare, uintptr(n+hugePage))
		return nil, err
	}
	// What is left over on both sides goes back.
	if skip > 0 {
		unix.MunmapPtr(spare, skip)
	}
	unix.MunmapPtr(unsafe.Add(p, (uintptr(n)+4095)&^4095), hugePage-skip)
	return unsafe.Slice((*byte)(p), n), nil
}

func (m *memory) unmap() error {
	var first error
	for i := range m.windows {
		if b := m.windows[i]; b != nil {
			m.windows[i] = nil
			if err := unix.MunmapPtr(unsafe.Pointer(&b[0]), uintptr(len(b))); err != nil && first == nil {
				first = fmt.Errorf("unmap the region: %w", err)
			}
		}
	}
	return first
}

func (m *memory) roundUp(n int64) int64 { return (n + m.granule - 1) / m.granule * m.granule }

// reserve makes [from,to) of a window safe to touch; what was not reserved before reads as zero.
func (m *memory) reserve(w int, from, to int64) error {
	from, to = from/m.granule*m.granule, m.roundUp(to)
	if from >= to {
		return nil
	}
	if m.file == nil {
		if err := unix.Mprotect(m.windows[w][from:to], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return fmt.Errorf("reserve %d bytes of memory: %w", to-from, err)
		}
		return nil
	}
	for ; from < to; from += reserveChunk {
		n := min(reserveChunk, to-from)
		err := fallocate(m.file, 0, windowOffsets[w]+from, n)
		switch {
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EDQUOT):
			return &NoRoomError{Dir: m.dir, Wanted: to - from, Available: m.free()}
		case err != nil:
			return fmt.Errorf("%s: reserve %d bytes: %w", m.file.Name(), n, err)
		}
	}
	return nil
}

// release gives [from,to) of a window back, where to is the end of what is in use: the granule that from cuts
// stays, the one that to cuts goes.
func (m *memory) release(w int, from, to int64) error {
	from, to = m.roundUp(from), m.roundUp(to)
	if from >= to {
		return nil
	}
	if m.file == nil {
		b := m.windows[w][from:to]
		if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
			return fmt.Errorf("give back %d bytes of memory: %w", to-from, err)
		}
		return unix.Mprotect(b, unix.PROT_NONE)
	}
	err := fallocate(m.file, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, windowOffsets[w]+from, to-from)
	if err != nil {
		return fmt.Errorf("%s: give back %d bytes: %w", m.file.Name(), to-from, err)
	}
	return nil
}

// capacity is how many bytes of a window are mapped.
func (m *memory) capacity(w int) int64 { return int64(len(m.windows[w])) }

// free is how many bytes the memory-dir could still give; 0 when that cannot be told.
func (m *memory) free() int64 {
	var st unix.Statfs_t
	if unix.Fstatfs(int(m.file.Fd()), &st) != nil {
		return 0
	}
	return int64(st.Bavail) * st.Bsize
}

// room refuses ahead what would fill the memory-dir before it fails: others live there too.
func (m *memory) room(wanted int64) error {
	if m.file == nil {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(m.file.Fd()), &st); err != nil {
		return fmt.Errorf("%s: statfs: %w", m.file.Name(), err)
	}
	// A mount without a size says zero blocks.
	if free := int64(st.Bavail) * st.Bsize; st.Blocks != 0 && free < wanted {
		return &NoRoomError{Dir: m.dir, Wanted: wanted, Available: free}
	}
	return nil
}

// ceiling is the most the mount, or the machine, could ever hold; 0 when it has no limit of its own.
func (m *memory) ceiling() (int64, error) {
	if m.file == nil {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return 0, fmt.Errorf("sysinfo: %w", err)
		}
		return int64(info.Totalram) * int64(info.Unit), nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(m.file.Fd()), &st); err != nil {
		return 0, fmt.Errorf("%s: statfs: %w", m.file.Name(), err)
	}
	return int64(st.Blocks) * st.Bsize, nil
}

// reservedBytes is what the file holds of memory.
func (m *memory) reservedBytes() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(m.file.Fd()), &st); err != nil {
		return 0, fmt.Errorf("%s: stat: %w", m.file.Name(), err)
	}
	return st.Blocks * 512, nil
}

// fallocate asks again when a signal came between, as the Go runtime's own do.
func fallocate(f *os.File, mode uint32, off, n int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), mode, off, n); err != unix.EINTR {
			return err
		}
	}
}
