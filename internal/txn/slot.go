package txn

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/space"
)

// Offsets in the undo directory, see the package's comment.
const (
	dirIDs       = 24
	dirSlots     = 32
	dirNextSpace = 36
	dirFirst     = page.HeaderSize
	slotBytes    = 16
	slotTail     = 8
	slotFirst    = 12
)

var undoDir = page.MakeID(UndoSpace, space.FirstOwned)

// slot is an undo log: used by one writer at a time from the free list, and by purge from its other end.
type slot struct {
	no   uint32
	tail uint32 // page; belongs to the writer that has the slot

	// The rest belongs to purge.
	headPage uint32 // everything before is purged
	headOff  int
	first    uint32 // page; from here up to the head page they are to be freed
	found    bool   // end holds the first transaction behind the head
	end      txEnd
	seekPage uint32 // where the search for its end record goes on
	seekOff  int
}

// slots hands slots out, last in first out, so that few are used and their pages stay in memory.
type slots struct {
	tokens chan struct{} // one for every writer; full = wait

	mu   sync.Mutex
	all  []*slot // by number; appended to only
	free []*slot
}

func slotAt(no uint32) int { return dirFirst + slotBytes*int(no) }

type dirContent struct {
	ids   uint64
	slots []*slot
}

func parseDir(p *page.Page) (d dirContent, err error) {
	bad := func(what string, args ...any) (dirContent, error) {
		return d, &page.CorruptError{Page: undoDir, What: fmt.Sprintf(what, args...)}
	}
	if p.Kind() != page.KindUndoDir {
		return bad("it is a %v page, want the undo directory", p.Kind())
	}
	d.ids = binary.LittleEndian.Uint64(p[dirIDs:])
	n := binary.LittleEndian.Uint32(p[dirSlots:])
	if n > MaxWritersLimit || d.ids == 0 {
		return bad("it has %d slots, at most %d fit; ids end at %d", n, MaxWritersLimit, d.ids)
	}
	for i := range n {
		b := p[slotAt(i):]
		s := &slot{no: i, headPage: binary.LittleEndian.Uint32(b), headOff: int(binary.LittleEndian.Uint16(b[4:])),
			tail: binary.LittleEndian.Uint32(b[slotTail:]), first: binary.LittleEndian.Uint32(b[slotFirst:])}
		if s.headPage == 0 || s.tail == 0 || s.headOff < page.HeaderSize || s.headOff > page.Size {
			return bad("slot %d begins at page %d offset %d and ends in page %d", i, s.headPage, s.headOff, s.tail)
		}
		if s.first == 0 {
			s.first = s.headPage
		}
		s.seekPage, s.seekOff = s.headPage, s.headOff
		d.slots = append(d.slots, s)
	}
	return d, nil
}

// takeSlot waits for a token, then takes a free slot or makes one.
func (m *Manager) takeSlot(ctx context.Context, timeout time.Duration) (*slot, error) {
	select {
	case m.slots.tokens <- struct{}{}:
	default:
		var late <-chan time.Time
		if timeout > 0 {
			t := time.NewTimer(timeout)
			defer t.Stop()
			late = t.C
		}
		select {
		case m.slots.tokens <- struct{}{}:
		case <-late:
			return nil, ErrTooManyWriters
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.slots.mu.Lock()
	if n := len(m.slots.free); n > 0 {
		s := m.slots.free[n-1]
		m.slots.free = m.slots.free[:n-1]
		m.slots.mu.Unlock()
		return s, nil
	}
	m.slots.mu.Unlock()
	s, err := m.makeSlot(ctx)
	if err != nil {
		<-m.slots.tokens
	}
	return s, err
}

// makeSlot adds a slot of one empty page, in one group.
func (m *Manager) makeSlot(ctx context.Context) (*slot, error) {
	g, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := g.Fetch(undoDir, pool.Exclusive)
	if err != nil {
		g.Abort()
		return nil, err
	}
	no := binary.LittleEndian.Uint32(dir.Page[dirSlots:])
	if no >= MaxWritersLimit {
		panic(fmt.Sprintf("BUG: undo slot %d, want less than %d: more writers than tokens", no, MaxWritersLimit))
	}
	r, err := m.undo.Reserve(g, 1, 0)
	if err != nil {
		g.Abort()
		return nil, err
	}
	h := r.Take()
	first := h.ID.No()
	g.Edit(h, page.AppendUndoFormat(g.Scratch(), no, 0, 0, 0))
	var b [slotBytes]byte
	binary.LittleEndian.PutUint32(b[:], first)
	binary.LittleEndian.PutUint16(b[4:], page.HeaderSize)
	binary.LittleEndian.PutUint32(b[slotTail:], first)
	g.Edit(dir, page.AppendWrite(g.Scratch(), slotAt(no), b[:]))
	g.Edit(dir, page.AppendWrite(g.Scratch(), dirSlots, binary.LittleEndian.AppendUint32(nil, no+1)))
	s := &slot{no: no, tail: first, headPage: first, headOff: page.HeaderSize, first: first, seekPage: first, seekOff: page.HeaderSize}
	m.slots.mu.Lock() // under the directory's latch, so that all stays in order
	m.slots.all = append(m.slots.all, s)
	m.slots.mu.Unlock()
	_, err = g.Commit()
	return s, err
}

func (m *Manager) freeSlot(s *slot) {
	m.slots.mu.Lock()
	m.slots.free = append(m.slots.free, s)
	m.slots.mu.Unlock()
}

// spot is a place for one undo record, found before the first edit of its group.
type spot struct {
	tail *pool.Held
	dir  *pool.Held         // nil when the record fits the tail
	next *space.Reservation // the new tail
}

// prepare latches what push will change. The group may hold pages of trees.
func (m *Manager) prepare(g *pool.Group, w *writer, body int) (spot, error) {
	if body > page.MaxUndoBody {
		panic(fmt.Sprintf("BUG: an undo record of %d bytes, want at most %d", body, page.MaxUndoBody))
	}
	tail, err := m.fetchTail(g, w)
	if err != nil || tail.Page.UndoRoom() >= body {
		return spot{tail: tail}, err
	}
	dir, err := g.Fetch(undoDir, pool.Exclusive)
	if err != nil {
		return spot{}, err
	}
	next, err := m.undo.Reserve(g, 1, tail.ID.No())
	return spot{tail, dir, next}, err
}

func (m *Manager) fetchTail(g *pool.Group, w *writer) (*pool.Held, error) {
	tail, err := g.Fetch(undoID(w.slot.tail), pool.Exclusive)
	if err != nil {
		return nil, err
	}
	if head := tail.Page.UndoHeader(); tail.Page.Kind() != page.KindUndo || head.Slot != w.slot.no || head.OpenTx != w.openID() {
		return nil, &page.CorruptError{Page: tail.ID, What: fmt.Sprintf("it is a %v page of slot %d with transaction %d open, want slot %d with %d",
			tail.Page.Kind(), head.Slot, head.OpenTx, w.slot.no, w.openID())}
	}
	return tail, nil
}

// push adds a record of w and returns the pointer to it.
func (w *writer) push(g *pool.Group, s spot, typ byte, body []byte) uint64 {
	tail := s.tail
	if s.next != nil {
		next := s.next.Take()
		g.Edit(next, page.AppendUndoFormat(g.Scratch(), w.slot.no, tail.ID.No(), w.openID(), w.last))
		no := binary.LittleEndian.AppendUint32(nil, next.ID.No())
		g.Edit(tail, page.AppendWrite(g.Scratch(), page.OffUndoNext, no))
		g.Edit(s.dir, page.AppendWrite(g.Scratch(), slotAt(w.slot.no)+slotTail, no))
		w.slot.tail, tail = next.ID.No(), next
		if w.turned == nil {
			w.turned = map[uint32]int{}
		}
		w.turned[w.slot.tail] = len(w.turned) + 1
	}
	ptr := page.UndoPtr(tail.ID.No(), tail.Page.UndoHeader().Used)
	g.Edit(tail, page.AppendUndoPush(g.Scratch(), w.id, typ, body))
	w.opened, w.last = true, ptr
	w.depth++
	w.changes.Store(int64(w.depth))
	return ptr
}

// wrote: the record a was written before record b, or is b. Places in an undo log are never used again, so that holds across
// rollbacks to savepoints.
func (w *writer) wrote(a, b uint64) bool {
	pa, offA := page.SplitUndoPtr(a)
	pb, offB := page.SplitUndoPtr(b)
	if pa == pb {
		return offA <= offB
	}
	return b != 0 && w.turned[pa] < w.turned[pb]
}

// pop takes the last record out of the chain of w, whose tail page the group holds.
func (w *writer) pop(g *pool.Group, tail *pool.Held, r *record) {
	g.Edit(tail, page.AppendUndoPop(g.Scratch(), r.prev))
	w.last = r.prev
	w.depth--
	w.changes.Store(int64(w.depth))
}
