package sqlparse

import (
	"slices"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// balance makes chains of AND, of OR and of UNION shallow. The grammar builds "a OR b OR c OR ..." as one level a term, and clients
// send thousands of terms; of unions the planner asks every level for all below it, again and again. These operators are
// associative, and the order of the terms stays.
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
		case *ast.SetOp:
			balanceUnion(n)
			_ = children(n, func(c ast.SQLNode) error { work = append(work, c); return nil })
		default:
			_ = children(n, func(c ast.SQLNode) error { work = append(work, c); return nil })
		}
	}
}

// balanceFrom is how deep a tree may have become (scanned.peak) before it is worth a look. No tree up to there can be deeper than
// MaxDepth.
const balanceFrom = 100

// unionTermsMin is how many SELECTs a chain has that is worth the work.
const unionTermsMin = 16

// balanceUnion makes one chain of UNION ALL, or of UNION, shallow. What stands behind the whole chain (ORDER BY, LIMIT) is kept by the
// node at its top; a node with such of its own ends the chain.
func balanceUnion(top *ast.SetOp) {
	switch top.Type {
	case ast.UnionStr, ast.UnionAllStr, ast.UnionDistinctStr:
	default:
		return
	}
	var terms []ast.SelectStatement
	var left ast.SelectStatement = top
	for {
		n, ok := left.(*ast.SetOp)
		if !ok || n.Type != top.Type || n != top && (n.OrderBy != nil || n.With != nil || n.Limit != nil || n.Lock != "" || n.Into != nil) {
			terms = append(terms, left)
			break
		}
		terms = append(terms, n.Right)
		left = n.Left
	}
	if len(terms) < unionTermsMin {
		return
	}
	slices.Reverse(terms)
	var tree func(t []ast.SelectStatement) ast.SelectStatement
	tree = func(t []ast.SelectStatement) ast.SelectStatement {
		if len(t) == 1 {
			return t[0]
		}
		m := len(t) / 2
		return &ast.SetOp{Type: top.Type, Left: tree(t[:m]), Right: tree(t[m:])}
	}
	m := len(terms) / 2
	top.Left, top.Right = tree(terms[:m]), tree(terms[m:])
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
	slices.Reverse(terms)
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
