package meddle

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

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
