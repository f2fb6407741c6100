package rows

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	c, err := newCodec(types.JSON)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.appendVar(nil, v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	return string(b)
}

// TestJSONText: documents are stored as MySQL prints them, and come back as they were.
func TestJSONText(t *testing.T) {
	third, _ := decimal.NewFromString("0.33333333333333333333333333")
	for _, c := range []struct {
		v    any
		text string
		back any // nil: v
	}{
		{nil, `null`, nil},
		{true, `true`, nil},
		{"a\"\\\x01\n\u2028é😀", `"a\"\\\u0001\n` + "\u2028é😀" + `"`, nil},
		{"\xff", "\"\ufffd\"", "\ufffd"},
		{0.0, `0`, nil},
		{1.5, `1.5`, nil},
		{1e300, `1e+300`, nil},
		{-1e-7, `-1e-07`, nil},
		{5e20, `5e+20`, nil},
		{12345678901234567000.0, `1.2345678901234567e+19`, nil},
		{float32(1e30), `1e+30`, 1e30},
		{math.MaxFloat64, `1.7976931348623157e+308`, nil},
		{math.SmallestNonzeroFloat64, `5e-324`, nil},
		{math.Nextafter(0.3, 1), `0.30000000000000004`, nil},
		{math.Copysign(0, -1), `0`, 0.0},
		{float64(1 << 60), `1152921504606846976`, nil},
		{float32(0.1), `0.1`, 0.1},
		{int8(-3), `-3`, -3.0},
		{int64(1<<53 + 1), `9007199254740993`, nil},
		{int64(math.MinInt64 + 1), `-9223372036854775807`, nil},
		{int64(math.MaxInt64), `9223372036854775807`, nil},
		{uint64(math.MaxUint64), `18446744073709551615`, nil},
		{third, `0.33333333333333333333333333`, nil},
		{decimal.New(15, -1), `1.5`, 1.5},
		{time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), `"2020-01-02T03:04:05Z"`, "2020-01-02T03:04:05Z"},
		{[]any{}, `[]`, nil},
		{map[string]any{}, `{}`, nil},
		{map[string]any{"bb": 1.0, "a": []any{nil, "x"}, "c": map[string]any{"": false}}, `{"a": [null, "x"], "c": {"": false}, "bb": 1}`, nil},
		{[]any{int64(1<<53 + 1), third}, `[9007199254740993, 0.33333333333333333333333333]`, nil},
		{[]string{"a"}, `["a"]`, []any{"a"}},
		{map[string]string{"a": "b"}, `{"a": "b"}`, map[string]any{"a": "b"}},
		{[]any{types.JSONDocument{Val: "in"}}, `["in"]`, []any{"in"}},
	} {
		text := mustJSON(t, types.JSONDocument{Val: c.v})
		if text != c.text {
			t.Errorf("%#v is stored as %s, want %s", c.v, text, c.text)
		}
		doc, err := loadJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want := c.back
		if want == nil {
			want = c.v
		}
		got, err := doc.(gms.JSONWrapper).ToInterface()
		if err != nil || !reflect.DeepEqual(got, want) && !equalDecimals(got, want) {
			t.Errorf("%s comes back as %#v (%v), want %#v", text, got, err, want)
		}
		if again := mustJSON(t, doc); again != text {
			t.Errorf("%s is stored as %s the next time", text, again)
		}
		if again := mustJSON(t, types.JSONDocument{Val: got}); again != text {
			t.Errorf("%s is stored as %s when it was looked into", text, again)
		}
	}
}

// equalDecimals: DeepEqual sees the insides of decimals, which equal ones need not share.
func equalDecimals(a, b any) bool {
	x, ok := a.([]any)
	y, ok2 := b.([]any)
	if ok && ok2 && len(x) == len(y) {
		for i := range x {
			if !reflect.DeepEqual(x[i], y[i]) && !equalDecimals(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	d, ok := a.(decimal.Decimal)
	e, ok2 := b.(decimal.Decimal)
	return ok && ok2 && d.Equal(e)
}

// TestJSONDocument: what go-mysql-server does with a stored document, without and with looking into it.
func TestJSONDocument(t *testing.T) {
	text := `{"a": [1, 2], "b": 9007199254740993}`
	v, err := loadJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ctx := gms.NewEmptyContext()
	sent, err := types.JSON.SQL(ctx, nil, v)
	if err != nil || sent.ToString() != text {
		t.Errorf("sent as %s (%v), want %s", sent.ToString(), err, text)
	}
	found, err := types.LookupJSONValue(v.(gms.JSONWrapper), "$.b")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := found.ToInterface(); got != int64(9007199254740993) {
		t.Errorf("b is %#v", got)
	}
	clone := v.(gms.JSONWrapper).Clone(ctx)
	inner, err := clone.ToInterface()
	if err != nil {
		t.Fatal(err)
	}
	inner.(map[string]any)["a"] = "changed"
	if inner, _ = v.(gms.JSONWrapper).ToInterface(); reflect.DeepEqual(inner.(map[string]any)["a"], "changed") {
		t.Error("a change of the clone changed the document")
	}
	if c := compare(t, types.JSON, v, types.MustJSON(`{"a": [1, 2], "b": 9007199254740993}`)); c != 0 {
		t.Errorf("compares %d with its own text", c)
	}
}

func TestJSONCorrupt(t *testing.T) {
	for _, text := range []string{"", "x", "1 2", "{", `{"a"`, `[1,]`, "1e999", `"` + "\x01" + `"`} {
		v, err := loadJSON([]byte(text))
		if err == nil {
			_, err = v.(gms.JSONWrapper).ToInterface()
		}
		var bad *CorruptError
		if !errors.As(err, &bad) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
