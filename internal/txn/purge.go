package txn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/space"
)

const (
	// purgeBatch is how many transactions of one slot are purged before the next slot's turn.
	purgeBatch = 1024
	// purgeRest is what purge waits for a few more transactions, so that it does not run for each.
	purgeRest = time.Millisecond
	// purgePoll is how often purge looks whether the snapshots in its way have gone: their end tells nobody.
	purgePoll = 50 * time.Millisecond
	// purgeRetry is how long it waits after an error.
	purgeRetry = time.Second
	// throttleMost is the longest a new writer is held up while history is long.
	throttleMost = 10 * time.Millisecond
)

// errLater: a dropped space may still be used by writers that began before the drop was committed.
var errLater = errors.New("the space is still in use")

type purge struct {
	wake    chan struct{} // capacity 1: a transaction has ended
	mu      sync.Mutex    // one round at a time; guards purge's part of every slot
	purged  atomic.Uint64 // transactions
	blocked atomic.Bool   // the last round found only what snapshots need
}

// txEnd is a transaction in a slot, from the end record.
type txEnd struct {
	id, number uint64
	aborted    bool
	last       uint64 // its last record
	page       uint32 // the place behind it
	off        int
}

func (p *purge) kick() {
	if len(p.wake) == 0 {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// throttle slows a new writer down while purge cannot keep up. When snapshots hold purge up, waiting would not help.
func (m *Manager) throttle(ctx context.Context) {
	over := m.history.Load() - historySoft
	if over <= 0 || m.purge.blocked.Load() {
		return
	}
	delay := min(time.Duration(1+over*10/historySoft)*time.Millisecond, throttleMost)
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
}

func (m *Manager) purgeLoop(ctx context.Context) {
	for {
		r := m.purgeRound(ctx)
		var wait time.Duration
		switch {
		case ctx.Err() != nil || m.dead.Load():
			return
		case r.more:
			continue
		case r.err != nil:
			m.cfg.Logger.Error("purge failed, it is tried again", "err", r.err)
			wait = purgeRetry
		case r.blocked:
			wait = purgePoll
		}
		var poll <-chan time.Time
		if wait > 0 {
			poll = time.After(wait)
		}
		wake := m.purge.wake
		if r.err != nil {
			wake = nil // not again for every commit
		}
		select {
		case <-ctx.Done():
			return
		case <-poll:
			continue
		case <-wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(purgeRest):
		}
	}
}

// round is what came of one look at all slots.
type round struct {
	purged  int
	blocked bool // ended transactions are left that somebody may need
	more    bool // a slot had more than its batch
	err     error
}

func (m *Manager) purgeRound(ctx context.Context) round {
	m.purge.mu.Lock()
	defer m.purge.mu.Unlock()
	oldest, low := m.oldestView()
	m.slots.mu.Lock()
	all := m.slots.all
	m.slots.mu.Unlock()
	var r round
	for _, s := range all {
		if ctx.Err() != nil {
			break
		}
		if err := m.purgeSlot(ctx, s, oldest.commitLimit, low, &r); err != nil {
			r.err = fmt.Errorf("undo slot %d: %w", s.no, err)
		}
	}
	m.purge.blocked.Store(r.blocked && r.purged == 0)
	return r
}

// purgeSlot purges from the head of a slot what has a number below limit. low is the least active id.
func (m *Manager) purgeSlot(ctx context.Context, s *slot, limit, low uint64, r *round) error {
	for n := 0; ; n++ {
		if n == purgeBatch {
			r.more = true
			break
		}
		if !s.found {
			if found, err := m.findEnd(ctx, s); err != nil {
				return err
			} else if !found {
				break
			}
		}
		if s.end.number >= limit {
			r.blocked = true
			break
		}
		records, err := m.purgeTx(ctx, &s.end, low)
		if err == errLater {
			r.blocked = true
			break
		}
		if err != nil {
			return err
		}
		if s.end.number >= m.born {
			m.history.Add(-int64(records) - 1)
		}
		s.headPage, s.headOff, s.found = s.end.page, s.end.off, false
		r.purged++
		m.purge.purged.Add(1)
	}
	return m.freeUndo(ctx, s)
}

// findEnd looks for the end record of the first transaction behind the head. It goes on where it stopped the last time: records
// do not move.
func (m *Manager) findEnd(ctx context.Context, s *slot) (bool, error) {
	for {
		g := m.pool.BeginRead(ctx)
		h, err := g.Fetch(undoID(s.seekPage), pool.Shared)
		if err != nil {
			g.Abort()
			return false, err
		}
		head := h.Page.UndoHeader()
		if h.Page.Kind() != page.KindUndo || head.Slot != s.no {
			g.Abort()
			return false, &page.CorruptError{Page: h.ID, What: fmt.Sprintf("it is a %v page of slot %d, want slot %d", h.Page.Kind(), head.Slot, s.no)}
		}
		for s.seekOff < head.Used {
			typ, prev, body, next, ok := h.Page.UndoRecord(s.seekOff)
			if !ok {
				g.Abort()
				return false, badRecord(page.UndoPtr(s.seekPage, s.seekOff))
			}
			s.seekOff = next
			if typ != page.UndoTypeEnd {
				continue
			}
			id, number, aborted, ok := page.ParseUndoEnd(body)
			g.Abort()
			if !ok {
				return false, badRecord(page.UndoPtr(s.seekPage, next))
			}
			s.found, s.end = true, txEnd{id, number, aborted, prev, s.seekPage, next}
			return true, nil
		}
		g.Abort()
		if head.Next == 0 {
			return false, nil
		}
		if s.headPage == s.seekPage && s.headOff == s.seekOff { // nothing of this page is needed
			s.headPage, s.headOff = head.Next, page.HeaderSize
		}
		s.seekPage, s.seekOff = head.Next, page.HeaderSize
	}
}

// purgeTx removes what only views that are gone could see: of a transaction that was rolled back nothing, its records are
// enough.
func (m *Manager) purgeTx(ctx context.Context, e *txEnd, low uint64) (records int, err error) {
	if e.aborted {
		return 0, nil
	}
	var drop []uint32
	var buf []byte
	for ptr := e.last; ptr != 0; records++ {
		var r record
		if r, buf, err = m.readRecord(ctx, ptr, buf); err != nil {
			return 0, err
		}
		ptr = r.prev
		switch r.typ {
		case recDropSpace:
			if low <= e.number {
				return 0, errLater
			}
			drop = append(drop, r.space)
		case recUpdate, recDelete:
			err = m.purgeEntry(ctx, e, &r)
			if isCorrupt(err) {
				m.cfg.Logger.Error("purge leaves something behind in a damaged tree", "space", r.space, "err", err)
			} else if err != nil {
				return 0, err
			}
		}
	}
	for _, no := range drop {
		if err := m.dropSpace(ctx, no); err != nil {
			return 0, err
		}
	}
	return records, nil
}

// purgeEntry frees the large value that r's transaction replaced, and the entry if it deleted it and nobody wrote it since.
func (m *Manager) purgeEntry(ctx context.Context, e *txEnd, r *record) error {
	if r.typ != recDelete && r.first == 0 {
		return nil
	}
	t, err := m.cfg.Trees(r.space)
	if errors.Is(err, ErrTreeNotFound) {
		return nil // dropped later, and that was purged before
	}
	if err != nil {
		return err
	}
	if err := m.freeChain(ctx, t, r); err != nil || r.typ != recDelete {
		return err
	}
	g, err := m.begin(ctx)
	if err != nil {
		return err
	}
	pos, err := t.Seek(ctx, g, r.key, 0)
	if err != nil {
		g.Abort()
		return err
	}
	if pos.Found {
		v, ok := parseVersion(pos.Value())
		if !ok {
			g.Abort()
			return badEntry(t, r.key)
		}
		if v.tx == e.id && v.undo == r.ptr && !v.live() {
			return m.commitTidy(ctx, g, t, r.key, pos.Remove())
		}
	}
	g.Abort()
	return nil
}

// freeUndo moves the head in the directory and frees the pages before it, some in each group.
func (m *Manager) freeUndo(ctx context.Context, s *slot) error {
	for s.first != s.headPage {
		g, err := m.begin(ctx)
		if err != nil {
			return err
		}
		first, err := m.freeUndoPages(g, s)
		if err != nil {
			g.Abort()
			return err
		}
		if _, err := g.Commit(); err != nil {
			m.dead.Store(true)
			return err
		}
		s.first = first
	}
	return nil
}

func (m *Manager) freeUndoPages(g *pool.Group, s *slot) (first uint32, err error) {
	first = s.first
	var free []*pool.Held
	for first != s.headPage && len(free) < piecesPerGroup {
		h, err := g.Fetch(undoID(first), pool.Exclusive)
		if err != nil {
			return 0, err
		}
		head := h.Page.UndoHeader()
		if h.Page.Kind() != page.KindUndo || head.Slot != s.no || head.Next == 0 {
			return 0, &page.CorruptError{Page: h.ID, What: fmt.Sprintf("it is a %v page of slot %d before page %d, want slot %d", h.Page.Kind(), head.Slot, head.Next, s.no)}
		}
		free = append(free, h)
		first = head.Next
	}
	dir, err := g.Fetch(undoDir, pool.Exclusive)
	if err != nil {
		return 0, err
	}
	if err := m.freePages(g, m.undo, free); err != nil {
		return 0, err
	}
	// The head is where it will be when the last page is freed: what was purged is not purged again without its pages.
	b := binary.LittleEndian.AppendUint32(nil, s.headPage)
	b = binary.LittleEndian.AppendUint16(b, uint16(s.headOff))
	g.Edit(dir, page.AppendWrite(g.Scratch(), slotAt(s.no), b))
	g.Edit(dir, page.AppendWrite(g.Scratch(), slotAt(s.no)+slotFirst, binary.LittleEndian.AppendUint32(nil, first)))
	return first, nil
}

// WaitIdle waits until all losers are rolled back and everything that has ended is purged. Snapshots and writers that stay
// open may keep that from happening.
func (m *Manager) WaitIdle(ctx context.Context) error {
	for {
		if m.Losers() == 0 {
			r := m.purgeRound(ctx)
			if err := ctx.Err(); err != nil {
				return err
			}
			if r == (round{}) {
				return nil
			}
			if r.err != nil {
				return r.err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(purgeRest):
		}
	}
}

// freePages gives pages held by g back to their space. It edits only after everything that can fail.
func (m *Manager) freePages(g *pool.Group, sp *space.Space, pages []*pool.Held) error {
	slices.SortFunc(pages, func(a, b *pool.Held) int { return int(int64(a.ID) - int64(b.ID)) })
	for _, h := range pages {
		if err := sp.PrepareFree(g, h.ID.No()); err != nil {
			return err
		}
	}
	for _, h := range pages {
		sp.Free(g, h)
	}
	return nil
}
