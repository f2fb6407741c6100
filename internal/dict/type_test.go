package dict

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
)

// columnTypes lists every type a column can have, with every shape of it.
func columnTypes() []gms.Type {
	list := []gms.Type{
		types.Boolean, types.Int8, types.Uint8, types.Int16, types.Uint16, types.Int24, types.Uint24,
		types.Int32, types.Uint32, types.Int64, types.Uint64, types.Float32, types.Float64,
		types.Year, types.Time, types.JSON, types.Null, types.Date,
		types.MustCreateSetType([]string{"x"}, gms.Collation_utf8mb4_0900_ai_ci),
		types.MustCreateSetType([]string{"b", "a", "c ", ""}, gms.Collation_utf8mb4_0900_ai_ci),
		types.MustCreateEnumType([]string{"b", "a", "c ", "", "<&>\u2028"}, gms.Collation_latin1_swedish_ci),
		types.MustCreateEnumType([]string{"a ", "a", "\xff\x00"}, gms.Collation_binary),
	}
	for p := range 7 {
		list = append(list, types.MustCreateDatetimeType(sqltypes.Datetime, p), types.MustCreateDatetimeType(sqltypes.Timestamp, p))
	}
	for _, ps := range [][2]uint8{{0, 0}, {1, 0}, {1, 1}, {10, 2}, {65, 0}, {65, 30}} {
		list = append(list, types.MustCreateColumnDecimalType(ps[0], ps[1]), types.MustCreateDecimalType(ps[0], ps[1]))
	}
	for bits := 1; bits <= 64; bits++ {
		list = append(list, types.MustCreateBitType(uint8(bits)))
	}
	for _, n := range []int64{0, 1, 255} {
		list = append(list, types.MustCreateBinary(sqltypes.Binary, n), types.MustCreateBinary(sqltypes.VarBinary, n))
	}
	list = append(list, types.MustCreateBinary(sqltypes.VarBinary, 65535),
		types.TinyBlob, types.Blob, types.MediumBlob, types.LongBlob, types.TinyText, types.Text, types.MediumText, types.LongText)
	collations := gms.NewCollationsIterator()
	for c, ok := collations.Next(); ok; c, ok = collations.Next() {
		id := c.ID
		if id == gms.Collation_binary || id.Sorter() == nil || id.CharacterSet().Encoder() == nil {
			continue
		}
		list = append(list, types.MustCreateString(sqltypes.Char, 7, id), types.MustCreateString(sqltypes.VarChar, 16383, id),
			types.CreateTinyText(id), types.CreateText(id), types.CreateMediumText(id), types.CreateLongText(id))
	}
	for _, t := range geometryTypes {
		list = append(list, t, t.(gms.SpatialColumnType).SetSRID(0), t.(gms.SpatialColumnType).SetSRID(4326))
	}
	return list
}

func TestTypesRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, typ := range columnTypes() {
		name := fmt.Sprintf("%s %#v", typ, typ)
		r, err := encodeType(typ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back typeRecord
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		got, err := back.decode()
		if err != nil {
			t.Errorf("%s, stored as %s: %v", name, b, err)
			continue
		}
		if !got.Equals(typ) || got.String() != typ.String() || got.Type() != typ.Type() {
			t.Errorf("%s, stored as %s, came back as %s", name, b, got)
		}
		// A DECIMAL that was computed becomes one of a column; everything else is the same down to its hidden fields.
		if _, decimal := typ.(types.DecimalType_); !decimal && !reflect.DeepEqual(got, typ) {
			t.Errorf("%s, stored as %s, came back as %#v", name, b, got)
		}
		seen[r.Kind] = true
	}
	if want := len(simpleTypes) + len(stringTypes) + len(datetimeTypes) + len(geometryTypes) + 4; len(seen) != want {
		t.Errorf("%d kinds were tried, there are %d", len(seen), want)
	}
}

func TestTypesThatAreNoColumns(t *testing.T) {
	for _, typ := range []gms.Type{
		types.CreateTuple(types.Int8), types.NewDeferredType("v1"),
		types.NewSystemSetType("sql_mode", gms.Collation_utf8mb4_0900_ai_ci, "ANSI"),
	} {
		if r, err := encodeType(typ); err == nil {
			t.Errorf("%T was stored as %+v", typ, r)
		}
	}
}

func TestTypesDamaged(t *testing.T) {
	for _, r := range []typeRecord{
		{}, {Kind: "quantum"}, {Kind: "char", Length: -1, Collation: "utf8mb4_bin"}, {Kind: "char", Length: 1, Collation: "klingon_ci"},
		{Kind: "bit", Length: 300}, {Kind: "bit"}, {Kind: "decimal", Precision: 300}, {Kind: "decimal", Precision: 1, Scale: 2},
		{Kind: "datetime", Precision: 7}, {Kind: "enum", Collation: "utf8mb4_bin"},
		{Kind: "set", Collation: "utf8mb4_bin", Values: []text{"a,b"}}, {Kind: "blob", Length: 1 << 40, Collation: "binary"},
	} {
		if typ, err := r.decode(); err == nil {
			t.Errorf("%+v became %v", r, typ)
		}
	}
}
