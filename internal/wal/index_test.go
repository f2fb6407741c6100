package wal

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// waitIndexes waits for the indexer to have written the indexes of all segments before n.
func waitIndexes(t *testing.T, y *layout, from, n uint64) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for s := from; s < n; s++ {
		for {
			_, err := y.readIndex(s)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// Every index, collected from the ring or built from the segment, says what a reader of the whole log sees.
func TestIndex(t *testing.T) {
	r := rng(t)
	disk := file.NewMem(1)
	y := &layout{disk, "log", testUUID, testSegment}
	cfg := testConfig(disk)
	for life := range 3 {
		cfg.Incarnation = uint64(life + 1)
		l := mustOpen(t, cfg)
		for range 150 {
			var body []byte
			for range 1 + r.IntN(6) {
				id := page.MakeID(uint32(1+r.IntN(3)), uint32(r.IntN(1<<r.IntN(20))))
				edit := bytes.Repeat([]byte{0xff}, r.IntN(600))
				switch r.IntN(4) {
				case 0:
					edit = page.AppendUndoPush(nil, uint64(r.IntN(50)), 1, bytes.Repeat([]byte{1}, 40))
				case 1:
					edit = page.AppendUndoEnd(nil, uint64(r.IntN(50)), 1, false)
				}
				body = AppendRecord(body, id, edit)
			}
			mustAppend(t, l, body)
		}
		for range 3 { // groups longer than what is left of a segment
			mustAppend(t, l, bodyFor(1, l.MaxBody()-100))
		}
		mustWait(t, l, l.Tail())
		last := y.segmentOf(l.Tail())
		waitIndexes(t, y, 0, last)
		cfg.Start = l.Tail()
		mustClose(t, l)

		groups, _ := readAll(t, readerConfig(disk), FirstLSN)
		for n := range last {
			want := newNotes(n)
			for _, g := range groups {
				if y.segmentOf(g.Start) == n {
					want.add(g.Start, g.Body)
				} else if y.segmentOf(g.Start) > n && want.end == 0 {
					want.end = g.Start
				}
			}
			if want.end == 0 {
				want.end = cfg.Start
			}
			x, err := y.readIndex(n)
			if err != nil {
				t.Fatal(err)
			}
			built, err := y.buildIndex(n)
			if err != nil {
				t.Fatal(err)
			}
			a, b, c := x.encode(testUUID), built.encode(testUUID), want.index().encode(testUUID)
			if !bytes.Equal(a, b) || !bytes.Equal(a, c) {
				t.Fatalf("life %d, segment %d: the index written, one built and the truth differ: %d, %d, %d bytes", life, n, len(a), len(b), len(c))
			}
			for _, id := range x.Pages() {
				for _, lsn := range x.LSNs(id) {
					i, ok := slices.BinarySearchFunc(groups, lsn, func(g Group, l page.LSN) int { return int(int64(g.Start) - int64(l)) })
					if !ok || !names(groups[i].Body, id) {
						t.Fatalf("segment %d: no group at %d names %s", n, lsn, id)
					}
				}
			}
		}
	}
}

func names(body []byte, id page.ID) bool {
	for got := range Records(body) {
		if got == id {
			return true
		}
	}
	return false
}

// Indexes that are missing or damaged are built again, and a start puts missing ones back.
func TestIndexLost(t *testing.T) {
	disk := file.NewMem(1)
	y := &layout{disk, "log", testUUID, testSegment}
	cfg := testConfig(disk)
	l := mustOpen(t, cfg)
	for i := range 200 {
		mustAppend(t, l, bodyFor(i, 1777))
	}
	mustWait(t, l, l.Tail())
	last := y.segmentOf(l.Tail())
	waitIndexes(t, y, 0, last)
	var want [][]byte
	for n := range last {
		x, err := l.LoadIndex(n)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, x.encode(testUUID))
	}
	tail := l.Tail()
	mustClose(t, l)

	// All gone: also the one that knows where the first group of the next begins.
	for n := range last {
		if err := disk.Remove(y.path(indexName(n))); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		for n := range last {
			x, err := LoadIndex(readerConfig(disk), n)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if !bytes.Equal(x.encode(testUUID), want[n]) {
				t.Fatalf("%s: index %d is another (groups %d to %d)", when, n, x.First, x.End)
			}
		}
	}
	check("missing")
	if _, err := disk.Stat(y.path(indexName(0))); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a mere reader wrote an index: %v", err)
	}
	cfg.Start, cfg.Incarnation = tail, 2
	l = mustOpen(t, cfg)
	waitIndexes(t, y, 0, last)
	mustClose(t, l)
	check("written at start")
	for n := range last {
		f, err := disk.OpenFile(y.path(indexName(n)), file.ReadWrite, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteAt([]byte{0xee}, int64(40+7*n))
		f.Close()
	}
	check("damaged")

	// The segment in which the log ends has an index too, that ends with it.
	x, err := LoadIndex(readerConfig(disk), last)
	if err != nil || x.End != tail {
		t.Fatalf("unsealed index ends at %d, want %d, %v", x.End, tail, err)
	}
	if _, err := LoadIndex(readerConfig(disk), last+5); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// Whatever is kept stays readable while everything else is used again, and the directory does not grow.
func TestKeepAndRecycle(t *testing.T) {
	disk := file.NewMem(1)
	y := &layout{disk, "log", testUUID, testSegment}
	cfg := testConfig(disk)
	l := mustOpen(t, cfg)
	r := rng(t)
	keep, most := FirstLSN, 0
	var starts []page.LSN
	for i := range 1500 {
		start, end, err := l.Append(bodyFor(i, r.IntN(3000)))
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, start)
		if i%20 != 19 {
			continue
		}
		mustWait(t, l, end)
		if i%100 == 99 {
			groups, got := readAll(t, readerConfig(disk), keep)
			if got != end || len(groups) == 0 {
				t.Fatalf("kept from %d: read to %d, want %d", keep, got, end)
			}
			for n := y.segmentOf(keep); n < y.segmentOf(end); n++ {
				if x, err := l.LoadIndex(n); err != nil || x.End < y.startOf(n+1) {
					t.Fatalf("kept from %d, index %d: %v", keep, n, err)
				}
			}
			keep = starts[len(starts)-100]
			l.SetKeep(keep)
		}
		live, err := Segments(readerConfig(disk))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(live))
	}
	st := l.Stats()
	mustClose(t, l)
	if most > 10 || st.SegmentsRecycled < 10 {
		t.Fatalf("at most %d segments, %d recycled", most, st.SegmentsRecycled)
	}
	have, err := y.list()
	if err != nil {
		t.Fatal(err)
	}
	if len(have.spares) > maxSpares {
		t.Fatalf("%d spares, want at most %d", len(have.spares), maxSpares)
	}
	for n := range have.indexes {
		if !slices.Contains(have.segments, n) {
			t.Errorf("index %d without its segment", n)
		}
	}
}

// A pinned segment is not recycled, however far keep has gone.
func TestPinned(t *testing.T) {
	disk := file.NewMem(1)
	y := &layout{disk, "log", testUUID, testSegment}
	l := mustOpen(t, testConfig(disk))
	for i := range 200 {
		mustAppend(t, l, bodyFor(i, 1777))
	}
	mustWait(t, l, l.Tail())
	waitIndexes(t, y, 0, 3)
	if !l.segs.pin(1) {
		t.Fatal("segment 1 is not live")
	}
	l.SetKeep(l.Tail())
	for l.segs.pin(0) { // wait until 0 is gone
		l.segs.unpin(0)
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond)
	if _, err := y.readIndex(1); err != nil {
		t.Fatalf("the index in use is gone: %v", err)
	}
	if _, err := y.buildIndex(1); err != nil {
		t.Fatal(err)
	}
	l.segs.unpin(1)
	for l.segs.pin(1) {
		l.segs.unpin(1)
		time.Sleep(time.Millisecond)
	}
	if _, err := l.LoadIndex(1); err == nil {
		t.Fatal("the index of a recycled segment was loaded")
	}
	mustClose(t, l)
}
