package hearth

import (
	"fmt"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/txn"
)

// TxState says what an open transaction is doing.
type TxState = txn.State

const (
	TxRunning     = txn.StateRunning
	TxLockWait    = txn.StateLockWait    // for a row lock
	TxCommitting  = txn.StateCommitting  // its end is being made durable
	TxRollingBack = txn.StateRollingBack // whole, or to a savepoint
	TxLeftOver    = txn.StateLeftOver    // open at a crash, or its rollback failed: it is undone in the background
)

// LockMode is the strength of a row lock.
type LockMode = lock.Mode

const (
	LockShared    = lock.Shared
	LockExclusive = lock.Exclusive
)

// TxID names a transaction in lists.
type TxID struct {
	ID  uint64 // Tx.ID once it has written; until then a number for its locks, 0 before its first one
	Tag uint64 // TxOptions.Tag
}

// TxInfo is what is known of an open transaction.
type TxInfo struct {
	TxID
	State     TxState
	ReadOnly  bool
	Isolation Isolation
	Began     time.Time // with a Tag; else its first write or lock. Zero when TxLeftOver
	Snapshot  bool      // it holds a snapshot, and so what is deleted since cannot be purged
	Changes   int64     // versions of rows it has written and not undone; 0 when TxLeftOver
	Locks     int       // rows it has explicit locks of; the rows it changed are locked beside these
	Wait      *LockWait // in TxLockWait; without Blockers
}

// LockWait is one transaction waiting for the lock of one row.
type LockWait struct {
	Waiter   TxID
	Tree     string
	Key      []byte
	Mode     LockMode
	Since    time.Time
	Blockers []LockHolder // who must end first, those before it in the queue among them
}

// LockHolder is a transaction that has, or waits for, the lock of a row.
type LockHolder struct {
	TxID
	Mode    LockMode
	Granted bool
}

// LockInfo is one row with explicit locks: those of locking reads, and of writers that somebody waits for. Other rows that
// open transactions have changed are locked too, but in no list.
type LockInfo struct {
	Tree    string
	Key     []byte
	Holders []LockHolder // who has it, then who waits for it in order
}

// Deadlock is a cycle of waits that was broken: each waited for the next, the last for the first.
type Deadlock struct {
	At     time.Time
	Waits  []LockWait // without Blockers
	Victim int        // index in Waits of the one that was rolled back
}

// maxListedLocks bounds DB.LockWaits, in rows waited for.
const maxListedLocks = 10_000

// Transactions lists the open transactions that have a Tag, or have written or locked something, the oldest first. Each is told
// as it was at some moment during the call.
func (db *DB) Transactions() []TxInfo {
	if db.closed.Load() {
		return nil
	}
	var list []TxInfo
	names := db.treeNamer()
	for _, i := range db.txns.Transactions() {
		t := TxInfo{
			TxID: TxID{i.ID, i.Tag}, State: i.State, ReadOnly: i.ReadOnly, Isolation: i.Isolation, Began: i.Began,
			Snapshot: i.Snapshot, Changes: i.Changes, Locks: i.Locks,
		}
		if i.State == TxLockWait {
			w := names.wait(i.Waits)
			t.Wait = &w
		}
		list = append(list, t)
	}
	return list
}

// LockWaits lists who waits for whom, at most 10,000 rows.
func (db *DB) LockWaits() []LockWait {
	if db.closed.Load() {
		return nil
	}
	var list []LockWait
	names := db.treeNamer()
	for _, e := range db.txns.Locks(true, maxListedLocks) {
		for i, r := range e.Waiting {
			w := names.wait(r)
			for _, g := range e.Granted {
				if g.Owner != r.Owner && lock.Conflict(g.Mode, r.Mode) {
					w.Blockers = append(w.Blockers, LockHolder{TxID: TxID{g.Owner.No, g.Owner.Tag}, Mode: g.Mode, Granted: true})
				}
			}
			for _, before := range e.Waiting[:i] {
				if lock.Conflict(before.Mode, r.Mode) {
					w.Blockers = append(w.Blockers, LockHolder{TxID: TxID{before.Owner.No, before.Owner.Tag}, Mode: before.Mode})
				}
			}
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b LockWait) int { return a.Since.Compare(b.Since) })
	return list
}

// Locks lists rows with explicit locks, at most so many.
func (db *DB) Locks(most int) []LockInfo {
	if db.closed.Load() {
		return nil
	}
	var list []LockInfo
	names := db.treeNamer()
	for _, e := range db.txns.Locks(false, most) {
		i := LockInfo{Tree: names.of(e.Space), Key: e.Key}
		for _, g := range e.Granted {
			i.Holders = append(i.Holders, LockHolder{TxID: TxID{g.Owner.No, g.Owner.Tag}, Mode: g.Mode, Granted: true})
		}
		for _, w := range e.Waiting {
			i.Holders = append(i.Holders, LockHolder{TxID: TxID{w.Owner.No, w.Owner.Tag}, Mode: w.Mode})
		}
		list = append(list, i)
	}
	return list
}

// LastDeadlock is the deadlock that was broken last; false: there was none since Open.
func (db *DB) LastDeadlock() (Deadlock, bool) {
	last, ok := db.txns.LastDeadlock()
	if !ok || db.closed.Load() {
		return Deadlock{}, false
	}
	d := Deadlock{At: last.At, Victim: last.Victim}
	names := db.treeNamer()
	for _, w := range last.Cycle {
		d.Waits = append(d.Waits, names.wait(w))
	}
	return d, true
}

// treeNamer finds the names of trees, which it reads when the first is asked for.
type treeNamer struct {
	db    *DB
	names map[uint32]string
}

func (db *DB) treeNamer() *treeNamer { return &treeNamer{db: db} }

// of is the name of the tree in a space; for one that has no name any more, or whose name cannot be read, its file.
func (n *treeNamer) of(space uint32) string {
	if space == txn.CatalogSpace {
		return catalogName
	}
	if n.names == nil {
		names, err := n.db.namedTrees(n.db.ctx)
		if err != nil {
			n.db.opts.Logger.Warn("the names of trees cannot be read for a list", "error", err)
			names = map[uint32]string{}
		}
		n.names = names
	}
	if name, ok := n.names[space]; ok {
		return name
	}
	return fmt.Sprintf("(file %08x)", space)
}

func (n *treeNamer) wait(w lock.Wait) LockWait {
	return LockWait{Waiter: TxID{w.Owner.No, w.Owner.Tag}, Tree: n.of(w.Space), Key: w.Key, Mode: w.Mode, Since: w.Since}
}

// TreePages is what the pool holds of one tree.
type TreePages struct {
	Tree  string // "(catalog)" and "(undo)" are the engine's own
	Space uint32 // number of its file, as heat dumps and page ids have it
	Pages int
	Dirty int   // of them, changed and not yet written to the file
	Hits  int64 // lately: estimated from a sample, halved now and then
}

const (
	catalogName = "(catalog)"
	undoName    = "(undo)"
)

// PoolByTree tells which trees the pool holds pages of, those with most pages first. It walks over the descriptors of all pages.
func (db *DB) PoolByTree() []TreePages {
	if db.closed.Load() {
		return nil
	}
	var list []TreePages
	names := db.treeNamer()
	for space, s := range db.pool.BySpace() {
		t := TreePages{Tree: undoName, Space: space, Pages: s.Pages, Dirty: s.Dirty, Hits: s.Hits}
		if space != txn.UndoSpace {
			t.Tree = names.of(space)
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b TreePages) int { return b.Pages - a.Pages })
	return list
}
