package sqlparse

import (
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// children calls visit for each child of n, of every kind. ast.Walk leaves out bodies of procedures, triggers and events,
// conditions of compound statements, the statement of EXPLAIN, parameters of CALL, and parts of set operations.
func children(n ast.SQLNode, visit func(ast.SQLNode) error) error {
	switch n := n.(type) {
	case *ast.DDL:
		return each(visit, ddlBodies(n)...)
	case *ast.AlterTable:
		for _, ddl := range n.Statements {
			if err := each(visit, ddl); err != nil {
				return err
			}
		}
		return nil
	case *ast.Explain:
		return each(visit, n.Statement)
	case *ast.Call:
		return each(visit, exprs(n.Params)...)
	case *ast.SetOp:
		return each(visit, n.With, n.Left, n.Right, n.OrderBy, n.Limit)
	case *ast.IfStatement:
		for _, c := range n.Conditions {
			if err := each(visit, c.Expr); err != nil {
				return err
			}
		}
	case *ast.CaseStatement:
		if err := each(visit, n.Expr); err != nil {
			return err
		}
		for _, c := range n.Cases {
			if err := each(visit, c.Case); err != nil {
				return err
			}
		}
	case *ast.While:
		if err := each(visit, n.Condition); err != nil {
			return err
		}
	case *ast.Repeat:
		if err := each(visit, n.Condition); err != nil {
			return err
		}
	}
	root := true
	return ast.Walk(func(c ast.SQLNode) (bool, error) {
		if root {
			root = false
			return true, nil
		}
		return false, visit(c)
	}, n)
}

// ddlBodies are the statements within a DDL statement.
func ddlBodies(n *ast.DDL) (bodies []ast.SQLNode) {
	if n.ViewSpec != nil {
		bodies = append(bodies, n.ViewSpec.ViewExpr)
	}
	if n.ProcedureSpec != nil {
		bodies = append(bodies, n.ProcedureSpec.Body)
	}
	if n.TriggerSpec != nil {
		bodies = append(bodies, n.TriggerSpec.Body)
	}
	if n.EventSpec != nil {
		bodies = append(bodies, n.EventSpec.Body)
	}
	if n.OptSelect != nil {
		bodies = append(bodies, n.OptSelect.Select)
	}
	if n.TableSpec != nil {
		for _, c := range n.TableSpec.Columns {
			bodies = append(bodies, c.Type.Default, c.Type.GeneratedExpr)
		}
		for _, c := range n.TableSpec.Constraints {
			if check, ok := c.Details.(*ast.CheckConstraintDefinition); ok {
				bodies = append(bodies, check.Expr)
			}
		}
	}
	return bodies
}

func exprs(list []ast.Expr) (nodes []ast.SQLNode) {
	for _, e := range list {
		nodes = append(nodes, e)
	}
	return nodes
}

func each(visit func(ast.SQLNode) error, nodes ...ast.SQLNode) error {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

// walk calls visit for n and everything below it, parents first. visit tells whether to go below.
func walk(n ast.SQLNode, visit func(ast.SQLNode) bool) {
	if n == nil || !visit(n) {
		return
	}
	_ = children(n, func(c ast.SQLNode) error { walk(c, visit); return nil })
}

// checkDepth refuses a tree deeper than MaxDepth.
func checkDepth(stmt ast.Statement) error {
	var down func(n ast.SQLNode, depth int) error
	down = func(n ast.SQLNode, depth int) error {
		if depth > MaxDepth {
			return tooDeep("more than %d levels of expressions", MaxDepth)
		}
		return children(n, func(c ast.SQLNode) error { return down(c, depth+1) })
	}
	return down(stmt, 0)
}
