package sql

import (
	"io"

	sqle "github.com/dolthub/go-mysql-server"
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// runner runs the statements of procedures, each as a statement of its own: one that fails is undone alone, what the procedure
// did before stays.
type runner struct{ engine *sqle.Engine }

var _ gms.StatementRunner = (*runner)(nil)

// QueryWithBindings implements gms.StatementRunner.
func (r *runner) QueryWithBindings(ctx *gms.Context, query string, parsed sqlparser.Statement, bindings map[string]sqlparser.Expr, flags *gms.QueryFlags) (gms.Schema, gms.RowIter, *gms.QueryFlags, error) {
	s := SessionOf(ctx)
	if s == nil {
		return r.engine.QueryWithBindings(ctx, query, parsed, bindings, flags)
	}
	depth := s.enterStatement()
	schema, rows, flags, err := r.engine.QueryWithBindings(ctx, query, parsed, bindings, flags)
	if err != nil {
		s.leaveStatement(ctx, depth, err)
		return nil, nil, nil, err
	}
	return schema, &innerRows{RowIter: rows, session: s, depth: depth}, flags, nil
}

// innerRows ends the inner statement together with its rows.
type innerRows struct {
	gms.RowIter
	session *Session
	depth   int
	err     error
	closed  bool
}

func (i *innerRows) Next(ctx *gms.Context) (gms.Row, error) {
	row, err := i.RowIter.Next(ctx)
	if err != nil && err != io.EOF {
		i.err = err
	}
	return row, err
}

func (i *innerRows) Close(ctx *gms.Context) error {
	if i.closed {
		return nil
	}
	i.closed = true
	err := i.RowIter.Close(ctx)
	if i.err == nil {
		i.err = err
	}
	i.session.leaveStatement(ctx, i.depth, i.err)
	return err
}

// enterStatement begins a statement within the running one and returns how deep it lies.
func (s *Session) enterStatement() int {
	if len(s.stmts) == 0 {
		s.stmts = append(s.stmts, statement{})
	}
	s.stmts = append(s.stmts, statement{})
	return len(s.stmts)
}

// leaveStatement ends an inner statement, and those in it that nobody closed. If it failed it is undone.
func (s *Session) leaveStatement(ctx *gms.Context, depth int, cause error) {
	if len(s.stmts) < depth {
		return // an outer one ended before
	}
	s.stmts = s.stmts[:depth]
	if st := s.stmts[depth-1]; cause != nil && st.wrote && !isDeadlock(cause) {
		if t := s.current(); t != nil && t.tx != nil {
			t.rollbackTo(st.undo, st.change) // its failure meets the next statement
		}
	}
	s.stmts = s.stmts[:depth-1]
}
