package rows

import (
	"strings"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
)

// sysbench is the table of sysbench's OLTP tests: id, k, c CHAR(120), pad CHAR(60).
func sysbench(b *testing.B, id gms.CollationID) (*Table, *Index, gms.Row) {
	char := func(n int64) gms.Type { return types.MustCreateString(sqltypes.Char, n, id) }
	table := mustTable(b, []Column{{Type: types.Int32}, {Type: types.Int32}, {Type: char(120)}, {Type: char(60)}}, Part{Column: 0})
	return table, mustIndex(b, table, false, Part{Column: 1}), gms.Row{int32(4711), int32(500123), strings.Repeat("83868641912-", 10), strings.Repeat("67847967377-", 5)}
}

func BenchmarkAppendRow(b *testing.B) {
	table, _, row := sysbench(b, gms.Collation_utf8mb4_0900_ai_ci)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = table.AppendRow(buf[:0], row)
	}
}

func BenchmarkDecodeRow(b *testing.B) {
	table, _, row := sysbench(b, gms.Collation_utf8mb4_0900_ai_ci)
	buf := mustRow(b, table, row)
	for _, c := range []struct {
		name string
		want []int
	}{{"all", nil}, {"listed", []int{0, 1, 2, 3}}, {"c", []int{2}}, {"k", []int{1}}} {
		b.Run(c.name, func(b *testing.B) {
			got := make(gms.Row, 4)
			b.ReportAllocs()
			for b.Loop() {
				if err := table.DecodeRow(buf, got, c.want); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendKey(b *testing.B) {
	for _, c := range []struct {
		name string
		typ  gms.Type
		v    any
	}{
		{"int", types.Int32, int32(4711)},
		{"decimal", types.MustCreateColumnDecimalType(10, 2), types.MustCreateColumnDecimalType(10, 2).Zero()},
		{"datetime", types.Datetime, types.Datetime.Zero()},
		{"bin", types.MustCreateString(sqltypes.VarChar, 200, gms.Collation_utf8mb4_0900_bin), strings.Repeat("83868641912-", 10)},
		{"ascii", types.MustCreateString(sqltypes.VarChar, 200, gms.Collation_utf8mb4_0900_ai_ci), strings.Repeat("83868641912-", 10)},
		{"kanji", types.MustCreateString(sqltypes.VarChar, 200, gms.Collation_utf8mb4_0900_ai_ci), strings.Repeat("日本語", 40)},
	} {
		b.Run(c.name, func(b *testing.B) {
			k := part(b, c.typ, false, 0)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = k.AppendPart(buf[:0], 0, c.v)
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	table, x, row := sysbench(b, gms.Collation_utf8mb4_0900_ai_ci)
	rowKey, _ := table.AppendKey(nil, row)
	key, value, _ := mustEntry(b, table, x, row)
	b.Run("append", func(b *testing.B) {
		var k, v []byte
		b.ReportAllocs()
		for b.Loop() {
			k, v, _, _ = x.Append(k[:0], v[:0], row, rowKey)
		}
	})
	b.Run("rowkey", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.RowKey(key, value); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		got := make(gms.Row, 4)
		b.ReportAllocs()
		for b.Loop() {
			if err := x.Decode(key, value, got, []int{0, 1}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
