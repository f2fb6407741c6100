package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// GMS does not look for a check, which is to be dropped, behind the wrapper of a table that has virtual columns.

// dropRuleID must be none of GMS's.
const dropRuleID analyzer.RuleId = 10009

// installDropRule puts the rule before GMS's, which would fail.
func installDropRule() {
	analyzer.OnceBeforeDefault = append([]analyzer.Rule{{Id: dropRuleID, Apply: unwrapDropped}}, analyzer.OnceBeforeDefault...)
}

func unwrapDropped(_ *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	return transform.Node(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		switch n.(type) {
		case *plan.DropCheck, *plan.DropConstraint:
		default:
			return n, transform.SameTree, nil
		}
		rt, ok := n.Children()[0].(*plan.ResolvedTable)
		if !ok {
			return n, transform.SameTree, nil
		}
		v, ok := rt.Table.(*plan.VirtualColumnTable)
		if !ok {
			return n, transform.SameTree, nil
		}
		bare, err := rt.ReplaceTable(v.Underlying())
		if err != nil {
			return n, transform.SameTree, err
		}
		with, err := n.WithChildren(bare.(gms.Node))
		return with, transform.NewTree, err
	})
}
