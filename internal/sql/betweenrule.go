package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// betweenRuleID must be none of GMS's.
const betweenRuleID analyzer.RuleId = 10011

func installBetweenRule() {
	analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault, analyzer.Rule{Id: betweenRuleID, Apply: splitBetween})
}

// splitBetween makes comparisons of the BETWEENs of UPDATE and DELETE. GMS chooses indexes by comparisons, and on its short ways for
// these statements it does not make them: every BETWEEN was a scan of the whole table.
func splitBetween(_ *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	switch n.(type) {
	case *plan.Update, *plan.DeleteFrom:
	default:
		return n, transform.SameTree, nil
	}
	return transform.Node(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		filter, ok := n.(*plan.Filter)
		if !ok {
			return n, transform.SameTree, nil
		}
		e, same, err := transform.Expr(filter.Expression, func(e gms.Expression) (gms.Expression, transform.TreeIdentity, error) {
			b, ok := e.(*expression.Between)
			if !ok {
				return e, transform.SameTree, nil
			}
			if _, ok := b.Val.(*expression.GetField); !ok { // it would be evaluated twice
				return e, transform.SameTree, nil
			}
			return expression.NewAnd(expression.NewGreaterThanOrEqual(b.Val, b.Lower), expression.NewLessThanOrEqual(b.Val, b.Upper)), transform.NewTree, nil
		})
		if same || err != nil {
			return n, transform.SameTree, err
		}
		return plan.NewFilter(e, filter.Child), transform.NewTree, nil
	})
}
