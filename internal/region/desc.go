package region

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/hearthdb/hearth/internal/page"
)

// States of a frame. Zero is free, so that no state needs a page.
const (
	StateFree       uint32 = 0 // holds no page
	StateLoading    uint32 = 1 // its page is being read from the file; the bytes mean nothing yet
	StateReady      uint32 = 2 // holds its page
	StateUnverified uint32 = 3 // survived a death and has not been looked at since; ready in every other respect
)

// DescSize is the bytes one descriptor takes: one cache line, so that two frames never share one.
const DescSize = 64

// Desc is what the region knows of one frame. It lies in the surviving memory itself.
//
//	 0  version    u64  odd while the descriptor or the page's bytes are being changed
//	 8  id         u64  the page in the frame
//	16  lsn        u64  end of the last group that changed the page
//	24  first      u64  no later than the start of the first group that changed it since write-back; 0 = clean
//	32  state      u32
//	36  heat       u32  covered by no sum: a guess that may be lost
//	40  sum        u32  of frame number, even version, id, lsn, first, state
//	44  id sum     u32  of frame number and id
//	48  spare id   u64  copy of id, so that one of the two is whole at every moment
//	56  spare sum  u32  of frame number and spare id
//	60  zero       u32
//
// ID, LSN, First and State change only between Begin and End (rule 3 of the package).
type Desc struct {
	Version atomic.Uint64
	ID      atomic.Uint64
	LSN     atomic.Uint64
	First   atomic.Uint64
	State   atomic.Uint32
	Heat    atomic.Uint32

	// Written only under an odd version, ahead of the store that makes it even, and read only by Examine
	// when nobody else runs. So plain words do, and save a locked instruction for each changed page.
	sum      uint32
	idSum    uint32
	spareID  uint64
	spareSum uint32
	_        uint32
}

// A descriptor is exactly DescSize bytes; the layout of the file rests on it.
var _ [DescSize - unsafe.Sizeof(Desc{})]struct{}
var _ [unsafe.Sizeof(Desc{}) - DescSize]struct{}

// Begin makes the version odd, before the first byte of the descriptor or of its page changes. The caller
// holds the frame's latch exclusively.
func (d *Desc) Begin() {
	v := d.Version.Load()
	if v&1 != 0 {
		panic(fmt.Sprintf("BUG: change of page %v begins twice: version is %d, want even", page.ID(d.ID.Load()), v))
	}
	d.Version.Store(v + 1)
}

// End computes the sum of the changed descriptor and makes the version even again.
func (d *Desc) End(frame int) {
	v := d.Version.Load()
	if v&1 == 0 {
		panic(fmt.Sprintf("BUG: change of page %v ends without a beginning: version is %d, want odd", page.ID(d.ID.Load()), v))
	}
	d.sum = d.sumAt(frame, v+1)
	d.Version.Store(v + 1)
}

// SetID names the page in the frame, between Begin and End. The page named before must be clean: a death
// inside SetID leaves the one name or the other.
func (d *Desc) SetID(frame int, id page.ID) {
	sum := idSumOf(frame, uint64(id))
	d.spareID, d.spareSum = uint64(id), sum
	// The atomic store keeps the order: the spare is whole before the name changes, and stays so until it is whole.
	d.ID.Store(uint64(id))
	d.idSum = sum
}

// reset makes d the descriptor of a free frame, whatever it held.
func (d *Desc) reset(frame int) {
	*d = Desc{} // nobody else has the frame yet, so the version may start anew
	d.Version.Store(1)
	d.SetID(frame, 0)
	d.End(frame)
}

// Condition is what a death left of a descriptor.
type Condition uint8

const (
	Whole   Condition = iota // even, and the sum holds: every field is to be trusted
	Torn                     // odd, but the id holds: the page needs redo, nothing else is to be trusted
	Damaged                  // no change of ours leaves this: it is unknown which page was lost
)

func (c Condition) String() string {
	switch c {
	case Whole:
		return "whole"
	case Torn:
		return "torn"
	case Damaged:
		return "damaged"
	}
	return fmt.Sprintf("condition %d", uint8(c))
}

// Finding is a descriptor as found at attach.
type Finding struct {
	Condition Condition
	State     uint32
	Heat      uint32
	ID        page.ID  // valid unless damaged
	LSN       page.LSN // valid when whole
	First     page.LSN // valid when whole
}

// Examine says what became of d. For use at attach, before anybody changes frames.
func (d *Desc) Examine(frame int) Finding {
	f := Finding{Heat: d.Heat.Load()}
	v := d.Version.Load()
	id := d.ID.Load()
	switch {
	case v&1 == 0:
		state := d.State.Load()
		if d.sum != d.sumAt(frame, v) || state > StateUnverified {
			f.Condition = Damaged
			return f
		}
		f.State = state
		f.ID = page.ID(id)
		f.LSN = page.LSN(d.LSN.Load())
		f.First = page.LSN(d.First.Load())
	case d.idSum == idSumOf(frame, id):
		f.Condition = Torn
		f.ID = page.ID(id)
	case d.spareSum == idSumOf(frame, d.spareID):
		f.Condition = Torn
		f.ID = page.ID(d.spareID)
	default:
		f.Condition = Damaged
	}
	return f
}

// The sums are folded multiplications (as in wyhash), not a CRC: End runs for each page of each transaction,
// and hash/crc32 takes 25 ns and an allocation for these 40 bytes, this 2 ns. The constants are wyhash's
// secrets: odd, half their bits set.
const (
	mixA = 0xa0761d6478bd642f
	mixB = 0xe7037ed1a0b428db
	mixC = 0x8ebc6af09c88c6e3
	mixD = 0x589965cc75374cc3
	mixE = 0x1d8e4e27c47d124f
)

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// sumAt is the sum of d as it is with the even version v.
func (d *Desc) sumAt(frame int, v uint64) uint32 {
	h := fold(d.ID.Load()^mixA, uint64(frame)^mixB)
	h ^= fold(d.LSN.Load()^mixC, d.First.Load()^mixD)
	h = fold(h^mixE, bits.RotateLeft64(v, 32)^uint64(d.State.Load())^mixA)
	return uint32(h ^ h>>32)
}

func idSumOf(frame int, id uint64) uint32 {
	h := fold(id^mixB, uint64(frame)^mixC)
	h = fold(h^mixD, mixE)
	return uint32(h ^ h>>32)
}
