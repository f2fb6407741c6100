package rows

import (
	"encoding/hex"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"
)

// TestFormat pins the bytes of format version 1. A change here is a change of what databases hold: give it a new version.
func TestFormat(t *testing.T) {
	varchar := func(id gms.CollationID) gms.Type { return types.MustCreateString(sqltypes.VarChar, 20, id) }
	cols := []struct {
		typ gms.Type
		v   any
		key string
	}{
		{types.Int8, int8(-1), "7f"},
		{types.Int16, int16(1), "8001"},
		{types.Int24, int32(-2), "7ffffffe"},
		{types.Int64, int64(1), "8000000000000001"},
		{types.Uint32, uint32(1), "00000001"},
		{types.Float32, float32(1), "bf800000"},
		{types.Float64, -1.0, "400fffffffffffff"},
		{types.MustCreateColumnDecimalType(5, 2), decimal.New(-12345, -2), "7fcfc7"},
		{types.MustCreateColumnDecimalType(20, 0), decimal.New(1, 0), "800000000000000001"},
		{types.Date, time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC), "80000001"},
		{types.DatetimeMaxPrecision, time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC), "7fffffffffffffff"},
		{types.Time, types.Timespan(-1), "7fffffffffffffff"},
		{types.Year, int16(1901), "076d"},
		{types.MustCreateBitType(9), uint64(0x101), "0101"},
		{types.MustCreateEnumType([]string{"a"}, gms.Collation_Default), uint16(1), "0001"},
		{types.MustCreateSetType([]string{"a", "b"}, gms.Collation_Default), uint64(3), "03"},
		{types.Blob, []byte("\x00\x01\x02"), "010101020200"},
		{varchar(gms.Collation_utf8mb4_0900_bin), "aé", "61c3a900"},
		{varchar(gms.Collation_utf8mb4_general_ci), "aé", "424600"},
		{varchar(gms.Collation_utf8mb4_0900_ai_ci), "a日", "9b21e052fd00"},
		{varchar(gms.Collation_ascii_general_ci), "aé", "42fe00"},
	}
	var table []Column
	var row gms.Row
	for _, c := range cols {
		table, row = append(table, Column{Type: c.typ}), append(row, c.v)
		if got := hex.EncodeToString(mustPart(t, part(t, c.typ, false, 0), c.v)); got != c.key {
			t.Errorf("%s: %#v has key %s, want %s", c.typ, c.v, got, c.key)
		}
	}
	table, row = append(table, Column{Type: types.JSON}, Column{Type: types.Int8}), append(row, types.MustJSON(`[1]`), nil)
	const want = "11" + "1700" + "000040" + // width 1 of ends, 23 columns, the last one NULL
		"7f" + "8001" + "7ffffffe" + "8000000000000001" + "00000001" + "bf800000" + "400fffffffffffff" + "7fcfc7" + "800000000000000001" +
		"80000001" + "7fffffffffffffff" + "7fffffffffffffff" + "076d" + "0101" + "0001" + "03" + "00" +
		"000102" + "61c3a9" + "61c3a9" + "61e697a5" + "61c3a9" + "5b315d" + "0306090d1013"
	if got := hex.EncodeToString(mustRow(t, mustTable(t, table), row)); got != want {
		t.Errorf("row   %s\nwant  %s", got, want)
	}
}

// TestFormatIndex pins the bytes of index entries of format version 1.
func TestFormatIndex(t *testing.T) {
	ci := types.MustCreateString(sqltypes.VarChar, 20, gms.Collation_utf8mb4_general_ci)
	table := mustTable(t, []Column{{Type: types.Int16}, {Type: ci, Nullable: true}, {Type: types.Int8}}, Part{Column: 0})
	for _, c := range []struct {
		unique     bool
		parts      []Part
		row        gms.Row
		key, value string
	}{
		{false, []Part{{Column: 2}}, gms.Row{int16(1), "a", int8(2)}, "82" + "8001", "10"},
		{true, []Part{{Column: 2}}, gms.Row{int16(1), "a", int8(2)}, "82", "11" + "02" + "8001"},
		{true, []Part{{Column: 1}}, gms.Row{int16(1), "a", int8(2)}, "01" + "4200", "11" + "02" + "8001" + "11010000" + "61" + "01"},
		{true, []Part{{Column: 1}}, gms.Row{int16(1), nil, int8(2)}, "00" + "8001", "10" + "11010001" + "00"},
		{false, []Part{{Column: 1, Prefix: 1}}, gms.Row{int16(1), "ab", int8(2)}, "01" + "4200" + "8001", "10"},
	} {
		key, value, _ := mustEntry(t, table, mustIndex(t, table, c.unique, c.parts...), c.row)
		if k, v := hex.EncodeToString(key), hex.EncodeToString(value); k != c.key || v != c.value {
			t.Errorf("unique %v, index %v, row %v: entry %s: %s, want %s: %s", c.unique, c.parts, c.row, k, v, c.key, c.value)
		}
	}
}
