package server

import (
	"context"
	"fmt"
	"runtime"

	gms "github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// maxJoinTables in one FROM, as in MySQL. The planner's time grows with more than their square, and nothing can interrupt it.
const maxJoinTables = 61

var errTooManyTables = sqlError(1116, stateUnknown, "Too many tables; MySQL can only use 61 tables in a join")

// checkJoins refuses a statement with too many tables in a join.
func checkJoins(text string, stmt ast.Statement) error {
	if len(text) < 2*maxJoinTables {
		return nil // a table takes a letter and a comma
	}
	return ast.Walk(func(n ast.SQLNode) (bool, error) {
		from, ok := n.(ast.TableExprs)
		if !ok {
			return true, nil
		}
		tables := 0
		for _, t := range from {
			if tables += leaves(t); tables > maxJoinTables {
				return false, errTooManyTables
			}
		}
		return true, nil
	}, stmt)
}

// leaves are the tables in a join.
func leaves(t ast.TableExpr) (n int) {
	for {
		j, ok := t.(*ast.JoinTableExpr)
		if !ok {
			break
		}
		n += leaves(j.RightExpr)
		if n > maxJoinTables {
			return n
		}
		t = j.LeftExpr // joins lean to the left
	}
	if p, ok := t.(*ast.ParenTableExpr); ok {
		for _, inner := range p.Exprs {
			n += leaves(inner)
		}
		return n
	}
	return n + 1
}

// maxNested is how deep statements of procedures may lie in each other. Each level takes some ten kilobytes of a stack that has an
// end, and a procedure may call itself.
const maxNested = 200

// nestedRunner runs the statements of procedures, as deep as they may be.
type nestedRunner struct{ gms.StatementRunner }

// QueryWithBindings implements gms.StatementRunner. A CALL in a procedure is executed before this returns.
func (r nestedRunner) QueryWithBindings(ctx *gms.Context, text string, parsed ast.Statement, values map[string]ast.Expr, flags *gms.QueryFlags) (gms.Schema, gms.RowIter, *gms.QueryFlags, error) {
	if st := statementOf(ctx); st != nil {
		st.nested++
		defer func() { st.nested-- }()
		if st.nested > maxNested {
			return nil, nil, nil, sqlError(1456, stateUnknown, fmt.Sprintf("Recursive limit %d was exceeded for routines that call each other", maxNested))
		}
	}
	return r.StatementRunner.QueryWithBindings(ctx, text, parsed, values, flags)
}

// Planning a view or a trigger parses its text and plans that in turn, without an end if two of them name each other. The stack is
// looked at every parsesPerLook texts of a statement, and may be maxFrames deep: a tenth of what the runtime ends the process for.
const (
	parsesPerLook = 200
	maxFrames     = 50_000
)

// boundedParser ends statements that parse ever deeper.
type boundedParser struct{ gms.Parser }

func checkStack(ctx context.Context) error {
	st := statementOf(ctx)
	if st == nil {
		return nil
	}
	if st.parsed++; st.parsed%parsesPerLook != 0 {
		return nil
	}
	if runtime.Callers(0, make([]uintptr, maxFrames)) == maxFrames {
		return sqlError(erStackOverrun, stateUnknown, "Thread stack overrun: views, triggers or routines name each other too deeply")
	}
	return nil
}

// Parse implements gms.Parser.
func (p boundedParser) Parse(ctx *gms.Context, text string, multi bool) (ast.Statement, string, string, error) {
	if err := checkStack(ctx); err != nil {
		return nil, "", "", err
	}
	return p.Parser.Parse(ctx, text, multi)
}

// ParseWithOptions implements gms.Parser.
func (p boundedParser) ParseWithOptions(ctx context.Context, text string, delimiter rune, multi bool, o ast.ParserOptions) (ast.Statement, string, string, error) {
	if err := checkStack(ctx); err != nil {
		return nil, "", "", err
	}
	return p.Parser.ParseWithOptions(ctx, text, delimiter, multi, o)
}

// ParseOneWithOptions implements gms.Parser.
func (p boundedParser) ParseOneWithOptions(ctx context.Context, text string, o ast.ParserOptions) (ast.Statement, int, error) {
	if err := checkStack(ctx); err != nil {
		return nil, 0, err
	}
	return p.Parser.ParseOneWithOptions(ctx, text, o)
}
