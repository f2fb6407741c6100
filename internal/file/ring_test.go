package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// testRing is a ring of the test's own, or the end of the test where there is none.
func testRing(t *testing.T) *ring {
	t.Helper()
	r, err := newRing()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if len(r.free) != ringDepth || r.tail != r.sqHead.Load() || r.cqHead.Load() != r.cqTail.Load() {
			t.Errorf("at the end %d slots are free, want %d; %d reads are queued, %d not reaped", len(r.free), ringDepth,
				r.tail-r.sqHead.Load(), r.cqTail.Load()-r.cqHead.Load())
		}
		r.close()
	})
	return r
}

// numbered is a file each of whose blocks begins with its number.
func numbered(t *testing.T, blocks int) *osFile {
	t.Helper()
	f := open(t, OS, filepath.Join(t.TempDir(), "a"), ReadWrite|Create|Direct).(*osFile)
	t.Cleanup(func() { f.Close() })
	p := AlignedBuf(blocks * Alignment)
	for i := range blocks {
		binary.LittleEndian.PutUint64(p[i*Alignment:], uint64(i))
	}
	_, err := f.WriteAt(p, 0)
	must(t, err)
	return f
}

// TestRingConcurrency: more readers than slots, each of whom gets what he asked for.
func TestRingConcurrency(t *testing.T) {
	const blocks, rounds = 256, 50
	f := numbered(t, blocks)
	f.direct, f.ring = true, testRing(t) // the ring does not mind a file in the page cache
	f.fd = int(f.Fd())
	var wg sync.WaitGroup
	for w := range 2 * ringDepth {
		wg.Go(func() {
			rng, p := rand.New(rand.NewPCG(uint64(w), 0)), AlignedBuf(ringBuffer)
			for range rounds {
				n := 1 + rng.IntN(len(p)/Alignment)
				at := rng.IntN(blocks - n)
				if got, err := f.ReadAt(p[:n*Alignment], int64(at*Alignment)); err != nil || got != n*Alignment {
					t.Errorf("read: %d, %v", got, err)
				}
				for i := range n {
					if got := binary.LittleEndian.Uint64(p[i*Alignment:]); got != uint64(at+i) {
						t.Errorf("got block %d, want %d", got, at+i)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestRingErrors: what the ring cannot bring it does not bring, and pread says why.
func TestRingErrors(t *testing.T) {
	r := testRing(t)
	p := AlignedBuf(ringBuffer)
	if n := r.read(1<<20, p, 0); n != 0 {
		t.Errorf("read of a descriptor that is not: %d bytes", n)
	}
	f := numbered(t, 3)
	f.ring = r
	if n, err := f.ReadAt(p, Alignment); n != 2*Alignment || err != io.EOF || p[0] != 1 {
		t.Errorf("read across the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(p, 1<<20); n != 0 || err != io.EOF {
		t.Errorf("read beyond the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(p, -1); n != 0 || err == nil {
		t.Errorf("read before the beginning: %d, %v", n, err)
	}
	if n, err := f.ReadAt(p[:0], 0); n != 0 || err != nil {
		t.Errorf("read of nothing: %d, %v", n, err)
	}
}

// TestRingTakesBack: what the kernel did not take ends, and the reader falls back to pread.
func TestRingTakesBack(t *testing.T) {
	for errno, refused := range map[unix.Errno]bool{unix.EAGAIN: false, unix.EBUSY: false, 0: false, unix.EPERM: true} {
		r := testRing(t)
		f := numbered(t, 4)
		f.ring = r
		r.submitting = true // nobody submits what is queued
		slot, ok := r.queue(f.fd, Alignment, 0)
		if !ok {
			t.Fatal("no slot")
		}
		r.takeBack(errno)
		<-r.slots[slot].done
		r.give(slot)
		r.submitting = false
		if r.refused.Load() != refused {
			t.Errorf("after %v refused is %v", errno, !refused)
		}
		p := AlignedBuf(Alignment)
		if n, err := f.ReadAt(p, 3*Alignment); n != Alignment || err != nil || p[0] != 3 {
			t.Errorf("after %v: read %d, %v", errno, n, err)
		}
	}
}

// TestCloseDuringReads: a Close waits for those that run, later ones get fs.ErrClosed, and nobody reads another file
// that got the same descriptor.
func TestCloseDuringReads(t *testing.T) {
	r := testRing(t)
	for range 20 {
		f := numbered(t, 64)
		f.ring = r
		var reads atomic.Int64
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				p := AlignedBuf(Alignment)
				for i := w; ; i++ {
					_, err := f.ReadAt(p, int64(i%64)*Alignment)
					if errors.Is(err, fs.ErrClosed) {
						return
					}
					if err != nil || int(p[0]) != i%64 {
						t.Errorf("block %d: got %d, %v", i%64, p[0], err)
						return
					}
					reads.Add(1)
				}
			})
		}
		for reads.Load() < 100 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		must(t, f.Close())
		other := numbered(t, 1)
		_, err := other.WriteAt(bytes.Repeat([]byte{0xff}, Alignment), 0)
		wg.Wait()
		must(t, err)
		must(t, other.Close())
	}
}

// TestRingSwitchedOff: the variable keeps io_uring away.
func TestRingSwitchedOff(t *testing.T) {
	t.Setenv(RingVariable, "off")
	if r, err := newRing(); r != nil || err == nil {
		t.Errorf("got a ring, %v", err)
	}
}

// TestRingForbidden runs as a container would that does not let io_uring_setup, or only what follows it, through.
func TestRingForbidden(t *testing.T) {
	const which = "HEARTH_TEST_FORBID"
	if forbidden := os.Getenv(which); forbidden != "" {
		forbid(t, map[string]uint32{"setup": unix.SYS_IO_URING_SETUP, "enter": unix.SYS_IO_URING_ENTER}[forbidden])
		TestReadAndWrite(t)
		if err := RingError(); forbidden == "setup" && !errors.Is(err, unix.EPERM) {
			t.Errorf("RingError: %v", err)
		}
		return
	}
	for _, forbidden := range []string{"setup", "enter"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRingForbidden$")
		cmd.Env = append(os.Environ(), which+"="+forbidden)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s forbidden: %v\n%s", forbidden, err, out)
		}
	}
}

// forbid makes a system call fail with EPERM in all threads of this process, for good.
func forbid(t *testing.T, call uint32) {
	t.Helper()
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		t.Skip("no seccomp: ", errno)
	}
}

// TestInFlight: a read that the kernel has ended and nobody has reaped is under way, and not with the kernel.
func TestInFlight(t *testing.T) {
	r := testRing(t)
	f := numbered(t, 1)
	r.reaping.Lock() // nobody hears of anything
	slot, ok := r.queue(f.fd, Alignment, 0)
	if !ok {
		t.Fatal("no slot")
	}
	for r.cqTail.Load() == r.cqHead.Load() {
		time.Sleep(time.Millisecond)
	}
	if reads, kernel := r.inFlight(); reads != 1 || kernel != 0 {
		t.Errorf("%d reads under way, %d with the kernel; want 1 and 0", reads, kernel)
	}
	r.reaping.Unlock()
	r.reap()
	<-r.slots[slot].done
	r.give(slot)
	if reads, kernel := r.inFlight(); reads != 0 || kernel != 0 {
		t.Errorf("%d reads under way, %d with the kernel; want none", reads, kernel)
	}
}
