package page

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Undo pages: an append-only run of records, a piece of one undo log.
//
//	24 slot u32    the undo log it belongs to
//	28 prev u32    page before it, 0 = none;  32 next u32  page behind it, 0 = none
//	36 used u16    end of the records
//	40 open u64    transaction that is writing here, 0 = none
//	48 last u64    pointer to that transaction's last record, which may lie on an earlier page
//	64 records     length u16 (whole), type u8, previous u64 (pointer to the record of the same
//	               transaction before this one, 0 = its first), body
//
// A pointer is page number << 16 | offset, in the undo space.
const (
	offUndoSlot = 24
	offUndoPrev = 28
	offUndoNext = 32
	offUndoUsed = 36
	offUndoOpen = 40
	offUndoLast = 48

	undoHead = 11
	undoEnd  = undoHead + 17
)

// OffUndoPrev and OffUndoNext are where AppendWrite links undo pages.
const (
	OffUndoPrev = offUndoPrev
	OffUndoNext = offUndoNext
)

// UndoTypeEnd is the type of the record that ends a transaction: txid u64, number u64, aborted u8.
const UndoTypeEnd = 255

// UndoHead is the header of an undo page.
type UndoHead struct {
	Slot, Prev, Next uint32
	Used             int
	OpenTx, Last     uint64
}

// UndoHeader reads it.
func (p *Page) UndoHeader() UndoHead {
	return UndoHead{p.u32(offUndoSlot), p.u32(offUndoPrev), p.u32(offUndoNext), p.u16(offUndoUsed), p.u64(offUndoOpen), p.u64(offUndoLast)}
}

// UndoPtr is the pointer to a record.
func UndoPtr(no uint32, off int) uint64 { return uint64(no)<<16 | uint64(off) }

// SplitUndoPtr is its inverse.
func SplitUndoPtr(ptr uint64) (no uint32, off int) { return uint32(ptr >> 16), int(ptr & 0xffff) }

// UndoBodyOffset is where a record's body begins behind the record.
const UndoBodyOffset = undoHead

// MaxUndoBody is the largest body an empty undo page takes.
const MaxUndoBody = Size - HeaderSize - undoHead - undoEnd

// UndoRoom is the largest body that still fits, with the end record's place kept free.
func (p *Page) UndoRoom() int { return Size - p.u16(offUndoUsed) - undoHead - undoEnd }

// UndoRecord reads the record at off; next is the offset behind it.
func (p *Page) UndoRecord(off int) (typ byte, prev uint64, body []byte, next int, ok bool) {
	used := p.u16(offUndoUsed)
	if off < HeaderSize || used > Size || off+undoHead > used {
		return 0, 0, nil, 0, false
	}
	n := p.u16(off)
	if n < undoHead || off+n > used {
		return 0, 0, nil, 0, false
	}
	return p[off+2], p.u64(off + 3), p[off+undoHead : off+n], off + n, true
}

// ParseUndoEnd reads the body of an end record.
func ParseUndoEnd(body []byte) (txid, no uint64, aborted, ok bool) {
	if len(body) != undoEnd-undoHead {
		return 0, 0, false, false
	}
	return binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[8:]), body[16] == 1, true
}

// AppendUndoFormat makes a page an empty undo page. openTx and last carry a transaction over from the page before.
func AppendUndoFormat(dst []byte, slot, prev uint32, openTx, last uint64) []byte {
	dst = append(dst, byte(opUndoFormat))
	dst = binary.AppendUvarint(dst, uint64(slot))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(prev))
	dst = binary.LittleEndian.AppendUint64(dst, openTx)
	return binary.LittleEndian.AppendUint64(dst, last)
}

// AppendUndoPush adds a record of an open transaction, or opens it.
func AppendUndoPush(dst []byte, txid uint64, typ byte, body []byte) []byte {
	dst = append(dst, byte(opUndoPush))
	dst = binary.LittleEndian.AppendUint64(dst, txid)
	return append(append(dst, typ), body...)
}

// AppendUndoPop says that the open transaction's last record is now an earlier one (0: none is left).
func AppendUndoPop(dst []byte, last uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, byte(opUndoPop)), last)
}

// AppendUndoEnd ends the open transaction: committed, or rolled back, with its number.
func AppendUndoEnd(dst []byte, txid, no uint64, aborted bool) []byte {
	dst = append(dst, byte(opUndoEnd))
	dst = binary.LittleEndian.AppendUint64(dst, txid)
	dst = binary.LittleEndian.AppendUint64(dst, no)
	if aborted {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// TxEffect is what an edit says of a transaction, for the log index: it is open, or it has ended.
// ok is false for edits that say nothing.
func TxEffect(edit []byte) (txid uint64, ended, ok bool) {
	if len(edit) < 9 || op(edit[0]) != opUndoPush && op(edit[0]) != opUndoEnd {
		return 0, false, false
	}
	return binary.LittleEndian.Uint64(edit[1:]), op(edit[0]) == opUndoEnd, true
}

func (p *Page) applyUndo(o op, a *arg) error {
	if o == opUndoFormat {
		slot, prev, open, last := a.num(), a.u64(), a.u64(), a.u64()
		if a.bad {
			return errShort
		}
		clear(p[offOwn:])
		p[offKind], p[offLevel] = byte(KindUndo), 0
		p.put16(offFormat, Format)
		p.put32(offUndoSlot, uint32(slot))
		p.put32(offUndoPrev, uint32(prev))
		p.put16(offUndoUsed, HeaderSize)
		p.put64(offUndoOpen, open)
		p.put64(offUndoLast, last)
		return nil
	}
	if p.Kind() != KindUndo {
		return errors.New("the page is no undo page")
	}
	x := a.u64()
	if a.bad {
		return errShort
	}
	open := p.u64(offUndoOpen)
	switch o {
	case opUndoPop:
		p.put64(offUndoLast, x)
		return nil
	case opUndoEnd:
		body := make([]byte, 0, undoEnd-undoHead)
		body = binary.LittleEndian.AppendUint64(body, x)
		body = append(body, a.bytes(9)...)
		if a.bad || open != x && open != 0 {
			return fmt.Errorf("end of transaction %d while %d is open", x, open)
		}
		if err := p.pushUndo(x, UndoTypeEnd, body); err != nil {
			return err
		}
		p.put64(offUndoOpen, 0)
		p.put64(offUndoLast, 0)
		return nil
	}
	typ := a.byte()
	if a.bad || open != x && open != 0 {
		return fmt.Errorf("record of transaction %d while %d is open", x, open)
	}
	return p.pushUndo(x, typ, a.b)
}

func (p *Page) pushUndo(txid uint64, typ byte, body []byte) error {
	used, n := p.u16(offUndoUsed), undoHead+len(body)
	if used < HeaderSize || used+n > Size {
		return fmt.Errorf("record of %d bytes at %d", n, used)
	}
	prev := p.u64(offUndoLast)
	if p.u64(offUndoOpen) != txid {
		prev = 0
	}
	p.put16(used, n)
	p[used+2] = typ
	p.put64(used+3, prev)
	copy(p[used+undoHead:], body)
	p.put16(offUndoUsed, used+n)
	p.put64(offUndoOpen, txid)
	p.put64(offUndoLast, UndoPtr(p.ID().No(), used))
	return nil
}

func (p *Page) checkUndo() string {
	used := p.u16(offUndoUsed)
	if used < HeaderSize || used > Size {
		return fmt.Sprintf("records end at %d", used)
	}
	for off := HeaderSize; off < used; {
		_, _, _, next, ok := p.UndoRecord(off)
		if !ok {
			return fmt.Sprintf("the record at %d makes no sense", off)
		}
		off = next
	}
	return ""
}
