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
	if err := s.RefuseFake(parsed); err != nil {
		return nil, nil, nil, err
	}
	if err := s.drainCursors(ctx); err != nil {
		return nil, nil, nil, err
	}
	depth := s.enterStatement()
	outer := s.planned
	s.SetStatement(parsed)
	defer func() { s.planned = outer }()
	schema, rows, flags, err := r.engine.QueryWithBindings(ctx, query, parsed, bindings, flags)
	if err != nil {
		s.leaveStatement(ctx, depth, err)
		return nil, nil, nil, err
	}
	i := &innerRows{RowIter: rows, session: s, depth: depth}
	s.cursors = append(s.cursors, i)
	return schema, i, flags, nil
}

// innerRows ends the inner statement together with its rows.
type innerRows struct {
	gms.RowIter
	session *Session
	depth   int
	err     error
	closed  bool

	drained bool // the rows that were left are in rest, and the iterator is closed
	rest    []gms.Row
}

// drainCursors takes the rows that are left of all cursors into memory, before another statement of the procedure begins: what a cursor
// gives is what there was when it was opened, and the statement may commit the transaction that the cursor reads in.
func (s *Session) drainCursors(ctx *gms.Context) error {
	open := s.cursors
	s.cursors = nil
	for _, i := range open {
		if err := i.drain(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (i *innerRows) drain(ctx *gms.Context) error {
	if i.closed {
		return nil
	}
	for {
		row, err := i.RowIter.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			i.err = err
			return err
		}
		i.rest = append(i.rest, row)
	}
	i.drained = true
	return i.RowIter.Close(ctx)
}

func (i *innerRows) Next(ctx *gms.Context) (gms.Row, error) {
	if i.drained {
		if len(i.rest) == 0 {
			return nil, io.EOF
		}
		row := i.rest[0]
		i.rest = i.rest[1:]
		return row, nil
	}
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
	var err error
	if !i.drained {
		err = i.RowIter.Close(ctx)
	}
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
	if t := s.current(); cause != nil && t != nil && t.tx != nil {
		switch st := s.stmts[depth-1]; {
		case isDeadlock(cause): // a handler of the procedure may go on, in another transaction
			s.SetIgnoreAutoCommit(false)
			s.drop(t)
		case st.wrote:
			t.rollbackTo(st.undo, st.change) // its failure meets the next statement
		}
	}
	s.stmts = s.stmts[:depth-1]
}
