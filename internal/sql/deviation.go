package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// real is an aggregate that is a DOUBLE whatever it is of. GMS says it has the type of its argument, to which the result is then rounded.
type real struct{ aggregate }

var _ aggregate = (*real)(nil)

// NewDeviation is STDDEV_POP, NewDeviationSample STDDEV_SAMP, NewVariance VAR_POP, and NewVarianceSample VAR_SAMP.
func NewDeviation(e gms.Expression) gms.Expression       { return &real{aggregation.NewStdDevPop(e)} }
func NewDeviationSample(e gms.Expression) gms.Expression { return &real{aggregation.NewStdDevSamp(e)} }
func NewVariance(e gms.Expression) gms.Expression        { return &real{aggregation.NewVarPop(e)} }
func NewVarianceSample(e gms.Expression) gms.Expression  { return &real{aggregation.NewVarSamp(e)} }

// Type implements gms.Expression.
func (*real) Type() gms.Type { return types.Float64 }

// IsNullable implements gms.Expression.
func (*real) IsNullable() bool { return true }

// WithChildren implements gms.Expression.
func (r *real) WithChildren(children ...gms.Expression) (gms.Expression, error) {
	with, err := r.aggregate.WithChildren(children...)
	if err != nil {
		return nil, err
	}
	return &real{with.(aggregate)}, nil
}

// WithId implements gms.IdExpression.
func (r *real) WithId(id gms.ColumnId) gms.IdExpression {
	return &real{r.aggregate.WithId(id).(aggregate)}
}

// WithWindow implements gms.WindowAdaptableExpression.
func (r *real) WithWindow(w *gms.WindowDefinition) gms.WindowAdaptableExpression {
	return &real{r.aggregate.WithWindow(w).(aggregate)}
}

// DebugString implements gms.DebugStringer.
func (r *real) DebugString() string { return gms.DebugString(r.aggregate) }
