package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hearthdb/hearth/internal/page"
)

// A group, little endian, starting at a multiple of 8:
//
//	0  len    u32  of the whole group, header and padding too, a multiple of 8
//	4  body   u32  CRC32C of the body without padding
//	8  lsn    u64  where the group starts
//	16 life   u64  incarnation that wrote it
//	24 flags  u32  bits 0-2: bytes of padding at the end
//	28 sum    u32  CRC32C of bytes 0-27
//	32 body, then padding of zeroes
const (
	groupHeader = 32

	// groupAlign, in bytes, is what every group starts and ends at, so that its first 8 bytes never straddle the end of a ring.
	groupAlign = 8

	// FirstLSN is where the first group starts. LSN 0 can so mean "none" everywhere.
	FirstLSN page.LSN = blockSize

	// MaxGroup, in bytes, is the longest group. It exceeds by far what the largest change of a tree writes (a split:
	// a few pages of 16 KiB) and bounds what a reader must hold. A log whose ring is small takes less, see Log.MaxBody.
	MaxGroup = 1 << 20

	flagPadding = groupAlign - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// groupSize is the length of the group around a body of n bytes.
func groupSize(n int) int { return (groupHeader + n + groupAlign - 1) &^ (groupAlign - 1) }

// header is a group's first 32 bytes.
type header struct {
	size  uint32
	body  uint32
	lsn   page.LSN
	life  uint64
	flags uint32
}

func (h *header) encode(b *[groupHeader]byte) {
	binary.LittleEndian.PutUint32(b[0:], h.size)
	binary.LittleEndian.PutUint32(b[4:], h.body)
	binary.LittleEndian.PutUint64(b[8:], uint64(h.lsn))
	binary.LittleEndian.PutUint64(b[16:], h.life)
	binary.LittleEndian.PutUint32(b[24:], h.flags)
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
}

// decodeHeader reads the header of the group that starts at lsn, or says why there is none.
func decodeHeader(b []byte, lsn page.LSN) (h header, why string) {
	if len(b) < groupHeader {
		return h, "no room for a header"
	}
	h = header{
		size:  binary.LittleEndian.Uint32(b[0:]),
		body:  binary.LittleEndian.Uint32(b[4:]),
		lsn:   page.LSN(binary.LittleEndian.Uint64(b[8:])),
		life:  binary.LittleEndian.Uint64(b[16:]),
		flags: binary.LittleEndian.Uint32(b[24:]),
	}
	switch {
	case h.size == 0:
		return h, "nothing was written there"
	case h.lsn != lsn:
		return h, "other bytes, or a group of another place"
	case binary.LittleEndian.Uint32(b[28:]) != crc32.Checksum(b[:28], castagnoli):
		return h, "header checksum"
	case h.size%groupAlign != 0 || h.size < groupHeader || h.size > MaxGroup:
		return h, fmt.Sprintf("length %d", h.size)
	case h.flags&^flagPadding != 0 || int(h.size)-groupHeader < int(h.flags&flagPadding):
		return h, fmt.Sprintf("flags %#x", h.flags)
	}
	return h, ""
}

// bodyOf cuts the body out of a whole group, or says why it is not what was written.
func (h *header) bodyOf(group []byte) (body []byte, why string) {
	if len(group) < int(h.size) {
		return nil, "cut short"
	}
	body = group[groupHeader : h.size-h.flags&flagPadding]
	if crc32.Checksum(body, castagnoli) != h.body {
		return nil, "body checksum"
	}
	return body, ""
}
