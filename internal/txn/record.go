package txn

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// Types of undo records. The numbers are part of the format.
const (
	recInsert    = 1 // space u32, key length u16, key: there was no entry
	recUpdate    = 2 // the same, and the version before
	recLarge     = 3 // space u32, first page u32: an overflow chain was begun
	recMakeSpace = 4 // space u32: a space was made
	recDropSpace = 5 // space u32: a space goes when the transaction has committed
	recDelete    = 6 // like recUpdate; the new version is a delete mark. Purge has to visit the entry
)

// record is an undo record, parsed; before and key are parts of its body.
type record struct {
	ptr, prev uint64
	typ       byte
	space     uint32
	key       []byte
	before    []byte // recUpdate, recDelete: the version before, as it was in the cell
	first     uint32 // recLarge, or before is large: first page of the chain, 0 = freed
}

func appendEntryRecord(dst []byte, space uint32, key, before []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, space)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(key)))
	dst = append(dst, key...)
	return append(dst, before...)
}

func parseRecord(ptr uint64, typ byte, prev uint64, body []byte) (r record, ok bool) {
	r = record{ptr: ptr, typ: typ, prev: prev}
	if len(body) < 4 {
		return r, false
	}
	r.space = binary.LittleEndian.Uint32(body)
	body = body[4:]
	switch typ {
	case recMakeSpace, recDropSpace:
		return r, len(body) == 0
	case recLarge:
		if len(body) != 4 {
			return r, false
		}
		r.first = binary.LittleEndian.Uint32(body)
		return r, true
	case recInsert, recUpdate, recDelete:
		if len(body) < 2 {
			return r, false
		}
		n := int(binary.LittleEndian.Uint16(body))
		if len(body) < 2+n {
			return r, false
		}
		r.key, r.before = body[2:2+n], body[2+n:]
		if n > btree.MaxKey || n+len(r.before) > btree.MaxCell {
			return r, false
		}
		if typ == recInsert {
			return r, len(r.before) == 0
		}
		v, ok := parseVersion(r.before)
		if ok && v.large() {
			_, r.first = parseRef(v.value)
		}
		return r, ok
	}
	return r, false
}

func undoID(no uint32) page.ID { return page.MakeID(UndoSpace, no) }

// recordAt reads a record of an undo page; its slices point into the page.
func recordAt(p *page.Page, ptr uint64) (record, bool) {
	_, off := page.SplitUndoPtr(ptr)
	if p.Kind() != page.KindUndo {
		return record{}, false
	}
	typ, prev, body, _, ok := p.UndoRecord(off)
	if !ok {
		return record{}, false
	}
	return parseRecord(ptr, typ, prev, body)
}

func badRecord(ptr uint64) error {
	no, off := page.SplitUndoPtr(ptr)
	return &page.CorruptError{Page: undoID(no), What: fmt.Sprintf("there is no sound undo record at %d", off)}
}

// readRecord copies a record into buf, whose bytes the result then uses. It takes a latch only when an optimistic
// read fails; no latch of a tree may be held.
func (m *Manager) readRecord(ctx context.Context, ptr uint64, buf []byte) (record, []byte, error) {
	no, off := page.SplitUndoPtr(ptr)
	if k, ok := m.pool.Peek(undoID(no)); ok {
		kind := k.Page.Kind()
		typ, prev, body, _, ok := k.Page.UndoRecord(off)
		buf = append(buf[:0], body...)
		if k.End() && ok && kind == page.KindUndo {
			r, ok := parseRecord(ptr, typ, prev, buf)
			if !ok {
				return r, buf, badRecord(ptr)
			}
			return r, buf, nil
		}
	}
	g := m.pool.BeginRead(ctx)
	defer g.Abort()
	h, err := g.Fetch(undoID(no), pool.Shared)
	if err != nil {
		return record{}, buf, err
	}
	typ, prev, body, _, ok := h.Page.UndoRecord(off)
	if !ok || h.Page.Kind() != page.KindUndo {
		return record{}, buf, badRecord(ptr)
	}
	buf = append(buf[:0], body...)
	r, ok := parseRecord(ptr, typ, prev, buf)
	if !ok {
		return r, buf, badRecord(ptr)
	}
	return r, buf, nil
}
