package sqlparse

import (
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// The planner takes what SUM and AVG give for a DOUBLE, whatever they say themselves; but only under these names. So they get those of
// two functions that have another name as well, and keep theirs in results: a column's name is from the text.
const (
	SumName = "variance" // of SUM in a syntax tree; VARIANCE is VAR_POP there
	AvgName = "std"      // of AVG; STD is STDDEV_POP
)

func rewriteSums(stmt ast.Statement) {
	walk(stmt, func(n ast.SQLNode) bool {
		f, ok := n.(*ast.FuncExpr)
		if !ok || !f.Qualifier.IsEmpty() {
			return true
		}
		switch f.Name.Lowered() {
		case "sum":
			f.Name = ast.NewColIdent(SumName)
		case "avg":
			f.Name = ast.NewColIdent(AvgName)
		case SumName:
			f.Name = ast.NewColIdent("var_pop")
		case AvgName:
			f.Name = ast.NewColIdent("stddev_pop")
		}
		return true
	})
}
