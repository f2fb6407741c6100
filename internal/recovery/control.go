package recovery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// ControlFile is the name of the control file in the data directory.
const ControlFile = "control"

// NewSuffix ends the name of a control file that is being made.
const NewSuffix = ".new"

const (
	controlMagic = "HEARTHCT"
	// ControlFormat is the version of the control file, and of the data directory as a whole.
	ControlFormat = 1
	controlSlot   = 4096 // bytes: a block of its own for each slot, so that a torn write spoils one
	controlLen    = 112
)

// Control is what must be known before anything else can be: two slots of 4 KiB, written in turn.
//
//	  0 magic        8   "HEARTHCT"
//	  8 format       u32
//	 12 page size    u32
//	 16 uuid        16
//	 32 sequence     u64  the slot with the higher one is true
//	 40 incarnation  u64  counts starts
//	 48 nonce        u64  of the last start, drawn at random
//	 56 checkpoint   u64  LSN before which no record is needed
//	 64 segment size u64  of the log, bytes
//	 72 flags        u64  bit 0: stopped clean, every page written (CloseFlush); bit 1: redo on touch is not through
//	 80 ring size    u64  of the last start, bytes
//	 88 reserved    20
//	108 sum          u32  CRC32C of all before
type Control struct {
	UUID         [16]byte
	Sequence     uint64
	Incarnation  uint64
	Nonce        uint64
	Checkpoint   page.LSN
	SegmentBytes int64
	RingBytes    int64
	Flushed      bool
	Redoing      bool // pages that the region does not hold may lack records of the kept log in their files
}

// Flags of the control file.
const (
	flagFlushed uint64 = 1 << iota
	flagRedoing
)

// ErrNoControl says that a directory has no control file: there is no database in it.
var ErrNoControl = errors.New("no database here: the control file is missing")

// WrongVersionError is a control file of another format.
type WrongVersionError struct {
	File       string
	Got, Knows uint32
}

func (e *WrongVersionError) Error() string {
	return fmt.Sprintf("%s is of format %d, this program knows %d: use the version of hearth that wrote it", e.File, e.Got, e.Knows)
}

// Validate says what is wrong with a control value, on write and on read.
func (c *Control) Validate() error {
	switch {
	case c.UUID == [16]byte{}:
		return errors.New("it has no uuid")
	case c.Checkpoint == 0:
		return errors.New("it has no checkpoint")
	case c.SegmentBytes <= 0 || c.SegmentBytes%controlSlot != 0:
		return fmt.Errorf("log segments of %d bytes", c.SegmentBytes)
	}
	return nil
}

func (c *Control) encode() []byte {
	b := make([]byte, 0, controlLen)
	b = append(b, controlMagic...)
	b = binary.LittleEndian.AppendUint32(b, ControlFormat)
	b = binary.LittleEndian.AppendUint32(b, page.Size)
	b = append(b, c.UUID[:]...)
	flags := uint64(0)
	if c.Flushed {
		flags |= flagFlushed
	}
	if c.Redoing {
		flags |= flagRedoing
	}
	for _, v := range []uint64{c.Sequence, c.Incarnation, c.Nonce, uint64(c.Checkpoint), uint64(c.SegmentBytes), flags, uint64(c.RingBytes)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, make([]byte, controlLen-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// decodeControl reads one slot.
func decodeControl(b []byte) (Control, error) {
	var c Control
	if len(b) < controlLen {
		return c, fmt.Errorf("it ends after %d bytes", len(b))
	}
	b = b[:controlLen]
	if string(b[:8]) != controlMagic {
		return c, errors.New("it is no control file of hearth")
	}
	if got, want := binary.LittleEndian.Uint32(b[controlLen-4:]), crc32.Checksum(b[:controlLen-4], crc32.MakeTable(crc32.Castagnoli)); got != want {
		return c, fmt.Errorf("checksum is %08x, its bytes give %08x", got, want)
	}
	if f := binary.LittleEndian.Uint32(b[8:]); f != ControlFormat {
		return c, &WrongVersionError{Got: f, Knows: ControlFormat}
	}
	if n := binary.LittleEndian.Uint32(b[12:]); n != page.Size {
		return c, fmt.Errorf("pages of %d bytes, this program has %d", n, page.Size)
	}
	copy(c.UUID[:], b[16:])
	u := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	c.Sequence, c.Incarnation, c.Nonce = u(32), u(40), u(48)
	c.Checkpoint, c.SegmentBytes, c.RingBytes = page.LSN(u(56)), int64(u(64)), int64(u(80))
	c.Flushed, c.Redoing = u(72)&flagFlushed != 0, u(72)&flagRedoing != 0
	return c, c.Validate()
}

// ReadControl reads the control file of a data directory.
func ReadControl(fsys file.FS, dir string) (Control, error) {
	name := filepath.Join(dir, ControlFile)
	f, err := fsys.OpenFile(name, file.ReadOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Control{}, fmt.Errorf("%s: %w", dir, ErrNoControl)
	} else if err != nil {
		return Control{}, err
	}
	defer f.Close()
	buf := make([]byte, 2*controlSlot)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Control{}, fmt.Errorf("read %s: %w", name, err)
	}
	buf = buf[:n]
	a, errA := decodeControl(buf)
	b, errB := decodeControl(buf[min(n, controlSlot):])
	switch {
	case errA == nil && (errB != nil || a.Sequence >= b.Sequence):
		return a, nil
	case errB == nil:
		return b, nil
	}
	var wrong *WrongVersionError
	if errors.As(errA, &wrong) || errors.As(errB, &wrong) {
		wrong.File = name
		return Control{}, wrong
	}
	return Control{}, &page.CorruptError{File: name, What: fmt.Sprintf("neither slot of the control file is whole: %v; %v", errA, errB)}
}

// CreateControl makes the control file of a new database, whole or not at all.
func CreateControl(fsys file.FS, dir string, c *Control) error {
	name := filepath.Join(dir, ControlFile)
	if err := writeControl(fsys, name+NewSuffix, c); err != nil {
		return err
	}
	if err := fsys.Rename(name+NewSuffix, name); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// WriteControl makes the next control value durable. It raises c.Sequence.
func WriteControl(fsys file.FS, dir string, c *Control) error {
	return writeControl(fsys, filepath.Join(dir, ControlFile), c)
}

func writeControl(fsys file.FS, name string, c *Control) error {
	if err := c.Validate(); err != nil {
		panic(fmt.Sprintf("BUG: control: %v", err))
	}
	f, err := fsys.OpenFile(name, file.ReadWrite|file.Create, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	c.Sequence++
	slot := make([]byte, controlSlot)
	copy(slot, c.encode())
	if _, err := f.WriteAt(slot, int64(c.Sequence%2)*controlSlot); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}
