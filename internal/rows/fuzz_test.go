package rows

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
)

// fuzzTable has a column of every type, and a primary key of all that can be in one part of it.
func fuzzTable(t testing.TB) (*Table, []sample) {
	var samples []sample
	for i, s := range rowSamples() {
		if s.typ.Type() != sqltypes.Bit || i%16 == 0 {
			samples = append(samples, s)
		}
	}
	var cols []Column
	for _, s := range samples {
		cols = append(cols, Column{Type: s.typ})
	}
	return mustTable(t, cols), samples
}

// sampleRow has a value of each sample, the same every time.
func sampleRow(samples []sample) (row gms.Row) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range samples {
		row = append(row, s.value(r))
	}
	return row
}

// onlyCorrupt fails for any error but that damaged bytes give.
func onlyCorrupt(t *testing.T, err error) {
	t.Helper()
	var bad *CorruptError
	if err != nil && !errors.As(err, &bad) {
		t.Fatalf("error %v, want a *CorruptError", err)
	}
}

func FuzzDecodeRow(f *testing.F) {
	table, samples := fuzzTable(f)
	good := mustRow(f, table, sampleRow(samples))
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(mustRow(f, table, make(gms.Row, len(samples))))
	f.Add([]byte{0x11, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		row := fresh(len(samples))
		err := table.DecodeRow(b, row, nil)
		onlyCorrupt(t, err)
		onlyCorrupt(t, table.DecodeRow(b, fresh(len(samples)), []int{len(samples) - 1, 0, 7}))
		if err != nil {
			return
		}
		// What was read can be written, but for texts that are no UTF-8 and documents that are no JSON.
		if b, err := table.AppendRow(nil, row); err == nil {
			if err := table.DecodeRow(b, fresh(len(samples)), nil); err != nil {
				t.Fatalf("what was written again is damaged: %v", err)
			}
		}
		for _, v := range row {
			if doc, ok := v.(*document); ok {
				_, err := doc.ToInterface()
				onlyCorrupt(t, err)
			}
		}
	})
}

func FuzzKey(f *testing.F) {
	samples := keySamples()
	row := sampleRow(samples)
	for i, s := range samples {
		f.Add(uint(i), false, mustPart(f, part(f, s.typ, false, 0), row[i]))
		f.Add(uint(i), true, mustPart(f, part(f, s.typ, true, 0), row[i]))
	}
	f.Fuzz(func(t *testing.T, i uint, nullable bool, b []byte) {
		k := part(t, samples[i%uint(len(samples))].typ, nullable, 0)
		head, rest, err := k.Split(b, 0)
		onlyCorrupt(t, err)
		if err == nil && !bytes.Equal(append(bytes.Clone(head), rest...), b) {
			t.Fatalf("%x splits into %x and %x", b, head, rest)
		}
		if !k.Reversible(0) {
			return
		}
		v, _, err := k.DecodePart(b, 0)
		onlyCorrupt(t, err)
		if err != nil {
			return
		}
		// Bytes that are no key of a value may decode to one all the same, as those of -0.0 do. Its key is then another one.
		again, err := k.AppendPart(nil, 0, v)
		if err != nil {
			return // a text that is no UTF-8
		}
		w, _, err := k.DecodePart(again, 0)
		if err != nil {
			t.Fatalf("%x is %#v, which has key %x: %v", b, v, again, err)
		}
		if third := mustPart(t, k, w); !bytes.Equal(again, third) {
			t.Fatalf("%x is %#v, which has key %x, which is %#v, which has key %x", b, v, again, w, third)
		}
	})
}

func FuzzIndex(f *testing.F) {
	ci := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_0900_ai_ci)
	bin := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_bin)
	table := mustTable(f, []Column{{Type: types.Int32}, {Type: ci, Nullable: true}, {Type: bin}, {Type: types.Date}}, Part{Column: 2}, Part{Column: 0})
	indexes := []*Index{mustIndex(f, table, false, Part{Column: 1}, Part{Column: 3}), mustIndex(f, table, true, Part{Column: 3}, Part{Column: 1})}
	day := types.Date.MaximumTime().Truncate(24 * 3600e9)
	for _, x := range indexes {
		for _, row := range []gms.Row{{int32(1), "Straße", "\x00\x01x", day}, {int32(-1), nil, "", day}} {
			key, value, _ := mustEntry(f, table, x, row)
			f.Add(x.unique, key, value)
		}
	}
	f.Fuzz(func(t *testing.T, unique bool, key, value []byte) {
		x := indexes[0]
		if unique {
			x = indexes[1]
		}
		_, err := x.RowKey(key, value)
		onlyCorrupt(t, err)
		for _, want := range [][]int{{0, 1, 2, 3}, {0}, {1}, {3}} {
			onlyCorrupt(t, x.Decode(key, value, fresh(4), want))
		}
	})
}
