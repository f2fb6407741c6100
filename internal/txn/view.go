package txn

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/hearthdb/hearth/internal/btree"
)

// view is a snapshot: which transactions are visible. It never changes once it is made.
type view struct {
	seq         uint64   // views in the order they were made: what an older one sees, a younger one sees
	low         uint64   // all ids below are visible
	limit       uint64   // ids from here on are not
	commitLimit uint64   // rule 8
	active      []uint64 // sorted, in [low, limit): not visible
}

func (v *view) sees(tx uint64) bool {
	if tx < v.low {
		return true
	}
	if tx >= v.limit {
		return false
	}
	_, hidden := slices.BinarySearch(v.active, tx)
	return !hidden
}

// session is what a transaction borrows: its place among the readers, and buffers.
//
// view is a hazard pointer. A reader stores the current view and looks whether it is still the current one; purge
// makes a new current view first and then reads all sessions. If purge misses a reader's store, the reader's second look came
// after purge's change, and it tries again. So a reader writes no line that another reader writes.
type session struct {
	view  atomic.Pointer[view]
	tx    atomic.Pointer[Tx] // whose it is, once that is listed
	arena []byte             // empty, its capacity is room for values given away
	cell  []byte             // scratch: a cell
	body  []byte             // scratch: an undo record
	_     [64]byte
}

// sessions lends and lists them. The list is weak: a session dropped by the pool, or with a transaction that was
// never ended, falls out of it and holds up nobody.
type sessions struct {
	free sync.Pool

	mu      sync.Mutex
	list    []weak.Pointer[session]
	pruneAt int // length of list at which dead ones are thrown out
}

func (s *sessions) get() *session {
	if x, _ := s.free.Get().(*session); x != nil {
		return x
	}
	x := &session{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= s.pruneAt {
		s.prune()
		s.pruneAt = 2*len(s.list) + 64
	}
	s.list = append(s.list, weak.Make(x))
	return x
}

// all is every session that is not garbage.
func (s *sessions) all() (list []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.list {
		if x := p.Value(); x != nil {
			list = append(list, x)
		}
	}
	return list
}

func (s *sessions) put(x *session) { s.free.Put(x) }

// prune is called with mu held.
func (s *sessions) prune() {
	s.list = slices.DeleteFunc(s.list, func(p weak.Pointer[session]) bool { return p.Value() == nil })
}

// oldest is the oldest of v, which was current a moment ago, and the views in use. What it sees all of them see.
func (s *sessions) oldest(v *view) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.list {
		if x := p.Value(); x != nil {
			if used := x.view.Load(); used != nil && used.seq < v.seq {
				v = used
			}
		}
	}
	return v
}

// snapshot takes the current view for a session.
func (m *Manager) snapshot(s *session) *view {
	if v := m.view.Load(); v != nil {
		s.view.Store(v)
		if m.view.Load() == v {
			return v
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.currentView()
	s.view.Store(v) // under mu no new view can be made between
	return v
}

// currentView is called with mu held.
func (m *Manager) currentView() *view {
	if v := m.view.Load(); v != nil {
		return v
	}
	m.mu.views++
	v := &view{seq: m.mu.views, low: m.mu.next, limit: m.mu.next, commitLimit: m.mu.next}
	if n := len(m.mu.active); n > 0 {
		v.low = m.mu.active[0].id
		v.active = make([]uint64, n)
		for i, w := range m.mu.active {
			v.active[i] = w.id
			if w.number != 0 {
				v.commitLimit = min(v.commitLimit, w.number)
			}
		}
	}
	m.view.Store(v)
	return v
}

// oldestView is the oldest of a view made now and all views in use.
func (m *Manager) oldestView() (oldest *view, low uint64) {
	m.mu.Lock()
	m.view.Store(nil)
	v := m.currentView()
	m.mu.Unlock()
	return m.sessions.oldest(v), v.low
}

// GetAside is Get in a snapshot of its own when the transaction has none yet, so that it still has none afterwards.
func (tx *Tx) GetAside(ctx context.Context, t *btree.Tree, key []byte) ([]byte, error) {
	first := tx.view == nil
	v, err := tx.Get(ctx, t, key, nil)
	if first && tx.view != nil {
		tx.s.view.Store(nil)
		tx.view = nil
	}
	return v, err
}
