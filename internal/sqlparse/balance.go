package sqlparse

import (
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// balance makes chains of AND and of OR shallow. The grammar builds "a OR b OR c OR ..." as one level a term, and clients send
// thousands of terms. Both operators are associative, and the order of the terms stays.
func balance(stmt ast.Statement) {
	work := []ast.SQLNode{stmt} // a stack: the tree may be deep still
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		switch n := n.(type) {
		case *ast.AndExpr:
			terms := chain(n, func(e ast.Expr) (l, r ast.Expr, ok bool) {
				if and, is := e.(*ast.AndExpr); is {
					return and.Left, and.Right, true
				}
				return nil, nil, false
			})
			join := func(l, r ast.Expr) ast.Expr { return &ast.AndExpr{Left: l, Right: r} }
			n.Left, n.Right = halves(terms, join)
			work = append(work, exprs(terms)...)
		case *ast.OrExpr:
			terms := chain(n, func(e ast.Expr) (l, r ast.Expr, ok bool) {
				if or, is := e.(*ast.OrExpr); is {
					return or.Left, or.Right, true
				}
				return nil, nil, false
			})
			join := func(l, r ast.Expr) ast.Expr { return &ast.OrExpr{Left: l, Right: r} }
			n.Left, n.Right = halves(terms, join)
			work = append(work, exprs(terms)...)
		default:
			_ = children(n, func(c ast.SQLNode) error { work = append(work, c); return nil })
		}
	}
}

// chain lists the terms of a chain of one operator, in order. It grows to the left.
func chain(e ast.Expr, split func(ast.Expr) (l, r ast.Expr, ok bool)) (terms []ast.Expr) {
	for {
		l, r, ok := split(e)
		if !ok {
			terms = append(terms, e)
			break
		}
		terms = append(terms, r)
		e = l
	}
	for i, j := 0, len(terms)-1; i < j; i, j = i+1, j-1 {
		terms[i], terms[j] = terms[j], terms[i]
	}
	return terms
}

// halves joins the terms to two trees of equal size.
func halves(terms []ast.Expr, join func(l, r ast.Expr) ast.Expr) (l, r ast.Expr) {
	tree := func(t []ast.Expr) ast.Expr {
		if len(t) == 1 {
			return t[0]
		}
		return join(halves(t, join))
	}
	m := len(terms) / 2
	return tree(terms[:m]), tree(terms[m:])
}
