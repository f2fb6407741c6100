package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"
)

// untouched is what a test finds in a value that was to be left.
const untouched = "untouched"

// randomTable makes a table of up to n columns and a source of rows for it.
func randomTable(t testing.TB, r *rand.Rand, n int) (cols []Column, row func() gms.Row) {
	samples := rowSamples()
	var picked []sample
	for range 1 + r.IntN(n) {
		s := samples[r.IntN(len(samples))]
		picked = append(picked, s)
		cols = append(cols, Column{Type: s.typ, Nullable: r.IntN(2) == 0, Virtual: r.IntN(8) == 0})
	}
	return cols, func() (row gms.Row) {
		for i, s := range picked {
			if cols[i].Nullable && r.IntN(4) == 0 {
				row = append(row, nil)
			} else {
				row = append(row, s.value(r))
			}
		}
		return row
	}
}

func fresh(n int) gms.Row {
	row := make(gms.Row, n)
	for i := range row {
		row[i] = untouched
	}
	return row
}

func mustRow(t testing.TB, table *Table, row gms.Row) []byte {
	t.Helper()
	b, err := table.AppendRow(nil, row)
	if err != nil {
		t.Fatalf("%#v: %v", row, err)
	}
	return b
}

func mustDecode(t testing.TB, table *Table, b []byte, want []int) gms.Row {
	t.Helper()
	row := fresh(len(table.cols))
	if err := table.DecodeRow(b, row, want); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return row
}

// checkColumn: got is what came back for want.
func checkColumn(t testing.TB, typ gms.Type, want, got any) {
	t.Helper()
	if _, ok := want.(gms.JSONWrapper); !ok {
		if _, ok := want.(types.GeometryValue); !ok {
			if !same(t, typ, want, got) {
				t.Fatalf("%s: %#v came back as %#v", typ, want, got)
			}
			return
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %#v came back as %#v", typ, want, got)
		}
		return
	}
	a, _ := want.(gms.JSONWrapper).ToInterface()
	b, err := got.(gms.JSONWrapper).ToInterface()
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Fatalf("%s: %#v came back as %#v (%v)", typ, a, b, err)
	}
}

// TestRowRoundTrip: all columns, or any subset in any order, come back; others are left.
func TestRowRoundTrip(t *testing.T) {
	r := newRand(t)
	for range 300 {
		cols, random := randomTable(t, r, 20)
		table := mustTable(t, cols)
		for range 5 {
			row := random()
			head := randomBytes(r, 3)
			b, err := table.AppendRow(bytes.Clone(head), row)
			if err != nil || !bytes.HasPrefix(b, head) {
				t.Fatalf("%#v behind %x: %x, error %v", row, head, b, err)
			}
			b = b[len(head):]
			var want []int
			if r.IntN(3) > 0 {
				want = r.Perm(len(cols))[:r.IntN(len(cols)+1)]
			}
			got := mustDecode(t, table, b, want)
			for i := range b {
				b[i] ^= 0x55 // what was decoded must not alias b
			}
			for i, col := range cols {
				wanted := want == nil
				for _, w := range want {
					wanted = wanted || w == i
				}
				if !wanted || col.Virtual {
					if got[i] != untouched {
						t.Fatalf("column %d of %v, wanted %v, is %#v", i, cols, want, got[i])
					}
					continue
				}
				checkColumn(t, col.Type, row[i], got[i])
			}
		}
	}
}

// TestRowAddedColumns: a row stays readable when columns are added behind its own, and those are NULL.
func TestRowAddedColumns(t *testing.T) {
	r := newRand(t)
	for range 100 {
		cols, random := randomTable(t, r, 20)
		for i := range cols {
			cols[i].Virtual = false
		}
		n := r.IntN(len(cols) + 1)
		row := random()
		b := mustRow(t, mustTable(t, cols[:n]), row[:n])
		got := mustDecode(t, mustTable(t, cols), b, nil)
		for i, col := range cols {
			if i >= n {
				row[i] = nil
			}
			checkColumn(t, col.Type, row[i], got[i])
		}
	}
}

// TestRowSizes: ends of columns of one, two and four bytes.
func TestRowSizes(t *testing.T) {
	table := mustTable(t, []Column{{Type: types.LongText}, {Type: types.LongBlob}, {Type: types.Int8}, {Type: types.LongText}})
	for _, n := range []int{0, 1, 84, 85, 86, 254, 255, 256, 257, 21844, 21845, 21846, 65535, 65536, 1 << 20} {
		row := gms.Row{strings.Repeat("x", n), bytes.Repeat([]byte("y"), n), int8(7), strings.Repeat("z", n)}
		b := mustRow(t, table, row)
		if got := mustDecode(t, table, b, nil); !reflect.DeepEqual(got, row) {
			t.Errorf("%d bytes each: another row came back", n)
		}
		for _, i := range []int{0, 1, 3} {
			if got := mustDecode(t, table, b, []int{i}); !reflect.DeepEqual(got[i], row[i]) {
				t.Errorf("%d bytes each: column %d came back different", n, i)
			}
		}
	}
}

// wrapped is a value that its owner has not loaded yet.
type wrapped struct{ v any }

func (w wrapped) UnwrapAny(context.Context) (any, error)                   { return w.v, nil }
func (w wrapped) IsExactLength() bool                                      { return false }
func (w wrapped) MaxByteLength() int64                                     { return math.MaxInt64 }
func (w wrapped) Compare(context.Context, any) (c int, ok bool, err error) { return 0, false, nil }
func (w wrapped) Hash() any                                                { return w.v }

// TestRowConverts: a value of another Go type is stored as what the column's type makes of it.
func TestRowConverts(t *testing.T) {
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		typ      gms.Type
		in, want any
	}{
		{types.Int32, int64(7), int32(7)},
		{types.Int32, "7", int32(7)},
		{types.Boolean, true, int8(1)},
		{types.Uint64, int8(7), uint64(7)},
		{types.Float64, decimal.New(15, -1), 1.5},
		{types.Float64, math.Copysign(0, -1), 0.0},
		{types.MustCreateColumnDecimalType(5, 2), "1.5", decimal.New(150, -2)},
		{types.MustCreateColumnDecimalType(5, 2), decimal.New(1005, -3), decimal.New(101, -2)},
		{types.MustCreateDecimalType(5, 2), decimal.New(15, -1), decimal.New(150, -2)},
		{types.Date, "2024-02-29", day},
		{types.Date, day.Add(13 * time.Hour), day},
		{types.Date, time.Date(1969, 12, 31, 13, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)},
		{types.Datetime, day.Add(time.Second / 2), day.Add(time.Second)},
		{types.Datetime, day.In(time.FixedZone("", 3600)), day},
		{types.Time, "-01:00:00", types.Timespan(-3600e6)},
		{types.Year, int16(70), int16(1970)},
		{types.MustCreateBitType(9), []byte{1, 2}, uint64(258)},
		{types.MustCreateEnumType([]string{"a", "b"}, gms.Collation_Default), "b", uint16(2)},
		{types.MustCreateSetType([]string{"a", "b"}, gms.Collation_Default), "a,b", uint64(3)},
		{types.Text, []byte("x"), "x"},
		{types.Text, wrapped{"long"}, "long"},
		{types.Blob, wrapped{[]byte("long")}, []byte("long")},
		{types.Int8, wrapped{int8(3)}, int8(3)},
		{types.Blob, "x", []byte("x")},
		{types.MustCreateBinary(sqltypes.Binary, 3), []byte("x"), []byte("x\x00\x00")},
		{types.MustCreateString(sqltypes.VarChar, 5, gms.Collation_latin1_swedish_ci), "\xe9", "é"},
	} {
		table := mustTable(t, []Column{{Type: c.typ}}, keyPartFor(c.typ)...)
		b := mustRow(t, table, gms.Row{c.in})
		if got := mustDecode(t, table, b, nil)[0]; !same(t, c.typ, c.want, got) || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %#v came back as %#v, want %#v", c.typ, c.in, got, c.want)
		}
		if !bytes.Equal(b, mustRow(t, table, gms.Row{c.want})) {
			t.Errorf("%s: %#v and %#v are other rows", c.typ, c.in, c.want)
		}
		key, err := table.AppendKey(nil, gms.Row{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := table.AppendKey(nil, gms.Row{c.want}); !bytes.Equal(key, want) {
			t.Errorf("%s: %#v has key %x, %#v has %x", c.typ, c.in, key, c.want, want)
		}
	}
}

// keyPartFor makes a primary key of a table of one column.
func keyPartFor(t gms.Type) []Part {
	if t.Type() == sqltypes.TypeJSON || t.Type() == sqltypes.Geometry {
		return nil
	}
	return []Part{{Column: 0}}
}

// TestRowRefuses: what cannot be converted is an error that names the column, and what was appended is taken back.
func TestRowRefuses(t *testing.T) {
	for _, c := range []struct {
		typ gms.Type
		v   any
	}{
		{types.Int8, int64(300)},
		{types.Int32, "x"},
		{types.Uint8, int8(-1)},
		{types.MustCreateColumnDecimalType(5, 2), decimal.New(1000, 0)},
		{types.MustCreateColumnDecimalType(5, 2), decimal.New(1, 100)},
		{types.MustCreateColumnDecimalType(30, 2), decimal.New(1, 100)},
		{types.Date, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{types.Datetime, "yesterday"},
		{types.Year, int16(1900)},
		{types.MustCreateBitType(3), uint64(8)},
		{types.MustCreateEnumType([]string{"a"}, gms.Collation_Default), "c"},
		{types.MustCreateSetType([]string{"a"}, gms.Collation_Default), uint64(2)},
		{types.Text, "\xff"},
		{types.MustCreateString(sqltypes.VarChar, 5, gms.Collation_utf8mb3_bin), "\xff"},
		{types.MustCreateBinary(sqltypes.Binary, 1), []byte("xy")},
		{types.JSON, "{"},
		{types.JSON, types.JSONDocument{Val: math.NaN()}},
		{types.GeometryType{}, "x"},
		{types.Int8, wrapped{"x"}},
	} {
		cols := []Column{{Type: types.Text}, {Type: c.typ}}
		table, err := NewTable(cols, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := table.AppendRow([]byte("before"), gms.Row{"text", c.v})
		if err == nil || !strings.Contains(err.Error(), "column 1") || string(b) != "before" {
			t.Errorf("%s: %#v: %q, error %v", c.typ, c.v, b, err)
		}
		if keyPartFor(c.typ) == nil {
			continue
		}
		k, err := newKey(table, []Part{{Column: 0, Prefix: 2}, {Column: 1}})
		if err != nil {
			t.Fatal(err)
		}
		b, err = k.appendRow([]byte("before"), gms.Row{"text", c.v})
		if err == nil || !strings.Contains(err.Error(), "column 1") || string(b) != "before" {
			t.Errorf("key of %s: %#v: %q, error %v", c.typ, c.v, b, err)
		}
	}
	table := mustTable(t, []Column{{Type: types.Int8}})
	if _, err := table.AppendRow(nil, gms.Row{int8(1), int8(2)}); err == nil {
		t.Error("a row of too many values was taken")
	}
}

// TestRowCorrupt: damage is an error, whatever bytes there are.
func TestRowCorrupt(t *testing.T) {
	table := mustTable(t, []Column{{Type: types.Int32}, {Type: types.Text}, {Type: types.Date}, {Type: types.Text}, {Type: types.JSON}, {Type: types.GeometryType{}}})
	row := gms.Row{int32(1), "abc", time.Unix(0, 0).UTC(), "def", types.JSONDocument{Val: 1.5}, geometries[0]}
	good := mustRow(t, table, row)
	var bad *CorruptError
	for n := range good {
		if err := table.DecodeRow(good[:n], fresh(6), nil); !errors.As(err, &bad) {
			t.Errorf("the first %d bytes of %d: error %v", n, len(good), err)
		}
	}
	if err := table.DecodeRow(append(bytes.Clone(good), 0), fresh(6), nil); !errors.As(err, &bad) {
		t.Errorf("a byte too many: error %v", err)
	}
	if err := mustTable(t, []Column{{Type: types.Int32}}).DecodeRow(good, fresh(1), nil); !errors.As(err, &bad) {
		t.Errorf("too many columns: error %v", err)
	}
	texts := mustTable(t, []Column{{Type: types.Text}, {Type: types.Text}})
	short := mustRow(t, texts, gms.Row{"abc", "def"})
	short[len(short)-1]--
	if err := texts.DecodeRow(short, fresh(2), nil); !errors.As(err, &bad) {
		t.Errorf("a last column that ends before the row does: error %v", err)
	}
	r := newRand(t)
	for range 20000 {
		b := bytes.Clone(good)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		if err := table.DecodeRow(b, fresh(6), nil); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%x: error %v", b, err)
		}
	}
}

// TestRowShares: texts side by side are one allocation, and a small one does not keep a large one alive.
func TestRowShares(t *testing.T) {
	table := mustTable(t, []Column{{Type: types.LongText}, {Type: types.LongText}, {Type: types.Blob}, {Type: types.LongText}})
	for _, c := range []struct {
		size, allocs int
		want         []int
	}{
		{100, 2, []int{0}},
		{100, 3, []int{0, 1}}, // each string has a header besides
		{100, 3, []int{1, 0}},
		{100, 4, []int{1, 3}},
		{maxShared, 4, []int{0, 1}},
	} {
		b := mustRow(t, table, gms.Row{strings.Repeat("x", c.size), "yy", []byte("z"), "zz"})
		row := fresh(4)
		if n := int(testing.AllocsPerRun(20, func() {
			if err := table.DecodeRow(b, row, c.want); err != nil {
				t.Fatal(err)
			}
		})); n != c.allocs {
			t.Errorf("columns %v, %d bytes: %d allocations, want %d", c.want, c.size, n, c.allocs)
		}
	}
}

func TestRowID(t *testing.T) {
	table := mustTable(t, []Column{{Type: types.Int32}})
	if n := table.Key().Len(); n != 0 {
		t.Fatalf("a key of %d parts, want none", n)
	}
	var last []byte
	for _, id := range []uint64{0, 1, 255, 256, math.MaxUint64} {
		key := AppendRowID(nil, id)
		if got, err := RowID(key); err != nil || got != id || bytes.Compare(last, key) >= 0 {
			t.Errorf("row id %d: key %x behind %x, is %d again (%v)", id, key, last, got, err)
		}
		last = key
	}
	var bad *CorruptError
	if _, err := RowID([]byte("abc")); !errors.As(err, &bad) {
		t.Errorf("a short row id: error %v", err)
	}
}
