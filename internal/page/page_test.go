package page

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// must applies an edit that has to apply.
func must(tb testing.TB, p *Page, edit []byte) {
	tb.Helper()
	if err := Apply(p, edit); err != nil {
		tb.Fatal(err)
	}
}

func newLeaf(low, high []byte) *Page {
	p := new(Page)
	p.SetID(MakeID(7, 3))
	p.InitSlotted(KindLeaf, 0, low, low != nil, high, high != nil)
	return p
}

// A leaf against a sorted list, through edits only; the page is proved after each.
func TestSlottedAgainstList(t *testing.T) {
	s := rand.Uint64()
	t.Logf("seed %d", s)
	rng := rand.New(rand.NewPCG(s, 0))
	for _, prefix := range []string{"", "common/"} {
		var p *Page
		if prefix == "" {
			p = newLeaf(nil, nil)
		} else {
			p = newLeaf([]byte(prefix), []byte(prefix+"\xff"))
		}
		type entry struct{ key, value string }
		var model []entry
		for range 20000 {
			key := fmt.Sprintf("%s%x", prefix, rng.IntN(300))
			i, found := slices.BinarySearchFunc(model, key, func(e entry, k string) int { return bytes.Compare([]byte(e.key), []byte(k)) })
			slot, exact, ok := p.Find([]byte(key))
			if !ok || slot != i || exact != found {
				t.Fatalf("find %q: %d %v %v, want %d %v", key, slot, exact, ok, i, found)
			}
			value := bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(400))
			switch {
			case found && rng.IntN(3) == 0:
				must(t, p, AppendRemove(nil, i))
				model = slices.Delete(model, i, i+1)
			case found:
				if p.Room()+len(model[i].value) < len(value)+CellOverhead+len(key) {
					continue
				}
				must(t, p, AppendReplace(nil, i, value))
				model[i].value = string(value)
			default:
				if p.Room() < len(key)-len(prefix)+len(value)+CellOverhead {
					continue
				}
				must(t, p, AppendInsert(nil, i, []byte(key[len(prefix):]), value))
				model = slices.Insert(model, i, entry{key, string(value)})
			}
			if err := p.Check(p.ID()); err != nil {
				t.Fatal(err)
			}
			for i, e := range model {
				suffix, v, ok := p.Cell(i)
				if !ok || prefix+string(suffix) != e.key || string(v) != e.value {
					t.Fatalf("slot %d is %q, want %q", i, suffix, e.key)
				}
			}
		}
		// A cut and an image keep what they should.
		n := len(model) / 2
		if n == 0 {
			continue
		}
		must(t, p, AppendCut(nil, n, []byte(model[n].key)))
		var q Page
		q.SetID(p.ID())
		must(t, &q, AppendImage(nil, p))
		for _, x := range []*Page{p, &q} {
			if err := x.Check(p.ID()); err != nil || x.Slots() != n {
				t.Fatalf("after a cut: %d slots, want %d, %v", x.Slots(), n, err)
			}
		}
	}
}

func TestVerify(t *testing.T) {
	p := newLeaf(nil, nil)
	must(t, p, AppendInsert(nil, 0, []byte("k"), []byte("v")))
	p.Stamp()
	if err := p.Verify(p.ID()); err != nil {
		t.Fatal(err)
	}
	if p.Verify(MakeID(7, 4)) == nil {
		t.Error("a page passes for another one")
	}
	for i := range Size {
		q := *p
		q[i] ^= 1
		if q.Verify(p.ID()) == nil {
			t.Fatalf("a flipped bit in byte %d passes", i)
		}
	}
	if err := new(Page).Verify(MakeID(1, 1)); err != nil {
		t.Errorf("a page of zeroes: %v", err)
	}
}

func TestUndoRecords(t *testing.T) {
	var p Page
	p.SetID(MakeID(1, 9))
	must(t, &p, AppendUndoFormat(nil, 4, 8, 0, 0))
	must(t, &p, AppendUndoPush(nil, 100, 1, []byte("a")))
	must(t, &p, AppendUndoPush(nil, 100, 2, []byte("bb")))
	if Apply(&p, AppendUndoPush(nil, 101, 1, nil)) == nil {
		t.Error("two transactions at once in one undo log")
	}
	h := p.UndoHeader()
	no, off := SplitUndoPtr(h.Last)
	typ, prev, body, _, ok := p.UndoRecord(off)
	if h.OpenTx != 100 || h.Slot != 4 || h.Prev != 8 || no != 9 || !ok || typ != 2 || string(body) != "bb" || prev != UndoPtr(9, HeaderSize) {
		t.Errorf("last record: %+v %d %d %q %d %v", h, no, typ, body, prev, ok)
	}
	must(t, &p, AppendUndoPop(nil, prev))
	must(t, &p, AppendUndoEnd(nil, 100, 7, true))
	if h := p.UndoHeader(); h.OpenTx != 0 || h.Last != 0 {
		t.Errorf("after the end: %+v", h)
	}
	n, off := 0, HeaderSize
	for {
		typ, _, body, next, ok := p.UndoRecord(off)
		if !ok {
			break
		}
		if n++; n == 3 {
			if txid, no, aborted, ok := ParseUndoEnd(body); typ != UndoTypeEnd || txid != 100 || no != 7 || !aborted || !ok {
				t.Errorf("end record: %d %d %v %v", txid, no, aborted, ok)
			}
		}
		off = next
	}
	if n != 3 || p.Check(p.ID()) != nil {
		t.Errorf("%d records, %v", n, p.Check(p.ID()))
	}
}

func TestBits(t *testing.T) {
	var p Page
	must(t, &p, AppendFormat(nil, KindBitmap))
	must(t, &p, AppendBits(nil, 0, 130, true))
	if got := p.NextClear(0); got != 130 {
		t.Errorf("next clear is %d", got)
	}
	must(t, &p, AppendBits(nil, 64, 1, false))
	if a, b := p.NextClear(3), p.NextClear(65); a != 64 || b != 130 || p.CountBits() != 129 {
		t.Errorf("next clear is %d and %d, %d set", a, b, p.CountBits())
	}
	if Apply(&p, AppendBits(nil, 64, 1, false)) == nil {
		t.Error("a page is given back twice")
	}
	must(t, &p, AppendBits(nil, 64, 1, true))
	must(t, &p, AppendBits(nil, 130, BitmapBits-130, true))
	if got := p.NextClear(0); got != -1 {
		t.Errorf("next clear of a full bitmap is %d", got)
	}
}

// sampleEdits are edits of every kind, for the fuzzers to start from.
func sampleEdits() [][]byte {
	p := newLeaf([]byte("a"), []byte("b"))
	p.Append([]byte("a1"), []byte("one"))
	p.Append([]byte("a2"), []byte("two"))
	return [][]byte{
		AppendFormat(nil, KindBitmap), AppendFormat(nil, KindOverflow), AppendInsert(nil, 0, []byte("k"), []byte("v")),
		AppendReplace(nil, 0, []byte("longer value")), AppendRemove(nil, 0), AppendCut(nil, 1, []byte("k")), AppendImage(nil, p),
		AppendWrite(nil, 100, []byte("bytes")), AppendBits(nil, 5, 9, true), AppendUndoFormat(nil, 1, 2, 3, 4),
		AppendUndoPush(nil, 9, 1, []byte("body")), AppendUndoPop(nil, 5), AppendUndoEnd(nil, 9, 10, false), AppendOverflow(nil, 3, []byte("piece")),
	}
}

// Rule 1: hostile edits give an error, never a panic, and what they leave is read without one.
func FuzzApply(f *testing.F) {
	for i, a := range sampleEdits() {
		f.Add(a, sampleEdits()[(i+3)%14], []byte{byte(i)})
	}
	f.Fuzz(func(t *testing.T, a, b, seed []byte) {
		p := newLeaf(nil, nil)
		must(t, p, AppendInsert(nil, 0, []byte("m"), []byte("x")))
		for _, e := range [][]byte{a, b, a} {
			if Apply(p, e) != nil {
				break
			}
		}
		readAll(p)
	})
}

// Rule 3: a page of any bytes is read without a panic; rule 4: what Check accepts takes edits.
func FuzzPage(f *testing.F) {
	p := newLeaf([]byte("a"), []byte("b"))
	p.Append([]byte("a1"), []byte("one"))
	f.Add(p[:], []byte("a1"))
	f.Add([]byte{1, 2, 3}, []byte("k"))
	f.Fuzz(func(t *testing.T, raw, key []byte) {
		var p Page
		copy(p[:], raw)
		readAll(&p)
		p.Find(key)
		checked := p.Check(p.ID()) == nil
		for _, e := range sampleEdits() {
			q := p
			if err := Apply(&q, e); err == nil && checked {
				readAll(&q)
			}
		}
	})
}

func readAll(p *Page) {
	p.Check(p.ID())
	p.Verify(p.ID())
	p.Low()
	p.High()
	for i := range p.Slots() {
		p.Cell(i)
		p.Child(i)
		p.AppendKey(nil, i)
	}
	p.Find([]byte("key"))
	p.FindChild([]byte("key"))
	p.FindChildBefore([]byte("key"))
	p.OverflowData()
	p.NextClear(0)
	for off := HeaderSize; ; {
		_, _, _, next, ok := p.UndoRecord(off)
		if !ok {
			break
		}
		off = next
	}
}
