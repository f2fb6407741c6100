package bench

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// keySize and valueSize make the row of all measurements against peers.
const (
	keySize   = 16
	valueSize = 120
)

// rows is a table of n rows that nobody has to store: row i has a key and a value
// that follow from i. Keys look like random bytes, spread evenly over the key space,
// yet ascend with i, so that a load can run in key order.
type rows struct{ n int }

// key writes the key of row i to the front of buf and returns it.
func (r rows) key(buf []byte, i int) []byte {
	stride := ^uint64(0)/uint64(r.n) - 1
	h := mix(uint64(i))
	jitter, _ := bits.Mul64(h, stride) // uniform in [0, stride)
	binary.BigEndian.PutUint64(buf, uint64(i)*stride+jitter)
	binary.BigEndian.PutUint64(buf[8:], mix(h))
	return buf[:keySize]
}

// value writes a value of row i. Its first 8 bytes tell the row, the others differ from
// one version to the next and do not compress.
func (r rows) value(buf []byte, i int, version uint64) []byte {
	binary.LittleEndian.PutUint64(buf, mix(uint64(i)))
	x := mix(uint64(i) ^ version<<32)
	for at := 8; at < valueSize; at += 8 {
		x = x*0x9e3779b97f4a7c15 + 1
		binary.LittleEndian.PutUint64(buf[at:], x)
	}
	return buf[:valueSize]
}

// check says whether v is a value of row i.
func (r rows) check(v []byte, i int) error {
	if len(v) != valueSize || binary.LittleEndian.Uint64(v) != mix(uint64(i)) {
		return fmt.Errorf("row %d: wrong value of %d bytes", i, len(v))
	}
	return nil
}

// mix is the finalizer of splitmix64: a permutation of the 64-bit numbers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// newRand gives worker w of a measurement its own reproducible randomness.
func newRand(seed uint64, w int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, mix(uint64(w)+1)))
}
