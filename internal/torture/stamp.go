package torture

import (
	"encoding/binary"
	"fmt"
	"io"
)

// stamp names one change, and the size of the value it put.
type stamp struct {
	writer uint16
	n      uint32 // of the changes of one transaction; one number may cover rows of several trees
	seq    uint64 // of the writer's transactions
	size   uint32 // bytes of the whole value
}

func (s stamp) String() string {
	return fmt.Sprintf("writer %d transaction %d change %d (%d bytes)", s.writer, s.seq, s.n, s.size)
}

// The head of a value: 0 writer u16 · 2 zero u16 · 4 n u32 · 8 seq u64 · 16 size u32 · 20 hash of tree and key u32.
const headSize = 24

// A value is the head and then words that follow from it, so that bytes of another value, or of another place in the
// same one, are seen to be wrong.
func (s stamp) head(place uint32) (h [headSize]byte) {
	binary.LittleEndian.PutUint16(h[0:], s.writer)
	binary.LittleEndian.PutUint32(h[4:], s.n)
	binary.LittleEndian.PutUint64(h[8:], s.seq)
	binary.LittleEndian.PutUint32(h[16:], s.size)
	binary.LittleEndian.PutUint32(h[20:], place)
	return h
}

func parseHead(b []byte) (s stamp, place uint32, ok bool) {
	if len(b) < headSize {
		return s, 0, false
	}
	s.writer = binary.LittleEndian.Uint16(b[0:])
	s.n = binary.LittleEndian.Uint32(b[4:])
	s.seq = binary.LittleEndian.Uint64(b[8:])
	s.size = binary.LittleEndian.Uint32(b[16:])
	return s, binary.LittleEndian.Uint32(b[20:]), b[2]|b[3] == 0
}

// place is where a value belongs.
func place(tree string, key []byte) uint32 {
	h := fnvOffset
	for i := range len(tree) {
		h = (h ^ uint32(tree[i])) * fnvPrime
	}
	h = (h ^ 0xff) * fnvPrime // no name contains it
	for _, c := range key {
		h = (h ^ uint32(c)) * fnvPrime
	}
	return h
}

// FNV-1a, written out: the same in every process, and no allocation.
const (
	fnvOffset uint32 = 2166136261
	fnvPrime  uint32 = 16777619
)

// value makes the bytes of a value in dst.
func (s stamp) value(dst []byte, tree string, key []byte) []byte {
	f := s.filler(place(tree, key))
	if cap(dst) < int(s.size) {
		dst = make([]byte, s.size)
	}
	dst = dst[:s.size]
	f.read(dst)
	return dst
}

// filler gives the bytes of a value from the front.
type filler struct {
	head  [headSize]byte
	seed  uint64
	at    int // bytes given
	total int
}

func (s stamp) filler(place uint32) filler {
	seed := mix(uint64(s.writer)<<32 ^ uint64(s.n) ^ mix(s.seq^uint64(place)<<20))
	return filler{head: s.head(place), seed: seed, total: int(s.size)}
}

func mix(x uint64) uint64 { // splitmix64's finish
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// read fills p, or less of it at the end of the value.
func (f *filler) read(p []byte) int {
	p = p[:min(len(p), f.total-f.at)]
	n := 0
	for n < len(p) {
		switch {
		case f.at < headSize:
			c := copy(p[n:], f.head[f.at:])
			n, f.at = n+c, f.at+c
		case f.at%8 == 0 && len(p)-n >= 8:
			binary.LittleEndian.PutUint64(p[n:], f.word())
			n, f.at = n+8, f.at+8
		default:
			p[n] = byte(f.word() >> (f.at % 8 * 8))
			n, f.at = n+1, f.at+1
		}
	}
	return n
}

// word is the eight bytes around the position.
func (f *filler) word() uint64 { return mix(f.seed + uint64(f.at/8)*0x9e3779b97f4a7c15) }

// Read makes a filler an io.Reader, for values that are streamed.
func (f *filler) Read(p []byte) (int, error) {
	if f.at == f.total {
		return 0, io.EOF
	}
	return f.read(p), nil
}

// verifyPiece is how many bytes of a value are compared at once.
const verifyPiece = 4096

// verify compares a value with what its head says it must be, reading it piece by piece.
func verify(r io.Reader, size int64, tree string, key []byte) (stamp, error) {
	var got, want [verifyPiece]byte
	head := got[:min(size, headSize)]
	if _, err := io.ReadFull(r, head); err != nil {
		return stamp{}, fmt.Errorf("read the head: %w", err)
	}
	s, at, ok := parseHead(head)
	switch {
	case !ok:
		return s, fmt.Errorf("%d bytes are no value of ours, they begin with %x", size, head)
	case at != place(tree, key):
		return s, fmt.Errorf("the value of %v belongs to another key", s)
	case int64(s.size) != size:
		return s, fmt.Errorf("the value of %v has %d bytes", s, size)
	}
	f := s.filler(at)
	f.read(want[:headSize])
	for at := int64(headSize); at < size; {
		n := min(size-at, verifyPiece)
		if _, err := io.ReadFull(r, got[:n]); err != nil {
			return s, fmt.Errorf("read the value of %v at %d: %w", s, at, err)
		}
		f.read(want[:n])
		if string(got[:n]) != string(want[:n]) {
			return s, fmt.Errorf("the value of %v has other bytes somewhere in [%d,%d)", s, at, at+n)
		}
		at += n
	}
	return s, nil
}
