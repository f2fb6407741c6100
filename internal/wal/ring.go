package wal

import (
	"bytes"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

const (
	// maxWrite, in bytes, is the most one write hands to the disk: past it a disk gets no faster, and a waiter behind it waits longer.
	maxWrite = 4 << 20

	// smallWrite, in bytes: up to here copying is cheaper than a vectored write from the ring.
	smallWrite = 64 << 10
)

// ring is the memory that holds the end of the log: the byte at lsn is at lsn modulo its length.
type ring []byte

func (r ring) at(lsn page.LSN) int { return int(lsn % page.LSN(len(r))) }

// put copies b to pos and says where it ended.
func (r ring) put(pos int, b []byte) int {
	n := copy(r[pos:], b)
	if n < len(b) {
		return copy(r, b[n:])
	}
	if pos += n; pos == len(r) {
		return 0
	}
	return pos
}

// get copies what is at lsn into b.
func (r ring) get(b []byte, lsn page.LSN) {
	n := copy(b, r[r.at(lsn):])
	copy(b[n:], r)
}

// append adds the pieces of memory that hold [from, to) to vec.
func (r ring) append(vec [][]byte, from, to page.LSN) [][]byte {
	if from == to {
		return vec
	}
	n, pos := int(to-from), r.at(from)
	if pos+n <= len(r) {
		return append(vec, r[pos:pos+n])
	}
	return append(vec, r[pos:], r[:pos+n-len(r)])
}

// drain carries bytes from a ring to segments.
type drain struct {
	*layout
	ring    ring
	scratch []byte
	vec     [][]byte
}

func newDrain(y *layout, r ring) drain {
	return drain{layout: y, ring: r, scratch: file.AlignedBuf(smallWrite + blockSize)}
}

// agrees says whether ring and segment hold the same bytes before lsn in its block.
func (d *drain) agrees(f file.File, lsn page.LSN) (bool, error) {
	b := d.scratch[:blockSize]
	if _, err := f.ReadAt(b, d.offsetOf(down(lsn))); err != nil {
		return false, err
	}
	n := int(lsn - down(lsn))
	return bytes.Equal(b[:n], d.ring[d.ring.at(down(lsn)):][:n]), nil
}

// fill copies the bytes before lsn that are in its block from the segment into the ring, so that the block can be written again.
func (d *drain) fill(f file.File, lsn page.LSN) error {
	n := int(lsn - down(lsn))
	if n == 0 {
		return nil
	}
	b := d.scratch[:blockSize]
	if _, err := f.ReadAt(b, d.offsetOf(down(lsn))); err != nil {
		return err
	}
	d.ring.put(d.ring.at(down(lsn)), b[:n])
	return nil
}

// write gives [from, to) to segment s in one call and says how many bytes that took. from is the start of a block, and
// unless last, so is to. Behind the last byte go the zeroes of rule 5.
func (d *drain) write(s *segment, from, to page.LSN, last bool) (int, error) {
	// The block in which the log ends is copied: appenders write behind to while the disk reads.
	whole := down(to)
	pad := int(up(to) - to)
	if last && pad == 0 && to < s.to {
		pad = blockSize
	}
	off := d.offsetOf(from)
	if n := int(to-from) + pad; n <= len(d.scratch) {
		d.ring.get(d.scratch[:to-from], from)
		clear(d.scratch[to-from : n])
		_, err := s.f.WriteAt(d.scratch[:n], off)
		return n, err
	}
	d.vec = d.ring.append(d.vec[:0], from, whole)
	if tail := int(to-whole) + pad; tail > 0 {
		d.ring.get(d.scratch[:to-whole], whole)
		clear(d.scratch[to-whole : tail])
		d.vec = append(d.vec, d.scratch[:tail])
	}
	return s.f.WriteVecAt(d.vec, off)
}
