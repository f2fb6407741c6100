package file

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What io_uring(7) calls struct io_uring_sqe, io_uring_cqe and io_uring_params, as far as a plain read needs them.
type (
	submission struct {
		opcode uint8
		_      [3]byte
		fd     int32
		off    uint64
		addr   uint64
		len    uint32
		_      uint32
		slot   uint64 // user_data
		_      [24]byte
	}
	completion struct {
		slot   uint64 // user_data
		result int32  // bytes, or minus the error number
		_      uint32
	}
	ringParams struct {
		sqEntries, cqEntries, flags, threadCPU, threadIdle, features, workers uint32
		_                                                                     [3]uint32
		sq                                                                    struct {
			head, tail, mask, entries, flags, dropped, array, _ uint32
			_                                                   uint64
		}
		cq struct {
			head, tail, mask, entries, overflow, cqes, flags, _ uint32
			_                                                   uint64
		}
	}
)

const (
	opRead          = 22 // IORING_OP_READ
	mapRings        = 0  // IORING_OFF_SQ_RING
	mapSubmissions  = 0x10000000
	featOneMap      = 1 << 0 // both rings are in one mapping (Linux 5.4)
	featNoDrop      = 1 << 1 // completions are never lost (5.5)
	featCurrentFile = 1 << 3 // IORING_FEAT_RW_CUR_POS: came with IORING_OP_READ (5.6)
	featsWanted     = featOneMap | featNoDrop | featCurrentFile
)

// The kernel's sizes.
const (
	_ = uint(unsafe.Sizeof(submission{}) - 64)
	_ = uint(64 - unsafe.Sizeof(submission{}))
	_ = uint(unsafe.Sizeof(completion{}) - 16)
	_ = uint(16 - unsafe.Sizeof(completion{}))
	_ = uint(unsafe.Sizeof(ringParams{}) - 120)
	_ = uint(120 - unsafe.Sizeof(ringParams{}))
)

// rings are the two queues shared with the kernel. Indexes run on and are taken modulo the length, a power of two.
type rings struct {
	file                           *os.File // the ring itself, known to Go's poller: readable = completions are there
	fd                             int
	maps                           [][]byte
	submissions                    []submission
	completions                    []completion
	sqHead, sqTail, cqHead, cqTail *atomic.Uint32
}

// openRings asks the kernel for queues of depth submissions. Containers often forbid it, old kernels lack it.
func openRings(depth uint32) (*rings, error) {
	var p ringParams
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	r := &rings{fd: int(fd)}
	if err := r.attach(&p); err != nil {
		r.close()
		return nil, fmt.Errorf("io_uring: %w", err)
	}
	return r, nil
}

func (r *rings) attach(p *ringParams) error {
	if p.features&featsWanted != featsWanted {
		return fmt.Errorf("features are %#x, want %#x: %w", p.features, featsWanted, unix.ENOSYS)
	}
	queues, err := r.mmap(mapRings, max(p.sq.array+4*p.sqEntries, p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(completion{}))))
	if err != nil {
		return err
	}
	subs, err := r.mmap(mapSubmissions, p.sqEntries*uint32(unsafe.Sizeof(submission{})))
	if err != nil {
		return err
	}
	word := func(off uint32) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&queues[off])) }
	r.sqHead, r.sqTail, r.cqHead, r.cqTail = word(p.sq.head), word(p.sq.tail), word(p.cq.head), word(p.cq.tail)
	r.submissions = unsafe.Slice((*submission)(unsafe.Pointer(&subs[0])), p.sqEntries)
	r.completions = unsafe.Slice((*completion)(unsafe.Pointer(&queues[p.cq.cqes])), p.cqEntries)
	for i := range p.sqEntries {
		word(p.sq.array + 4*i).Store(i) // submissions are used in turn
	}
	if err := unix.SetNonblock(r.fd, true); err != nil { // else os does not give it to the poller
		return err
	}
	r.file = os.NewFile(uintptr(r.fd), "io_uring")
	return nil
}

func (r *rings) mmap(off int64, size uint32) ([]byte, error) {
	m, err := unix.Mmap(r.fd, off, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err == nil {
		r.maps = append(r.maps, m)
	}
	return m, err
}

// enter hands n submissions over. How many the kernel took shows in sqHead. It does not wait for the disk (what would
// make it wait, the kernel gives to a thread of its own), so Go need not know: a P that sysmon takes away, because the
// host stole a moment, costs more than the call (92 % of fio instead of 85).
func (r *rings) enter(n uint32) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(n), 0, 0, 0, 0)
	return errno
}

func (r *rings) close() {
	if r.file != nil {
		r.file.Close()
	} else {
		unix.Close(r.fd)
	}
	for _, m := range r.maps {
		unix.Munmap(m)
	}
}
