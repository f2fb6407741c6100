package sql

import (
	"fmt"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// GMS parses locking clauses and forgets them. So package sqlparse leaves a comment in the block they belong to, which GMS hands to the
// node of its FROM clause, and a rule of the analyzer turns the tables below into locked ones, before an index is chosen.

// lockComment begins the comment: /*hearth:lock=x*/, or s, with ,nowait or ,skip behind it.
const lockComment = "/*hearth:lock="

// lockRuleID must be none of GMS's.
const lockRuleID analyzer.RuleId = 10001

// installLockRule adds the rule to the list that GMS's short ways for simple statements use too.
func installLockRule() {
	analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault, analyzer.Rule{Id: lockRuleID, Apply: applyLocks})
}

func applyLocks(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	s := SessionOf(ctx)
	if s == nil {
		return n, transform.SameTree, nil
	}
	if walksTables(n) {
		s.quiet = true
	}
	if !s.analyzed { // first the client's statement, then what belongs to it: subqueries, bodies of triggers
		s.analyzed = true
		_, s.calling = n.(*plan.Call)
		_, s.defining = n.(*plan.CreateView) // GMS calls it read only where its SELECT is
	}
	same := transform.SameTree
	if t := s.current(); t != nil && t.serializable && !s.autocommits() && readsRows(n) {
		marked, identity, err := lockTables(n, rowLock{mode: lockShared})
		if err != nil {
			return n, transform.SameTree, err
		}
		n, same = marked, identity
	}
	var views map[string]rowLock
	marked, identity, err := transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		switch n := n.(type) {
		case *plan.Update, *plan.DeleteFrom:
			l := rowLock{mode: lockExclusive, scope: new(editScope)}
			locked, _, err := lockTables(n, l)
			if err != nil {
				return n, transform.SameTree, err
			}
			scoped, _, err := l.scope.cover(locked)
			return scoped, transform.NewTree, err
		case *plan.InsertInto:
			if n.LiteralValueSource {
				return n, transform.SameTree, nil
			}
			scope := new(editScope)
			source, _, err := scope.cover(n.Source)
			if err != nil {
				return n, transform.SameTree, err
			}
			scoped, _, err := scope.cover(n.WithSource(source))
			return scoped, transform.NewTree, err
		case *plan.SubqueryAlias:
			if views == nil {
				var err error
				if views, err = s.viewLocks(); err != nil {
					return n, transform.SameTree, err
				}
			}
			if l, ok := views[strings.ToLower(n.Name())]; ok {
				return lockView(n, l)
			}
		case gms.CommentedNode:
			l, ok, err := parseLock(n.Comment())
			if err != nil || !ok {
				return n, transform.SameTree, err
			}
			return lockTables(n, l)
		}
		return n, transform.SameTree, nil
	})
	return marked, same && identity, err
}

// readsRows: a statement that SERIALIZABLE lets lock what it reads.
func readsRows(n gms.Node) bool {
	switch n.(type) {
	case *plan.InsertInto, *plan.Update, *plan.DeleteFrom:
		return true
	}
	return plan.NodeRepresentsSelect(n)
}

// lockTables makes the tables at and below a node locked ones, if they are not locked more strongly. It does not go into
// subqueries, which say for themselves.
func lockTables(n gms.Node, l rowLock) (gms.Node, transform.TreeIdentity, error) {
	return transform.Node(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		rt, ok := n.(*plan.ResolvedTable)
		if !ok {
			return n, transform.SameTree, nil
		}
		t, ok := tableOf(rt.UnderlyingTable())
		if !ok || t.lock.mode > l.mode {
			return n, transform.SameTree, nil
		}
		l := l
		if t.lock.scope != nil {
			l.scope = t.lock.scope
		}
		if t.lock == l {
			return n, transform.SameTree, nil
		}
		locked, err := rt.WithTable(t.withLock(l))
		if err != nil {
			return n, transform.SameTree, err
		}
		return locked, transform.NewTree, nil
	})
}

// cover puts all tables at and below a node into the scope, those of derived tables and of subqueries in expressions too, if they are in
// none.
func (e *editScope) cover(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
	return transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		if rt, ok := n.(*plan.ResolvedTable); ok {
			t, ok := tableOf(rt.UnderlyingTable())
			if !ok || t.lock.scope != nil {
				return n, transform.SameTree, nil
			}
			covered, err := rt.WithTable(t.withLock(rowLock{t.lock.mode, t.lock.wait, e}))
			if err != nil {
				return n, transform.SameTree, err
			}
			return covered, transform.NewTree, nil
		}
		return transform.OneNodeExpressions(n, func(x gms.Expression) (gms.Expression, transform.TreeIdentity, error) {
			with, ok := x.(gms.ExpressionWithNodes)
			if !ok {
				return x, transform.SameTree, nil
			}
			nodes, same := slices.Clone(with.NodeChildren()), transform.SameTree
			for i, child := range nodes {
				covered, identity, err := e.cover(child)
				if err != nil {
					return x, transform.SameTree, err
				}
				nodes[i], same = covered, same && identity
			}
			if same {
				return x, transform.SameTree, nil
			}
			covered, err := with.WithNodeChildren(nodes...)
			return covered, transform.NewTree, err
		})
	})
}

// tableOf is what lies in a table of ours.
func tableOf(t gms.Table) (*table, bool) {
	switch t := t.(type) {
	case *Table:
		return &t.table, true
	case *lockedTable:
		return &t.table, true
	}
	return nil, false
}

// parseLock reads the comment that package sqlparse leaves.
func parseLock(comment string) (l rowLock, ok bool, err error) {
	rest, ok := strings.CutPrefix(comment, lockComment)
	if !ok {
		return l, false, nil
	}
	text, _, _ := strings.Cut(rest, "*/")
	mode, wait, _ := strings.Cut(text, ",")
	switch mode {
	case "s":
		l.mode = lockShared
	case "x":
		l.mode = lockExclusive
	default:
		return l, false, fmt.Errorf("lock mode %q, want s or x", mode)
	}
	switch wait {
	case "":
	case "nowait":
		l.wait = noWait
	case "skip":
		l.wait = skipLocked
	default:
		return l, false, fmt.Errorf("lock wait %q, want nowait or skip", wait)
	}
	return l, true, nil
}

// walksTables: the statement looks at the definitions of all tables there are. It takes no locks on them: it would wait for any DDL
// that runs.
func walksTables(n gms.Node) (walks bool) {
	transform.Inspect(n, func(n gms.Node) bool {
		switch n := n.(type) {
		case *plan.ShowTables, *plan.ShowTableStatus,
			*plan.Truncate: // for tables that refer to the one, which is locked by now
			walks = true
		case *plan.ResolvedTable:
			switch n.Table.(type) {
			case *information_schema.InformationSchemaTable, *information_schema.ColumnsTable:
				walks = true
			}
		}
		return !walks
	})
	return walks
}
