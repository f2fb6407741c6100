package check

import (
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/txn"
)

// undo checks the undo space and learns where ids and spaces end.
func (r *run) undo() (nextSpace uint32, err error) {
	id := txn.UndoDirectory()
	var p page.Page
	if !r.read(id, &p) {
		return 0, r.ctx.Err()
	}
	ids, nextSpace, logs, err := txn.ParseUndoDirectory(&p)
	if err != nil {
		r.bad(id, "%v", err)
		return 0, nil
	}
	r.ids = ids
	used := map[uint32]bool{0: true, 1: true, id.No(): true}
	for slot, l := range logs {
		r.undoLog(uint32(slot), l, used)
	}
	r.bitmaps(txn.UndoSpace, used)
	return nextSpace, nil
}

// undoLog follows one undo log from its first page to its tail.
func (r *run) undoLog(slot uint32, l txn.UndoLog, used map[uint32]bool) {
	var p page.Page
	prev := uint32(0)
	for no := l.First; ; {
		id := page.MakeID(txn.UndoSpace, no)
		if used[no] {
			r.bad(id, "two undo logs lead to it")
			return
		}
		used[no] = true
		if !r.read(id, &p) {
			return
		}
		if p.Kind() != page.KindUndo {
			r.bad(id, "it is a %v page, want a page of undo log %d", p.Kind(), slot)
			return
		}
		h := p.UndoHeader()
		if h.Slot != slot {
			r.bad(id, "it belongs to undo log %d, want %d", h.Slot, slot)
		}
		if no != l.First && h.Prev != prev {
			r.bad(id, "the page before it is %d, it says %d", prev, h.Prev)
		}
		if no == l.Tail {
			if h.OpenTx != 0 {
				r.bad(id, "transaction %d is open in undo log %d", h.OpenTx, slot)
			}
			return
		}
		if h.Next == 0 {
			r.bad(id, "undo log %d ends here, before its last page %d", slot, l.Tail)
			return
		}
		prev, no = no, h.Next
	}
}
