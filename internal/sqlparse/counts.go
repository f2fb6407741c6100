package sqlparse

import (
	"strings"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// rewriteCounts selects @@warning_count and @@error_count from where they are known: no variable can have the values, for
// the registry of variables knows no sessions. Errors are not kept, see SHOW ERRORS.
func rewriteCounts(stmt ast.Statement) {
	walk(stmt, func(n ast.SQLNode) bool {
		e, ok := n.(*ast.AliasedExpr)
		if !ok {
			return true
		}
		c, ok := e.Expr.(*ast.ColName)
		if !ok {
			return true
		}
		name := c.Name.String()
		if q := c.Qualifier.Name.String(); q != "" {
			name = q + "." + name
		}
		var value ast.Expr
		switch strings.ToLower(name) {
		case "@@warning_count", "@@session.warning_count", "@@local.warning_count":
			value = &ast.FuncExpr{Name: ast.NewColIdent("hearth_warning_count")}
		case "@@error_count", "@@session.error_count", "@@local.error_count":
			value = ast.NewIntVal([]byte("0"))
		default:
			return true
		}
		if e.Expr = value; e.As.IsEmpty() {
			e.As = ast.NewColIdent(name)
		}
		return true
	})
}
