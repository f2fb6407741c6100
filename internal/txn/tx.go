package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/page"
)

// Isolation says what a transaction's reads see.
type Isolation uint8

const (
	RepeatableRead Isolation = iota // the snapshot taken at the first read
	ReadCommitted                   // a fresh snapshot with every Statement
)

// Durability says when Commit returns.
type Durability uint8

const (
	DurabilityCommit  Durability = iota // when a power cut cannot undo it
	DurabilityProcess                   // when the death of the process cannot
)

// Options of one transaction.
type Options struct {
	ReadOnly        bool
	Isolation       Isolation
	Durability      Durability
	LockWaitTimeout time.Duration // 0: the Manager's
	Tag             uint64        // the caller's, told in lists; with one the transaction is in them from the beginning
}

// Tx is a transaction. It is used by one goroutine at a time.
//
// Writes and locking reads see the latest committed version, as in MySQL; other reads the snapshot and the transaction's
// own writes. Rejected: pooling Tx objects. A caller who uses one after its end would meet another transaction; what is
// expensive to make is in the session, which is pooled.
type Tx struct {
	m       *Manager
	opts    Options
	s       *session
	view    *view
	w       *writer     // from the first write on
	owner   *lock.Owner // from the first write or lock on
	cursors []*Cursor   // open ones
	told    told
	done    bool
	broken  error // why nothing but Rollback is left
}

// writer is the part of a transaction that others see, from its first write until it has ended. A rollback that fails, and a
// crash, leave it as a loser. Never reused, since others may still hold it.
type writer struct {
	id      uint64
	owner   *lock.Owner
	loser   atomic.Bool  // nobody waits for it: restore its entries
	number  uint64       // of its end, 0 before; guarded by Manager.mu
	changes atomic.Int64 // is depth

	// The rest belongs to the goroutine that has the transaction.
	slot   *slot
	token  bool
	opened bool           // has a record in the undo log, so it needs an end record
	last   uint64         // pointer to its last record that is not undone
	depth  int            // how many there are in the chain; of a loser, less than that
	turned map[uint32]int // the undo pages it has turned to, from 1 in order; the one it began in is missing
}

func (w *writer) openID() uint64 {
	if w.opened {
		return w.id
	}
	return 0
}

// Begin starts a transaction. It must be ended by Commit or Rollback.
func (m *Manager) Begin(opts Options) *Tx {
	tx := new(Tx)
	m.BeginIn(tx, opts)
	return tx
}

// BeginIn is Begin in memory of the caller's, who never uses it for another transaction.
func (m *Manager) BeginIn(tx *Tx, opts Options) {
	if opts.LockWaitTimeout == 0 {
		opts.LockWaitTimeout = m.cfg.LockWaitTimeout
	}
	tx.m, tx.opts, tx.s = m, opts, m.sessions.get()
	if opts.Tag != 0 {
		tx.enlist()
	}
}

// ID is the transaction's id, 0 before its first write.
func (tx *Tx) ID() uint64 {
	if tx.w == nil {
		return 0
	}
	return tx.w.id
}

func (tx *Tx) usable() error {
	if tx.done {
		return ErrTxDone
	}
	return tx.broken
}

// writer makes tx a write transaction.
func (tx *Tx) writer(ctx context.Context) (*writer, error) {
	if tx.w != nil {
		return tx.w, nil
	}
	if tx.opts.ReadOnly {
		return nil, ErrReadOnly
	}
	m := tx.m
	m.throttle(ctx)
	s, err := m.takeSlot(ctx, tx.opts.LockWaitTimeout)
	if err != nil {
		return nil, err
	}
	w := &writer{slot: s, token: true}
	if err := m.lockWithID(ctx); err != nil {
		m.freeSlot(s)
		<-m.slots.tokens
		return nil, err
	}
	w.id = m.mu.next
	m.mu.next++
	if tx.owner == nil {
		tx.setOwner(lock.NewOwner(w.id, tx.opts.Tag))
	}
	w.owner = tx.owner
	w.owner.SetListed(w.id)
	// The current view stays right: to it w.id is not visible, being beyond its limit.
	m.mu.active = append(m.mu.active, w)
	m.setLowest()
	m.mu.Unlock()
	tx.w = w
	tx.told.writer.Store(w)
	return w, nil
}

// lockOwner makes tx able to hold locks, without making it a writer.
func (tx *Tx) lockOwner(ctx context.Context) (*lock.Owner, error) {
	if tx.owner == nil {
		if err := tx.m.lockWithID(ctx); err != nil {
			return nil, err
		}
		tx.setOwner(lock.NewOwner(tx.m.mu.next, tx.opts.Tag))
		tx.m.mu.next++
		tx.m.mu.Unlock()
	}
	return tx.owner, nil
}

// Commit ends the transaction and makes its changes visible. When it fails with ErrDeadlock or because a page cannot be read
// the transaction is still open, to be rolled back; when the log is dead it has ended, and the next start decides.
func (tx *Tx) Commit(ctx context.Context) error {
	if err := tx.usable(); err != nil {
		return err
	}
	m, w := tx.m, tx.w
	if w == nil || !w.opened {
		tx.finish()
		return nil
	}
	tx.told.ending.Store(uint32(StateCommitting))
	end, err := m.end(ctx, w, false)
	if err != nil && !m.dead.Load() {
		tx.told.ending.Store(uint32(StateRunning))
		return fmt.Errorf("commit: %w", err)
	}
	if err == nil {
		// The end record is in the log: from here on there is no way back, so ctx does not matter any more.
		err = tx.waitDurable(end)
	}
	if err != nil {
		// Nobody may see what may not have happened: w stays active for ever. Waiters get to know by m.dead.
		m.dead.Store(true)
		m.locks.Release(w.owner)
		tx.leave()
		return fmt.Errorf("commit: it is unknown whether the transaction is durable: %w", err)
	}
	tx.finish()
	return nil
}

func (tx *Tx) waitDurable(end page.LSN) error {
	switch {
	case tx.opts.Durability == DurabilityCommit:
		return tx.m.log.WaitDurable(context.Background(), end)
	case !tx.m.cfg.Survives:
		return tx.m.log.WaitWritten(context.Background(), end)
	}
	return nil
}

// Rollback undoes and ends the transaction. On an error it has ended too, is invisible, and the rest is undone in the background.
func (tx *Tx) Rollback(ctx context.Context) error {
	if tx.done {
		return ErrTxDone
	}
	if w := tx.w; w != nil && w.opened {
		tx.told.ending.Store(uint32(StateRollingBack))
		if err := tx.m.rollback(context.WithoutCancel(ctx), w); err != nil {
			tx.m.abandon(w)
			tx.leave()
			return fmt.Errorf("rollback goes on in the background: %w", err)
		}
	}
	tx.finish()
	return nil
}

// finish is the end of a transaction whose undo log is in order.
func (tx *Tx) finish() {
	if tx.w != nil {
		tx.m.retire(tx.w)
	} else if tx.owner != nil {
		tx.m.locks.Release(tx.owner)
	}
	tx.leave()
}

// leave gives back what a reader has.
func (tx *Tx) leave() {
	for _, c := range tx.cursors {
		c.detach()
	}
	tx.cursors = nil
	if tx.view != nil {
		tx.s.view.Store(nil)
	}
	if !tx.told.began.IsZero() {
		tx.s.tx.Store(nil)
	}
	tx.m.sessions.put(tx.s)
	tx.s, tx.view, tx.done = nil, nil, true
}

// end gives w its number and logs its end.
func (m *Manager) end(ctx context.Context, w *writer, aborted bool) (page.LSN, error) {
	if err := m.lockWithID(ctx); err != nil {
		return 0, err
	}
	w.number = m.mu.next
	number := w.number
	m.mu.next++
	m.mu.Unlock()
	g, err := m.begin(ctx)
	if err == nil {
		tail, ferr := m.fetchTail(g, w)
		if err = ferr; err == nil {
			g.Edit(tail, page.AppendUndoEnd(g.Scratch(), w.id, number, aborted))
			end, err := g.Commit()
			if err != nil {
				m.dead.Store(true)
			}
			return end, err
		}
		g.Abort()
	}
	m.mu.Lock()
	w.number = 0
	m.mu.Unlock()
	return 0, err
}

// retire takes an ended writer out of the active set, then lets go of its locks (rule 4).
func (m *Manager) retire(w *writer) {
	m.mu.Lock()
	i, ok := m.findActive(w.id)
	if !ok {
		panic(fmt.Sprintf("BUG: transaction %d ends twice", w.id))
	}
	m.mu.active = slices.Delete(m.mu.active, i, i+1)
	if w.loser.Load() {
		m.mu.losers--
	}
	m.setLowest()
	m.view.Store(nil)
	m.mu.Unlock()
	m.locks.Release(w.owner)
	if w.opened {
		m.history.Add(int64(max(w.depth, 0)) + 1)
		m.purge.kick()
	}
	m.freeSlot(w.slot)
	if w.token {
		<-m.slots.tokens
	}
}

// fail notes what an error leaves of the transaction, and returns it.
func (tx *Tx) fail(err error) error {
	if errors.Is(err, ErrDeadlock) {
		tx.broken = ErrDeadlock
	}
	return err
}

// Savepoint is a place to roll back to, and a moment that tells the transaction's writes before it from those after it.
type Savepoint struct {
	taken bool // false in the zero value, which is no moment
	last  uint64
	depth int
}

// Savepoint marks the transaction's present state.
func (tx *Tx) Savepoint() Savepoint {
	sp := Savepoint{taken: true}
	if w := tx.w; w != nil {
		sp.last, sp.depth = w.last, w.depth
	}
	return sp
}

// Statement begins a statement: a savepoint and, under read committed, a fresh snapshot. Values and readers got from
// the snapshot before must not be used any more; cursors go on from where they stand.
func (tx *Tx) Statement() Savepoint {
	if tx.opts.Isolation == ReadCommitted && tx.view != nil && !tx.done {
		tx.s.view.Store(nil)
		tx.view = nil
		tx.staleCursors()
	}
	return tx.Savepoint()
}

// RollbackTo undoes what was written since the savepoint. Locks stay. Later savepoints are gone. When it fails, only
// Rollback is left.
func (tx *Tx) RollbackTo(ctx context.Context, sp Savepoint) error {
	if err := tx.usable(); err != nil {
		return err
	}
	w := tx.w
	if w == nil {
		if sp.depth != 0 {
			return ErrNoSavepoint
		}
		return nil
	}
	if w.depth < sp.depth {
		return ErrNoSavepoint
	}
	tx.staleCursors()
	tx.told.ending.Store(uint32(StateRollingBack))
	defer tx.told.ending.Store(uint32(StateRunning))
	ctx = context.WithoutCancel(ctx)
	for w.depth > sp.depth {
		if err := tx.m.undoLast(ctx, w); err != nil {
			tx.broken = fmt.Errorf("rollback to a savepoint failed, roll the transaction back: %w", err)
			return tx.broken
		}
	}
	if w.last != sp.last {
		return ErrNoSavepoint
	}
	return nil
}
