package page

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// op is the first byte of an edit. The numbers are part of the format of the log.
type op uint8

const (
	opFormat     op = 1  // kind, level: an empty page of that kind
	opInsert     op = 2  // slot, key length behind the prefix, key, value
	opReplace    op = 3  // slot, value
	opRemove     op = 4  // slot
	opCut        op = 5  // slot, high fence: keep what is before the slot
	opImage      op = 6  // kind, level, the header's own part, slots, heap
	opWrite      op = 7  // offset, bytes
	opBits       op = 8  // first bit, count, 0 or 1
	opUndoFormat op = 9  // slot, previous page, open transaction, its last record
	opUndoPush   op = 10 // transaction, type, body
	opUndoPop    op = 11 // the record that is now the last
	opUndoEnd    op = 12 // transaction, number, aborted
)

var errShort = errors.New("the edit ends early")

// An arg reads the arguments of an edit; after the first failure everything is zero.
type arg struct {
	b   []byte
	bad bool
}

func (a *arg) num() int {
	v, n := binary.Uvarint(a.b)
	if n <= 0 || v > 1<<31 {
		a.b, a.bad = nil, true
		return 0
	}
	a.b = a.b[n:]
	return int(v)
}

func (a *arg) u64() uint64 {
	if len(a.b) < 8 {
		a.b, a.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(a.b)
	a.b = a.b[8:]
	return v
}

func (a *arg) bytes(n int) []byte {
	if n > len(a.b) {
		a.b, a.bad = nil, true
		return nil
	}
	v := a.b[:n]
	a.b = a.b[n:]
	return v
}

func (a *arg) byte() byte {
	v := a.bytes(1)
	if v == nil {
		return 0
	}
	return v[0]
}

// AppendFormat makes the page an empty one of a kind that is not slotted.
func AppendFormat(dst []byte, kind Kind) []byte { return append(dst, byte(opFormat), byte(kind)) }

// AppendInsert puts a new entry into slot i; suffix is the key behind the page's prefix.
func AppendInsert(dst []byte, i int, suffix, value []byte) []byte {
	dst = append(dst, byte(opInsert))
	dst = binary.AppendUvarint(dst, uint64(i))
	dst = binary.AppendUvarint(dst, uint64(len(suffix)))
	dst = append(dst, suffix...)
	return append(dst, value...)
}

// AppendReplace gives slot i another value.
func AppendReplace(dst []byte, i int, value []byte) []byte {
	dst = append(dst, byte(opReplace))
	dst = binary.AppendUvarint(dst, uint64(i))
	return append(dst, value...)
}

// AppendRemove takes slot i away.
func AppendRemove(dst []byte, i int) []byte {
	return binary.AppendUvarint(append(dst, byte(opRemove)), uint64(i))
}

// AppendCut keeps the entries before slot i and makes high the high fence.
func AppendCut(dst []byte, i int, high []byte) []byte {
	dst = binary.AppendUvarint(append(dst, byte(opCut)), uint64(i))
	return append(dst, high...)
}

// AppendImage makes the page one like the slotted page p, which was built aside.
func AppendImage(dst []byte, p *Page) []byte {
	dst = append(dst, byte(opImage), p[offKind], p[offLevel])
	dst = append(dst, p[offOwn:HeaderSize+slotSize*p.Slots()]...)
	return append(dst, p[p.u16(offHeap):]...)
}

// AppendWrite puts bytes at an offset behind the common header.
func AppendWrite(dst []byte, off int, b []byte) []byte {
	dst = binary.AppendUvarint(append(dst, byte(opWrite)), uint64(off))
	return append(dst, b...)
}

// AppendBits sets or clears a run of bits, each of which must have been the other.
func AppendBits(dst []byte, from, count int, used bool) []byte {
	dst = binary.AppendUvarint(append(dst, byte(opBits)), uint64(from))
	dst = binary.AppendUvarint(dst, uint64(count))
	if used {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// Apply carries out an edit (rule 1). On error the page may be half changed: it is the caller's to drop.
func Apply(p *Page, edit []byte) error {
	if len(edit) == 0 {
		return errShort
	}
	if err := apply(p, op(edit[0]), &arg{b: edit[1:]}); err != nil {
		return fmt.Errorf("edit %d of page %v (%v): %w", edit[0], p.ID(), p.Kind(), err)
	}
	return nil
}

// Resets says whether an edit makes the whole content of a page, whatever it held before.
func Resets(edit []byte) bool {
	if len(edit) == 0 {
		return false
	}
	switch op(edit[0]) {
	case opFormat, opUndoFormat, opImage:
		return true
	}
	return false
}

func apply(p *Page, o op, a *arg) error {
	switch o {
	case opFormat:
		return p.format(Kind(a.byte()), a)
	case opImage:
		return p.image(a)
	case opWrite:
		off := a.num()
		if a.bad || off < offOwn || off+len(a.b) > Size {
			return fmt.Errorf("write of %d bytes at %d", len(a.b), off)
		}
		copy(p[off:], a.b)
		return nil
	case opBits:
		from, count, used := a.num(), a.num(), a.byte()
		if a.bad {
			return errShort
		}
		return p.setBits(from, count, used == 1)
	case opInsert, opReplace, opRemove, opCut:
		return p.applySlotted(o, a)
	case opUndoFormat, opUndoPush, opUndoPop, opUndoEnd:
		return p.applyUndo(o, a)
	}
	return errors.New("unknown edit")
}

func (p *Page) applySlotted(o op, a *arg) error {
	if k := p.Kind(); k != KindLeaf && k != KindInner {
		return errors.New("the page is not slotted")
	}
	i := a.num()
	switch o {
	case opInsert:
		suffix := a.bytes(a.num())
		if a.bad {
			return errShort
		}
		return p.insert(i, suffix, a.b)
	case opReplace:
		if a.bad {
			return errShort
		}
		return p.replace(i, a.b)
	case opRemove:
		if a.bad {
			return errShort
		}
		return p.remove(i)
	}
	if a.bad {
		return errShort
	}
	return p.cut(i, a.b)
}

func (p *Page) format(k Kind, a *arg) error {
	if a.bad || k == KindZero || k >= kindEnd || k == KindLeaf || k == KindInner || k == KindUndo {
		return fmt.Errorf("format as %v", k)
	}
	clear(p[offOwn:])
	p[offKind], p[offLevel] = byte(k), 0
	p.put16(offFormat, Format)
	return nil
}

func (p *Page) image(a *arg) error {
	kind, level, own := Kind(a.byte()), a.byte(), a.bytes(HeaderSize-offOwn)
	if a.bad || kind != KindLeaf && kind != KindInner {
		return fmt.Errorf("image of a %v page", kind)
	}
	n := int(binary.LittleEndian.Uint16(own[offSlots-offOwn:]))
	heap := int(binary.LittleEndian.Uint16(own[offHeap-offOwn:]))
	slots := a.bytes(slotSize * n)
	if a.bad || heap > Size || heap < HeaderSize+slotSize*n || len(a.b) != Size-heap {
		return fmt.Errorf("image with %d slots, heap at %d", n, heap)
	}
	p[offKind], p[offLevel] = byte(kind), level
	p.put16(offFormat, Format)
	copy(p[offOwn:], own)
	copy(p[HeaderSize:], slots)
	clear(p[HeaderSize+slotSize*n : heap])
	copy(p[heap:], a.b)
	return nil
}
