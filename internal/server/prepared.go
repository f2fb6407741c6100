package server

import (
	"context"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/bulk"
)

// prepared is a statement that a client prepared over the protocol.
type prepared struct {
	text  string
	stmt  ast.Statement
	plain *bulk.Plain // nil: it is none
}

// prepare parses and binds a statement, without parameters, and describes its result: no fields if it has none.
func (cl *client) prepare(ctx context.Context, text string, p *mysql.PrepareData) (fields []*querypb.Field, err error) {
	s := cl.server
	st := cl.begin(ctx, text)
	defer cl.finish(st)
	cl.counters.queries.Add(1)
	cl.counters.com[comStmtPrepared].Add(1)
	at := place{text: text, db: cl.session.GetCurrentDatabase()}
	if most := globalInt("max_prepared_stmt_count"); s.preparedCount.Add(1) > most {
		s.preparedCount.Add(-1)
		return nil, sqlError(erTooManyPrepared, stateSyntaxOrAccess,
			fmt.Sprintf("Can't create more than max_prepared_stmt_count statements (current value: %d)", most))
	}
	defer func() {
		if r := recover(); r != nil {
			err = cl.panicked(r, text)
		}
		var told *mysql.SQLError
		if err != nil {
			s.preparedCount.Add(-1)
			cl.counters.errors.Add(1)
			told = toClient(cl.cause(st, err), at)
			fields, err = nil, told
		}
		cl.logCommand("Prepare", st.began, told)
	}()
	sc := cl.context(st, text)
	if err = gms.SessionCommandBegin(cl.session); err != nil {
		return nil, err
	}
	defer gms.SessionCommandEnd(cl.session)

	stmt, text, rest, err := cl.parse(sc, command{text: text, multi: true})
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return nil, errEmptyQuery
	case rest != "":
		return nil, sqlError(mysql.ERParseError, stateSyntaxOrAccess,
			"You have an error in your SQL syntax; more than one statement cannot be prepared at once")
	}
	at.stmt = stmt
	if err := checkJoins(text, stmt); err != nil {
		return nil, err
	}
	binder := planbuilder.New(sc, s.engine.Analyzer.Catalog, s.engine.EventScheduler, s.engine.Parser)
	bound, _, err := binder.BindOnly(stmt, text, nil)
	if err != nil {
		return nil, err
	}
	n := parameters(stmt)
	if n > maxParameters {
		return nil, sqlError(1390, stateUnknown, "Prepared statement contains too many placeholders")
	}
	p.PrepareStmt, p.ParamsCount, p.ParamsType, p.BindVars = text, uint16(n), nil, nil
	if n > 0 {
		p.ParamsType = make([]int32, n)
		p.BindVars = make(map[string]*querypb.BindVariable, n)
	}
	known := &prepared{text: text, stmt: stmt}
	if plain, ok := bulk.ParsePlain(text); ok && plain.Parameters() == n {
		known.plain = plain
	}
	cl.prepared[p.StatementID] = known
	if hasNoRows(bound) {
		return nil, nil
	}
	return fieldsOf(sc, bound.Schema()), nil
}

// maxParameters is what fits into the protocol's 16 bits; the library's arithmetic on their bitmap ends a little earlier.
const maxParameters = 1<<16 - 8

// parameters of a statement.
func parameters(stmt ast.Statement) (n int) {
	ast.Walk(func(node ast.SQLNode) (bool, error) {
		if v, ok := node.(*ast.SQLVal); ok && v.Type == ast.ValArg {
			n++
		}
		return true, nil
	}, stmt)
	return n
}

// hasNoRows: the plan, which is not analysed yet, will answer with OK alone.
func hasNoRows(n gms.Node) bool {
	switch n := n.(type) {
	case *plan.InsertInto:
		return len(n.Returning) == 0
	case *plan.Update, *plan.UpdateJoin, *plan.DeleteFrom:
		return true
	}
	return types.IsOkResultSchema(n.Schema())
}

// drop forgets a prepared statement.
func (cl *client) drop(id uint32) {
	if cl.prepared[id] == nil {
		return
	}
	delete(cl.prepared, id)
	cl.server.preparedCount.Add(-1)
	cl.counters.queries.Add(1)
	cl.counters.com[comStmtClosed].Add(1)
}

// bindings are the values of parameters as the planner takes them.
func bindings(values map[string]*querypb.BindVariable) (map[string]ast.Expr, error) {
	exprs := make(map[string]ast.Expr, len(values))
	for name, v := range values {
		if v == nil {
			return nil, sqlError(mysql.ERWrongArguments, stateUnknown, "Incorrect arguments to EXECUTE")
		}
		value, err := sqltypes.BindVariableToValue(v)
		if err != nil {
			return nil, err
		}
		if exprs[name], err = ast.ExprFromValue(value); err != nil {
			return nil, err
		}
	}
	return exprs, nil
}
