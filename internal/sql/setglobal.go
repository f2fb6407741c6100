package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/vitess/go/mysql"
)

// SET GLOBAL and SET PERSIST are for accounts that administer: GMS asks nobody.

// setGlobalRuleID must be none of GMS's.
const setGlobalRuleID analyzer.RuleId = 10013

// erSpecificAccess is ER_SPECIFIC_ACCESS_DENIED_ERROR.
const erSpecificAccess = 1227

func installSetGlobalRule() {
	analyzer.OnceBeforeDefault = append(analyzer.OnceBeforeDefault, analyzer.Rule{Id: setGlobalRuleID, Apply: maySetGlobal})
}

func maySetGlobal(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	s := SessionOf(ctx)
	set, ok := n.(*plan.Set)
	if s == nil || !ok {
		return n, transform.SameTree, nil
	}
	for _, e := range set.Exprs {
		field, ok := e.(*expression.SetField)
		if !ok {
			continue
		}
		if v, ok := field.LeftChild.(*expression.SystemVar); !ok || !beyondSession(v.Scope) {
			continue
		}
		if !s.administers(ctx, "system_variables_admin") {
			return nil, transform.SameTree, mysql.NewSQLError(erSpecificAccess, "42000", "%s",
				"Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN privilege(s) for this operation")
		}
	}
	return n, transform.SameTree, nil
}

// beyondSession: others see what is set in the scope.
func beyondSession(scope gms.SystemVariableScope) bool {
	m, ok := scope.(*gms.MysqlScope)
	return ok && m.Type != gms.SystemVariableScope_Session
}
