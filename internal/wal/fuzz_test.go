package wal

import (
	"bytes"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

func FuzzRecords(f *testing.F) {
	f.Add([]byte{})
	f.Add(bodyFor(1, 20))
	f.Add(AppendRecord(bodyFor(1, 200), 7, nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		var again []byte
		for id, edit := range Records(body) {
			again = AppendRecord(again, id, edit)
		}
		// Lengths written in more bytes than needed are read, but not written so again.
		if CheckRecords(body) == nil && len(again) > len(body) {
			t.Fatalf("%d bytes of records from %d", len(again), len(body))
		}
	})
}

// FuzzRing reads whatever bytes as the end of a log: no panic, no group that was not framed right, the end after the last.
func FuzzRing(f *testing.F) {
	group := func(lsn page.LSN, life uint64, body []byte) []byte {
		b := make([]byte, groupSize(len(body)))
		h := header{uint32(len(b)), 0, lsn, life, uint32(len(b) - groupHeader - len(body))}
		h.body = crcOf(body)
		h.encode((*[groupHeader]byte)(b))
		copy(b[groupHeader:], body)
		return b
	}
	one := group(FirstLSN, 3, bodyFor(1, 50))
	f.Add(one)
	f.Add(append(bytes.Clone(one), group(FirstLSN+page.LSN(len(one)), 3, bodyFor(2, 999))...))
	f.Add(append(bytes.Clone(one), group(FirstLSN+page.LSN(len(one)), 2, bodyFor(2, 99))...))
	f.Add(one[:40])
	disk := file.NewMem(1)
	ring := file.AlignedBuf(MinRing)
	f.Fuzz(func(t *testing.T, b []byte) {
		clear(ring)
		copy(ring[FirstLSN:], b)
		cfg := readerConfig(disk)
		cfg.Ring, cfg.Durable = ring, FirstLSN
		groups, end := readAll(t, cfg, FirstLSN)
		at, life := FirstLSN, uint64(0)
		for _, g := range groups {
			if g.Start != at || g.Incarnation < life || !bytes.Equal(group(g.Start, g.Incarnation, g.Body)[groupHeader:][:len(g.Body)], ring[g.Start+groupHeader:][:len(g.Body)]) {
				t.Fatalf("group at %d, want one at %d", g.Start, at)
			}
			at, life = g.End, g.Incarnation
		}
		if end != at || end > FirstLSN+MinRing {
			t.Fatalf("ends at %d, want %d", end, at)
		}
	})
}

func FuzzSegmentHeader(f *testing.F) {
	y := layout{uuid: testUUID, bytes: testSegment}
	good := y.header(7)
	f.Add(good)
	f.Add(good[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		if y.checkHeader(b, 7) == "" && !bytes.Equal(b[:segmentHeaderSize][16:], good[16:]) {
			t.Fatal("a wrong header was taken")
		}
	})
}

func FuzzIndex(f *testing.F) {
	y := layout{uuid: testUUID, bytes: testSegment}
	n := newNotes(2)
	for i := range 30 {
		n.add(y.startOf(2)+page.LSN(i*160), bodyFor(i, 100))
	}
	n.addTx(TxState{7, 3, true})
	n.addTx(TxState{9, 4, false})
	n.end = y.startOf(3) + 80
	f.Add(n.index().encode(testUUID)[indexHeaderSize:], uint32(7), uint32(30), uint32(2))
	f.Fuzz(func(t *testing.T, payload []byte, pages, lsns, txs uint32) {
		// Behind a right checksum: what the sum cannot catch must be caught too.
		b := append(n.index().encode(testUUID)[:indexHeaderSize], payload...)
		reseal(b, pages, lsns, txs)
		x, err := y.decodeIndex(b, 2)
		if err != nil {
			return
		}
		for _, id := range x.Pages() {
			for _, lsn := range x.LSNs(id) {
				if lsn < x.First || lsn >= x.End {
					t.Fatalf("LSN %d outside %d to %d", lsn, x.First, x.End)
				}
			}
		}
		if y2, err := y.decodeIndex(x.encode(testUUID), 2); err != nil || !bytes.Equal(y2.encode(testUUID), x.encode(testUUID)) {
			t.Fatalf("taken, but not after writing it again: %v", err)
		}
	})
}
