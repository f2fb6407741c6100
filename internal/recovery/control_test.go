package recovery

import (
	"errors"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

func someControl() Control {
	return Control{UUID: [16]byte{1}, Incarnation: 3, Nonce: 99, Checkpoint: 4096, SegmentBytes: 1 << 20, RingBytes: 1 << 20}
}

// Of two slots the younger whole one is true; a write that a power cut tears spoils the older.
func TestControlSlots(t *testing.T) {
	disk := file.NewMem(1)
	if err := disk.MkdirAll("/db", 0o700); err != nil {
		t.Fatal(err)
	}
	c := someControl()
	for range 3 {
		c.Checkpoint += 8
		if err := WriteControl(disk, "/db", &c); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadControl(disk, "/db"); err != nil || got != c {
		t.Fatalf("read %+v, want %+v (%v)", got, c, err)
	}
	f, err := disk.OpenFile("/db/"+ControlFile, file.ReadWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, int64(c.Sequence%2)*controlSlot+60); err != nil {
		t.Fatal(err)
	}
	got, err := ReadControl(disk, "/db")
	if err != nil || got.Sequence != c.Sequence-1 {
		t.Errorf("with the younger slot damaged: %+v, %v", got, err)
	}
	if _, err := f.WriteAt([]byte{0xff}, int64((c.Sequence+1)%2)*controlSlot+60); err != nil {
		t.Fatal(err)
	}
	var corrupt *page.CorruptError
	if _, err := ReadControl(disk, "/db"); !errors.As(err, &corrupt) || corrupt.File == "" {
		t.Errorf("with both slots damaged: %v", err)
	}
	if _, err := ReadControl(disk, "/none"); !errors.Is(err, ErrNoControl) {
		t.Errorf("without a file: %v", err)
	}
}

func FuzzDecodeControl(f *testing.F) {
	c := someControl()
	f.Add(c.encode())
	f.Add([]byte("HEARTHCT"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeControl(b)
		if err == nil && string(got.encode()) != string(b[:controlLen]) {
			t.Errorf("%+v does not encode to what it was read from", got)
		}
	})
}
