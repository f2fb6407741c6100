package torture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"
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
)

// mostDamage is how many bytes of a region are overwritten at most.
const mostDamage = 4

// damage overwrites random bytes of the header or of the descriptors, and says which.
func damage(rnd *rand.Rand, path string, what meddling) (string, error) {
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
	if what == meddleDescriptors {
		from, n = descriptorsOffset, (info.Size()-framesOffset)/frameBytes*descriptorBytes
	}
	if info.Size() < from+n || n <= 0 {
		return "nothing: the region was not finished", nil
	}
	told := ""
	for range 1 + rnd.IntN(mostDamage) {
		at := from + rnd.Int64N(n)
		if what == meddleHeader && rnd.IntN(2) == 0 { // most of the header is empty: aim at what is not
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

// copyRegion copies a region, holes and reservations as they are.
func copyRegion(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = copySparse(out, in)
	return errors.Join(err, out.Close())
}

func copySparse(out, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if err := out.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		} else if err != nil {
			return err
		}
		hole, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if err := copyRange(out, in, data, hole-data); err != nil {
			return err
		}
		at = hole
	}
	return reserveAs(out, in, size)
}

func copyRange(out, in *os.File, at, n int64) error {
	_, err := io.Copy(io.NewOffsetWriter(out, at), io.NewSectionReader(in, at, n))
	return err
}

// reserveAs gives out the reservations that a copy of the data alone does not have: all descriptors and frames that
// the size has room for, and of the ring what then is still missing.
func reserveAs(out, in *os.File, size int64) error {
	frames := (size - framesOffset) / frameBytes
	if frames <= 0 {
		return nil
	}
	for _, r := range [][2]int64{{0, ringOffset}, {descriptorsOffset, frames * descriptorBytes}, {framesOffset, frames * frameBytes}} {
		if err := unix.Fallocate(int(out.Fd()), 0, r[0], r[1]); err != nil {
			return err
		}
	}
	blocks := func(f *os.File) (int64, error) {
		var st unix.Stat_t
		err := unix.Fstat(int(f.Fd()), &st)
		return st.Blocks * 512, err
	}
	want, err := blocks(in)
	if err != nil {
		return err
	}
	for ring := int64(ringUnit); ; ring += ringUnit {
		have, err := blocks(out)
		if err != nil || have >= want {
			return err
		}
		if err := unix.Fallocate(int(out.Fd()), 0, ringOffset, ring); err != nil {
			return err
		}
	}
}
