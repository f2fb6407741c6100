package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// statement that runs. It is undone to where it first wrote, see Session.UndoStatement.
type statement struct {
	wrote  bool
	undo   hearth.Savepoint
	change dict.Mark // of the transaction's DDL, if there was some
	seen   seenRows
	fakes  *fakes // nil: none
}

// ValidateSession implements gms.Session: GMS calls it at the begin of every statement, of those in procedures too.
func (s *Session) ValidateSession(ctx *gms.Context) error {
	if len(s.stmts) <= 1 {
		if t := s.current(); t != nil && s.autocommits() {
			s.drop(t) // of a statement that failed and was not undone
		}
		s.stmts = append(s.stmts[:0], statement{})
		s.examined, s.waited = 0, 0
		s.faking = s.settings.fake
		s.analyzed, s.calling, s.defining, s.cursors, s.built = false, false, false, nil, 0
	} else {
		s.stmts[len(s.stmts)-1] = statement{}
	}
	s.quiet, s.picture = false, nil
	if t := s.current(); t != nil && t.tx != nil {
		t.tx.SetContext(ctx.Context)
		t.tx.Statement() // under READ COMMITTED a statement sees what is committed when it begins
	}
	return nil
}

// mark remembers where the running statement begins to write.
func (s *Session) mark(t *Transaction) {
	if len(s.stmts) == 0 {
		s.stmts = append(s.stmts, statement{})
	}
	st := &s.stmts[len(s.stmts)-1]
	if st.wrote {
		return
	}
	st.wrote, st.undo = true, t.tx.Savepoint()
	if t.change != nil {
		st.change = t.change.Mark()
	}
}

// UndoStatement makes the failed statement undone, whatever the failure was: KILL and a client that went away too. A
// statement that is a transaction of its own takes that with it, and so does a deadlock.
//
//	cause                      undone
//	deadlock                   the transaction; autocommit is back
//	statement in autocommit    the transaction, which is the statement
//	any other                  the statement; locks stay
//
// It returns an error only if the transaction could not be rolled back to the statement's begin; it is then rolled back whole.
func (s *Session) UndoStatement(ctx *gms.Context, cause error) error {
	t := s.current()
	if t == nil {
		return nil
	}
	switch {
	case isDeadlock(cause):
		s.SetIgnoreAutoCommit(false)
		return s.drop(t)
	case s.autocommits():
		return s.drop(t)
	case len(s.stmts) == 0:
		return nil
	}
	st := &s.stmts[len(s.stmts)-1]
	if !st.wrote {
		return nil
	}
	err := t.rollbackTo(st.undo, st.change)
	*st = statement{}
	if err != nil {
		s.SetIgnoreAutoCommit(false)
		s.drop(t)
	}
	return err
}

// CommandBegin implements gms.LifecycleAwareSession.
func (s *Session) CommandBegin() error {
	s.stmts = s.stmts[:0]
	s.examined, s.waited = 0, 0
	return nil
}

// CommandEnd implements gms.LifecycleAwareSession: a transaction that is still open in autocommit mode is one that failed.
func (s *Session) CommandEnd() {
	if t := s.current(); t != nil && s.autocommits() {
		s.drop(t)
	}
	s.stmts, s.picture, s.viewDatabase, s.planned = s.stmts[:0], nil, "", nil
}

// SessionEnd implements gms.LifecycleAwareSession: the client has gone.
func (s *Session) SessionEnd() {
	s.SetIgnoreAutoCommit(false)
	if t := s.current(); t != nil {
		s.drop(t)
	}
	s.temporary.end(s.backend)
	s.owner.ReleaseAll()
}
