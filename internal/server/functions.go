package server

import (
	"fmt"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// function is an SQL function that GMS lacks.
type function struct {
	name     string
	min, max int // arguments; max below 0: any number
	result   gms.Type
	// nulls: the function is called with arguments that are NULL, too; otherwise it is NULL with one of them.
	nulls bool
	// impure functions give another value at each call, or do something.
	impure bool
	call   func(ctx *gms.Context, args []any) (any, error)
}

// installFunctions adds them to the engine's.
func (s *Server) installFunctions() {
	var list []gms.Function
	for _, f := range concat(stringFunctions, numberFunctions, timeFunctions, cryptFunctions, s.hearthFunctions()) {
		list = append(list, gms.FunctionN{Name: f.name, Fn: f.instance})
	}
	list = append(list, gms.FunctionN{Name: "benchmark", Fn: newBenchmark})
	s.engine.Analyzer.Catalog.RegisterFunction(gms.NewEmptyContext(), list...)
	s.backend.Provider().RegisterProcedure(s.shutdown())
}

func (f *function) instance(args ...gms.Expression) (gms.Expression, error) {
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		want := fmt.Sprint(f.min)
		if f.max != f.min {
			want = fmt.Sprintf("%d or more", f.min)
		}
		return nil, gms.ErrInvalidArgumentNumber.New(f.name, want, len(args))
	}
	return &call{f, args}, nil
}

// call of a function.
type call struct {
	*function
	args []gms.Expression
}

var (
	_ gms.FunctionExpression         = (*call)(nil)
	_ gms.CollationCoercible         = (*call)(nil)
	_ gms.NonDeterministicExpression = (*call)(nil)
)

// FunctionName implements gms.FunctionExpression.
func (c *call) FunctionName() string { return c.name }

// Description implements gms.FunctionExpression.
func (c *call) Description() string { return "" }

// Resolved implements gms.Expression.
func (c *call) Resolved() bool {
	for _, a := range c.args {
		if !a.Resolved() {
			return false
		}
	}
	return true
}

func (c *call) String() string {
	texts := make([]string, len(c.args))
	for i, a := range c.args {
		texts[i] = a.String()
	}
	return c.name + "(" + strings.Join(texts, ",") + ")"
}

// Type implements gms.Expression.
func (c *call) Type() gms.Type { return c.result }

// IsNullable implements gms.Expression.
func (c *call) IsNullable() bool { return true }

// IsNonDeterministic implements gms.NonDeterministicExpression.
func (c *call) IsNonDeterministic() bool { return c.impure }

// CollationCoercibility implements gms.CollationCoercible.
func (c *call) CollationCoercibility(ctx *gms.Context) (gms.CollationID, byte) {
	if types.IsText(c.result) {
		return ctx.GetCollation(), 4
	}
	return gms.Collation_binary, 5
}

// Children implements gms.Expression.
func (c *call) Children() []gms.Expression { return c.args }

// WithChildren implements gms.Expression.
func (c *call) WithChildren(args ...gms.Expression) (gms.Expression, error) {
	return c.function.instance(args...)
}

// Eval implements gms.Expression.
func (c *call) Eval(ctx *gms.Context, row gms.Row) (any, error) {
	values := make([]any, len(c.args))
	for i, a := range c.args {
		v, err := a.Eval(ctx, row)
		if err != nil {
			return nil, err
		}
		if v, err = gms.UnwrapAny(ctx, v); err != nil {
			return nil, err
		}
		if v == nil && !c.nulls {
			return nil, nil
		}
		values[i] = v
	}
	return c.call(ctx, values)
}

// Arguments as the function wants them, converted as MySQL does.

func textArg(ctx *gms.Context, v any) (string, error) {
	if b, ok := v.([]byte); ok {
		return string(b), nil
	}
	t, _, err := types.LongText.Convert(ctx, v)
	if err != nil {
		return "", err
	}
	return t.(string), nil
}

func bytesArg(ctx *gms.Context, v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	b, _, err := types.LongBlob.Convert(ctx, v)
	if err != nil {
		return nil, err
	}
	return b.([]byte), nil
}

func intArg(ctx *gms.Context, v any) (int64, error) {
	n, _, err := types.Int64.Convert(ctx, v)
	if err != nil {
		if s, ok := v.(string); ok && gms.ErrInvalidValue.Is(err) { // the number that the text begins with
			return leadingInt(s), nil
		}
		return 0, err
	}
	return n.(int64), nil
}

func leadingInt(s string) (n int64) {
	fmt.Sscanf(strings.TrimSpace(s), "%d", &n)
	return n
}

func floatArg(ctx *gms.Context, v any) (float64, error) {
	f, _, err := types.Float64.Convert(ctx, v)
	if err != nil {
		return 0, err
	}
	return f.(float64), nil
}
