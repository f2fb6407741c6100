package page

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Slotted pages: leaves and inner pages of trees.
//
//	24  slots    u16  how many
//	26  heap     u16  first byte of the heap of cells, which grows down from Size
//	28  garbage  u16  dead bytes in the heap
//	30  prefix   u16  how many leading bytes all keys share (they are those of the low fence)
//	32  low      u16  offset of the low fence, 0 = minus infinity;  34 its length u16
//	36  high     u16  offset of the high fence, 0 = plus infinity;  38 its length u16
//	40  last     u16  slot of the last insert;  42 run u16 inserts in a row just behind the last
//	44  hints    5*u32  heads of the slots at 1/6, 2/6, ... 5/6 of a page with hintsFrom slots or more
//	64  slots, 8 bytes each: head u32 (first 4 bytes of the key behind the prefix, as a
//	    big-endian number, zeroes when shorter), cell u16, key length behind the prefix u16
//
//	a cell: value length u16, key behind the prefix, value
//
// Keys k of the page: low <= k < high, ascending by slot. The heads let a search touch the
// slot array only until two heads are equal (Lomet, "The evolution of effective B-tree"); the hints, in the cache line of
// the header, narrow the search to a sixth of the slots before the first of those is touched (LeanStore).
const (
	offSlots   = 24
	offHeap    = 26
	offGarbage = 28
	offPrefix  = 30
	offLow     = 32
	offHigh    = 36
	offLast    = 40
	offRun     = 42
	offHints   = 44
	hints      = 5
	hintsFrom  = 4 * (hints + 1)

	slotSize = 8
	// maxSlots keeps every slot inside the page, whatever the header says.
	maxSlots = (Size - HeaderSize) / slotSize
)

// CellOverhead is what a key and value cost in a slotted page beyond their bytes.
const CellOverhead = slotSize + 2

// Slots is the number of entries.
func (p *Page) Slots() int { return min(p.u16(offSlots), maxSlots) }

// Room is how many bytes are free, for cells and their slots, counting dead bytes.
func (p *Page) Room() int { return p.contiguous() + p.u16(offGarbage) }

func (p *Page) contiguous() int { return p.u16(offHeap) - HeaderSize - slotSize*p.Slots() }

// Used is how many bytes the entries take, with their slots.
func (p *Page) Used() int {
	return Size - HeaderSize - p.Room() - p.u16(offLow+2) - p.u16(offHigh+2)
}

// PrefixLen is how many leading bytes every key of the page shares.
func (p *Page) PrefixLen() int { return p.u16(offPrefix) }

// Prefix is what every key of the page begins with.
func (p *Page) Prefix() []byte {
	low, _ := p.Low()
	return low[:min(len(low), p.u16(offPrefix))]
}

// Low is the low fence: no key of the page is smaller. False: there is no bound.
func (p *Page) Low() ([]byte, bool) { return p.fence(offLow) }

// High is the high fence: every key of the page is smaller. False: there is no bound.
func (p *Page) High() ([]byte, bool) { return p.fence(offHigh) }

func (p *Page) fence(at int) ([]byte, bool) {
	off, n := p.u16(at), p.u16(at+2)
	if off == 0 || off+n > Size {
		return nil, false
	}
	return p[off : off+n], true
}

// Last tells the slot of the last insert and how many inserts before it went just behind one
// another: the sign of an ascending load.
func (p *Page) Last() (slot, run int) { return p.u16(offLast), p.u16(offRun) }

// Suffix is the key of slot i behind the prefix. False: the bytes make no sense.
func (p *Page) Suffix(i int) ([]byte, bool) {
	s := HeaderSize + slotSize*i
	if uint(s) > Size-slotSize {
		return nil, false
	}
	off, n := p.u16(s+4), p.u16(s+6)
	if off+2+n > Size {
		return nil, false
	}
	return p[off+2 : off+2+n], true
}

// Cell is the key of slot i behind the prefix, and its value. False: the bytes make no sense.
func (p *Page) Cell(i int) (suffix, value []byte, ok bool) {
	s := HeaderSize + slotSize*i
	if uint(s) > Size-slotSize {
		return nil, nil, false
	}
	off, n := p.u16(s+4), p.u16(s+6)
	k := off + 2 + n
	if k > Size {
		return nil, nil, false
	}
	end := k + p.u16(off)
	if end > Size {
		return nil, nil, false
	}
	return p[off+2 : k], p[k:end], true
}

// Child is the page number an inner entry points to.
func (p *Page) Child(i int) (uint32, bool) {
	_, v, ok := p.Cell(i)
	if !ok || len(v) != 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(v), true
}

// AppendKey appends the whole key of slot i to dst.
func (p *Page) AppendKey(dst []byte, i int) []byte {
	dst = append(dst, p.Prefix()...)
	s, _ := p.Suffix(i)
	return append(dst, s...)
}

func headOf(suffix []byte) uint32 {
	if len(suffix) >= 4 {
		return binary.BigEndian.Uint32(suffix)
	}
	var h uint32
	for i, b := range suffix {
		h |= uint32(b) << (24 - 8*i)
	}
	return h
}

// Find is the first slot whose key is >= key, and whether it is equal.
// ok is false when the bytes make no sense (rule 3).
func (p *Page) Find(key []byte) (slot int, exact, ok bool) {
	if pl := p.u16(offPrefix); pl > 0 {
		off := p.u16(offLow)
		if off+pl > Size {
			return 0, false, false
		}
		prefix := p[off : off+pl]
		if len(key) < pl || !bytes.Equal(key[:pl], prefix) {
			if bytes.Compare(key, prefix) < 0 {
				return 0, false, true
			}
			return p.Slots(), false, true
		}
	}
	return p.FindWithin(key)
}

// FindWithin is Find for a key that lies between the fences, so that its prefix is the page's and need not be looked at:
// it lies in a part of the page that a search does not touch otherwise.
func (p *Page) FindWithin(key []byte) (slot int, exact, ok bool) {
	pl, n := p.u16(offPrefix), p.Slots()
	if len(key) < pl {
		return 0, false, false
	}
	key = key[pl:]
	head := headOf(key)
	lo, hi := 0, n
	if n >= hintsFrom {
		d := n / (hints + 1)
		for j := range hints {
			h := p.u32(offHints + 4*j)
			if h < head {
				lo = (j+1)*d + 1
			} else if h > head {
				hi = (j + 1) * d
				break
			}
		}
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		h := p.u32(HeaderSize + slotSize*mid)
		if h == head {
			s, ok := p.Suffix(mid)
			if !ok {
				return 0, false, false
			}
			switch bytes.Compare(s, key) {
			case 0:
				return mid, true, true
			case -1:
				lo = mid + 1
			default:
				hi = mid
			}
			continue
		}
		if h < head {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, false, true
}

// setHints follows a change of the slots.
func (p *Page) setHints() {
	n := p.Slots()
	if n < hintsFrom {
		return
	}
	d := n / (hints + 1)
	for j := range hints {
		p.put32(offHints+4*j, p.u32(HeaderSize+slotSize*(j+1)*d))
	}
}

// FindChild is the slot of the child that holds key, which lies between the fences: the last whose key is <= key.
func (p *Page) FindChild(key []byte) (slot int, ok bool) {
	i, exact, ok := p.FindWithin(key)
	if !exact {
		i--
	}
	return i, ok && i >= 0
}

// FindChildBefore is the slot of the child that holds the keys just smaller than key.
func (p *Page) FindChildBefore(key []byte) (slot int, ok bool) {
	i, _, ok := p.Find(key)
	return i - 1, ok && i > 0
}

// InitSlotted makes p an empty leaf or inner page between two fences (nil with has=false: no bound).
// It is how pages are built aside before AppendImage logs them; sum, id and LSN stay.
func (p *Page) InitSlotted(kind Kind, level int, low []byte, hasLow bool, high []byte, hasHigh bool) {
	clear(p[offOwn:])
	p[offKind], p[offLevel] = byte(kind), byte(level)
	p.put16(offFormat, Format)
	p.setFences(low, hasLow, high, hasHigh)
}

func (p *Page) setFences(low []byte, hasLow bool, high []byte, hasHigh bool) {
	heap := Size
	put := func(at int, key []byte, has bool) {
		if !has {
			return
		}
		heap -= len(key)
		copy(p[heap:], key)
		p.put16(at, heap)
		p.put16(at+2, len(key))
		if heap == Size { // an empty key needs an offset that is not 0 and inside the page
			p.put16(at, Size-1)
		}
	}
	put(offLow, low, hasLow)
	put(offHigh, high, hasHigh)
	p.put16(offHeap, heap)
	if hasLow && hasHigh {
		p.put16(offPrefix, commonPrefix(low, high))
	}
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := 0; i < n; i++ {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Append puts a key behind all others of a page that is being built; false when it does not fit.
// The key must lie between the fences and above the last key.
func (p *Page) Append(key, value []byte) bool {
	return p.insert(p.Slots(), key[p.u16(offPrefix):], value) == nil
}

func (p *Page) insert(i int, suffix, value []byte) error {
	n := p.Slots()
	if i > n || n == maxSlots {
		return fmt.Errorf("insert at slot %d of %d", i, n)
	}
	if err := p.sane(); err != nil {
		return err
	}
	size := 2 + len(suffix) + len(value)
	if p.Room() < size+slotSize {
		return fmt.Errorf("insert of %d bytes into %d free", size+slotSize, p.Room())
	}
	if p.contiguous() < size+slotSize {
		if err := p.compact(-1); err != nil {
			return err
		}
		if p.contiguous() < size+slotSize {
			return fmt.Errorf("the page counts %d dead bytes and has fewer", p.u16(offGarbage))
		}
	}
	at := HeaderSize + slotSize*i
	end := HeaderSize + slotSize*n
	copy(p[at+slotSize:end+slotSize], p[at:end])
	p.put16(offSlots, n+1)
	p.putCell(i, suffix, value)
	if last := p.u16(offLast); n > 0 && i == last+1 {
		p.put16(offRun, min(p.u16(offRun)+1, maxSlots))
	} else {
		p.put16(offRun, 0)
	}
	p.put16(offLast, i)
	p.setHints()
	return nil
}

// sane guards the arithmetic of what follows against a header that makes no sense.
func (p *Page) sane() error {
	if heap := p.u16(offHeap); heap > Size || p.contiguous() < 0 {
		return fmt.Errorf("heap at %d with %d slots", heap, p.Slots())
	}
	return nil
}

// putCell writes a cell at the top of the heap, which has the room, and points slot i to it.
func (p *Page) putCell(i int, suffix, value []byte) {
	heap := p.u16(offHeap) - 2 - len(suffix) - len(value)
	p.put16(offHeap, heap)
	p.put16(heap, len(value))
	copy(p[heap+2:], suffix)
	copy(p[heap+2+len(suffix):], value)
	at := HeaderSize + slotSize*i
	p.put32(at, headOf(suffix))
	p.put16(at+4, heap)
	p.put16(at+6, len(suffix))
}

func (p *Page) replace(i int, value []byte) error {
	suffix, old, ok := p.Cell(i)
	if i >= p.Slots() || !ok {
		return fmt.Errorf("replace in slot %d of %d", i, p.Slots())
	}
	if len(value) <= len(old) {
		copy(old, value)
		p.put16(p.u16(HeaderSize+slotSize*i+4), len(value))
		p.put16(offGarbage, p.u16(offGarbage)+len(old)-len(value))
		return nil
	}
	if err := p.sane(); err != nil {
		return err
	}
	dead, size := 2+len(suffix)+len(old), 2+len(suffix)+len(value)
	if p.Room()+dead < size {
		return fmt.Errorf("replace with %d bytes in %d free", size, p.Room()+dead)
	}
	if p.contiguous() < size {
		key := append([]byte(nil), suffix...)
		if err := p.compact(i); err != nil {
			return err
		}
		if p.contiguous() < size {
			return fmt.Errorf("the page counts %d dead bytes and has fewer", p.u16(offGarbage))
		}
		p.putCell(i, key, value)
		p.setHints() // the slot had no key while they were made
		return nil
	}
	p.put16(offGarbage, p.u16(offGarbage)+dead)
	p.putCell(i, suffix, value)
	return nil
}

func (p *Page) remove(i int) error {
	n := p.Slots()
	suffix, value, ok := p.Cell(i)
	if i >= n || !ok {
		return fmt.Errorf("remove of slot %d of %d", i, n)
	}
	p.put16(offGarbage, p.u16(offGarbage)+2+len(suffix)+len(value))
	at := HeaderSize + slotSize*i
	copy(p[at:], p[at+slotSize:HeaderSize+slotSize*n])
	p.put16(offSlots, n-1)
	p.put16(offRun, 0)
	p.setHints()
	return nil
}

// compact rebuilds the heap without dead bytes; slot skip (or none, -1) keeps its place in the
// slot array but loses its cell.
func (p *Page) compact(skip int) error {
	var q Page
	low, hasLow := p.Low()
	high, hasHigh := p.High()
	return p.rebuild(&q, p.Slots(), low, hasLow, high, hasHigh, skip)
}

// rebuild lays the first n entries of p out anew between the given fences, by way of q.
func (p *Page) rebuild(q *Page, n int, low []byte, hasLow bool, high []byte, hasHigh bool, skip int) error {
	if len(low)+len(high) > Size-HeaderSize {
		return fmt.Errorf("fences of %d and %d bytes", len(low), len(high))
	}
	last, run := p.Last()
	q.InitSlotted(p.Kind(), p.Level(), low, hasLow, high, hasHigh)
	cut := q.u16(offPrefix) - p.u16(offPrefix)
	if cut < 0 {
		return fmt.Errorf("prefix shrinks from %d to %d", p.u16(offPrefix), q.u16(offPrefix))
	}
	for i := range n {
		if i == skip {
			q.put16(offSlots, i+1)
			continue
		}
		suffix, value, ok := p.Cell(i)
		if !ok || len(suffix) < cut {
			return fmt.Errorf("slot %d makes no sense", i)
		}
		if q.contiguous() < slotSize+2+len(suffix)-cut+len(value) {
			return fmt.Errorf("entries overlap: %d of %d fit", i, n)
		}
		q.put16(offSlots, i+1)
		q.putCell(i, suffix[cut:], value)
	}
	q.put16(offLast, min(last, n))
	q.put16(offRun, run)
	q.setHints()
	copy(p[offOwn:], q[offOwn:])
	return nil
}

// cut keeps the first n entries and sets a new high fence.
func (p *Page) cut(n int, high []byte) error {
	if n > p.Slots() {
		return fmt.Errorf("cut at %d of %d", n, p.Slots())
	}
	low, hasLow := p.Low()
	if hasLow && bytes.Compare(low, high) >= 0 {
		return fmt.Errorf("cut at a fence below the low one")
	}
	var q Page
	return p.rebuild(&q, n, low, hasLow, high, true, -1)
}

// checkSlotted returns what is wrong, or nothing.
func (p *Page) checkSlotted() string {
	n, heap := p.u16(offSlots), p.u16(offHeap)
	if n > maxSlots || heap > Size || heap < HeaderSize+slotSize*n {
		return fmt.Sprintf("%d slots, heap at %d", n, heap)
	}
	low, hasLow := p.Low()
	high, hasHigh := p.High()
	if (p.u16(offLow) != 0) != hasLow || (p.u16(offHigh) != 0) != hasHigh {
		return "a fence lies outside the page"
	}
	prefix := p.u16(offPrefix)
	switch {
	case hasLow && hasHigh && bytes.Compare(low, high) >= 0:
		return "the low fence is not below the high one"
	case !(hasLow && hasHigh) && prefix != 0, hasLow && hasHigh && prefix != commonPrefix(low, high):
		return fmt.Sprintf("prefix of %d bytes does not follow from the fences", prefix)
	}
	total := p.u16(offGarbage) + len(low) + len(high)
	prev := []byte(nil)
	for i := range n {
		suffix, value, ok := p.Cell(i)
		if !ok || p.u16(HeaderSize+slotSize*i+4) < heap {
			return fmt.Sprintf("slot %d points outside the heap", i)
		}
		if h := p.u32(HeaderSize + slotSize*i); h != headOf(suffix) {
			return fmt.Sprintf("head of slot %d is %08x, its key gives %08x", i, h, headOf(suffix))
		}
		if i > 0 && bytes.Compare(prev, suffix) >= 0 {
			return fmt.Sprintf("keys of slots %d and %d are out of order", i-1, i)
		}
		if p.Kind() == KindInner && len(value) != 4 {
			return fmt.Sprintf("slot %d has no child", i)
		}
		total += 2 + len(suffix) + len(value)
		prev = suffix
	}
	if total != Size-heap {
		return fmt.Sprintf("the heap has %d bytes, its parts add up to %d", Size-heap, total)
	}
	if n >= hintsFrom {
		for j := range hints {
			if got, want := p.u32(offHints+4*j), p.u32(HeaderSize+slotSize*(j+1)*(n/(hints+1))); got != want {
				return fmt.Sprintf("hint %d is %08x, the slots give %08x", j, got, want)
			}
		}
	}
	if n > 0 {
		first, _ := p.Suffix(0)
		if hasLow && bytes.Compare(first, low[prefix:]) < 0 {
			return "the first key is below the low fence"
		}
		if hasHigh && bytes.Compare(prev, high[prefix:]) >= 0 {
			return "the last key is not below the high fence"
		}
	}
	return ""
}
