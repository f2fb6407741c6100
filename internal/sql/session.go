package sql

import (
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// Session is one connection's state: GMS's own, the transaction, and the statement that runs.
type Session struct {
	*gms.BaseSession
	backend      *Backend
	owner        *dict.Owner // of metadata locks
	settings     settings
	next         *Characteristics // of the next transaction only
	stmts        []statement      // that run: the client's, in it those of procedures
	examined     uint64           // rows looked at by the statement
	waited       time.Duration    // for locks of tables, by the statement; the engine counts waits for rows
	temporary    temporaries
	built        uint64              // id of the table that GMS is about to read for nothing, see BuildIndex
	rewriting    *rewriting          // GMS rewrites a table; nil: no
	viewDatabase string              // of a view that the statement uses while no database is selected
	tableComment string              // of the CREATE TABLE that runs, see rewriteDDL
	faking       bool                // innodb_fake_changes when the client's statement began
	analyzed     bool                // GMS has begun to analyze the client's statement
	calling      bool                // the client's statement is a CALL: statements in the procedure end transactions as a client's do
	defining     bool                // the client's statement makes a view
	cursors      []*innerRows        // open in procedures
	quiet        bool                // the statement walks over all tables and locks none of them
	planned      sqlparser.Statement // that GMS plans, see viewLocks
	event        *eventProcedure     // that the session executes; nil: it is a client's
	picture      *dict.Schema        // of all tables, as the statement saw them when it began to walk over them; nil: it has not
}

var (
	_ gms.TransactionSession    = (*Session)(nil)
	_ gms.LifecycleAwareSession = (*Session)(nil)
	_ gms.PersistableSession    = (*Session)(nil)
)

// NewSession makes the session of one connection.
func (b *Backend) NewSession(base *gms.BaseSession) *Session {
	s := &Session{BaseSession: base, backend: b, owner: dict.NewOwner(base.ID())}
	s.readSettings(gms.NewEmptyContext())
	return s
}

// SessionOf returns the session behind ctx, nil when it is not one of ours.
func SessionOf(ctx *gms.Context) *Session {
	s, _ := ctx.Session.(*Session)
	return s
}

// Backend of the session.
func (s *Session) Backend() *Backend { return s.backend }

// Tx returns the engine's transaction for reading; it begins here if it has not. Waits in it end with ctx.
func (s *Session) Tx(ctx *gms.Context) (*hearth.Tx, error) {
	t, err := s.transaction(ctx)
	if err != nil {
		return nil, err
	}
	return t.begin(ctx)
}

// WriteTx is Tx for a statement that is about to write: the first call of a statement marks where UndoStatement returns to.
func (s *Session) WriteTx(ctx *gms.Context) (*hearth.Tx, error) {
	if t := s.current(); t != nil && t.readOnly {
		return nil, gms.ErrReadOnlyTransaction.New()
	}
	return s.writeTx(ctx)
}

// writeTx is WriteTx in a transaction that may be READ ONLY: for temporary tables.
func (s *Session) writeTx(ctx *gms.Context) (*hearth.Tx, error) {
	if s.faking {
		return nil, errFakes()
	}
	t, err := s.transaction(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	s.mark(t)
	return tx, nil
}

// transaction returns the one GMS opened. Where it opened none (a context of the server itself), an implicit one begins, which
// CommandEnd rolls back.
func (s *Session) transaction(ctx *gms.Context) (*Transaction, error) {
	if t := s.current(); t != nil {
		return t, nil
	}
	t, err := s.StartTransaction(ctx, gms.ReadWrite)
	if err != nil {
		return nil, err
	}
	s.BaseSession.SetTransaction(t)
	return t.(*Transaction), nil
}

// current transaction, nil if none is open.
func (s *Session) current() *Transaction {
	t, _ := s.BaseSession.GetTransaction().(*Transaction)
	if t == nil || t.ended {
		return nil
	}
	return t
}

// GetTransaction implements gms.Session. GMS keeps some transactions that have ended; nothing is to run in them.
func (s *Session) GetTransaction() gms.Transaction {
	if t := s.current(); t != nil {
		return t
	}
	return nil
}

// Tree opens a tree in the session's transaction.
func (s *Session) Tree(ctx *gms.Context, name string) (*hearth.Tree, error) {
	t, err := s.transaction(ctx)
	if err != nil {
		return nil, err
	}
	return t.tree(ctx, name)
}

// Boundary is the present end of the transaction's own writes: a scan that begins now sees those before it. Zero when no
// transaction has begun, which has nothing to see.
func (s *Session) Boundary() hearth.Savepoint {
	if t := s.current(); t != nil && t.tx != nil {
		return t.tx.Savepoint()
	}
	return hearth.Savepoint{}
}

// Schema is the picture of all definitions that the session sees: with its own DDL that is not committed.
func (s *Session) Schema() *dict.Schema {
	if t := s.current(); t != nil && t.change != nil {
		return t.change.Schema()
	}
	return s.backend.dict.Schema()
}

// walk is the picture that a statement sees which walks over all tables: one, so that a table which somebody drops now is no error.
// What the session itself makes and drops meanwhile is in it.
func (s *Session) walk() *dict.Schema {
	if t := s.current(); t != nil && t.change != nil {
		return t.change.Schema()
	}
	if s.picture == nil {
		s.picture = s.Schema()
	}
	return s.picture
}

// Change is the DDL of the running transaction.
func (s *Session) Change(ctx *gms.Context) (*dict.Change, error) {
	tx, err := s.WriteTx(ctx)
	if err != nil {
		return nil, err
	}
	t := s.current()
	if t.change == nil {
		t.change = s.backend.dict.Begin(tx)
	}
	return t.change, nil
}

// LockTables takes metadata locks (dict.TableLock, dict.DatabaseLock) until the transaction ends: exclusive for DDL, shared for
// those who use the tables. DDL looks at the definition again once it has them.
func (s *Session) LockTables(ctx *gms.Context, mode dict.Mode, names ...dict.LockName) error {
	began := time.Now()
	defer func() { s.waited += time.Since(began) }()
	for _, n := range names {
		if err := s.backend.dict.Locks().Acquire(ctx.Context, s.owner, n, mode, s.settings.metadataWait); err != nil {
			return sqlError(err)
		}
	}
	return nil
}

// RowsExamined by the statement so far.
func (s *Session) RowsExamined() uint64 { return s.examined }

// LockWait is how long the statement has waited for locks of tables so far.
func (s *Session) LockWait() time.Duration { return s.waited }

// InTransaction: a client that asks is told that a transaction is open.
func (s *Session) InTransaction() bool {
	t := s.current()
	return t != nil && (s.GetIgnoreAutoCommit() || !s.settings.autocommit && t.tx != nil)
}

// autocommits: the running statement is a transaction of its own.
func (s *Session) autocommits() bool { return s.settings.autocommit && !s.GetIgnoreAutoCommit() }
