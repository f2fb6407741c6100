package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// Segment n holds the bytes of the log from n*P to (n+1)*P, P = SegmentBytes - 4096. The file, little endian:
//
//	0    magic "HEARTHWL"
//	8    format  u32
//	12   -       u32
//	16   uuid    of the database
//	32   n       u64
//	40   size    u64  SegmentBytes
//	48   sum     u32  CRC32C of bytes 0-47
//	4096 the bytes of the log
//
// A group may begin in one segment and end in another.
const (
	// blockSize, in bytes, is what files are written in, and so what LSNs, ring and files must agree on modulo.
	blockSize = file.Alignment

	// DefaultSegmentBytes is the length of a segment file. An index of one takes a few MiB to build, and 16 make a log of 1 GiB.
	DefaultSegmentBytes = 64 << 20

	// MinSegmentBytes is the smallest segment: an index counts positions in a segment in units of 8 with 32 bits, so
	// MaxSegmentBytes exists; below a block of payload there is no segment.
	MinSegmentBytes = 2 * blockSize
	MaxSegmentBytes = 4 << 30

	segmentMagic      = "HEARTHWL"
	segmentFormat     = 1
	segmentHeaderSize = 52

	filePerm = 0o600
	dirPerm  = 0o700

	indexSuffix = ".idx"
	sparePrefix = "spare-"
	prepareName = "prepare.tmp"
	indexTmp    = "index.tmp"
)

func segmentName(n uint64) string { return fmt.Sprintf("%016x.log", n) }
func indexName(n uint64) string   { return segmentName(n) + indexSuffix }
func spareName(n uint64) string   { return fmt.Sprintf("%s%016x", sparePrefix, n) }

func down(lsn page.LSN) page.LSN { return lsn &^ (blockSize - 1) }
func up(lsn page.LSN) page.LSN   { return down(lsn + blockSize - 1) }

// layout says where in the files the bytes of the log are.
type layout struct {
	fs    file.FS
	dir   string
	uuid  [16]byte
	bytes int64 // SegmentBytes
}

func (y *layout) check() error {
	if y.bytes%blockSize != 0 || y.bytes < MinSegmentBytes || y.bytes > MaxSegmentBytes {
		return fmt.Errorf("log segments of %d bytes: must be a multiple of %d from %d to %d", y.bytes, blockSize, MinSegmentBytes, int64(MaxSegmentBytes))
	}
	return nil
}

func (y *layout) payload() page.LSN             { return page.LSN(y.bytes - blockSize) }
func (y *layout) segmentOf(lsn page.LSN) uint64 { return uint64(lsn / y.payload()) }
func (y *layout) startOf(n uint64) page.LSN     { return page.LSN(n) * y.payload() }
func (y *layout) offsetOf(lsn page.LSN) int64   { return blockSize + int64(lsn%y.payload()) }
func (y *layout) path(name string) string       { return filepath.Join(y.dir, name) }
func (y *layout) segmentPath(n uint64) string   { return y.path(segmentName(n)) }

func (y *layout) header(n uint64) []byte {
	b := make([]byte, segmentHeaderSize)
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint32(b[8:], segmentFormat)
	copy(b[16:], y.uuid[:])
	binary.LittleEndian.PutUint64(b[32:], n)
	binary.LittleEndian.PutUint64(b[40:], uint64(y.bytes))
	binary.LittleEndian.PutUint32(b[48:], crc32.Checksum(b[:48], castagnoli))
	return b
}

// SegmentError says why a segment file cannot be used.
type SegmentError struct {
	File string
	What string // "header checksum", "belongs to another database"
}

func (e *SegmentError) Error() string { return fmt.Sprintf("log segment %s: %s", e.File, e.What) }

// checkHeader says what is wrong with the header of segment n; empty when nothing is.
func (y *layout) checkHeader(b []byte, n uint64) string {
	if len(b) < segmentHeaderSize {
		return "shorter than its header"
	}
	b = b[:segmentHeaderSize]
	switch {
	case string(b[:8]) != segmentMagic:
		return "not a log segment"
	case crc32.Checksum(b[:48], castagnoli) != binary.LittleEndian.Uint32(b[48:]):
		return "header checksum"
	case binary.LittleEndian.Uint32(b[8:]) != segmentFormat:
		return fmt.Sprintf("format %d, this program knows %d", binary.LittleEndian.Uint32(b[8:]), segmentFormat)
	case !bytes.Equal(b[16:32], y.uuid[:]):
		return "belongs to another database"
	case binary.LittleEndian.Uint64(b[32:]) != n:
		return fmt.Sprintf("is segment %d, want %d", binary.LittleEndian.Uint64(b[32:]), n)
	case binary.LittleEndian.Uint64(b[40:]) != uint64(y.bytes):
		return fmt.Sprintf("made for segments of %d bytes, the segment size set is %d", binary.LittleEndian.Uint64(b[40:]), y.bytes)
	}
	return ""
}

// open opens segment n and checks its header. fs.ErrNotExist when there is none, *SegmentError when it is none.
func (y *layout) open(n uint64, flag file.OpenFlag) (file.File, error) {
	f, err := y.fs.OpenFile(y.segmentPath(n), flag, filePerm)
	if err != nil {
		return nil, err
	}
	if err := y.checkFile(f, n); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (y *layout) checkFile(f file.File, n uint64) error {
	b := file.AlignedBuf(blockSize)
	got, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if what := y.checkHeader(b[:got], n); what != "" {
		return &SegmentError{f.Name(), what}
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	if size < y.bytes {
		return &SegmentError{f.Name(), fmt.Sprintf("%d bytes long, want %d", size, y.bytes)}
	}
	return nil
}

// absent says that err means "there is no such segment", as opposed to "the disk does not answer".
func absent(err error) bool {
	var bad *SegmentError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &bad)
}

// listing is what lies in the log's directory.
type listing struct {
	segments []uint64 // ascending
	indexes  map[uint64]bool
	spares   []string
	litter   []string // half-made files
}

func (y *layout) list() (listing, error) {
	l := listing{indexes: map[uint64]bool{}}
	entries, err := y.fs.ReadDir(y.dir)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		name := e.Name()
		var n uint64
		_, scanErr := fmt.Sscanf(name, "%016x.log", &n)
		switch {
		case scanErr == nil && name == segmentName(n):
			l.segments = append(l.segments, n)
		case scanErr == nil && name == indexName(n):
			l.indexes[n] = true
		case strings.HasPrefix(name, sparePrefix):
			l.spares = append(l.spares, name)
		case name == prepareName || name == indexTmp:
			l.litter = append(l.litter, name)
		}
	}
	return l, nil
}
