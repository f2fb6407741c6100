package region

import (
	"fmt"

	"github.com/hearthdb/hearth/internal/page"
)

// Resize gives the pool another number of frames. To shrink it, the caller has emptied the frames at the end,
// and nobody holds one of them. Growing reserves all new frames and those ReserveMore has not come to.
func (r *Region) Resize(count int) error {
	if count < 1 || count > MaxFrames {
		return fmt.Errorf("pool of %d frames is not within 1..%d", count, MaxFrames)
	}
	r.shape.Lock()
	defer r.shape.Unlock()
	if r.closed {
		panic("BUG: Resize of a closed region")
	}
	if count < r.Frames() {
		return r.shrink(count)
	}
	return r.grow(count, count)
}

// grow makes the pool count frames, the first of them reserved. Descriptors beyond those already reserved
// are made anew, since the header never counted them. By shape, or before the region is shared.
func (r *Region) grow(count, first int) error {
	old, reserved := r.Frames(), r.Reserved()
	if most := int64(len(r.frames)); int64(count) > most {
		return fmt.Errorf("pool of %d frames: at most %d fit what was mapped at start: restart with the new size", count, most)
	}
	if err := r.mem.room(int64(count-old)*DescSize + int64(max(first-reserved, 0))*page.Size); err != nil {
		return err
	}
	if err := r.mem.reserve(descWindow, int64(old)*DescSize, int64(count)*DescSize); err != nil {
		return err
	}
	r.describe(old, count)
	if err := r.reserveFrames(first); err != nil {
		// The header counts what was reserved; the rest of the file stays as it was before.
		return err
	}
	r.count.Store(int64(count))
	return nil
}

// reserveFrames reserves up to count frames, then lets the header count them.
func (r *Region) reserveFrames(count int) error {
	reserved := r.Reserved()
	if count <= reserved {
		return nil
	}
	from, to := int64(reserved)*page.Size, int64(count)*page.Size
	if err := r.mem.room(to - from); err != nil {
		return err
	}
	err := r.reserveHuge(from, to)
	if err == nil {
		err = r.mem.reserve(frameWindow, from, to)
	}
	if err != nil {
		// Not the granule that the last counted frame may share.
		if back := r.mem.release(frameWindow, from, to); back != nil {
			return fmt.Errorf("%w (and %v)", err, back)
		}
		return err
	}
	r.update(func(s *state) { s.frames = uint64(count) })
	r.reserved.Store(int64(count))
	return nil
}

// shrink makes the pool count frames. By shape, or before the region is shared.
func (r *Region) shrink(count int) error {
	old, reserved := r.Frames(), r.Reserved()
	for f := count; f < old; f++ {
		if s := r.descs[f].State.Load(); s != StateFree {
			panic(fmt.Sprintf("BUG: pool shrinks to %d frames, but frame %d has state %d, want free", count, f, s))
		}
	}
	r.count.Store(int64(count))
	if count < reserved {
		r.reserved.Store(int64(count))
		r.update(func(s *state) { s.frames = uint64(count) })
		if err := r.mem.release(frameWindow, int64(count)*page.Size, int64(reserved)*page.Size); err != nil {
			return err
		}
	}
	return r.mem.release(descWindow, int64(count)*DescSize, int64(old)*DescSize)
}

// ResizeRing gives the ring another size. The caller has made the whole log durable and said so (SetDurable):
// positions in the ring change. Slices from Ring are void afterwards.
func (r *Region) ResizeRing(ringBytes int64) error {
	r.shape.Lock()
	defer r.shape.Unlock()
	old := int64(len(r.Ring()))
	most := r.mem.capacity(headWindow) - HeaderBytes
	if ringBytes < RingUnit || ringBytes > most || ringBytes%RingUnit != 0 {
		return fmt.Errorf("ring size of %d bytes is not a multiple of %d up to %d, the most mapped at start", ringBytes, RingUnit, most)
	}
	from, to := HeaderBytes+min(old, ringBytes), HeaderBytes+max(old, ringBytes)
	if ringBytes > old {
		if err := r.mem.room(to - from); err != nil {
			return err
		}
		if err := r.mem.reserve(headWindow, from, to); err != nil {
			return err
		}
	}
	r.update(func(s *state) { s.ringBytes = uint64(ringBytes) })
	if ringBytes < old {
		return r.mem.release(headWindow, from, to)
	}
	return nil
}

// backgroundChunk is how many frames ReserveMore takes at once, 32 MiB: 2 to 40 ms of a core (see reserveHuge), which
// is how long it takes to stop, and how long Resize may wait for it.
const backgroundChunk = 2048

// ReserveMore reserves the next chunk of the frames that Open left, and tells how many are reserved then. When the
// mount has no room for it (NoRoomError), the frames reserved until then stay. A death leaves those that are counted:
// the next Open finds them, and goes on behind them.
func (r *Region) ReserveMore() (reserved int, err error) {
	r.shape.Lock()
	defer r.shape.Unlock()
	if r.closed {
		panic("BUG: ReserveMore of a closed region")
	}
	err = r.reserveFrames(min(r.Frames(), r.Reserved()+backgroundChunk))
	return r.Reserved(), err
}
