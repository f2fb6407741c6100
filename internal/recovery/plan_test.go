package recovery

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/wal"
)

// TestRedoGoesOn: what a life had to redo and did not get to, before it died, is found by the next start.
func TestRedoGoesOn(t *testing.T) {
	disk := file.NewMem(1)
	dir := filepath.Join("/db", "log")
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := Control{UUID: [16]byte{1}, Checkpoint: wal.FirstLSN, SegmentBytes: 1 << 20}
	r := plain(t, 4)
	l, err := wal.Open(wal.Config{FS: disk, Dir: dir, UUID: c.UUID, SegmentBytes: c.SegmentBytes, Ring: r.Ring(), Incarnation: 1, Start: wal.FirstLSN})
	if err != nil {
		t.Fatal(err)
	}
	kept, dropped, untouched := page.MakeID(16, 5), page.MakeID(16, 6), page.MakeID(16, 7)
	var end page.LSN
	for _, id := range []page.ID{kept, dropped, kept, untouched} {
		if _, end, err = l.Append(wal.AppendRecord(nil, id, page.AppendFormat(nil, page.KindOverflow))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hold(r, 0, kept, end, wal.FirstLSN, region.StateReady)
	hold(r, 1, dropped, 0, 0, region.StateLoading) // its redo had begun

	in := Input{Control: c, Region: r, Frames: true, End: end,
		Log: wal.ReaderConfig{FS: disk, Dir: dir, UUID: c.UUID, SegmentBytes: c.SegmentBytes}}
	for _, redoing := range []bool{false, true} {
		in.Control.Redoing = redoing
		p, err := Analyze(in)
		if err != nil {
			t.Fatal(err)
		}
		if p.Named != redoing || len(p.Redo) > 0 {
			t.Errorf("the life before was redoing: %v; left to redo is %v, and what the log names: %v", redoing, p.Redo, p.Named)
		}
		want := []page.ID{kept, dropped, untouched} // the first is in its frame, and whole
		if got, err := p.hist.pages(); redoing && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("left to redo is %v, %v, want %v", got, err, want)
		}
		if p.NeedsRedo(4) != redoing || !p.NeedsRedo(3) {
			t.Errorf("the life before was redoing: %v; needs redo: %v, with fewer frames %v", redoing, p.NeedsRedo(4), p.NeedsRedo(3))
		}
	}
}
