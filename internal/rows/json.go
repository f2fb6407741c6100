package rows

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

// JSON is stored as MySQL prints it: a space behind commas and colons, the keys of objects by length, then by bytes. So a document
// that is only sent to a client is never parsed. Numbers are written with all their digits.

// appendJSON appends v as JSON text.
func (c *codec) appendJSON(dst []byte, v any) ([]byte, error) {
	if d, ok := v.(*document); ok {
		return append(dst, d.text...), nil
	}
	w, ok := v.(gms.JSONWrapper)
	if !ok {
		converted, err := c.convert(v)
		if err != nil {
			return dst, err
		}
		if w, ok = converted.(gms.JSONWrapper); !ok {
			return dst, fmt.Errorf("%s has a value of type %T, want a JSON document", c.typ, converted)
		}
	}
	value, err := w.ToInterface()
	if err != nil {
		return dst, err
	}
	return appendJSONValue(dst, value)
}

func appendJSONValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendJSONString(dst, v), nil
	case float64:
		return appendJSONFloat(dst, v, 64)
	case float32:
		return appendJSONFloat(dst, float64(v), 32)
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Append(dst, v), nil
	case decimal.Decimal:
		return append(dst, v.String()...), nil
	case time.Time:
		// As go-mysql-server prints it. It comes back as a string: JSON has no times.
		return appendJSONString(dst, v.Format(time.RFC3339)), nil
	case []any:
		return appendJSONArray(dst, v)
	case map[string]any:
		return appendJSONObject(dst, v)
	case gms.JSONWrapper:
		inner, err := v.ToInterface()
		if err != nil {
			return dst, err
		}
		return appendJSONValue(dst, inner)
	}
	// Functions of go-mysql-server leave other maps and slices in documents.
	text, err := json.Marshal(v)
	if err != nil {
		return dst, err
	}
	value, err := parseJSON(text)
	if err != nil {
		return dst, err
	}
	return appendJSONValue(dst, value)
}

func appendJSONArray(dst []byte, array []any) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, v := range array {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if dst, err = appendJSONValue(dst, v); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendJSONObject(dst []byte, object map[string]any) (_ []byte, err error) {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return bytes.Compare([]byte(a), []byte(b))
	})
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendJSONString(dst, k), ": "...)
		if dst, err = appendJSONValue(dst, object[k]); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendJSONFloat writes x so that it is read again as it is. An integer that could be an int64 gets all its digits; without an
// exponent it would be taken for one that a float64 would round.
func appendJSONFloat(dst []byte, x float64, bits int) ([]byte, error) {
	abs := math.Abs(x)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return dst, fmt.Errorf("%w: JSON, got %v", ErrOutOfRange, x)
	case abs < 1<<63 && x == math.Trunc(x):
		return strconv.AppendInt(dst, int64(x), 10), nil
	case abs < 1e-6 || abs >= 1<<63:
		return strconv.AppendFloat(dst, x, 'e', -1, bits), nil
	}
	return strconv.AppendFloat(dst, x, 'f', -1, bits), nil
}

// appendJSONString writes s in quotes. Bytes that are no UTF-8 become U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = utf8.AppendRune(append(dst, s[from:i]...), r)
				from = i + 1
			}
			i += n
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			dst = append(dst, s[from:i]...)
			from = i + 1
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\b':
				dst = append(dst, `\b`...)
			case '\f':
				dst = append(dst, `\f`...)
			case '\n':
				dst = append(dst, `\n`...)
			case '\r':
				dst = append(dst, `\r`...)
			case '\t':
				dst = append(dst, `\t`...)
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
		i++
	}
	return append(append(dst, s[from:]...), '"')
}

// loadJSON is the document of a text. An object or array is parsed when somebody wants to look inside. A scalar is parsed at
// once: go-mysql-server casts documents to DECIMAL only if they are of its own type.
func loadJSON(b []byte) (any, error) {
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return newDocument(append([]byte(nil), b...)), nil
	}
	v, err := parseJSON(b)
	if err != nil {
		return nil, err
	}
	return types.JSONDocument{Val: v}, nil
}

// document is a stored JSON object or array.
type document struct {
	text  []byte
	value func() (any, error) // parses text at the first call
}

var (
	_ types.JSONBytes = (*document)(nil)
	_ fmt.Stringer    = (*document)(nil)
	_ driver.Valuer   = (*document)(nil)
)

func newDocument(text []byte) *document {
	return &document{text: text, value: sync.OnceValues(func() (any, error) { return parseJSON(text) })}
}

// Clone implements gms.JSONWrapper: who changes the clone's value changes no other.
func (d *document) Clone(context.Context) gms.JSONWrapper { return newDocument(d.text) }

// ToInterface implements gms.JSONWrapper.
func (d *document) ToInterface() (any, error) { return d.value() }

// GetBytes implements types.JSONBytes: what is sent to clients.
func (d *document) GetBytes() ([]byte, error) { return d.text, nil }

func (d *document) String() string { return string(d.text) }

// Value implements driver.Valuer.
func (d *document) Value() (driver.Value, error) { return string(d.text), nil }

// parseJSON makes of a text what encoding/json makes of it, but for numbers that a float64 would round: those are int64, uint64
// or decimal.Decimal.
func parseJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, corrupt("JSON", "%v", err)
	}
	if d.More() {
		return nil, corrupt("JSON", "more than one value")
	}
	return withNumbers(v)
}

// withNumbers replaces each json.Number in v, in place.
func withNumbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i := range v {
			if v[i], err = withNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, x := range v {
			if v[k], err = withNumbers(x); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// exactDigits is how many digits a float64 always keeps; with sign and point two characters more.
const exactDigits = 15

// maxExponent bounds the decimals that are computed from a text: no float64 has a larger one.
const maxExponent = 400

func number(s string) (any, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && len(s) <= exactDigits {
		return f, nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		if float64(i) < 1<<63 && int64(float64(i)) == i {
			return f, nil
		}
		return i, nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		if float64(u) < 1<<64 && uint64(float64(u)) == u {
			return f, nil
		}
		return u, nil
	}
	d, derr := decimal.NewFromString(s)
	if derr != nil || d.Exponent() > maxExponent || d.Exponent() < -maxExponent-int32(len(s)) {
		if err != nil {
			return nil, corrupt("JSON", "number %.40s", s)
		}
		return f, nil
	}
	if err == nil && decimal.NewFromFloat(f).Equal(d) {
		return f, nil
	}
	return d, nil
}
