package region

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"unsafe"

	"github.com/hearthdb/hearth/internal/page"
)

// The header, little endian.
//
//	prefix, never to change in any format:
//	   0  magic        8 bytes "HEARTHRG", written last
//	   8  format       u32
//	  12  zero         u32
//	  16  layout hash  u64
//	static part, written once:
//	  64  uuid         16 bytes, of the database
//	  80  boot id      16 bytes
//	  96  page size    u32
//	 100  crc32c       u32 of [64,100)
//	state, in two slots written by turns, even seq at 4096 and odd at 8192:
//	   0  seq          u64
//	   8  durable      u64  LSN
//	  16  incarnation  u64  of the last life that got ready
//	  24  life nonce   u64  of the last life that got ready
//	  32  attach nonce u64  of the last life that tried
//	  40  frames       u64  reserved and described
//	  48  ring bytes   u64
//	  56  flags        u32
//	  60  attempts     u32  attaches since a life got ready
//	  64  crc32c       u32 of [0,64)
//	  68  zero         u32
//	  72  seq          u64, again
//
// A slot is written front to back, and a death stops that at one point. So a slot whose sum fails is a torn
// write only if its front carries the next number and its end still the number before; anything else is damage.
const (
	magic        = "HEARTHRG"
	formatNow    = 1
	staticOffset = 64
	staticBytes  = 40
	slotBytes    = 80
	slotSumAt    = 64
	slotEndAt    = 72
	// headerRead is how much of the header means anything.
	headerRead = 8192 + slotBytes
)

// magicWord is the magic as one store.
var magicWord = binary.NativeEndian.Uint64([]byte(magic))

var slotOffsets = [2]int{4096, 8192}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Flags of the state.
const (
	flagClean  uint32 = 1 << iota // closed in order
	flagFrames                    // the frames hold pages
	flagRing                      // the ring holds the log from the durable LSN on
	flagsKnown = flagClean | flagFrames | flagRing
)

// state is the part of the header that changes.
type state struct {
	seq         uint64
	durable     page.LSN
	incarnation uint64
	lifeNonce   uint64
	attachNonce uint64
	frames      uint64
	ringBytes   uint64
	flags       uint32
	attempts    uint32
}

// validate holds for every state written and every state read.
func (s *state) validate() error {
	switch {
	case s.frames == 0 || s.frames > MaxFrames:
		return fmt.Errorf("frame count %d is not within 1..%d", s.frames, MaxFrames)
	case s.ringBytes == 0 || s.ringBytes > MaxRingBytes || s.ringBytes%RingUnit != 0:
		return fmt.Errorf("ring size %d is not a multiple of %d up to %d", s.ringBytes, RingUnit, MaxRingBytes)
	case s.flags&^flagsKnown != 0:
		return fmt.Errorf("unknown flags %#x", s.flags)
	case s.flags&(flagFrames|flagRing) == flagFrames:
		return fmt.Errorf("flags %#x: frames without a ring", s.flags)
	}
	return nil
}

func (s *state) encode(b *[slotBytes]byte) {
	le := binary.LittleEndian
	le.PutUint64(b[0:], s.seq)
	le.PutUint64(b[8:], uint64(s.durable))
	le.PutUint64(b[16:], s.incarnation)
	le.PutUint64(b[24:], s.lifeNonce)
	le.PutUint64(b[32:], s.attachNonce)
	le.PutUint64(b[40:], s.frames)
	le.PutUint64(b[48:], s.ringBytes)
	le.PutUint32(b[56:], s.flags)
	le.PutUint32(b[60:], s.attempts)
	le.PutUint32(b[slotSumAt:], crc32.Checksum(b[:slotSumAt], castagnoli))
	le.PutUint32(b[68:], 0)
	le.PutUint64(b[slotEndAt:], s.seq)
}

// store writes an encoded slot in the order decodeState relies on. The atomic stores keep the compiler from
// reordering; between a process and its successor nothing else can.
func store(slot []byte, b *[slotBytes]byte) {
	seq := binary.LittleEndian.Uint64(b[:])
	word(slot, 0).Store(seq)
	copy(slot[8:slotEndAt], b[8:slotEndAt])
	word(slot, slotEndAt).Store(seq)
}

// word is the aligned word at off, in native order: the layout hash keeps the orders apart.
func word(b []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&b[off : off+8][0]))
}

// slotRead is one slot as found.
type slotRead struct {
	state
	end   uint64 // the second seq
	whole bool   // the sum holds
}

func readSlot(b []byte) slotRead {
	le := binary.LittleEndian
	return slotRead{
		state: state{
			seq:         le.Uint64(b[0:]),
			durable:     page.LSN(le.Uint64(b[8:])),
			incarnation: le.Uint64(b[16:]),
			lifeNonce:   le.Uint64(b[24:]),
			attachNonce: le.Uint64(b[32:]),
			frames:      le.Uint64(b[40:]),
			ringBytes:   le.Uint64(b[48:]),
			flags:       le.Uint32(b[56:]),
			attempts:    le.Uint32(b[60:]),
		},
		end:   le.Uint64(b[slotEndAt:]),
		whole: le.Uint32(b[slotSumAt:]) == crc32.Checksum(b[:slotSumAt], castagnoli) && le.Uint32(b[68:]) == 0,
	}
}

// decodeState finds the state last written whole in the two slots.
func decodeState(a, b []byte) (state, error) {
	x, y := readSlot(a), readSlot(b)
	if x.seq&1 != 0 || y.seq&1 != 1 {
		return state{}, fmt.Errorf("state slots %d and %d lie in each other's place", x.seq, y.seq)
	}
	if x.seq < y.seq {
		x, y = y, x // x was begun last
	}
	if !y.whole || y.end != y.seq || x.seq != y.seq+1 {
		return state{}, fmt.Errorf("state slots %d and %d do not follow each other", y.seq, x.seq)
	}
	found := x
	switch {
	case x.whole && (x.end == x.seq || x.end == x.seq-2):
	case !x.whole && x.end == x.seq-2:
		found = y // torn by the death: it never happened
	default:
		return state{}, fmt.Errorf("state slot %d: checksum", x.seq)
	}
	if err := found.validate(); err != nil {
		return state{}, fmt.Errorf("state slot %d: %w", found.seq, err)
	}
	return found.state, nil
}

// identity is what a region must share with the process that attaches it.
type identity struct {
	uuid, bootID [16]byte
}

// encodeStatic fills everything before the slots except the magic.
func encodeStatic(b []byte, id identity) {
	le := binary.LittleEndian
	le.PutUint32(b[8:], formatNow)
	le.PutUint32(b[12:], 0)
	le.PutUint64(b[16:], layoutHash)
	s := b[staticOffset : staticOffset+staticBytes]
	copy(s[0:], id.uuid[:])
	copy(s[16:], id.bootID[:])
	le.PutUint32(s[32:], page.Size)
	le.PutUint32(s[36:], crc32.Checksum(s[:36], castagnoli))
}

// decodeHeader reads a header of which nothing is believed yet. When it is not ours, the reason and its
// details say so. b is at least headerRead long.
func decodeHeader(b []byte, want identity) (state, Reason, string) {
	le := binary.LittleEndian
	switch {
	case le.Uint64(b) == 0:
		return state{}, ReasonUnfinished, "no magic"
	case string(b[:8]) != magic:
		return state{}, ReasonDamagedHeader, fmt.Sprintf("magic is %q, want %q", b[:8], magic)
	case le.Uint32(b[8:]) != formatNow:
		return state{}, ReasonOtherLayout, fmt.Sprintf("format is %d, want %d", le.Uint32(b[8:]), formatNow)
	case le.Uint64(b[16:]) != layoutHash:
		return state{}, ReasonOtherLayout, fmt.Sprintf("layout is %016x, want %016x", le.Uint64(b[16:]), layoutHash)
	}
	s := b[staticOffset : staticOffset+staticBytes]
	if got, want := le.Uint32(s[36:]), crc32.Checksum(s[:36], castagnoli); got != want {
		return state{}, ReasonDamagedHeader, fmt.Sprintf("static part: checksum is %08x, want %08x", got, want)
	}
	if size := le.Uint32(s[32:]); size != page.Size {
		return state{}, ReasonOtherLayout, fmt.Sprintf("page size is %d, want %d", size, page.Size)
	}
	if [16]byte(s[:16]) != want.uuid {
		return state{}, ReasonForeignUUID, fmt.Sprintf("uuid is %x, want %x", s[:16], want.uuid)
	}
	if [16]byte(s[16:32]) != want.bootID {
		return state{}, ReasonOtherBoot, fmt.Sprintf("boot id is %x, want %x", s[16:32], want.bootID)
	}
	st, err := decodeState(b[slotOffsets[0]:slotOffsets[0]+slotBytes], b[slotOffsets[1]:slotOffsets[1]+slotBytes])
	if err != nil {
		return state{}, ReasonDamagedHeader, err.Error()
	}
	return st, "", ""
}
