package region

import (
	"fmt"
	"hash/fnv"
	"unsafe"

	"github.com/hearthdb/hearth/internal/page"
)

// The parts of the file lie at fixed offsets in a sparse file, so that each can grow and shrink where it is.
const (
	// HeaderBytes is where the ring starts. Far more than the header needs; a multiple of every base page
	// size Linux has (4, 16, 64 KiB), so that the ring is aligned for O_DIRECT.
	HeaderBytes = 64 << 10
	descOffset  = 1 << 40
	// frameOffset leaves 4 TiB for MaxFrames and keeps the end below 8 TiB: ext4 ends at 16 TiB, and a
	// memory-dir on a disk is slow but allowed.
	frameOffset = 1 << 42
)

const (
	// MaxFrames bounds the pool: 2^28 frames are 4 TiB, what fits between frameOffset and twice that.
	MaxFrames = 1 << 28
	// RingUnit is what the ring size is a multiple of: 1 MiB, the largest log group.
	RingUnit = 1 << 20
	// MaxRingBytes bounds the ring: 512 GiB, what surely fits before the descriptors.
	MaxRingBytes = 1 << 39
	// MaxAttempts is how many attaches in a row may die before Ready until the frames are thrown away: the
	// third was no accident. After twice as many the ring goes too, for then the frames were not at fault.
	MaxAttempts = 3
)

// The parts fit between their offsets.
var _ [descOffset - HeaderBytes - MaxRingBytes]struct{}
var _ [frameOffset - descOffset - MaxFrames*DescSize]struct{}
var _ [frameOffset - MaxFrames*page.Size]struct{}

// layoutHash changes whenever a region of the one build would be misread by the other.
var layoutHash = func() uint64 {
	var d Desc
	one := uint16(1)
	h := fnv.New64a()
	fmt.Fprint(h, HeaderBytes, descOffset, frameOffset, page.Size, DescSize,
		unsafe.Offsetof(d.Version), unsafe.Offsetof(d.ID), unsafe.Offsetof(d.LSN), unsafe.Offsetof(d.First),
		unsafe.Offsetof(d.State), unsafe.Offsetof(d.Heat), unsafe.Offsetof(d.sum), unsafe.Offsetof(d.idSum),
		unsafe.Offsetof(d.spareID), unsafe.Offsetof(d.spareSum),
		d.sumAt(1, 2), idSumOf(1, 2),
		staticOffset, slotOffsets, slotBytes,
		*(*byte)(unsafe.Pointer(&one))) // the byte order
	return h.Sum64()
}()
