package rows

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"
)

// part makes a key of one part.
func part(t testing.TB, typ gms.Type, nullable bool, prefix uint16) *Key {
	t.Helper()
	k, err := newKey(mustTable(t, []Column{{Type: typ, Nullable: nullable}}), []Part{{Prefix: prefix}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustPart(t testing.TB, k *Key, v any) []byte {
	t.Helper()
	b, err := k.AppendPart(nil, 0, v)
	if err != nil {
		t.Fatalf("%s, %#v: %v", k.parts[0].typ, v, err)
	}
	return b
}

func sign(c int) int { return min(max(c, -1), 1) }

// TestKeyOrder: keys compare as go-mysql-server compares the values, of every type.
func TestKeyOrder(t *testing.T) {
	r := newRand(t)
	for _, s := range keySamples() {
		k := part(t, s.typ, r.IntN(2) == 0, 0)
		check := func(a, b any) {
			ka, kb := mustPart(t, k, a), mustPart(t, k, b)
			if got, want := bytes.Compare(ka, kb), sign(compare(t, s.typ, a, b)); got != want {
				t.Fatalf("%s: %#v and %#v: keys %x and %x compare %d, want %d", s.typ, a, b, ka, kb, got, want)
			}
		}
		for _, a := range s.boundary {
			for _, b := range s.boundary {
				check(a, b)
			}
		}
		for range 500 {
			check(s.value(r), s.value(r))
		}
	}
}

// TestKeyRoundTrip: each part ends where it says, bounds are parts, and reversible parts give the value back.
func TestKeyRoundTrip(t *testing.T) {
	r := newRand(t)
	for _, s := range keySamples() {
		for _, nullable := range []bool{false, true} {
			k := part(t, s.typ, nullable, 0)
			for range 300 {
				v := s.value(r)
				if nullable && r.IntN(10) == 0 {
					v = nil
				}
				b := mustPart(t, k, v)
				if size := k.MaxSize(); len(b) > size {
					t.Fatalf("%s: the key of %#v has %d bytes, the most is %d", s.typ, v, len(b), size)
				}
				bound, err := k.AppendBound([]byte("x"), 0, v)
				if err != nil || !bytes.Equal(bound[1:], b) {
					t.Fatalf("%s: bound of %#v is %x (%v), want %x", s.typ, v, bound, err, b)
				}
				tail := []byte{0, 1, 0xff}[:r.IntN(4)]
				got, rest, err := k.Split(append(bytes.Clone(b), tail...), 0)
				if err != nil || !bytes.Equal(got, b) || !bytes.Equal(rest, tail) {
					t.Fatalf("%s: %#v splits into %x and %x (%v), want %x and %x", s.typ, v, got, rest, err, b, tail)
				}
				if !k.Reversible(0) {
					continue
				}
				back, rest, err := k.DecodePart(append(bytes.Clone(b), tail...), 0)
				if err != nil || !bytes.Equal(rest, tail) || !same(t, s.typ, v, back) {
					t.Fatalf("%s: %#v comes back as %#v (%v)", s.typ, v, back, err)
				}
			}
		}
	}
}

// same: equal, of the same Go type, and a string has the same bytes whatever the collation.
func same(t testing.TB, typ gms.Type, a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	if _, ok := a.(string); ok {
		return a == b
	}
	return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) && compare(t, typ, a, b) == 0
}

// TestKeyReversible: all but text under collations with weights.
func TestKeyReversible(t *testing.T) {
	for _, s := range keySamples() {
		want := true
		if c, ok := s.typ.(gms.StringType); ok {
			want = c.Collation() == gms.Collation_binary || byCodePoint(c.Collation())
		}
		if got := part(t, s.typ, false, 0).Reversible(0); got != want {
			t.Errorf("%s: reversible %v, want %v", s.typ, got, want)
		}
	}
	if part(t, types.MustCreateString(sqltypes.VarChar, 9, gms.Collation_utf8mb4_bin), false, 3).Reversible(0) {
		t.Error("a prefix is reversible")
	}
}

func TestKeyNull(t *testing.T) {
	r := newRand(t)
	for _, s := range keySamples() {
		k := part(t, s.typ, true, 0)
		null, notNull := mustPart(t, k, nil), k.AppendNotNull(nil, 0)
		for _, v := range append(s.boundary, s.random(r)) {
			if b := mustPart(t, k, v); bytes.Compare(null, notNull) >= 0 || bytes.Compare(notNull, b) > 0 {
				t.Fatalf("%s: NULL %x, then the cut %x, then %#v %x", s.typ, null, notNull, v, b)
			}
		}
		k = part(t, s.typ, false, 0)
		if _, err := k.AppendPart(nil, 0, nil); !errors.Is(err, ErrNull) {
			t.Fatalf("%s NOT NULL: got error %v for NULL", s.typ, err)
		}
	}
}

// TestKeyOfParts: keys of several columns compare column by column.
func TestKeyOfParts(t *testing.T) {
	r := newRand(t)
	samples := keySamples()
	for range 200 {
		var picked []sample
		var cols []Column
		var parts []Part
		for i := range 1 + r.IntN(4) {
			s := samples[r.IntN(len(samples))]
			picked = append(picked, s)
			cols = append(cols, Column{Type: s.typ, Nullable: r.IntN(2) == 0})
			parts = append(parts, Part{Column: i})
		}
		k, err := newKey(mustTable(t, cols), parts)
		if err != nil {
			t.Fatal(err)
		}
		// A few values for each column, so that leading columns are often equal.
		few := make([][]any, len(picked))
		for i, s := range picked {
			few[i] = []any{s.value(r), s.value(r), s.value(r)}
			if cols[i].Nullable {
				few[i] = append(few[i], nil)
			}
		}
		row := func() (row gms.Row) {
			for i := range few {
				row = append(row, few[i][r.IntN(len(few[i]))])
			}
			return row
		}
		for range 100 {
			a, b := row(), row()
			want := 0
			for i, s := range picked {
				switch {
				case a[i] == nil && b[i] == nil:
				case a[i] == nil:
					want = -1
				case b[i] == nil:
					want = 1
				default:
					want = sign(compare(t, s.typ, a[i], b[i]))
				}
				if want != 0 {
					break
				}
			}
			ka, err := k.appendRow(nil, a)
			if err != nil {
				t.Fatal(err)
			}
			kb, err := k.appendRow(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			if got := bytes.Compare(ka, kb); got != want {
				t.Fatalf("%v: %#v and %#v: keys %x and %x compare %d, want %d", cols, a, b, ka, kb, got, want)
			}
		}
	}
}

// TestKeyNaN: SQL has no order for NaN; ours has it last, and but once.
func TestKeyNaN(t *testing.T) {
	for _, v := range [][3]any{
		{math.Inf(1), math.NaN(), math.Float64frombits(0xfff8000000000001)},
		{float32(math.Inf(1)), float32(math.NaN()), math.Float32frombits(0xffc00001)},
	} {
		typ := gms.Type(types.Float64)
		if _, ok := v[0].(float32); ok {
			typ = types.Float32
		}
		k := part(t, typ, false, 0)
		inf, nan, other := mustPart(t, k, v[0]), mustPart(t, k, v[1]), mustPart(t, k, v[2])
		if bytes.Compare(inf, nan) >= 0 || !bytes.Equal(nan, other) {
			t.Errorf("%s: infinity %x, NaN %x, another NaN %x", typ, inf, nan, other)
		}
	}
}

func TestKeyPrefix(t *testing.T) {
	ci := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_ai_ci)
	bin := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_bin)
	for _, c := range []struct {
		typ    gms.Type
		prefix uint16
		a, b   any
		equal  bool
	}{
		{ci, 2, "日本語", "日本人", true},
		{ci, 2, "日本語", "日語", false},
		{ci, 2, "ab", "AB ", true},
		{bin, 2, "éab", "éac", true},
		{bin, 2, "é", "éa", false},
		{bin, 2, "éa", "éa", true},
		{types.Text, 3, "abcd", "abce", true},
		{types.Blob, 2, []byte("é1"), []byte("é2"), true},
		{types.Blob, 2, []byte("a1"), []byte("a2"), false},
	} {
		k := part(t, c.typ, false, c.prefix)
		if got := bytes.Equal(mustPart(t, k, c.a), mustPart(t, k, c.b)); got != c.equal {
			t.Errorf("%s(%d): %q and %q equal %v, want %v", c.typ, c.prefix, c.a, c.b, got, c.equal)
		}
		bound, err := k.AppendBound(nil, 0, c.a)
		if err != nil || !bytes.Equal(bound, mustPart(t, k, c.a)) {
			t.Errorf("%s(%d): bound of %q is %x (%v)", c.typ, c.prefix, c.a, bound, err)
		}
	}
}

// TestBoundText: ends of ranges may be longer than the column and need not be UTF-8; they compare as go-mysql-server does.
func TestBoundText(t *testing.T) {
	r := newRand(t)
	long := strings.Repeat("x", 100)
	for _, id := range sampleCollations {
		typ := types.MustCreateString(sqltypes.VarChar, 10, id)
		k := part(t, typ, false, 0)
		bounds := []any{long, long + "é", "\xff", "a\xc3", "\xed\xa0\x80", "\xfe\xff", ""}
		s := text(typ)
		for range 200 {
			v, bound := s.value(r), bounds[r.IntN(len(bounds))]
			b, err := k.AppendBound(nil, 0, bound)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := bytes.Compare(mustPart(t, k, v), b), sign(compare(t, typ, v, bound)); got != want {
				t.Fatalf("%s: %q and bound %q compare %d, want %d", typ, v, bound, got, want)
			}
		}
	}
	k := part(t, types.MustCreateBinary(sqltypes.Binary, 3), false, 0)
	for _, v := range []any{[]byte("a"), "a", []byte("a\x00\x00\x00")} {
		b, err := k.AppendBound(nil, 0, v)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(b, mustPart(t, k, []byte("a\x00\x00"))) {
			t.Errorf("bound %q of BINARY(3) was padded or cut", v)
		}
	}
}

// TestBoundExact: an end of a range is never rounded.
func TestBoundExact(t *testing.T) {
	dec := func(s string) decimal.Decimal { d, _ := decimal.NewFromString(s); return d }
	five2 := types.MustCreateColumnDecimalType(5, 2)
	for _, c := range []struct {
		typ   gms.Type
		bound any
		as    any // the value of the column that the bound is, nil: none
		err   error
	}{
		{types.Int8, int64(7), int8(7), nil},
		{types.Int8, int64(300), nil, ErrOutOfRange},
		{types.Int8, 1.5, nil, ErrInexact},
		{types.Int32, 2.0, int32(2), nil},
		{types.Int32, dec("2.00"), int32(2), nil},
		{types.Int32, dec("2.01"), nil, ErrInexact},
		{types.Uint32, "12", uint32(12), nil},
		{types.Float64, float32(1.5), 1.5, nil},
		{types.Float32, 0.1, nil, ErrInexact},
		{types.Float64, dec("1.25"), 1.25, nil},
		{five2, dec("1.5"), dec("1.50"), nil},
		{five2, dec("1.500"), dec("1.50"), nil},
		{five2, dec("1.505"), nil, ErrInexact},
		{five2, int64(12), dec("12"), nil},
		{types.Datetime, "2020-01-02 03:04:05", time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), nil},
		{types.Year, int64(2020), int16(2020), nil},
		{types.MustCreateBitType(8), int8(5), uint64(5), nil},
	} {
		k := part(t, c.typ, false, 0)
		b, err := k.AppendBound(nil, 0, c.bound)
		switch {
		case c.as == nil && !errors.Is(err, c.err):
			t.Errorf("%s: bound %#v: got error %v, want %v", c.typ, c.bound, err, c.err)
		case c.as != nil && (err != nil || !bytes.Equal(b, mustPart(t, k, c.as))):
			t.Errorf("%s: bound %#v is %x (%v), want the key of %#v", c.typ, c.bound, b, err, c.as)
		}
	}
	if _, err := part(t, five2, false, 0).AppendBound(nil, 0, dec("1000.00")); err == nil {
		t.Error("a bound of 1000 was taken for DECIMAL(5,2)")
	}
}

func TestMaxSize(t *testing.T) {
	varchar := func(n int64, id gms.CollationID) gms.Type { return types.MustCreateString(sqltypes.VarChar, n, id) }
	for _, c := range []struct {
		typ      gms.Type
		nullable bool
		prefix   uint16
		want     int
	}{
		{types.Int32, false, 0, 4},
		{types.Int32, true, 0, 5},
		{varchar(768, gms.Collation_utf8mb4_0900_ai_ci), false, 0, 3*768 + 1},
		{varchar(767, gms.Collation_utf8mb4_bin), false, 0, 4*767 + 1},
		{varchar(100, gms.Collation_utf8mb4_bin), true, 10, 42},
		{varchar(5, gms.Collation_utf8mb4_bin), true, 10, 22},
		{types.MustCreateBinary(sqltypes.VarBinary, 255), false, 0, 511},
		{types.Text, false, 0, math.MaxInt},
		{types.Text, false, 20, 81},
		{types.Blob, false, 20, 41},
	} {
		if got := part(t, c.typ, c.nullable, c.prefix).MaxSize(); got != c.want {
			t.Errorf("%s nullable %v prefix %d: at most %d bytes, want %d", c.typ, c.nullable, c.prefix, got, c.want)
		}
	}
}

func TestAfter(t *testing.T) {
	for _, c := range [][2]string{{"a", "b"}, {"a\xff", "b"}, {"a\x00", "a\x01"}, {"\xff\xff", ""}, {"", ""}} {
		if got := After([]byte(c[0])); string(got) != c[1] || (c[1] == "") != (got == nil) {
			t.Errorf("after %q: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestKeyCorrupt: damaged keys are errors that say so.
func TestKeyCorrupt(t *testing.T) {
	bin := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_bin)
	for _, c := range []struct {
		typ      gms.Type
		nullable bool
		key      string
	}{
		{types.Int32, false, "abc"},
		{types.Int32, true, ""},
		{types.Int32, true, "\x02abcd"},
		{types.Int32, true, "\x01abc"},
		{bin, false, "abc"},
		{bin, false, "a\x01\x00"},
		{bin, false, "a\x01\x03\x00"},
		{types.Date, false, "\xff\xff\xff\xff"},
		{types.Datetime, false, "\x00\x00\x00\x00\x00\x00\x00\x00"},
		{types.Year, false, "\x00\x01"},
		{types.MustCreateBitType(3), false, "\x08"},
		{types.MustCreateColumnDecimalType(2, 0), false, "\xff"},
		{types.MustCreateColumnDecimalType(20, 0), false, strings.Repeat("\xff", 9)},
	} {
		var bad *CorruptError
		if v, _, err := part(t, c.typ, c.nullable, 0).DecodePart([]byte(c.key), 0); !errors.As(err, &bad) {
			t.Errorf("%s: %q decodes to %v, error %v", c.typ, c.key, v, err)
		}
	}
}

func TestKeyRefused(t *testing.T) {
	cols := []Column{{Type: types.JSON}, {Type: types.PointType{}}, {Type: types.Int32, Nullable: true}, {Type: types.Int32}}
	for _, c := range [][]Part{{{Column: 0}}, {{Column: 1}}, {{Column: 2}}, {{Column: 4}}, {{Column: -1}}, {{Column: 3, Prefix: 2}}, make([]Part, MaxParts+1)} {
		if _, err := NewTable(cols, c); err == nil {
			t.Errorf("a primary key of %v was taken", c)
		}
	}
	if _, err := NewTable([]Column{{Type: types.Null}}, nil); err == nil {
		t.Error("a column of type NULL was taken")
	}
}

// TestRandomBytesSplit: what Split cuts off is a key again, or an error.
func TestRandomBytesSplit(t *testing.T) {
	r := newRand(t)
	samples := keySamples()
	for range 3000 {
		s := samples[r.IntN(len(samples))]
		k := part(t, s.typ, r.IntN(2) == 0, 0)
		b := randomBytes(r, 20)
		var bad *CorruptError
		if head, rest, err := k.Split(b, 0); err != nil && !errors.As(err, &bad) || err == nil && !bytes.Equal(append(bytes.Clone(head), rest...), b) {
			t.Fatalf("%s: %x splits into %x and %x, error %v", s.typ, b, head, rest, err)
		}
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, r.IntN(n+1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
