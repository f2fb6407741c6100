package server

import (
	"strings"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// clause of the statement that names a column, as MySQL calls it.
func (at place) clause(column string) string {
	sel, ok := at.stmt.(*ast.Select)
	if !ok {
		return at.clauseOfChange(column)
	}
	switch {
	case names(column, sel.SelectExprs):
		return "field list"
	case sel.Where != nil && names(column, sel.Where):
		return "where clause"
	case namedInJoin(column, sel.From):
		return "on clause"
	case names(column, sel.GroupBy):
		return "group statement"
	case sel.Having != nil && names(column, sel.Having):
		return "having clause"
	case names(column, sel.OrderBy):
		return "order clause"
	}
	return "field list"
}

func (at place) clauseOfChange(column string) string {
	var where *ast.Where
	var order ast.OrderBy
	switch s := at.stmt.(type) {
	case *ast.Update:
		if names(column, s.Exprs) {
			return "field list"
		}
		where, order = s.Where, s.OrderBy
	case *ast.Delete:
		where, order = s.Where, s.OrderBy
	}
	switch {
	case where != nil && names(column, where):
		return "where clause"
	case names(column, order):
		return "order clause"
	}
	return "field list"
}

// names: the column is named somewhere under node. Depth is no danger: a statement was bounded before it was parsed (nesting.go).
func names(column string, node ast.SQLNode) bool {
	_, bare, qualified := strings.Cut(column, ".")
	found := false
	ast.Walk(func(n ast.SQLNode) (bool, error) {
		if c, ok := n.(*ast.ColName); ok {
			name := c.Name.String()
			found = found || strings.EqualFold(name, column) || qualified && strings.EqualFold(name, bare)
		}
		return !found, nil
	}, node)
	return found
}

func namedInJoin(column string, from ast.TableExprs) (found bool) {
	ast.Walk(func(n ast.SQLNode) (bool, error) {
		if j, ok := n.(*ast.JoinTableExpr); ok && j.Condition.On != nil {
			found = found || names(column, j.Condition.On)
		}
		return !found, nil
	}, from)
	return found
}

// qualified puts the database before a table's name that GMS gives without it. GMS may add what it thinks was meant.
func (at place) qualified(name string) string {
	name, _, _ = strings.Cut(name, ",")
	if strings.Contains(name, ".") {
		return name
	}
	db := at.db
	if at.stmt != nil {
		ast.Walk(func(n ast.SQLNode) (bool, error) {
			if t, ok := n.(ast.TableName); ok && strings.EqualFold(t.Name.String(), name) && !t.DbQualifier.IsEmpty() {
				db = t.DbQualifier.String()
			}
			return true, nil
		}, at.stmt)
	}
	if db == "" {
		return name
	}
	return db + "." + name
}

// someTable that the statement names.
func (at place) someTable() (name string) {
	ast.Walk(func(n ast.SQLNode) (bool, error) {
		if t, ok := n.(ast.TableName); ok && name == "" {
			name = t.Name.String()
		}
		return name == "", nil
	}, at.stmt)
	return name
}

// verbOf a statement, as privileges are called.
func verbOf(stmt ast.Statement) string {
	switch s := stmt.(type) {
	case *ast.Select, *ast.SetOp, *ast.ParenSelect:
		return "SELECT"
	case *ast.Insert:
		return "INSERT"
	case *ast.Update:
		return "UPDATE"
	case *ast.Delete:
		return "DELETE"
	case *ast.DDL:
		return strings.ToUpper(s.Action)
	case *ast.AlterTable:
		return "ALTER"
	}
	return "This"
}

func usesTables(at place) bool { return verbOf(at.stmt) != "This" }

func writesRows(at place) bool {
	switch at.stmt.(type) {
	case *ast.Insert, *ast.Update, *ast.Load, *ast.AlterTable, *ast.DDL:
		return true
	}
	return false
}

// isSet: the statement sets variables and reads no columns.
func isSet(at place) bool {
	s, ok := at.stmt.(*ast.Set)
	if !ok {
		return false
	}
	reads := false
	for _, e := range s.Exprs {
		ast.Walk(func(n ast.SQLNode) (bool, error) {
			c, ok := n.(*ast.ColName)
			reads = reads || ok && !strings.HasPrefix(c.Name.String(), "@")
			return !reads, nil
		}, e.Expr)
	}
	return !reads
}

func isDropDatabase(at place) bool {
	d, ok := at.stmt.(*ast.DBDDL)
	return ok && strings.EqualFold(d.Action, ast.DropStr)
}

func isDropTable(at place) bool {
	d, ok := at.stmt.(*ast.DDL)
	return ok && strings.EqualFold(d.Action, ast.DropStr) && len(d.FromTables) > 0
}

func isDropView(at place) bool {
	d, ok := at.stmt.(*ast.DDL)
	return ok && strings.EqualFold(d.Action, ast.DropStr) && len(d.FromViews) > 0
}

func isDropColumn(at place) bool {
	a, ok := at.stmt.(*ast.AlterTable)
	if !ok {
		return false
	}
	for _, d := range a.Statements {
		if strings.EqualFold(d.ColumnAction, ast.DropStr) {
			return true
		}
	}
	return false
}
