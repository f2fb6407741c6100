package meddle

import (
	"fmt"
	"math/rand/v2"
	"os"
)

// Where the parts of a region lie, and what a descriptor takes, in bytes. The table is that of package region, repeated: a
// stranger with a debugger would not ask it either. headerBytes are those that mean something.
const (
	headerBytes       = 8192 + 80
	ringOffset        = 64 << 10
	descriptorsOffset = 1 << 40
	descriptorBytes   = 64
	framesOffset      = 1 << 42
	frameBytes        = 16 << 10
	ringUnit          = 1 << 20
)

// mostDamage is how many bytes of a region are overwritten at most.
const mostDamage = 4

// damage overwrites random bytes of the header or of the descriptors, and says which.
func damage(rnd *rand.Rand, path string, what What) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from, n := int64(0), int64(headerBytes)
	if what == Descriptors {
		from, n = descriptorsOffset, (info.Size()-framesOffset)/frameBytes*descriptorBytes
	}
	if info.Size() < from+n || n <= 0 {
		return "nothing: the region was not finished", nil
	}
	told := ""
	for range 1 + rnd.IntN(mostDamage) {
		at := from + rnd.Int64N(n)
		if what == Header && rnd.IntN(2) == 0 { // most of the header is empty: aim at what is not
			starts := [...]int64{0, 64, 4096, 8192}
			at = starts[rnd.IntN(len(starts))] + rnd.Int64N(80)
		}
		var b [1]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return "", err
		}
		old := b[0]
		b[0] ^= byte(1 + rnd.IntN(255))
		if _, err := f.WriteAt(b[:], at); err != nil {
			return "", err
		}
		told += fmt.Sprintf(" %#x: %02x→%02x", at, old, b[0])
	}
	return told, nil
}
