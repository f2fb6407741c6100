package wal

import (
	"fmt"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// zeroChunk, in bytes, is how much of a new segment is zeroed at once: large enough for the disk's full speed,
// small enough that a commit beside it does not wait for long.
const zeroChunk = 1 << 20

// segment is a segment open for writing.
type segment struct {
	n    uint64
	f    file.File
	from page.LSN
	to   page.LSN
}

func (y *layout) asSegment(n uint64, f file.File) *segment {
	return &segment{n: n, f: f, from: y.startOf(n), to: y.startOf(n + 1)}
}

// reuseSegment makes what a life before left as segment n fit to be written. Errors are absent when it left nothing.
func (y *layout) reuseSegment(n uint64) (*segment, error) {
	f, err := y.open(n, file.ReadWrite|file.Direct)
	if err != nil {
		return nil, err
	}
	if err := y.bless(f, n); err != nil {
		f.Close()
		return nil, err
	}
	return y.asSegment(n, f), nil
}

// pace says, between two chunks of zeroes, that the rest is not worth its time, or by an error that nobody wants the segment any more.
type pace func() (hurry bool, err error)

func noHurry() (bool, error) { return false, nil }

// makeSegment makes segment n durably from a spare or new. It is zeroed by writing, so that a later fdatasync has no
// metadata to write. A crash in between leaves litter or a spare, or the whole segment.
func (y *layout) makeSegment(n uint64, spare string, ask pace) (*segment, error) {
	var f file.File
	var err error
	from := prepareName
	if spare != "" {
		from = spare
		f, err = y.openSpare(spare)
	} else {
		f, err = y.zeroes(ask)
	}
	if err == nil {
		if err = y.bless(f, n); err != nil {
			f.Close()
		}
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = y.fs.Rename(y.path(from), y.segmentPath(n))
	}
	if err == nil {
		err = y.fs.SyncDir(y.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("make log segment %s of %d bytes: %w", y.segmentPath(n), y.bytes, err)
	}
	f, err = y.open(n, file.ReadWrite|file.Direct)
	if err != nil {
		return nil, err
	}
	return y.asSegment(n, f), nil
}

// bless writes header and rule 5's zeroes, and syncs.
func (y *layout) bless(f file.File, n uint64) error {
	b := file.AlignedBuf(2 * blockSize)
	copy(b, y.header(n))
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Sync()
}

func (y *layout) openSpare(name string) (file.File, error) {
	f, err := y.fs.OpenFile(y.path(name), file.ReadWrite|file.Direct, filePerm)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size != y.bytes {
		// Its missing part would be allocated but not zeroed, so better none.
		err = fmt.Errorf("spare log segment %s: %d bytes, want %d", f.Name(), size, y.bytes)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (y *layout) zeroes(ask pace) (file.File, error) {
	f, err := y.fs.OpenFile(y.path(prepareName), file.ReadWrite|file.Create|file.Direct, filePerm)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		err = f.Allocate(0, y.bytes)
	}
	zero := file.AlignedBuf(int(min(zeroChunk, y.bytes)))
	for off, hurry := int64(0), false; err == nil && off < y.bytes && !hurry; off += int64(len(zero)) {
		if _, err = f.WriteAt(zero[:min(int64(len(zero)), y.bytes-off)], off); err == nil {
			hurry, err = ask()
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
