package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/hearthdb/hearth/internal/page"
)

// An index tells which pages the groups that start in a segment name, and how its transactions stood at the end. Little endian:
//
//	0  magic "HEARTHWX"
//	8  format u32
//	12 pages  u32
//	16 uuid   of the database
//	32 n      u64  the segment
//	40 first  u64  LSN of the first group that starts in it, or in a later one
//	48 end    u64  LSN of the first group that starts in a later one
//	56 lsns   u32  all pages' together
//	60 txs    u32
//	64 size   u32  of what follows the header
//	68 sum    u32  CRC32C of bytes 0-67 and of what follows the header
//	72 by page, ascending: id minus the one before, uvarint; how many LSNs, uvarint; each minus the one before (first
//	   minus the LSN before it), in units of 8, uvarint
//	   by transaction, ascending: id minus the one before, uvarint; page id, uvarint; 1 if it ended, u8
const (
	indexMagic      = "HEARTHWX"
	indexFormat     = 1
	indexHeaderSize = 72
)

// TxState is the last a segment says of a transaction.
type TxState struct {
	ID    uint64
	Page  page.ID // whose edit said so
	Ended bool
}

// Index is the index of one segment, in memory. It does not change.
type Index struct {
	Segment uint64
	First   page.LSN // where the first group starts
	End     page.LSN // where the last one ends. Below the end of the segment when that is damaged or not sealed
	Txs     []TxState

	pages []page.ID
	upTo  []uint32 // where in lsns those of a page end
	lsns  []uint32 // (LSN - First) / groupAlign
}

// Pages are the ids of the pages named, ascending. Not to be changed.
func (x *Index) Pages() []page.ID { return x.pages }

// LSNs are the starts of the groups that name a page, ascending.
func (x *Index) LSNs(id page.ID) []page.LSN { return x.AppendLSNs(nil, id) }

// AppendLSNs appends LSNs(id) to dst.
func (x *Index) AppendLSNs(dst []page.LSN, id page.ID) []page.LSN {
	i, ok := slices.BinarySearch(x.pages, id)
	if !ok {
		return dst
	}
	from := uint32(0)
	if i > 0 {
		from = x.upTo[i-1]
	}
	for _, rel := range x.lsns[from:x.upTo[i]] {
		dst = append(dst, x.First+page.LSN(rel)*groupAlign)
	}
	return dst
}

// LastGroup is the start of the last group that starts in the segment, if one does.
func (x *Index) LastGroup() (page.LSN, bool) {
	if len(x.lsns) == 0 {
		return 0, false
	}
	return x.First + page.LSN(slices.Max(x.lsns))*groupAlign, true
}

func (x *Index) encode(uuid [16]byte) []byte {
	b := make([]byte, indexHeaderSize, indexHeaderSize+4*len(x.pages)+3*len(x.lsns)+8*len(x.Txs))
	last, from := page.ID(0), uint32(0)
	for i, id := range x.pages {
		b = binary.AppendUvarint(b, uint64(id-last))
		b = binary.AppendUvarint(b, uint64(x.upTo[i]-from))
		before := uint32(0)
		for _, rel := range x.lsns[from:x.upTo[i]] {
			b = binary.AppendUvarint(b, uint64(rel-before))
			before = rel
		}
		last, from = id, x.upTo[i]
	}
	lastTx := uint64(0)
	for _, t := range x.Txs {
		b = binary.AppendUvarint(b, t.ID-lastTx)
		b = binary.AppendUvarint(b, uint64(t.Page))
		ended := byte(0)
		if t.Ended {
			ended = 1
		}
		b = append(b, ended)
		lastTx = t.ID
	}
	copy(b, indexMagic)
	binary.LittleEndian.PutUint32(b[8:], indexFormat)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(x.pages)))
	copy(b[16:], uuid[:])
	binary.LittleEndian.PutUint64(b[32:], x.Segment)
	binary.LittleEndian.PutUint64(b[40:], uint64(x.First))
	binary.LittleEndian.PutUint64(b[48:], uint64(x.End))
	binary.LittleEndian.PutUint32(b[56:], uint32(len(x.lsns)))
	binary.LittleEndian.PutUint32(b[60:], uint32(len(x.Txs)))
	binary.LittleEndian.PutUint32(b[64:], uint32(len(b)-indexHeaderSize))
	binary.LittleEndian.PutUint32(b[68:], indexSum(b))
	return b
}

func indexSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:68], castagnoli), castagnoli, b[indexHeaderSize:])
}

// decodeIndex reads the index of segment n. It is total: every byte is doubted, sum or not.
func (y *layout) decodeIndex(b []byte, n uint64) (*Index, error) {
	bad := func(format string, args ...any) (*Index, error) {
		return nil, fmt.Errorf("log index %s: %s", y.path(indexName(n)), fmt.Sprintf(format, args...))
	}
	if len(b) < indexHeaderSize {
		return bad("shorter than its header")
	}
	x := &Index{
		Segment: binary.LittleEndian.Uint64(b[32:]),
		First:   page.LSN(binary.LittleEndian.Uint64(b[40:])),
		End:     page.LSN(binary.LittleEndian.Uint64(b[48:])),
	}
	pages, lsns, txs := binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint32(b[56:]), binary.LittleEndian.Uint32(b[60:])
	rest := b[indexHeaderSize:]
	switch {
	case string(b[:8]) != indexMagic:
		return bad("not a log index")
	case binary.LittleEndian.Uint32(b[8:]) != indexFormat:
		return bad("format %d, this program knows %d", binary.LittleEndian.Uint32(b[8:]), indexFormat)
	case !bytes.Equal(b[16:32], y.uuid[:]):
		return bad("belongs to another database")
	case x.Segment != n:
		return bad("is of segment %d", x.Segment)
	case int64(binary.LittleEndian.Uint32(b[64:])) != int64(len(rest)):
		return bad("%d bytes long, its header says %d", len(rest), binary.LittleEndian.Uint32(b[64:]))
	case binary.LittleEndian.Uint32(b[68:]) != indexSum(b):
		return bad("checksum")
	case x.First < y.startOf(n) || x.First%groupAlign != 0 || x.End < x.First || x.End < y.startOf(n+1) || x.End-y.startOf(n+1) >= MaxGroup:
		return bad("groups from %d to %d", x.First, x.End)
	case int64(pages)+int64(lsns) > int64(len(rest)) || int64(txs) > int64(len(rest)):
		return bad("counts %d, %d and %d in %d bytes", pages, lsns, txs, len(rest))
	}
	r := varints{b: rest}
	x.pages = make([]page.ID, 0, pages)
	x.upTo = make([]uint32, 0, pages)
	x.lsns = make([]uint32, 0, lsns)
	units := uint64(x.End-x.First) / groupAlign
	id := uint64(0)
	for i := range pages {
		delta, count := r.next(), r.next()
		if r.bad || count == 0 || count > uint64(lsns)-uint64(len(x.lsns)) || i > 0 && delta == 0 || id+delta < id {
			return bad("page %d of %d", i, pages)
		}
		id += delta
		rel := uint64(0)
		for j := range count {
			step := r.next()
			if r.bad || j > 0 && step == 0 || step >= units || rel+step >= units {
				return bad("positions of page %s", page.ID(id))
			}
			rel += step
			x.lsns = append(x.lsns, uint32(rel))
		}
		x.pages = append(x.pages, page.ID(id))
		x.upTo = append(x.upTo, uint32(len(x.lsns)))
	}
	tx := uint64(0)
	x.Txs = make([]TxState, 0, txs)
	for i := range txs {
		delta, id, ended := r.next(), r.next(), r.byte()
		if r.bad || i > 0 && delta == 0 || tx+delta < tx || ended > 1 {
			return bad("transaction %d of %d", i, txs)
		}
		tx += delta
		x.Txs = append(x.Txs, TxState{tx, page.ID(id), ended == 1})
	}
	if len(r.b) != 0 || len(x.lsns) != int(lsns) {
		return bad("more bytes than its counts")
	}
	return x, nil
}

// varints reads what encode appended; bad stays once it is set.
type varints struct {
	b   []byte
	bad bool
}

func (r *varints) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *varints) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}
