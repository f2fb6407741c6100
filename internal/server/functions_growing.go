package server

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	textfunc "github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/sql"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

// growing functions make texts of any length from short ones, which GMS does without a bound: SPACE(1e9) alone would keep a core
// busy for hours. They take the place of GMS's, and with them SUM and AVG, under the names that package sqlparse gives them. As in MySQL a result longer than max_allowed_packet is NULL, with a warning.
var growing = functionsByName{
	"repeat": instances(&function{name: "repeat", min: 2, max: 2, result: types.LongText, call: repeat}),
	"space": instances(&function{name: "space", min: 1, max: 1, result: types.LongText, call: func(ctx *gms.Context, args []any) (any, error) {
		return repeatText(ctx, "space", " ", args[0])
	}}),
	"lpad": instances(&function{name: "lpad", min: 3, max: 3, result: types.LongText, call: func(ctx *gms.Context, args []any) (any, error) {
		return padText(ctx, "lpad", args, func(text, filling string) string { return filling + text })
	}}),
	"rpad": instances(&function{name: "rpad", min: 3, max: 3, result: types.LongText, call: func(ctx *gms.Context, args []any) (any, error) {
		return padText(ctx, "rpad", args, func(text, filling string) string { return text + filling })
	}}),
	sqlparse.SumName: gms.Function1{Name: "sum", Fn: sql.NewSum},
	sqlparse.AvgName: gms.Function1{Name: "avg", Fn: sql.NewAvg},
	"stddev":         gms.Function1{Name: "stddev", Fn: sql.NewDeviation},
	"stddev_pop":     gms.Function1{Name: "stddev_pop", Fn: sql.NewDeviation},
	"stddev_samp":    gms.Function1{Name: "stddev_samp", Fn: sql.NewDeviationSample},
	"var_pop":        gms.Function1{Name: "var_pop", Fn: sql.NewVariance},
	"var_samp":       gms.Function1{Name: "var_samp", Fn: sql.NewVarianceSample},

	"concat":    gms.FunctionN{Name: "concat", Fn: capped(textfunc.NewConcat)},
	"concat_ws": gms.FunctionN{Name: "concat_ws", Fn: capped(textfunc.NewConcatWithSeparator)},
	"replace": gms.FunctionN{Name: "replace", Fn: capped(func(args ...gms.Expression) (gms.Expression, error) {
		if len(args) != 3 {
			return nil, gms.ErrInvalidArgumentNumber.New("replace", "3", len(args))
		}
		return textfunc.NewReplace(args[0], args[1], args[2]), nil
	})},
}

// installGrowing puts them before GMS's, in the one place that GMS has for it in the process.
var installGrowing = sync.OnceFunc(func() { analyzer.ExternalFunctionProvider = growing })

// functionsByName implements gms.FunctionProvider.
type functionsByName map[string]gms.Function

// Function implements gms.FunctionProvider.
func (m functionsByName) Function(_ *gms.Context, name string) (gms.Function, bool) {
	f, ok := m[strings.ToLower(name)]
	return f, ok
}

func instances(f *function) gms.Function { return gms.FunctionN{Name: f.name, Fn: f.instance} }

// tooLong: a result of so many bytes is NULL. The warning is MySQL's.
func tooLong(ctx *gms.Context, name string, size int64) bool {
	most := sessionInt(ctx, "max_allowed_packet")
	if size <= most {
		return false
	}
	ctx.Warn(1301, "%s", fmt.Sprintf("Result of %s() was larger than max_allowed_packet (%d) - truncated", name, most))
	return true
}

func repeat(ctx *gms.Context, args []any) (any, error) {
	text, err := textArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	return repeatText(ctx, "repeat", text, args[1])
}

func repeatText(ctx *gms.Context, name, text string, times any) (any, error) {
	n, err := intArg(ctx, times)
	if err != nil || n <= 0 || text == "" {
		return "", err
	}
	if n > 1<<32 || tooLong(ctx, name, n*int64(len(text))) {
		return nil, nil
	}
	return strings.Repeat(text, int(n)), nil
}

// padText: LPAD and RPAD, lengths in characters. A text that is longer is cut.
func padText(ctx *gms.Context, name string, args []any, join func(text, filling string) string) (any, error) {
	text, err := textArg(ctx, args[0])
	if err != nil {
		return nil, err
	}
	want, err := intArg(ctx, args[1])
	if err != nil {
		return nil, err
	}
	with, err := textArg(ctx, args[2])
	if err != nil || want < 0 {
		return nil, err
	}
	missing := want - int64(utf8.RuneCountInString(text))
	if missing <= 0 {
		return firstChars(text, int(want)), nil
	}
	if with == "" {
		return "", nil
	}
	chars := int64(utf8.RuneCountInString(with))
	if missing > 1<<32 || tooLong(ctx, name, int64(len(text))+missing/chars*int64(len(with))) {
		return nil, nil
	}
	return join(text, strings.Repeat(with, int(missing/chars))+firstChars(with, int(missing%chars))), nil
}

// firstChars are the first n characters of a text.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// capped bounds the result of a function whose arguments are bounded already.
func capped(build func(...gms.Expression) (gms.Expression, error)) func(...gms.Expression) (gms.Expression, error) {
	var wrap func(args ...gms.Expression) (gms.Expression, error)
	wrap = func(args ...gms.Expression) (gms.Expression, error) {
		e, err := build(args...)
		if err != nil {
			return nil, err
		}
		f, ok := e.(gms.FunctionExpression)
		if !ok {
			return e, nil
		}
		return &cappedCall{f, wrap}, nil
	}
	return wrap
}

type cappedCall struct {
	gms.FunctionExpression
	make func(...gms.Expression) (gms.Expression, error)
}

var _ gms.CollationCoercible = (*cappedCall)(nil)

// CollationCoercibility implements gms.CollationCoercible.
func (c *cappedCall) CollationCoercibility(ctx *gms.Context) (gms.CollationID, byte) {
	return gms.GetCoercibility(ctx, c.FunctionExpression)
}

// WithChildren implements gms.Expression.
func (c *cappedCall) WithChildren(args ...gms.Expression) (gms.Expression, error) {
	return c.make(args...)
}

// Eval implements gms.Expression.
func (c *cappedCall) Eval(ctx *gms.Context, row gms.Row) (any, error) {
	v, err := c.FunctionExpression.Eval(ctx, row)
	if err != nil {
		return nil, err
	}
	size := 0
	switch v := v.(type) {
	case string:
		size = len(v)
	case []byte:
		size = len(v)
	}
	if size > checkedFrom && tooLong(ctx, c.FunctionName(), int64(size)) {
		return nil, nil
	}
	return v, nil
}

// checkedFrom: no limit is lower than this, so that shorter results need no look at the variable.
const checkedFrom = 1024
