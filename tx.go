package hearth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hearthdb/hearth/internal/txn"
)

// Isolation says what the reads of a transaction see.
type Isolation = txn.Isolation

const (
	// RepeatableRead reads see one snapshot, taken at the first read. The default.
	RepeatableRead = txn.RepeatableRead
	// ReadCommitted reads see the snapshot of their statement, see Tx.Statement.
	ReadCommitted = txn.ReadCommitted
)

// TxOptions of one transaction. The zero value of a field is the database's default.
type TxOptions struct {
	ReadOnly   bool
	Isolation  Isolation
	Durability Durability
	LockWait   time.Duration // how long a row lock is waited for
	Tag        uint64        // the caller's, such as the number of a connection; told in lists like DB.Transactions
}

// Tx is a transaction, for one goroutine at a time. It ends with Commit or Rollback; a context given to Begin bounds all
// waiting in it.
type Tx struct {
	db       *DB
	tx       txn.Tx
	first    Tree // the tree opened first, which saves an allocation for most
	ctx      context.Context
	done     bool
	readOnly bool
	quiet    bool   // no tree was being created or dropped when it began: the name cache holds for it
	ddlSeq   uint64 // state of the name cache it began with
	ddl      bool   // it has created or dropped a tree
	wrote    []*treeState
	stripe   uint8 // of DB.open

	savepoints int // taken so far
}

// Begin starts a transaction. Update and View are the shorter way.
func (db *DB) Begin(ctx context.Context, opts TxOptions) (*Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cause := db.dead.Load(); cause != nil {
		return nil, fmt.Errorf("%w: %w", ErrDead, *cause)
	}
	o := txn.Options{ReadOnly: opts.ReadOnly, Isolation: opts.Isolation, LockWaitTimeout: opts.LockWait, Tag: opts.Tag}
	d := opts.Durability
	if d == DurabilityDefault {
		d = db.opts.Durability
	}
	if d == DurabilityProcess {
		o.Durability = txn.DurabilityProcess
	}
	tx := &Tx{db: db, ctx: ctx, readOnly: opts.ReadOnly, stripe: uint8(rand.Uint32() % openStripes)}
	db.open[tx.stripe].n.Add(1)
	if db.closed.Load() { // Close counts after it has closed
		db.open[tx.stripe].n.Add(-1)
		return nil, ErrClosed
	}
	tx.ddlSeq, tx.quiet = db.names.begin()
	db.txns.BeginIn(&tx.tx, o)
	return tx, nil
}

// usable says why the transaction can do nothing more.
func (tx *Tx) usable() error {
	if tx.done {
		return ErrTxDone
	}
	if tx.db.closed.Load() {
		return ErrClosed
	}
	return nil
}

// fail passes an error on. A deadlock ends the transaction: its victim is rolled back whole, as in InnoDB.
func (tx *Tx) fail(err error) error {
	if err != nil && errors.Is(err, ErrDeadlock) && !tx.done {
		tx.Rollback()
	}
	return mapError(err)
}

// SetContext makes ctx bound all waiting from now on: that of a statement, say, so that ending it ends a wait for a lock. The
// transaction stays open when ctx ends; only Rollback does not care about it.
func (tx *Tx) SetContext(ctx context.Context) { tx.ctx = ctx }

// ID is the transaction's number, 0 before its first write.
func (tx *Tx) ID() uint64 { return tx.tx.ID() }

// Commit makes the transaction's changes visible and durable. The transaction has ended when it returns, also with an error,
// of which only one leaves open whether it took place: one that is ErrDead.
func (tx *Tx) Commit(ctx context.Context) error {
	if err := tx.usable(); err != nil {
		return err
	}
	err := tx.tx.Commit(ctx)
	if err != nil && !errors.Is(err, ErrDead) {
		tx.Rollback() // also ends it
		return mapError(err)
	}
	tx.end()
	return mapError(err)
}

// Rollback undoes the transaction's changes. After Commit or Rollback it does nothing and returns ErrTxDone.
func (tx *Tx) Rollback() error {
	if tx.done {
		return ErrTxDone
	}
	defer tx.end()
	return mapError(tx.tx.Rollback(context.WithoutCancel(tx.ctx)))
}

// end lets go of what the transaction has outside package txn.
func (tx *Tx) end() {
	tx.done = true
	tx.db.open[tx.stripe].n.Add(-1)
	for _, s := range tx.wrote {
		s.leave(tx)
	}
	tx.wrote = nil
	if tx.ddl {
		tx.db.names.end()
	}
}

// Savepoint is a place to roll back to, and a moment for ReadOptions.Before. The zero value is none.
type Savepoint struct{ sp txn.Savepoint }

// Savepoint marks the present state of the transaction.
func (tx *Tx) Savepoint() Savepoint {
	tx.savepoints++
	return Savepoint{tx.tx.Savepoint()}
}

// RollbackTo undoes what was done since the savepoint. Row locks stay; later savepoints are gone.
func (tx *Tx) RollbackTo(sp Savepoint) error {
	if err := tx.usable(); err != nil {
		return err
	}
	return tx.fail(tx.tx.RollbackTo(context.WithoutCancel(tx.ctx), sp.sp))
}

// Statement begins a statement: it returns a savepoint for undoing the statement alone, and under ReadCommitted takes a
// fresh snapshot.
func (tx *Tx) Statement() Savepoint {
	tx.savepoints++
	return Savepoint{tx.tx.Statement()}
}
