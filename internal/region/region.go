package region

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/page"
)

// ErrInUse reports that another process, or another Open of this one, holds the region.
var ErrInUse = errors.New("region is in use")

// Config says which region is wanted.
type Config struct {
	Dir       string   // memory-dir
	UUID      [16]byte // of the database
	RingBytes int64    // a multiple of RingUnit
	Frames    int
	// FirstFrames are reserved before Open returns, the rest by ReserveMore; 0 = all. Reserving 10 GiB takes
	// seconds, and the first answer must not wait for them. More that survived is there at once.
	FirstFrames int
	SmallPages  bool         // reserve no huge pages
	BootID      [16]byte     // zero: the kernel's
	Logger      *slog.Logger // nil: slog.Default()
}

func (c *Config) validate() error {
	if c.Frames < 1 || c.Frames > MaxFrames {
		return fmt.Errorf("pool of %d frames is not within 1..%d", c.Frames, MaxFrames)
	}
	if c.RingBytes < RingUnit || c.RingBytes > MaxRingBytes || c.RingBytes%RingUnit != 0 {
		return fmt.Errorf("ring size of %d bytes is not a multiple of %d up to %d", c.RingBytes, RingUnit, MaxRingBytes)
	}
	if c.FirstFrames < 0 {
		return fmt.Errorf("first frames is %d, want at least 0", c.FirstFrames)
	}
	return nil
}

// first is how many frames Open reserves.
func (c *Config) first() int {
	if c.FirstFrames == 0 || c.FirstFrames > c.Frames {
		return c.Frames
	}
	return c.FirstFrames
}

// Region is the surviving memory, mapped.
type Region struct {
	path string // empty: plain memory
	log  *slog.Logger
	mem  memory

	descs  []Desc      // the whole window: use Desc
	frames []page.Page // the whole window: use Page

	count    atomic.Int64 // frames of the pool, all described
	reserved atomic.Int64 // the first of them, that may be touched

	shape      sync.Mutex // held while count, reserved or the ring change, and while huge pages are made
	closed     bool       // by shape
	smallPages bool       // by shape: no huge pages are wanted, or the kernel has none

	slots struct {
		sync.Mutex
		now, next state
		buf       [slotBytes]byte // here and not on the stack: an LSN becomes durable without an allocation
	}
}

// Frames is the size of the pool. After an Open that found a larger pool it is the larger one, until Resize.
func (r *Region) Frames() int { return int(r.count.Load()) }

// Reserved is how many frames, from the first, may be touched. It only grows, but by Resize to fewer frames.
func (r *Region) Reserved() int { return int(r.reserved.Load()) }

// Page is the frame f, which must be reserved. The pointer stays good until Close.
func (r *Region) Page(f int) *page.Page {
	if uint64(f) >= uint64(r.reserved.Load()) {
		r.badFrame(f)
	}
	return &r.frames[f]
}

// Desc is the descriptor of the frame f. The pointer stays good until Close.
func (r *Region) Desc(f int) *Desc {
	if uint64(f) >= uint64(r.count.Load()) {
		r.badFrame(f)
	}
	return &r.descs[f]
}

func (r *Region) badFrame(f int) {
	panic(fmt.Sprintf("BUG: frame %d is not within the pool: %d frames, %d reserved", f, r.count.Load(), r.reserved.Load()))
}

// Ring is the log ring, aligned to a page. The slice is good until ResizeRing or Close. When its length is not
// the configured one, it is a survivor's: finish it into the log, then ResizeRing.
func (r *Region) Ring() []byte {
	r.slots.Lock()
	n := int64(r.slots.now.ringBytes)
	r.slots.Unlock()
	return r.mem.windows[headWindow][HeaderBytes : HeaderBytes+n : HeaderBytes+n]
}

// Survives tells whether the contents outlive the process.
func (r *Region) Survives() bool { return r.mem.file != nil }

// Path is the name of the file; empty in plain memory.
func (r *Region) Path() string { return r.path }

// update changes the state, whole or not at all, whenever the process dies.
func (r *Region) update(change func(*state)) {
	r.slots.Lock()
	defer r.slots.Unlock()
	s := &r.slots.next
	*s = r.slots.now
	change(s)
	s.seq++
	if err := s.validate(); err != nil {
		panic(fmt.Sprintf("BUG: region state: %v", err))
	}
	s.encode(&r.slots.buf)
	at := slotOffsets[s.seq&1]
	store(r.mem.windows[headWindow][at:at+slotBytes], &r.slots.buf)
	r.slots.now = *s
}

// SetDurable notes that the log is durable up to lsn. When it returns, ring bytes below lsn may be written over.
func (r *Region) SetDurable(lsn page.LSN) {
	r.update(func(s *state) { s.durable = lsn })
}

// BeginAttach counts an attempt, before recovery changes anything in the region. nonce is that of the life
// that begins.
func (r *Region) BeginAttach(nonce uint64) {
	r.update(func(s *state) {
		s.attempts++
		s.attachNonce = nonce
		s.flags &^= flagClean // what happens from here to Ready is not in order if it ends
	})
}

// Ready ends the attempt: the life has begun, and from here the region holds its memory.
func (r *Region) Ready(incarnation, nonce uint64) {
	r.update(func(s *state) {
		s.attempts = 0
		s.incarnation = incarnation
		s.lifeNonce = nonce
		s.flags = flagFrames | flagRing
	})
}

// SetClean notes an orderly end. Nothing may change afterwards.
func (r *Region) SetClean() {
	r.update(func(s *state) { s.flags |= flagClean })
}

// Discard throws the contents away and says so in one log line. All frames are free afterwards. The ring
// stays when the frames alone were at fault, else it is zeroed and the durable LSN with it.
func (r *Region) Discard(why Reason) {
	r.logThrownAway(why, "")
	keep := why.keepsRing()
	r.update(func(s *state) {
		if keep {
			s.flags &= flagRing
			return
		}
		s.flags = 0
		s.durable, s.incarnation, s.lifeNonce, s.attachNonce = 0, 0, 0, 0
	})
	if !keep {
		clear(r.Ring())
	}
	r.describe(0, r.Frames())
}

func (r *Region) logThrownAway(why Reason, detail string) {
	args := []any{"file", r.path, "reason", string(why)}
	if detail != "" {
		args = append(args, "detail", detail)
	}
	r.log.Warn("surviving memory thrown away", args...)
}

// describe makes the frames [from,to) free, whatever their descriptors held. The pages of the descriptors
// are reserved.
func (r *Region) describe(from, to int) {
	inParallel(0, from, to, func(_, from, to int) {
		r.faultDescs(from, to, unix.MADV_POPULATE_WRITE)
		for f := from; f < to; f++ {
			r.descs[f].reset(f)
		}
	})
}

// Remove takes the file out of the memory-dir; its memory goes at Close.
func (r *Region) Remove() error {
	if r.mem.file == nil {
		return nil
	}
	if err := os.Remove(r.path); err != nil {
		return fmt.Errorf("remove the region: %w", err)
	}
	return nil
}

// Close unmaps the region and keeps its file. Nobody may hold a page, a descriptor or the ring any more.
func (r *Region) Close() error {
	r.shape.Lock()
	defer r.shape.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.count.Store(0)
	r.reserved.Store(0)
	err := r.mem.unmap()
	if r.mem.file != nil {
		err = errors.Join(err, r.mem.file.Close()) // the lock goes with it
	}
	return err
}

// views lays the descriptors and frames over their windows.
func (r *Region) views() {
	d, f := r.mem.windows[descWindow], r.mem.windows[frameWindow]
	r.descs = unsafe.Slice((*Desc)(unsafe.Pointer(&d[0])), len(d)/DescSize)
	r.frames = unsafe.Slice((*page.Page)(unsafe.Pointer(&f[0])), len(f)/page.Size)
}
