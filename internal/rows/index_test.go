package rows

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
)

func mustIndex(t testing.TB, table *Table, unique bool, parts ...Part) *Index {
	t.Helper()
	x, err := NewIndex(table, parts, unique)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func mustEntry(t testing.TB, table *Table, x *Index, row gms.Row) (key, value []byte, hasNull bool) {
	t.Helper()
	rowKey := AppendRowID(nil, 77)
	if table.Key().Len() > 0 {
		var err error
		if rowKey, err = table.AppendKey(nil, row); err != nil {
			t.Fatal(err)
		}
	}
	key, value, hasNull, err := x.Append([]byte("k"), []byte("vv"), row, rowKey)
	if err != nil {
		t.Fatal(err)
	}
	key, value = key[1:], value[2:]
	if got, err := x.RowKey(key, value); err != nil || !bytes.Equal(got, rowKey) {
		t.Fatalf("row key %x (%v), want %x", got, err, rowKey)
	}
	return key, value, hasNull
}

// TestIndexRoundTrip: entries of random indexes of random tables give back the row key and every column they cover.
func TestIndexRoundTrip(t *testing.T) {
	r := newRand(t)
	for range 500 {
		cols, random := randomTable(t, r, 8)
		keyable := slices.DeleteFunc(r.Perm(len(cols)), func(i int) bool { return keyPartFor(cols[i].Type) == nil })
		if len(keyable) == 0 {
			continue
		}
		pick := func() (parts []Part) {
			for _, i := range keyable {
				if r.IntN(2) == 0 {
					parts = append(parts, Part{Column: i, Prefix: randomPrefix(r, cols[i].Type)})
				}
			}
			return parts
		}
		primary := pick()
		for _, p := range primary {
			cols[p.Column].Nullable = false
		}
		parts := pick()
		if len(parts) == 0 {
			parts = []Part{{Column: keyable[0]}}
		}
		table := mustTable(t, cols, primary...)
		x := mustIndex(t, table, r.IntN(2) == 0, parts...)
		var covered []int
		for i := range cols {
			if x.Covers([]int{i}) {
				covered = append(covered, i)
			}
		}
		for range 5 {
			row := random()
			for _, p := range primary {
				if row[p.Column] == nil {
					row = nil
					break
				}
			}
			if row == nil {
				continue
			}
			key, value, _ := mustEntry(t, table, x, row)
			want := slices.Clone(covered)
			r.Shuffle(len(want), reflect.Swapper(want))
			want = want[:r.IntN(len(want)+1)]
			if !x.Covers(want) {
				t.Fatalf("covers each of %v, but not all", want)
			}
			got := fresh(len(cols))
			if err := x.Decode(key, value, got, want); err != nil {
				t.Fatal(err)
			}
			for i, col := range cols {
				if !slices.Contains(want, i) {
					if got[i] != untouched {
						t.Fatalf("column %d was not wanted, but is %#v", i, got[i])
					}
					continue
				}
				checkColumn(t, col.Type, row[i], got[i])
			}
		}
	}
}

// randomPrefix is a prefix length that a type can have.
func randomPrefix(r *rand.Rand, t gms.Type) uint16 {
	if _, ok := t.(gms.StringType); ok && r.IntN(3) == 0 {
		return uint16(1 + r.IntN(3))
	}
	return 0
}

// TestIndexCovers: what an entry has, by the kinds of its columns.
func TestIndexCovers(t *testing.T) {
	ci := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_ai_ci)
	bin := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_bin)
	cols := []Column{{Type: types.Int32}, {Type: ci}, {Type: bin}, {Type: types.Int32}, {Type: ci}}
	for _, c := range []struct {
		primary, parts []Part
		want           []bool
	}{
		{[]Part{{Column: 0}}, []Part{{Column: 3}}, []bool{true, false, false, true, false}},
		{nil, []Part{{Column: 3}}, []bool{false, false, false, true, false}},
		{[]Part{{Column: 0}}, []Part{{Column: 1}}, []bool{true, true, false, false, false}},                         // collated: in the value
		{[]Part{{Column: 0}}, []Part{{Column: 1, Prefix: 3}}, []bool{true, false, false, false, false}},             // a prefix is not enough
		{[]Part{{Column: 0}}, []Part{{Column: 2, Prefix: 3}, {Column: 3}}, []bool{true, false, false, true, false}}, // the same
		{[]Part{{Column: 4}}, []Part{{Column: 3}}, []bool{false, false, false, true, false}},                        // collated row key
		{[]Part{{Column: 4}}, []Part{{Column: 4}}, []bool{false, false, false, false, true}},                        // in the index besides
		{[]Part{{Column: 2}, {Column: 0}}, []Part{{Column: 2, Prefix: 1}}, []bool{true, false, true, false, false}}, // prefix here, all of it in the row key
		{[]Part{{Column: 2, Prefix: 3}, {Column: 0}}, []Part{{Column: 3}}, []bool{true, false, false, true, false}}, // the other way round
		{[]Part{{Column: 0}}, []Part{{Column: 0}, {Column: 1}, {Column: 2}}, []bool{true, true, true, false, false}},
	} {
		x := mustIndex(t, mustTable(t, cols, c.primary...), false, c.parts...)
		for i, want := range c.want {
			if got := x.Covers([]int{i}); got != want {
				t.Errorf("primary %v, index %v: covers column %d %v, want %v", c.primary, c.parts, i, got, want)
			}
		}
		if !x.Covers(nil) {
			t.Errorf("index %v does not cover nothing", c.parts)
		}
	}
}

// TestIndexDuplicates: entries of a unique index have the same key exactly if the index columns are equal and none is NULL.
func TestIndexDuplicates(t *testing.T) {
	ci := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_ai_ci)
	table := mustTable(t, []Column{{Type: types.Int32}, {Type: ci, Nullable: true}, {Type: types.Int8, Nullable: true}}, Part{Column: 0})
	unique := mustIndex(t, table, true, Part{Column: 1}, Part{Column: 2})
	plain := mustIndex(t, table, false, Part{Column: 1}, Part{Column: 2})
	for _, c := range []struct {
		a, b    gms.Row
		equal   bool
		hasNull bool
	}{
		{gms.Row{int32(1), "a", int8(1)}, gms.Row{int32(2), "Á", int8(1)}, true, false},
		{gms.Row{int32(1), "a", int8(1)}, gms.Row{int32(2), "a", int8(2)}, false, false},
		{gms.Row{int32(1), "a", int8(1)}, gms.Row{int32(2), "a ", int8(1)}, false, false},
		{gms.Row{int32(1), "a", nil}, gms.Row{int32(2), "a", nil}, false, true},
		{gms.Row{int32(1), nil, int8(1)}, gms.Row{int32(2), nil, int8(1)}, false, true},
	} {
		ka, _, nullA := mustEntry(t, table, unique, c.a)
		kb, _, nullB := mustEntry(t, table, unique, c.b)
		if got := bytes.Equal(ka, kb); got != c.equal || nullA != c.hasNull || nullB != c.hasNull {
			t.Errorf("%v and %v: equal %v, NULL %v and %v, want %v and %v", c.a, c.b, got, nullA, nullB, c.equal, c.hasNull)
		}
		ka, _, nullA = mustEntry(t, table, plain, c.a)
		kb, _, _ = mustEntry(t, table, plain, c.b)
		if bytes.Equal(ka, kb) || nullA != c.hasNull {
			t.Errorf("%v and %v: the same entry of an index that is not unique", c.a, c.b)
		}
	}
}

func TestIndexCorrupt(t *testing.T) {
	ci := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_ai_ci)
	table := mustTable(t, []Column{{Type: types.Int32}, {Type: ci}}, Part{Column: 0})
	row := gms.Row{int32(1), "abc"}
	var bad *CorruptError
	for _, unique := range []bool{false, true} {
		x := mustIndex(t, table, unique, Part{Column: 1})
		key, value, _ := mustEntry(t, table, x, row)
		for n := range key {
			if err := x.Decode(key[:n], value, fresh(2), []int{0, 1}); !unique && !errors.As(err, &bad) {
				t.Errorf("%d of %d bytes of the key: error %v", n, len(key), err)
			}
		}
		for n := range value {
			if err := x.Decode(key, value[:n], fresh(2), []int{0, 1}); !errors.As(err, &bad) {
				t.Errorf("unique %v: %d of %d bytes of the value: error %v", unique, n, len(value), err)
			}
		}
		if _, err := x.RowKey([]byte("\x02\x00"), []byte{0x10}); !errors.As(err, &bad) {
			t.Errorf("no row key: error %v", err)
		}
		if _, err := x.RowKey(key, []byte{0x11, 200, 200, 1}); !errors.As(err, &bad) {
			t.Errorf("a row key beyond the end: error %v", err)
		}
		if _, err := x.RowKey(key, []byte{0x21}); !errors.As(err, &bad) {
			t.Errorf("another version: error %v", err)
		}
	}
}
