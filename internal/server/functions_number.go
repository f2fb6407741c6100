package server

import (
	"sort"
	"sync/atomic"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

var numberFunctions = []*function{
	{name: "interval", min: 2, max: -1, result: types.Int64, nulls: true, call: interval},
	{name: "period_add", min: 2, max: 2, result: types.Int64, call: periodAdd},
	{name: "period_diff", min: 2, max: 2, result: types.Int64, call: periodDiff},
	{name: "uuid_short", result: types.Uint64, impure: true, call: uuidShort},
	// What the parser makes of the operators in a statement with ~: GMS lacks that one, and its others have 63 bits.
	{name: "hearth_bit_not", min: 1, max: 1, result: types.Uint64, call: bitwise(func(a, _ uint64) uint64 { return ^a })},
	{name: "hearth_bit_and", min: 2, max: 2, result: types.Uint64, call: bitwise(func(a, b uint64) uint64 { return a & b })},
	{name: "hearth_bit_or", min: 2, max: 2, result: types.Uint64, call: bitwise(func(a, b uint64) uint64 { return a | b })},
	{name: "hearth_bit_xor", min: 2, max: 2, result: types.Uint64, call: bitwise(func(a, b uint64) uint64 { return a ^ b })},
	{name: "hearth_shift_left", min: 2, max: 2, result: types.Uint64, call: bitwise(func(a, b uint64) uint64 { return a << b })},
	{name: "hearth_shift_right", min: 2, max: 2, result: types.Uint64, call: bitwise(func(a, b uint64) uint64 { return a >> b })},
}

// interval: INTERVAL(n, n1, n2, ...), how many of the ascending n1, n2, ... are not above n; -1 when n is NULL.
func interval(ctx *gms.Context, args []any) (any, error) {
	if args[0] == nil {
		return int64(-1), nil
	}
	n, err := floatArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	bounds := args[1:]
	i := sort.Search(len(bounds), func(i int) bool {
		if bounds[i] == nil { // as if below everything
			return false
		}
		b, e := floatArg(ctx, bounds[i])
		if e != nil {
			err = e
		}
		return b > n
	})
	return int64(i), err
}

// months of a period YYMM or YYYYMM.
func months(p int64) int64 {
	if p == 0 {
		return 0
	}
	year, month := p/100, p%100
	switch {
	case year < 70:
		year += 2000
	case year < 100:
		year += 1900
	}
	return year*12 + month - 1
}

func periodAdd(ctx *gms.Context, args []any) (any, error) {
	p, n, err := twoInts(ctx, args)
	if err != nil || p == 0 {
		return int64(0), err
	}
	if p < 0 || p%100 < 1 || p%100 > 12 {
		return nil, wrongArguments("period_add")
	}
	m := months(p) + n
	return m/12*100 + m%12 + 1, nil
}

func periodDiff(ctx *gms.Context, args []any) (any, error) {
	p, q, err := twoInts(ctx, args)
	if err != nil {
		return nil, err
	}
	for _, x := range []int64{p, q} {
		if x < 0 || x%100 < 1 || x%100 > 12 {
			return nil, wrongArguments("period_diff")
		}
	}
	return months(p) - months(q), nil
}

func twoInts(ctx *gms.Context, args []any) (a, b int64, err error) {
	if a, err = intArg(ctx, args[0]); err != nil {
		return 0, 0, err
	}
	b, err = intArg(ctx, args[1])
	return a, b, err
}

// erWrongArguments is ER_WRONG_ARGUMENTS.
const erWrongArguments = 1210

func wrongArguments(name string) error {
	return sqlError(erWrongArguments, stateUnknown, "Incorrect arguments to "+name)
}

// shortUUID is server_id, the second of the process's start, and a counter, as in MySQL.
var (
	shortUUIDStart = uint64(time.Now().Unix())
	shortUUIDs     atomic.Uint64
)

func uuidShort(*gms.Context, []any) (any, error) {
	id := uint64(globalInt("server_id")) & 255
	return id<<56 + (shortUUIDStart&(1<<32-1))<<24 + shortUUIDs.Add(1), nil
}

// bitwise is an operator on numbers of 64 bits.
func bitwise(op func(a, b uint64) uint64) func(*gms.Context, []any) (any, error) {
	return func(ctx *gms.Context, args []any) (any, error) {
		a, err := bits(ctx, args[0])
		if err != nil || len(args) == 1 {
			return op(a, 0), err
		}
		b, err := bits(ctx, args[1])
		return op(a, b), err
	}
}

func bits(ctx *gms.Context, v any) (uint64, error) {
	if u, ok := v.(uint64); ok {
		return u, nil
	}
	n, inRange, err := types.Int64.Convert(ctx, v)
	if err == nil && inRange == gms.InRange {
		return uint64(n.(int64)), nil
	}
	u, _, err := types.Uint64.Convert(ctx, v)
	if err != nil {
		return 0, err
	}
	return u.(uint64), nil
}

// benchmark: BENCHMARK(count, expression) evaluates the expression so many times, and is 0.
type benchmark struct{ *call }

func newBenchmark(args ...gms.Expression) (gms.Expression, error) {
	f := &function{name: "benchmark", min: 2, max: 2, result: types.Int64, impure: true}
	e, err := f.instance(args...)
	if err != nil {
		return nil, err
	}
	return &benchmark{e.(*call)}, nil
}

// WithChildren implements gms.Expression.
func (b *benchmark) WithChildren(args ...gms.Expression) (gms.Expression, error) {
	return newBenchmark(args...)
}

// Eval implements gms.Expression.
func (b *benchmark) Eval(ctx *gms.Context, row gms.Row) (any, error) {
	count, err := b.args[0].Eval(ctx, row)
	if err != nil || count == nil {
		return nil, err
	}
	n, err := intArg(ctx, count)
	if err != nil || n < 0 {
		return nil, err
	}
	for range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := b.args[1].Eval(ctx, row); err != nil {
			return nil, err
		}
	}
	return int64(0), nil
}
