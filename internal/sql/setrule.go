package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// GMS stores the nearest number that fits when UPDATE, or ON DUPLICATE KEY UPDATE, sets a column to one that does not, and says nothing:
// 120 + 10 becomes 127 in a TINYINT. INSERT refuses it, as MySQL does for all three. So what they set is looked at first.

// setRuleID must be none of GMS's.
const setRuleID analyzer.RuleId = 10012

func installSetRule() {
	analyzer.OnceAfterAll = append(analyzer.OnceAfterAll, analyzer.Rule{Id: setRuleID, Apply: setInRange})
}

func setInRange(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	if SessionOf(ctx) == nil {
		return n, transform.SameTree, nil
	}
	return transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		switch n := n.(type) {
		case *plan.UpdateSource:
			if sets, some := setsInRange(n.UpdateExprs, n.Ignore); some {
				with := *n
				with.UpdateExprs = sets
				return &with, transform.NewTree, nil
			}
		case *plan.InsertInto:
			if sets, some := setsInRange(n.OnDupExprs, n.Ignore); some {
				with := *n
				with.OnDupExprs = sets
				return &with, transform.NewTree, nil
			}
		}
		return n, transform.SameTree, nil
	})
}

// setsInRange are the assignments with those to numbers looked at; some: there are such.
func setsInRange(sets []gms.Expression, ignore bool) (with []gms.Expression, some bool) {
	with = make([]gms.Expression, len(sets))
	for i, e := range sets {
		with[i] = e
		set, ok := e.(*expression.SetField)
		if !ok || !types.IsNumber(set.LeftChild.Type()) {
			continue
		}
		switch set.RightChild.(type) {
		case *gms.ColumnDefaultValue, *inRange: // a default is looked at when it is made
			continue
		}
		with[i], some = expression.NewSetField(set.LeftChild, &inRange{expression.UnaryExpression{Child: set.RightChild}, set.LeftChild.Type(), ignore}), true
	}
	return with, some
}

// inRange is an expression whose value a column of numbers can hold.
type inRange struct {
	expression.UnaryExpression
	column gms.Type
	ignore bool
}

var _ gms.Expression = (*inRange)(nil)

func (r *inRange) String() string { return r.Child.String() }

// Type implements gms.Expression.
func (r *inRange) Type() gms.Type { return r.Child.Type() }

// WithChildren implements gms.Expression.
func (r *inRange) WithChildren(children ...gms.Expression) (gms.Expression, error) {
	if len(children) != 1 {
		return nil, gms.ErrInvalidChildrenNumber.New(r, len(children), 1)
	}
	return &inRange{expression.UnaryExpression{Child: children[0]}, r.column, r.ignore}, nil
}

// Eval implements gms.Expression. A value that cannot be converted at all is told where it is set.
func (r *inRange) Eval(ctx *gms.Context, row gms.Row) (any, error) {
	v, err := r.Child.Eval(ctx, row)
	if v == nil || err != nil {
		return v, err
	}
	_, fits, err := r.column.Convert(ctx, v)
	if err != nil || fits == gms.InRange {
		return v, nil
	}
	tooLarge := gms.ErrValueOutOfRange.New(v, r.column)
	if !r.ignore {
		return nil, tooLarge
	}
	ctx.Session.Warn(&gms.Warning{Level: "Note", Code: gms.CastSQLError(tooLarge).Num, Message: tooLarge.Error()}) // as INSERT IGNORE does
	return v, nil
}
