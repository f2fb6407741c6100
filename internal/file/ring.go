package file

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring reads files through io_uring, so that a goroutine that waits for the disk does not take a thread with it: 32
// blocking preads are 32 threads, which two cores switch between, and each keeps a P of Go until sysmon takes it back.
//
// # Life of a read
//
//	free ──take──▶ queued ──submit──▶ with the kernel ──reap──▶ done ──give──▶ free
//	                  └──kernel refuses──────────────────────────▶┘ (the caller falls back to pread)
//
// Each reader puts its read in the queue. One of those who come while nobody submits becomes the submitter, for all that
// are queued until the queue is empty; the others go and wait. Whoever has submitted reaps what is there; when everybody
// waits, Go's poller watches the ring and wakes the reaper. That costs no thread of its own, and no switch to one.
//
// # Rules
//
//  1. The kernel never gets an address of the caller's memory, but one of the slot's own buffer, which is copied from. For
//     io_uring does not hold back the end of a process until its reads are over, as a blocking pread does: after kill -9 the disk
//     may still write where a read pointed to, and frames of the pool lie in memory that the next process takes over. It
//     also settles how long a buffer lives. The copy is 1 to 2 µs in 700.
//  2. For the same reason nothing is written through a ring: a write of a dead process would race with its successor's.
//  3. The descriptor stays open until the completion: osFile.Close waits for reads.
//  4. A read is not cancelled; nothing waits longer for it than for a pread.
//  5. There are as many slots as the kernel takes submissions, so neither queue can overflow. Who finds no slot takes pread.
type ring struct {
	*rings
	refused atomic.Bool // the kernel said no for good

	mu         sync.Mutex // guards what follows and the writing of submissions and sqTail
	free       []uint32   // the slot used last is used first: its buffer is in the cache
	tail       uint32
	submitting bool // somebody submits, and will see what is queued before it ends

	reaping sync.Mutex // held by whoever reads completions and moves cqHead
	slots   [ringDepth]slot
	buffers []byte
}

// slot is one read.
type slot struct {
	done   chan struct{} // has room for one: the reaper never waits
	result atomic.Int32  // bytes, or minus the error number; atomic as the order by way of the kernel is not Go's
}

const (
	// ringDepth, in reads, is how many are under way at a time: what disks queue (nr_requests of Linux).
	ringDepth = 256
	// ringBuffer, in bytes, is the longest read that goes through the ring. Longer ones are rare and wait for bandwidth.
	ringBuffer = 16 << 10
)

// RingVariable names the environment variable that, set to "off", keeps io_uring from being used.
const RingVariable = "HEARTH_IO_URING"

// theRing is the ring of the process, made at the first use and never closed; nil where there is none.
var theRing = sync.OnceValue(func() *ring {
	r, err := newRing()
	if err != nil {
		return nil
	}
	madeRing.Store(r)
	return r
})

// madeRing is theRing, for those who only look: nil where it is not used.
var madeRing atomic.Pointer[ring]

// RingError says why reads do not go through io_uring; nil when they do.
func RingError() error {
	if r := theRing(); r != nil && !r.refused.Load() {
		return nil
	}
	r, err := newRing()
	if err == nil {
		r.close()
		return errors.New("the kernel refused a read")
	}
	return err
}

func newRing() (*ring, error) {
	if os.Getenv(RingVariable) == "off" {
		return nil, errors.New("switched off by " + RingVariable)
	}
	q, err := openRings(ringDepth)
	if err != nil {
		return nil, err
	}
	r := &ring{rings: q}
	if err := r.start(); err != nil {
		r.close()
		return nil, fmt.Errorf("io_uring: %w", err)
	}
	return r, nil
}

func (r *ring) start() error {
	var err error
	r.buffers, err = unix.Mmap(-1, 0, ringDepth*ringBuffer, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	r.maps = append(r.maps, r.buffers)
	for i := range r.slots {
		r.slots[i].done = make(chan struct{}, 1)
		r.free = append(r.free, uint32(i))
	}
	if err := r.file.SetReadDeadline(time.Time{}); err != nil {
		return err // the poller does not watch it
	}
	conn, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	go conn.Read(func(uintptr) (enough bool) { // ends when the ring is closed, as only tests do
		r.reap()
		return false
	})
	return nil
}

// read reads up to ringBuffer bytes at a multiple of Alignment. It may bring fewer bytes than there are, or none: then
// pread gets the rest, or says why not.
func (r *ring) read(fd int, p []byte, off int64) int {
	i, ok := r.queue(fd, len(p), off)
	if !ok {
		return 0
	}
	s := &r.slots[i]
	r.reap()
	<-s.done
	n := copy(p, r.buffer(i)[:max(s.result.Load(), 0)])
	r.give(i)
	return n
}

// queue puts a read in the queue and sees to it that somebody submits it.
func (r *ring) queue(fd, n int, off int64) (slot uint32, ok bool) {
	r.mu.Lock()
	if len(r.free) == 0 || r.refused.Load() {
		r.mu.Unlock()
		return 0, false
	}
	last := len(r.free) - 1
	slot, r.free = r.free[last], r.free[:last]
	r.submissions[r.tail%uint32(len(r.submissions))] = submission{
		opcode: opRead, fd: int32(fd), off: uint64(off), len: uint32(n), slot: uint64(slot),
		addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r.buffer(slot))))), // of a mapping, which does not move
	}
	r.tail++
	r.sqTail.Store(r.tail)
	submit := !r.submitting
	r.submitting = true
	r.mu.Unlock()
	if submit {
		r.submit()
	}
	return slot, true
}

// submit hands the queue to the kernel until it is empty.
func (r *ring) submit() {
	for {
		r.mu.Lock()
		head := r.sqHead.Load()
		queued := r.tail - head
		if queued == 0 {
			r.submitting = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		errno := r.enter(queued)
		if errno != unix.EINTR && r.sqHead.Load() == head {
			r.takeBack(errno)
		}
	}
}

// takeBack ends the reads that the kernel did not take. Only the submitter makes it read sqTail, so that may go back.
func (r *ring) takeBack(errno unix.Errno) {
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EBUSY { // those two only lack memory for the moment
		r.refused.Store(true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	head := r.sqHead.Load()
	for at := head; at != r.tail; at++ {
		r.end(r.submissions[at%uint32(len(r.submissions))].slot, -int32(unix.EAGAIN))
	}
	r.tail = head
	r.sqTail.Store(head)
}

// reap ends the reads that the kernel has completed, unless somebody else is at it, who then sees to all of them.
func (r *ring) reap() {
	for r.cqHead.Load() != r.cqTail.Load() && r.reaping.TryLock() {
		head := r.cqHead.Load()
		for tail := r.cqTail.Load(); head != tail; {
			c := r.completions[head%uint32(len(r.completions))]
			head++
			r.cqHead.Store(head) // before the slot can be used again: so rule 5 holds for completions too
			r.end(c.slot, c.result)
		}
		r.reaping.Unlock()
		// A completion that came meanwhile found the lock taken: look again.
	}
}

func (r *ring) end(slot uint64, result int32) {
	s := &r.slots[slot]
	s.result.Store(result)
	s.done <- struct{}{}
}

func (r *ring) give(slot uint32) {
	r.mu.Lock()
	r.free = append(r.free, slot)
	r.mu.Unlock()
}

// InFlight is how many reads are under way through io_uring, and how many of them the kernel has not ended: the others wait for a
// processor, on which their readers hear of it or hand them over, and not for the disk.
func InFlight() (reads, kernel int) {
	if r := madeRing.Load(); r != nil {
		return r.inFlight()
	}
	return 0, 0
}

func (r *ring) inFlight() (reads, kernel int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads = ringDepth - len(r.free)
	// The kernel moves both meanwhile.
	return reads, min(max(int(int32(r.sqHead.Load()-r.cqTail.Load())), 0), reads)
}

func (r *ring) buffer(slot uint32) []byte { return r.buffers[slot*ringBuffer:][:ringBuffer] }
