package sql

import (
	"math/big"
	"math/bits"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

// SUM and AVG of numbers that are exact are exact, as in MySQL:
//
//	of                      SUM                 AVG
//	an integer of M digits  DECIMAL(M+22, 0)    DECIMAL(M+4, 4)
//	DECIMAL(M,D)            DECIMAL(M+22, D)    DECIMAL(M+4, D+4)
//	anything else           DOUBLE              DOUBLE
//
// GMS computes with floating point numbers.

const (
	sumDigits   = 22 // more in a sum than in its terms
	avgDigits   = 4  // more in an average: MySQL's div_precision_increment, whose default it is
	maxDigits   = 65 // of a DECIMAL
	maxFraction = 30
)

// aggregate is a GMS aggregate of one expression.
type aggregate interface {
	gms.Aggregation
	gms.FunctionExpression
	gms.CollationCoercible
}

// exact is SUM or AVG with a type, and if that is a DECIMAL, arithmetic of its own.
type exact struct {
	aggregate
	average bool
}

var (
	_ aggregate                     = (*exact)(nil)
	_ gms.WindowAdaptableExpression = (*exact)(nil)
)

// NewSum is SUM(e).
func NewSum(e gms.Expression) gms.Expression { return &exact{aggregation.NewSum(e), false} }

// NewAvg is AVG(e).
func NewAvg(e gms.Expression) gms.Expression { return &exact{aggregation.NewAvg(e), true} }

func (x *exact) child() gms.Expression { return x.Children()[0] }

// Type implements gms.Expression.
func (x *exact) Type() gms.Type {
	digits, fraction, ok := exactDigits(x.child().Type())
	switch {
	case !ok:
		return types.Float64
	case x.average:
		digits, fraction = digits+avgDigits, fraction+avgDigits
	default:
		digits += sumDigits
	}
	return types.MustCreateDecimalType(uint8(min(digits, maxDigits)), uint8(min(fraction, maxFraction)))
}

// IsNullable implements gms.Expression: there may be nothing to add.
func (x *exact) IsNullable() bool { return true }

// exactDigits are the digits of numbers of a type, all and those of the fraction; not ok: they are not exact.
func exactDigits(t gms.Type) (all, fraction int, ok bool) {
	if d, is := t.(gms.DecimalType); is {
		return int(d.Precision()), int(d.Scale()), true
	}
	switch t {
	case types.Boolean, types.Int8, types.Uint8:
		return 3, 0, true
	case types.Int16, types.Uint16:
		return 5, 0, true
	case types.Int24, types.Uint24:
		return 8, 0, true
	case types.Int32, types.Uint32:
		return 10, 0, true
	case types.Int64:
		return 19, 0, true
	case types.Uint64:
		return 20, 0, true
	case types.Year:
		return 4, 0, true
	}
	switch {
	case types.IsBit(t):
		return 20, 0, true
	case types.IsInteger(t): // with a display width
		return 20, 0, true
	}
	return 0, 0, false
}

// WithChildren implements gms.Expression.
func (x *exact) WithChildren(children ...gms.Expression) (gms.Expression, error) {
	with, err := x.aggregate.WithChildren(children...)
	if err != nil {
		return nil, err
	}
	return &exact{with.(aggregate), x.average}, nil
}

// WithId implements gms.IdExpression.
func (x *exact) WithId(id gms.ColumnId) gms.IdExpression {
	return &exact{x.aggregate.WithId(id).(aggregate), x.average}
}

// WithWindow implements gms.WindowAdaptableExpression.
func (x *exact) WithWindow(w *gms.WindowDefinition) gms.WindowAdaptableExpression {
	return &exact{x.aggregate.WithWindow(w).(aggregate), x.average}
}

// DebugString implements gms.DebugStringer.
func (x *exact) DebugString() string { return gms.DebugString(x.aggregate) }

// NewBuffer implements gms.Aggregation.
func (x *exact) NewBuffer() (gms.AggregationBuffer, error) {
	t, ok := x.Type().(gms.DecimalType)
	if !ok {
		return x.aggregate.NewBuffer()
	}
	child, err := transform.Clone(x.child())
	if err != nil {
		return nil, err
	}
	return &exactBuffer{expr: child, fraction: int32(t.Scale()), average: x.average}, nil
}

// NewWindowFunction implements gms.WindowAdaptableExpression.
func (x *exact) NewWindowFunction() (gms.WindowFunction, error) {
	t, ok := x.Type().(gms.DecimalType)
	if !ok {
		return x.aggregate.NewWindowFunction()
	}
	child, err := transform.Clone(x.child())
	if err != nil {
		return nil, err
	}
	w := &exactWindow{expr: child, fraction: int32(t.Scale()), average: x.average}
	if f := x.Window().Frame; f != nil {
		if w.framer, err = f.NewFramer(x.Window()); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// exactSum adds. Integers go into a word as long as they fit.
type exactSum struct {
	n     int64 // terms
	small int64
	large decimal.Decimal
}

func (s *exactSum) add(ctx *gms.Context, v any, t gms.Type) error {
	switch v := v.(type) {
	case nil:
		return nil
	case int8:
		s.addInt(int64(v))
	case int16:
		s.addInt(int64(v))
	case int32:
		s.addInt(int64(v))
	case int64:
		s.addInt(v)
	case int:
		s.addInt(int64(v))
	case uint8:
		s.addInt(int64(v))
	case uint16:
		s.addInt(int64(v))
	case uint32:
		s.addInt(int64(v))
	case uint64:
		if v>>63 == 0 {
			s.addInt(int64(v))
		} else {
			s.large = s.large.Add(decimal.NewFromBigInt(new(big.Int).SetUint64(v), 0))
		}
	case bool:
		if v {
			s.addInt(1)
		}
	case decimal.Decimal:
		s.large = s.large.Add(v)
	default:
		d, _, err := t.Convert(ctx, v)
		if err != nil {
			return err
		}
		if _, is := d.(decimal.Decimal); !is {
			if d, _, err = types.InternalDecimalType.Convert(ctx, d); err != nil {
				return err
			}
		}
		s.large = s.large.Add(d.(decimal.Decimal))
	}
	s.n++
	return nil
}

func (s *exactSum) addInt(v int64) {
	sum, _ := bits.Add64(uint64(s.small), uint64(v), 0)
	if over := (uint64(s.small) ^ sum) & (uint64(v) ^ sum); over>>63 == 1 {
		s.large = s.large.Add(decimal.NewFromInt(s.small))
		s.small = v
		return
	}
	s.small = int64(sum)
}

// minus is what was added to s since it was less.
func (s exactSum) minus(less exactSum) exactSum {
	return exactSum{n: s.n - less.n, large: s.total().Sub(less.total())}
}

func (s exactSum) total() decimal.Decimal {
	if s.small == 0 {
		return s.large
	}
	return s.large.Add(decimal.NewFromInt(s.small))
}

// value of the function, NULL for no terms.
func (s exactSum) value(average bool, fraction int32) any {
	switch {
	case s.n == 0:
		return nil
	case average:
		return s.total().DivRound(decimal.NewFromInt(s.n), fraction)
	}
	return s.total()
}

// exactBuffer computes SUM or AVG of a group.
type exactBuffer struct {
	expr     gms.Expression
	fraction int32
	average  bool
	sum      exactSum
}

// Update implements gms.AggregationBuffer.
func (b *exactBuffer) Update(ctx *gms.Context, row gms.Row) error {
	v, err := b.expr.Eval(ctx, row)
	if err != nil {
		return err
	}
	return b.sum.add(ctx, v, b.expr.Type())
}

// Eval implements gms.AggregationBuffer.
func (b *exactBuffer) Eval(*gms.Context) (any, error) { return b.sum.value(b.average, b.fraction), nil }

// Dispose implements gms.Disposable.
func (b *exactBuffer) Dispose() { expression.Dispose(b.expr) }

// exactWindow computes SUM or AVG over frames, from the sums of all beginnings of the partition.
type exactWindow struct {
	expr     gms.Expression
	fraction int32
	average  bool
	framer   gms.WindowFramer
	start    int
	sums     []exactSum // of the first i rows
}

var _ gms.WindowFunction = (*exactWindow)(nil)

// Dispose implements gms.Disposable.
func (w *exactWindow) Dispose() { expression.Dispose(w.expr) }

// DefaultFramer implements gms.WindowFunction.
func (w *exactWindow) DefaultFramer() gms.WindowFramer {
	if w.framer != nil {
		return w.framer
	}
	return aggregation.NewUnboundedPrecedingToCurrentRowFramer()
}

// StartPartition implements gms.WindowFunction.
func (w *exactWindow) StartPartition(ctx *gms.Context, rows gms.WindowInterval, buf gms.WindowBuffer) error {
	w.Dispose()
	w.start, w.sums = rows.Start, make([]exactSum, 1, rows.End-rows.Start+1)
	var sum exactSum
	for i := rows.Start; i < rows.End; i++ {
		v, err := w.expr.Eval(ctx, buf[i])
		if err != nil {
			return err
		}
		if err := sum.add(ctx, v, w.expr.Type()); err != nil {
			return err
		}
		w.sums = append(w.sums, sum)
	}
	return nil
}

// NewSlidingFrameInterval implements gms.WindowFunction. GMS does not call it.
func (w *exactWindow) NewSlidingFrameInterval(_, _ gms.WindowInterval) {}

// Compute implements gms.WindowFunction.
func (w *exactWindow) Compute(_ *gms.Context, rows gms.WindowInterval, _ gms.WindowBuffer) any {
	if rows.End <= rows.Start {
		return nil
	}
	return w.sums[rows.End-w.start].minus(w.sums[rows.Start-w.start]).value(w.average, w.fraction)
}
