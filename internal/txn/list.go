package txn

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/lock"
)

// State says what an open transaction is doing.
type State uint8

const (
	StateRunning     State = iota
	StateLockWait          // for a key
	StateCommitting        // its end is being made durable
	StateRollingBack       // whole or to a savepoint
	StateLeftOver          // open at a crash, or its rollback failed: it is undone in the background
)

func (s State) String() string {
	return [...]string{"running", "lock wait", "committing", "rolling back", "left over"}[s]
}

// Info is one open transaction, at a moment that is not the same for all its fields.
type Info struct {
	ID        uint64 // of its writes, or of its locks as long as it has not written; 0 before both
	Tag       uint64 // Options.Tag
	State     State
	ReadOnly  bool
	Isolation Isolation
	Began     time.Time // with a tag; else its first write or lock. Zero when left over
	Snapshot  bool      // it holds one, and with it purge
	Changes   int64     // versions written and not undone; unknown when left over
	Locks     int       // keys it has explicit locks of; what it changed is locked beside these
	Waits     lock.Wait // in StateLockWait
}

// told is the part of a transaction that Transactions reads while it runs, beside the options, which do not change.
type told struct {
	began  time.Time // set before others can see it; zero = they cannot
	owner  atomic.Pointer[lock.Owner]
	writer atomic.Pointer[writer]
	ending atomic.Uint32 // a State, 0 while none is forced
}

// Transactions lists the transactions that are open, the oldest first: those with a tag, and those that have written or locked
// something. To list every reader would cost each of them.
func (m *Manager) Transactions() []Info {
	var list []Info
	for _, x := range m.sessions.all() {
		if tx := x.tx.Load(); tx != nil {
			list = append(list, tx.info(x))
		}
	}
	for _, w := range m.takeLosers() {
		list = append(list, Info{ID: w.id, Tag: w.owner.Listed().Tag, State: StateLeftOver})
	}
	slices.SortStableFunc(list, func(a, b Info) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) })
	return list
}

func (tx *Tx) info(s *session) Info {
	i := Info{
		Tag: tx.opts.Tag, ReadOnly: tx.opts.ReadOnly, Isolation: tx.opts.Isolation, Began: tx.told.began,
		Snapshot: s.view.Load() != nil, State: State(tx.told.ending.Load()),
	}
	if w := tx.told.writer.Load(); w != nil {
		i.Changes = w.changes.Load()
	}
	if o := tx.told.owner.Load(); o != nil {
		i.ID, i.Locks = o.Listed().No, o.Held()
		if wait, ok := tx.m.locks.Waiting(o); ok {
			i.State, i.Waits = StateLockWait, wait
		}
	}
	return i
}

// Locks lists keys with explicit locks, see lock.Manager.List.
func (m *Manager) Locks(waited bool, most int) []lock.Entry { return m.locks.List(waited, most) }

// LastDeadlock is the one found last; false: none was.
func (m *Manager) LastDeadlock() (lock.Deadlock, bool) { return m.locks.LastDeadlock() }

// enlist makes others see the transaction.
func (tx *Tx) enlist() {
	tx.told.began = time.Now()
	tx.s.tx.Store(tx)
}

// setOwner gives the transaction its lock owner.
func (tx *Tx) setOwner(o *lock.Owner) {
	tx.owner = o
	tx.told.owner.Store(o)
	if tx.told.began.IsZero() {
		tx.enlist()
	}
}
