package datafile

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, n := range []int{1, 2, maxBatch} {
		h := header{seq: 1 << 40, sum: 0xdeadbeef}
		for i := range n {
			h.pages = append(h.pages, page.MakeID(uint32(i), uint32(2*i)))
		}
		block := make([]byte, slotHeader)
		h.encode(block)
		got, err := decodeHeader(block)
		if err != nil || got.seq != h.seq || got.sum != h.sum || !slices.Equal(got.pages, h.pages) {
			t.Errorf("%d pages: got %+v, %v", n, got, err)
		}
		for _, at := range []int{0, 8, 12, 16, 24, 28, slotIDs, slotIDs + 8*n - 1} {
			block[at] ^= 1
			if _, err := decodeHeader(block); err == nil {
				t.Errorf("%d pages: a bit flipped at %d went unnoticed", n, at)
			}
			block[at] ^= 1
		}
	}
}

// FuzzDecodeHeader: any bytes are refused or decode to a header that encodes to the same.
func FuzzDecodeHeader(f *testing.F) {
	block := make([]byte, slotHeader)
	f.Add(bytes.Clone(block))
	header{seq: 1, sum: 2, pages: []page.ID{3, 4}}.encode(block)
	f.Add(bytes.Clone(block))
	f.Add(block[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeader(b)
		if err != nil {
			return
		}
		again := make([]byte, slotHeader)
		h.encode(again)
		n := slotIDs + 8*len(h.pages)
		if !bytes.Equal(again[:n], b[:n]) {
			t.Errorf("decoded to %+v, which encodes otherwise", h)
		}
	})
}

// FuzzReadSlot: a doublewrite file of any bytes is no whole batch, or one; never a panic, never an endless loop.
func FuzzReadSlot(f *testing.F) {
	id := page.MakeID(1, 2)
	disk := newDisk(1)
	s := openSet(f, disk, "/db")
	must(f, s.Create(1))
	must(f, s.WritePages(ctx, writes(1, id)))
	d, err := disk.OpenFile("/db/doublewrite", file.ReadOnly, 0)
	must(f, err)
	whole := make([]byte, slotHeader+page.Size)
	_, err = d.ReadAt(whole, 0)
	must(f, err)
	f.Add(whole)
	f.Add(whole[:slotHeader+100])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m := newDisk(1)
		d, err := m.OpenFile("/db/doublewrite", file.ReadWrite|file.Create, 0o600)
		must(t, err)
		_, err = d.WriteAt(b, 0)
		must(t, err)
		openSet(t, m, "/db")
	})
}

// TestNewestImageWins: when two whole slots hold a page, the later one is its image.
func TestNewestImageWins(t *testing.T) {
	m := newDisk(1)
	s := openSet(t, m, "/db")
	must(t, s.Create(1))
	id := page.MakeID(1, 2)
	for v := uint64(1); v <= slots+2; v++ {
		must(t, s.WritePages(ctx, writes(v, id)))
		c := m.Clone(file.DropUnsynced)
		tear(t, c, id)
		if got := versionAt(t, openSet(t, c, "/db"), id); got != v {
			t.Errorf("restored version %d, want %d", got, v)
		}
	}
}
