package sql

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// MIN and MAX of the first column of the primary key need one row. GMS reads that row instead of aggregating, and where there is none its
// answer has no row, when it should be NULL. Here the aggregate stays, over one row or none.

// aggregateRuleID must be none of GMS's.
const aggregateRuleID analyzer.RuleId = 10010

// installAggregateRule puts the rule in the place of GMS's own.
func installAggregateRule() {
	for i, r := range analyzer.OnceAfterDefault {
		if r.Id.String() == "replaceAgg" {
			analyzer.OnceAfterDefault[i] = analyzer.Rule{Id: aggregateRuleID, Apply: aggregateOneRow}
		}
	}
}

func aggregateOneRow(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, flags *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	if !flags.IsSet(gms.QFlagAggregation) {
		return n, transform.SameTree, nil
	}
	return transform.Node(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		group, ok := n.(*plan.GroupBy)
		if !ok || len(group.SelectedExprs) != 1 || len(group.GroupByExprs) != 0 {
			return n, transform.SameTree, nil
		}
		field, ok := extremeOf(group.SelectedExprs[0])
		if !ok {
			return n, transform.SameTree, nil
		}
		first, err := firstOfPrimary(ctx, group.Child)
		if err != nil || !strings.EqualFold(first, field.Column.String()) {
			return n, transform.SameTree, err
		}
		one := plan.NewLimit(expression.NewLiteral(int64(1), types.Int64), plan.NewSort(gms.SortFields{field}, group.Child))
		return plan.NewGroupBy(group.SelectedExprs, group.GroupByExprs, one), transform.NewTree, nil
	})
}

// extremeOf is the column whose extreme an aggregate is, with the order in which that comes first.
func extremeOf(e gms.Expression) (gms.SortField, bool) {
	switch e := e.(type) {
	case *aggregation.Max:
		c, ok := e.Child.(*expression.GetField)
		return gms.SortField{Column: c, Order: gms.Descending}, ok
	case *aggregation.Min:
		c, ok := e.Child.(*expression.GetField)
		return gms.SortField{Column: c, Order: gms.Ascending}, ok
	}
	return gms.SortField{}, false
}

// firstOfPrimary is the first column of the primary key that rows come in the order of, "" if they come in another.
func firstOfPrimary(ctx *gms.Context, n gms.Node) (string, error) {
	var index gms.Index
	switch n := n.(type) {
	case *plan.IndexedTableAccess:
		index = n.Index()
	case *plan.ResolvedTable:
		table, ok := n.UnderlyingTable().(gms.IndexAddressableTable)
		if !ok {
			return "", nil
		}
		indexes, err := table.GetIndexes(ctx)
		if err != nil {
			return "", err
		}
		for _, x := range indexes {
			if x.ID() == "PRIMARY" {
				index = x
			}
		}
	}
	if index == nil || index.ID() != "PRIMARY" || len(index.Expressions()) == 0 {
		return "", nil
	}
	return index.Expressions()[0], nil
}
