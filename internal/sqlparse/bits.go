package sqlparse

import (
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// rewriteBits makes ~x a call, for the planner does not have the operator, and with it the other operators on bits of the
// statement: those of the planner have 63 bits, and so cannot take what ~ gives.
func rewriteBits(stmt ast.Statement) {
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

// bitCalls are the functions for the operators.
var bitCalls = map[string]string{
	ast.BitAndStr: "hearth_bit_and", ast.BitOrStr: "hearth_bit_or", ast.BitXorStr: "hearth_bit_xor",
	ast.ShiftLeftStr: "hearth_shift_left", ast.ShiftRightStr: "hearth_shift_right",
}

func bitNot(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Operator == ast.TildaStr {
			return bitCall("hearth_bit_not", e.Expr)
		}
	case *ast.BinaryExpr:
		if name := bitCalls[e.Operator]; name != "" {
			return bitCall(name, e.Left, e.Right)
		}
	}
	return e
}

func bitCall(name string, args ...ast.Expr) ast.Expr {
	f := &ast.FuncExpr{Name: ast.NewColIdent(name)}
	for _, a := range args {
		f.Exprs = append(f.Exprs, &ast.AliasedExpr{Expr: a})
	}
	return f
}
