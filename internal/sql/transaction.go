package sql

import (
	"context"
	"errors"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// Transaction is what GMS holds as one. The engine's transaction begins at the first access to data: GMS starts one for every
// statement, SET and SHOW too.
type Transaction struct {
	session      *Session
	readOnly     bool
	changes      bool // what is not a temporary table
	isolation    hearth.Isolation
	serializable bool
	once         *Characteristics // it was given these by SetNextTransaction

	tx     *hearth.Tx // nil before the first access
	start  hearth.Savepoint
	change *dict.Change // nil without DDL
	trees  map[string]*hearth.Tree
	saves  []savepoint
	ended  bool
}

// Characteristics of a transaction. An empty Isolation is the session's.
type Characteristics struct {
	Isolation string // as transaction_isolation spells it
	ReadOnly  bool
}

// String implements gms.Transaction.
func (t *Transaction) String() string {
	if t.tx == nil {
		return "transaction, not begun"
	}
	return fmt.Sprintf("transaction %d", t.tx.ID())
}

// IsReadOnly implements gms.Transaction.
func (t *Transaction) IsReadOnly() bool { return t.readOnly }

// SetNextTransaction gives the next transaction of the session, and only that, characteristics of its own: SET TRANSACTION.
func (s *Session) SetNextTransaction(c Characteristics) { s.next = &c }

// StartTransaction implements gms.TransactionSession. It does no I/O.
func (s *Session) StartTransaction(_ *gms.Context, how gms.TransactionCharacteristic) (gms.Transaction, error) {
	t := &Transaction{session: s, readOnly: how == gms.ReadOnly || s.settings.readOnly}
	isolation := s.settings.isolation
	if s.next != nil {
		t.once, s.next = s.next, nil
		t.readOnly = t.once.ReadOnly || how == gms.ReadOnly
		if t.once.Isolation != "" {
			isolation = t.once.Isolation
		}
	}
	switch isolation {
	case readUncommitted, readCommitted:
		t.isolation = hearth.ReadCommitted
	case serializable:
		t.serializable = true
	}
	return t, nil
}

// BeginSnapshot begins the engine's transaction and takes its snapshot now: START TRANSACTION WITH CONSISTENT SNAPSHOT.
func (s *Session) BeginSnapshot(ctx *gms.Context) error {
	tx, err := s.Tx(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Trees() // the first read takes the snapshot
	return sqlError(err)
}

func (t *Transaction) begin(ctx *gms.Context) (*hearth.Tx, error) {
	if t.tx != nil {
		t.tx.SetContext(ctx.Context)
		return t.tx, nil
	}
	tx, err := t.session.backend.db.Begin(ctx.Context, hearth.TxOptions{
		Isolation:  t.isolation,
		Durability: durability(),
		LockWait:   t.session.settings.lockWait,
		Tag:        uint64(t.session.ID()), // the connection, in lists of transactions and locks
	})
	if err != nil {
		return nil, sqlError(err)
	}
	t.tx, t.start = tx, tx.Savepoint()
	return tx, nil
}

// tree of the transaction. They are kept: a lookup join asks for every row.
func (t *Transaction) tree(ctx *gms.Context, name string) (*hearth.Tree, error) {
	if tree, ok := t.trees[name]; ok {
		return tree, nil
	}
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := tx.Tree(name)
	if err != nil {
		return nil, sqlError(err)
	}
	if t.trees == nil {
		t.trees = make(map[string]*hearth.Tree, 4)
	}
	t.trees[name] = tree
	return tree, nil
}

// SetTransaction implements gms.Session. One that has not ended stays, whatever GMS says: it forgets the transaction of a statement that
// failed without rolling it back, which UndoStatement, or the next statement, does; and for the time of a CALL it puts the transaction
// aside, although what the procedure does belongs to it.
func (s *Session) SetTransaction(tx gms.Transaction) {
	if t := s.current(); t != nil && !t.ended {
		return
	}
	if t, ok := tx.(*Transaction); ok && t.ended {
		tx = nil
	}
	s.BaseSession.SetTransaction(tx)
}

// CommitTransaction implements gms.TransactionSession. The transaction has ended when it returns, with an error too, unless the statement
// was stopped before: then nothing has happened. From here on it cannot be stopped any more.
func (s *Session) CommitTransaction(ctx *gms.Context, tx gms.Transaction) error {
	t, ok := tx.(*Transaction)
	if !ok || t.ended {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(s.stmts) > 1 && !s.calling {
		return nil // a statement in a procedure that a trigger calls: the transaction is that of the client's statement
	}
	if t.tx == nil && t.once != nil && !s.GetIgnoreAutoCommit() && s.next == nil {
		s.next = t.once // nothing was done in it: the next transaction is still to come
	}
	// DDL commits a transaction that BEGIN opened; what follows is in autocommit again. START TRANSACTION sets it anew.
	s.SetIgnoreAutoCommit(false)
	err := t.commitChanges(ctx)
	if err != nil && s.current() == t {
		s.BaseSession.SetTransaction(nil)
	}
	return err
}

// CommitImplicit commits the open transaction, if there is one, as statements do that MySQL commits around.
func (s *Session) CommitImplicit(ctx *gms.Context) error {
	t := s.current()
	if t == nil {
		return nil
	}
	err := s.CommitTransaction(ctx, t)
	s.BaseSession.SetTransaction(nil)
	return err
}

// Rollback implements gms.TransactionSession.
func (s *Session) Rollback(_ *gms.Context, tx gms.Transaction) error {
	t, ok := tx.(*Transaction)
	if !ok || t.ended {
		return nil
	}
	return t.rollback()
}

// drop rolls the session's transaction back and forgets it.
func (s *Session) drop(t *Transaction) error {
	err := t.rollback()
	s.BaseSession.SetTransaction(nil)
	return err
}

// commit is not interrupted by KILL: the log record may be on its way.
func (t *Transaction) commit(ctx *gms.Context) error {
	if t.ended {
		return nil
	}
	defer t.end()
	if t.tx == nil {
		return nil
	}
	err := t.tx.Commit(context.WithoutCancel(ctx.Context))
	if t.change != nil {
		if err == nil {
			t.change.Committed()
		} else {
			t.change.Abandoned()
		}
	}
	return sqlError(err)
}

func (t *Transaction) rollback() error {
	if t.ended {
		return nil
	}
	defer t.end()
	if t.tx == nil {
		return nil
	}
	err := t.tx.Rollback()
	if errors.Is(err, hearth.ErrTxDone) {
		err = nil // a deadlock has done it
	}
	if t.change != nil {
		t.change.Abandoned()
	}
	return sqlError(err)
}

// end lets go of the tables.
func (t *Transaction) end() {
	t.ended, t.trees, t.saves = true, nil, nil
	for i := range t.session.stmts {
		t.session.stmts[i].wrote = false // there is nothing to go back to
	}
	t.session.owner.ReleaseAll()
}
