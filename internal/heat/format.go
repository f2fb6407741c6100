package heat

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

const (
	magic = "HEARTHHD"
	// Version of the dump format.
	Version = 1

	headerLen = 72
	bandLen   = 16
	idLen     = 8
	sumLen    = 4

	// maxBands bounds the band table. Bands are powers of two of a word of 32 bits.
	maxBands = 33
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header of a dump.
type Header struct {
	UUID   [16]byte
	LSN    page.LSN
	At     time.Time
	Frames uint64 // of the pool it was made of
	Pages  uint64
	Bands  []Band
}

// Band is pages that are about as hot as each other.
type Band struct {
	Heat  uint32 // heat word (package pool) of the coldest it may hold
	Pages uint64
}

// DamagedError reports a dump whose bytes contradict themselves.
type DamagedError struct {
	File string
	What string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the heat dump %s is damaged: %s (it is not needed: delete it, or load another one)", e.File, e.What)
}

// VersionError reports a dump of another format.
type VersionError struct {
	File string
	Got  uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the heat dump %s is of version %d, this program knows %d: use the version of hearth that wrote it, or make a new dump", e.File, e.Got, Version)
}

// size is how long a dump with such a header is.
func (h *Header) size() int64 {
	return headerLen + bandLen*int64(len(h.Bands)) + idLen*int64(h.Pages) + sumLen
}

// validate says what is wrong with a header, on write and on read.
func (h *Header) validate() string {
	if h.UUID == [16]byte{} {
		return "it has no uuid"
	}
	if len(h.Bands) > maxBands {
		return fmt.Sprintf("it has %d bands, want at most %d", len(h.Bands), maxBands)
	}
	var sum uint64
	for i, b := range h.Bands {
		switch {
		case b.Pages == 0:
			return fmt.Sprintf("band %d is empty", i)
		case i > 0 && b.Heat >= h.Bands[i-1].Heat:
			return fmt.Sprintf("band %d has heat %d, the one before %d", i, b.Heat, h.Bands[i-1].Heat)
		case b.Pages > h.Pages-sum:
			return fmt.Sprintf("its bands have more pages than the %d it says", h.Pages)
		}
		sum += b.Pages
	}
	if sum != h.Pages {
		return fmt.Sprintf("its bands have %d pages, it says %d", sum, h.Pages)
	}
	return ""
}

// encode is the header and the band table.
func (h *Header) encode() []byte {
	if what := h.validate(); what != "" {
		panic("BUG: a heat dump is to be written, but " + what)
	}
	b := make([]byte, 0, headerLen+bandLen*len(h.Bands))
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, Version)
	b = binary.BigEndian.AppendUint32(b, page.Size)
	b = append(b, h.UUID[:]...)
	for _, v := range []uint64{uint64(h.LSN), uint64(h.At.UnixNano()), h.Frames, h.Pages} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(h.Bands)))
	b = binary.BigEndian.AppendUint32(b, 0)
	for _, band := range h.Bands {
		b = binary.BigEndian.AppendUint32(b, band.Heat)
		b = binary.BigEndian.AppendUint32(b, 0)
		b = binary.BigEndian.AppendUint64(b, band.Pages)
	}
	return b
}

// reader takes a dump apart. Any bytes may come.
type reader struct {
	in   *bufio.Reader
	sum  hash.Hash32
	name string
}

func (r *reader) damaged(format string, args ...any) error {
	return &DamagedError{r.name, fmt.Sprintf(format, args...)}
}

func (r *reader) read(b []byte) error {
	if _, err := io.ReadFull(r.in, b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.damaged("it ends in the middle")
		}
		return err // has the name
	}
	r.sum.Write(b)
	return nil
}

// Read reads a dump of size bytes, called name in errors, and proves it whole. It calls page for each page, band by band.
func Read(in io.Reader, size int64, name string, page func(band int, id page.ID)) (Header, error) {
	r := &reader{in: bufio.NewReaderSize(in, 64<<10), sum: crc32.New(castagnoli), name: name}
	h, err := r.header(size)
	if err != nil {
		return h, err
	}
	if err := r.ids(&h, page); err != nil {
		return h, err
	}
	want, b := r.sum.Sum32(), make([]byte, sumLen)
	if err := r.read(b); err != nil {
		return h, err
	}
	if got := binary.BigEndian.Uint32(b); got != want {
		return h, r.damaged("checksum is %08x, its bytes give %08x", got, want)
	}
	return h, nil
}

func (r *reader) header(size int64) (h Header, err error) {
	b := make([]byte, headerLen)
	// Of a file that is something else nobody is told that it may be deleted.
	if start, err := r.in.Peek(len(magic)); err == nil && string(start) != magic || err != nil && size > 0 && size < int64(len(magic)) {
		return h, fmt.Errorf("%s %w: it does not begin as one", r.name, ErrNotDump)
	}
	if size < headerLen+sumLen {
		return h, r.damaged("it has %d bytes, a header and a checksum take %d", size, headerLen+sumLen)
	}
	if err := r.read(b); err != nil {
		return h, err
	}
	u32 := func(off int) uint32 { return binary.BigEndian.Uint32(b[off:]) }
	u64 := func(off int) uint64 { return binary.BigEndian.Uint64(b[off:]) }
	if v := u32(8); v != Version {
		return h, &VersionError{r.name, v}
	}
	if n := u32(12); n != page.Size {
		return h, r.damaged("it is of pages of %d bytes, this program has %d", n, page.Size)
	}
	copy(h.UUID[:], b[16:])
	h.LSN, h.At, h.Frames, h.Pages = page.LSN(u64(32)), time.Unix(0, int64(u64(40))), u64(48), u64(56)
	bands := u32(64)
	if bands > maxBands {
		return h, r.damaged("it has %d bands, want at most %d", bands, maxBands)
	}
	if h.Pages > uint64(size)/idLen {
		return h, r.damaged("it says it has %d pages, but is %d bytes long", h.Pages, size)
	}
	h.Bands = make([]Band, bands)
	if want := h.size(); size != want {
		return h, r.damaged("it has %d bytes, want %d", size, want)
	}
	for i := range h.Bands {
		if err := r.read(b[:bandLen]); err != nil {
			return h, err
		}
		h.Bands[i] = Band{u32(0), u64(8)}
	}
	if what := h.validate(); what != "" {
		return h, r.damaged("%s", what)
	}
	return h, nil
}

func (r *reader) ids(h *Header, tell func(band int, id page.ID)) error {
	b := make([]byte, idLen)
	for i, band := range h.Bands {
		var last page.ID
		for n := range band.Pages {
			if err := r.read(b); err != nil {
				return err
			}
			id := page.ID(binary.BigEndian.Uint64(b))
			if id.Space() == 0 || n > 0 && id <= last {
				return r.damaged("page %v follows %v in band %d", id, last, i)
			}
			last = id
			tell(i, id)
		}
	}
	return nil
}
