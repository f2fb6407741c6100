package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// viewRuleID must be none of GMS's.
const viewRuleID analyzer.RuleId = 10004

// installViewRule adds keepTransaction to GMS's analyzer, for engines that are made afterwards.
func installViewRule() {
	analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault, analyzer.Rule{Id: viewRuleID, Apply: keepTransaction})
}

// keepTransaction: GMS plans CREATE VIEW to use a view, and CREATE PROCEDURE to call one, and notes that the statement at hand is a
// definition, which commits the transaction. It is none.
func keepTransaction(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, scope *plan.Scope, _ analyzer.RuleSelector, flags *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	if !scope.IsEmpty() {
		return n, transform.SameTree, nil
	}
	if s := SessionOf(ctx); s != nil && s.defining {
		return n, transform.SameTree, nil
	}
	switch n.(type) {
	case *plan.InsertInto, *plan.Update, *plan.DeleteFrom, *plan.Call:
	default:
		if !plan.IsReadOnly(n) {
			return n, transform.SameTree, nil
		}
	}
	for _, definition := range []int{gms.QFlagDDL, gms.QFlagDBDDL, gms.QFlagAlterTable} {
		flags.Unset(definition)
	}
	return n, transform.SameTree, nil
}
