package sqlparse

import (
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// rewriteExists replaces EXISTS (SELECT ... FROM f WHERE w) in UPDATE and DELETE by (SELECT COUNT(*) FROM f WHERE w) > 0: the
// planner evaluates such a subquery there without ever having built it. The two mean the same as long as the rows of
// the subquery are those of FROM and WHERE alone; any other EXISTS stays.
func rewriteExists(stmt ast.Statement) {
	walk(stmt, func(n ast.SQLNode) bool {
		switch n := n.(type) {
		case *ast.Update:
			replaceExists(n.Where)
			for _, e := range n.Exprs {
				e.Expr = withoutExists(e.Expr)
			}
		case *ast.Delete:
			replaceExists(n.Where)
		}
		return true
	})
}

func replaceExists(w *ast.Where) {
	if w != nil {
		w.Expr = withoutExists(w.Expr)
	}
}

// withoutExists replaces EXISTS in e, not in subqueries: those are planned on their own.
func withoutExists(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.ExistsExpr:
		if count, ok := countRows(e.Subquery); ok {
			return &ast.ParenExpr{Expr: &ast.ComparisonExpr{Operator: ast.GreaterThanStr, Left: count, Right: ast.NewIntVal([]byte("0"))}}
		}
	case *ast.AndExpr:
		e.Left, e.Right = withoutExists(e.Left), withoutExists(e.Right)
	case *ast.OrExpr:
		e.Left, e.Right = withoutExists(e.Left), withoutExists(e.Right)
	case *ast.XorExpr:
		e.Left, e.Right = withoutExists(e.Left), withoutExists(e.Right)
	case *ast.NotExpr:
		e.Expr = withoutExists(e.Expr)
	case *ast.ParenExpr:
		e.Expr = withoutExists(e.Expr)
	case *ast.IsExpr:
		e.Expr = withoutExists(e.Expr)
	case *ast.UnaryExpr:
		e.Expr = withoutExists(e.Expr)
	case *ast.ComparisonExpr:
		e.Left, e.Right = withoutExists(e.Left), withoutExists(e.Right)
	case *ast.BinaryExpr:
		e.Left, e.Right = withoutExists(e.Left), withoutExists(e.Right)
	case *ast.CaseExpr:
		e.Expr, e.Else = withoutExists(e.Expr), withoutExists(e.Else)
		for _, w := range e.Whens {
			w.Cond, w.Val = withoutExists(w.Cond), withoutExists(w.Val)
		}
	case *ast.FuncExpr:
		for _, arg := range e.Exprs {
			if a, ok := arg.(*ast.AliasedExpr); ok {
				a.Expr = withoutExists(a.Expr)
			}
		}
	}
	return e
}

// countRows is the subquery with COUNT(*) for what it selects.
func countRows(sub *ast.Subquery) (*ast.Subquery, bool) {
	s := sub.Select
	for {
		p, ok := s.(*ast.ParenSelect)
		if !ok {
			break
		}
		s = p.Select
	}
	sel, ok := s.(*ast.Select)
	if !ok || len(sel.From) == 0 || sel.GroupBy != nil || sel.Having != nil || sel.Limit != nil || sel.Window != nil ||
		sel.Into != nil || aggregates(sel.SelectExprs) {
		return nil, false
	}
	count := *sel
	count.QueryOpts = ast.QueryOpts{} // DISTINCT makes no difference to whether there is a row
	count.OrderBy = nil
	count.SelectExprs = ast.SelectExprs{&ast.AliasedExpr{
		Expr: &ast.FuncExpr{Name: ast.NewColIdent("count"), Exprs: ast.SelectExprs{&ast.StarExpr{}}}}}
	return &ast.Subquery{Select: &count, Columns: sub.Columns}, true
}

// aggregates: one row comes out whatever FROM and WHERE give. Functions are not told apart; a plain one only costs the rewrite.
func aggregates(list ast.SelectExprs) bool {
	found := false
	for _, e := range list {
		walk(e, func(n ast.SQLNode) bool {
			switch f := n.(type) {
			case *ast.FuncExpr:
				found = found || f.IsAggregate() || f.Over != nil
			case *ast.GroupConcatExpr:
				found = true
			case *ast.Subquery:
				return false
			}
			return !found
		})
	}
	return found
}

// rewriteNotIn writes x NOT IN (SELECT ...) in the WHERE of an UPDATE as (x NOT IN (SELECT ...)) IS TRUE, which selects the
// same rows: of the plain form the planner makes an anti-join, with whose rows the update does not come to terms.
func rewriteNotIn(stmt ast.Statement) {
	walk(stmt, func(n ast.SQLNode) bool {
		if u, ok := n.(*ast.Update); ok && u.Where != nil {
			u.Where.Expr = isTrue(u.Where.Expr)
		}
		return true
	})
}

// isTrue goes down to the terms of a conjunction: no other place makes an anti-join.
func isTrue(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.AndExpr:
		e.Left, e.Right = isTrue(e.Left), isTrue(e.Right)
	case *ast.ParenExpr:
		e.Expr = isTrue(e.Expr)
	case *ast.NotExpr:
		if in, ok := unparen(e.Expr).(*ast.ComparisonExpr); !ok || in.Operator != ast.InStr {
			return e
		}
		return &ast.IsExpr{Operator: ast.IsTrueStr, Expr: &ast.ParenExpr{Expr: e}}
	case *ast.ComparisonExpr:
		if _, ok := e.Right.(*ast.Subquery); ok && e.Operator == ast.NotInStr {
			return &ast.IsExpr{Operator: ast.IsTrueStr, Expr: &ast.ParenExpr{Expr: e}}
		}
	}
	return e
}

func unparen(e ast.Expr) ast.Expr {
	for {
		p, ok := e.(*ast.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}
