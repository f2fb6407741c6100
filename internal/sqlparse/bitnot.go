package sqlparse

import (
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// rewriteBitNot makes ~x a call: the planner does not have the operator, and its ^ is not one of 64 bits.
func rewriteBitNot(stmt ast.Statement) {
	walk(stmt, func(n ast.SQLNode) bool {
		switch n := n.(type) {
		case *ast.AliasedExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.Where:
			if n != nil {
				n.Expr = bitNot(n.Expr)
			}
		case *ast.AssignmentExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.SetVarExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.Order:
			n.Expr = bitNot(n.Expr)
		case *ast.JoinTableExpr:
			n.Condition.On = bitNot(n.Condition.On)
		case ast.ValTuple:
			for i := range n {
				n[i] = bitNot(n[i])
			}
		case ast.Exprs:
			for i := range n {
				n[i] = bitNot(n[i])
			}
		case *ast.AndExpr:
			n.Left, n.Right = bitNot(n.Left), bitNot(n.Right)
		case *ast.OrExpr:
			n.Left, n.Right = bitNot(n.Left), bitNot(n.Right)
		case *ast.NotExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.ParenExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.ComparisonExpr:
			n.Left, n.Right = bitNot(n.Left), bitNot(n.Right)
		case *ast.RangeCond:
			n.Left, n.From, n.To = bitNot(n.Left), bitNot(n.From), bitNot(n.To)
		case *ast.IsExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.BinaryExpr:
			n.Left, n.Right = bitNot(n.Left), bitNot(n.Right)
		case *ast.UnaryExpr:
			n.Expr = bitNot(n.Expr)
		case *ast.CaseExpr:
			n.Expr, n.Else = bitNot(n.Expr), bitNot(n.Else)
		case *ast.When:
			n.Cond, n.Val = bitNot(n.Cond), bitNot(n.Val)
		case *ast.ConvertExpr:
			n.Expr = bitNot(n.Expr)
		}
		return true
	})
}

func bitNot(e ast.Expr) ast.Expr {
	u, ok := e.(*ast.UnaryExpr)
	if !ok || u.Operator != ast.TildaStr {
		return e
	}
	return &ast.FuncExpr{Name: ast.NewColIdent("hearth_bit_not"), Exprs: ast.SelectExprs{&ast.AliasedExpr{Expr: u.Expr}}}
}
