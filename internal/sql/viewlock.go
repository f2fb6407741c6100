package sql

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// A view is a node that takes no comment, so the mark of a locking clause does not get to its tables. Which views are meant is found in
// the syntax tree: those that a block with such a clause names in FROM. A view of that name elsewhere in the statement is locked with it.

// SetStatement tells the session what is about to be planned; nil: nothing that is known.
func (s *Session) SetStatement(stmt sqlparser.Statement) {
	if e, ok := stmt.(*sqlparser.Execute); ok {
		stmt, _ = s.backend.engine.PreparedDataCache.GetCachedStmt(s.ID(), e.Name)
	}
	s.planned = stmt
}

// viewLocks are the names under which blocks with a locking clause have tables and views, lower case.
func (s *Session) viewLocks() (map[string]rowLock, error) {
	locks := map[string]rowLock{}
	if s.planned == nil {
		return locks, nil
	}
	err := sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		sel, ok := n.(*sqlparser.Select)
		if !ok || len(sel.Comments) == 0 {
			return true, nil
		}
		l, ok, err := parseLock(string(sel.Comments[0]))
		if err != nil || !ok {
			return true, err
		}
		for _, from := range sel.From {
			addTableNames(from, l, locks)
		}
		if sel.With != nil {
			for _, cte := range sel.With.Ctes {
				delete(locks, strings.ToLower(cte.AliasedTableExpr.As.String()))
			}
		}
		return true, nil
	}, s.planned)
	return locks, err
}

func addTableNames(t sqlparser.TableExpr, l rowLock, locks map[string]rowLock) {
	switch t := t.(type) {
	case *sqlparser.AliasedTableExpr:
		table, ok := t.Expr.(sqlparser.TableName)
		if !ok {
			return
		}
		name := t.As.String()
		if t.As.IsEmpty() {
			name = table.Name.String()
		}
		locks[strings.ToLower(name)] = l
	case *sqlparser.JoinTableExpr:
		addTableNames(t.LeftExpr, l, locks)
		addTableNames(t.RightExpr, l, locks)
	case *sqlparser.ParenTableExpr:
		for _, e := range t.Exprs {
			addTableNames(e, l, locks)
		}
	}
}

// lockView makes all tables of a view locked ones.
func lockView(view *plan.SubqueryAlias, l rowLock) (gms.Node, transform.TreeIdentity, error) {
	return transform.NodeWithOpaque(view, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		if rt, ok := n.(*plan.ResolvedTable); ok {
			return lockTables(rt, l)
		}
		return n, transform.SameTree, nil
	})
}
