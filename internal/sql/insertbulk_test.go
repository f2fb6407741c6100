package sql_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/bulk"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

// readInsert reads a whole statement as the bulk path does, in a form that treeOf has, too.
func readInsert(text string) (s, rest string, ok bool) {
	in, ok := bulk.ParseInsert(text)
	if !ok {
		return "", "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q.%q %q", in.Database, in.Table, in.Columns)
	values := make([]bulk.Value, 100)
	for last := false; !last; {
		var n int
		if n, last, ok = in.Next(values); !ok {
			return "", "", false
		}
		b.WriteString(" (")
		for _, v := range values[:n] {
			fmt.Fprintf(&b, "%d%q ", v.Kind, v.Text)
		}
		b.WriteString(")")
	}
	return b.String(), in.Rest(), true
}

// treeOf is what the grammar makes of the statement.
func treeOf(t *testing.T, text string) (s, rest string, err error) {
	stmt, _, rest, err := sqlparse.New().ParseWithOptions(context.Background(), text, ';', true, ast.ParserOptions{})
	if err != nil {
		return "", "", err
	}
	in, ok := stmt.(*ast.Insert)
	if !ok || in.Action == ast.ReplaceStr || in.Ignore != "" || len(in.OnDup) > 0 || len(in.Partitions) > 0 || in.With != nil {
		return "", "", fmt.Errorf("%T", stmt)
	}
	var b strings.Builder
	var columns []string
	for _, c := range in.Columns {
		columns = append(columns, c.String())
	}
	fmt.Fprintf(&b, "%q.%q %q", in.Table.DbQualifier.String(), in.Table.Name.String(), columns)
	for _, row := range in.Rows.(*ast.AliasedValues).Values {
		b.WriteString(" (")
		for _, e := range row {
			kind, value := literal(e)
			fmt.Fprintf(&b, "%d%q ", kind, value)
		}
		b.WriteString(")")
	}
	return b.String(), rest, nil
}

func literal(e ast.Expr) (bulk.Kind, string) {
	switch e := e.(type) {
	case *ast.NullVal:
		return bulk.Null, ""
	case *ast.UnaryExpr:
		kind, text := literal(e.Expr)
		switch strings.TrimSpace(e.Operator) {
		case "-":
			return kind, "-" + text
		case "_binary":
			return bulk.Binary, text
		}
	case *ast.SQLVal:
		text := string(e.Val)
		switch e.Type {
		case ast.StrVal:
			return bulk.String, text
		case ast.IntVal:
			return bulk.Int, text
		case ast.FloatVal:
			if strings.ContainsAny(text, "eE") {
				return bulk.Float, text
			}
			return bulk.Decimal, text
		case ast.HexNum, ast.HexVal:
			b, err := hex.DecodeString(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"))
			if err == nil {
				return bulk.Binary, string(b)
			}
		}
	}
	return 255, fmt.Sprintf("%T", e)
}

var inserts = []string{
	"INSERT INTO t VALUES (1)",
	"insert into `d`.`t` (`a`, b_1,C) values (1, -2, 'x'),\n(NULL,null,''), (0,0.5,'y') ; SELECT 1",
	`INSERT INTO t VALUES ('it''s','a\'b','\\','\n\r\t\0\Z\b\"\%\_\x','🍀'),('x')`,
	"INSERT INTO sbtest1(k, c, pad) VALUES(501885, '08566691963', '67847967377'),(-1.5e3, 1E-7, -0.0);",
	"INSERT INTO t VALUES (0x00FF, x'1f', X'', _binary 'a\\0', _BINARY'b')",
	"INSERT INTO t VALUES (9223372036854775807, -9223372036854775808, 007)",
	"INSERT INTO t VALUE (1);;",
}

var notInserts = []string{
	"", "INSERT", "INSERT INTO t", "INSERT INTO t VALUES", "INSERT INTO t VALUES ()", "INSERT INTO t VALUES (1", "INSERT INTO t VALUES (1),",
	"INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "INSERT IGNORE INTO t VALUES (1)", "REPLACE INTO t VALUES (1)", "INSERT t VALUES (1)",
	"INSERT INTO t VALUES (a)", "INSERT INTO t VALUES (1+1)", "INSERT INTO t VALUES (NOW())", "INSERT INTO t VALUES (DEFAULT)", "INSERT INTO t VALUES (?)",
	"INSERT INTO t VALUES ('a' 'b')", `INSERT INTO t VALUES ("a")`, "INSERT INTO t VALUES (_utf8mb4'a')", "INSERT INTO t VALUES ('a' COLLATE utf8mb4_bin)",
	"INSERT INTO t VALUES (1) AS n", "INSERT INTO t SELECT 1", "INSERT INTO t SET a = 1", "INSERT INTO t VALUES (1) /* c */", "INSERT /* c */ INTO t VALUES (1)",
	"INSERT INTO `a``b` VALUES (1)", "INSERT INTO ü VALUES (1)", "INSERT INTO select VALUES (1)", "INSERT INTO a.b.c VALUES (1)", "INSERT INTO t () VALUES (1)",
	"INSERT INTO t VALUES (1.), (.5)", "INSERT INTO t VALUES (1a)", "INSERT INTO t VALUES (0x1)", "INSERT INTO t VALUES (x'1')", "INSERT INTO t VALUES (b'1')",
	"INSERT INTO t VALUES (TRUE)", "INSERT INTO t VALUES (--1)", "INSERT INTO t VALUES (- 1)", "INSERT INTO t VALUES (@a)", "INSERT INTO t VALUES (12345678901234567890)",
	"INSERT INTO t VALUES ROW(1)", "INSERT INTO t VALUES ('a", `INSERT INTO t VALUES ('a\`, `INSERT INTO t VALUES ('a\'`,
}

// What the bulk path reads, the grammar reads as the same.
func TestReadInsert(t *testing.T) {
	for _, text := range inserts {
		got, gotRest, ok := readInsert(text)
		want, wantRest, err := treeOf(t, text)
		switch {
		case err != nil:
			t.Errorf("%s: %v", text, err)
		case !ok:
			t.Errorf("%s: not read", text)
		case got != want || gotRest != wantRest:
			t.Errorf("%s\ngot  %s, rest %q\nwant %s, rest %q", text, got, gotRest, want, wantRest)
		}
	}
	for _, text := range notInserts {
		if got, _, ok := readInsert(text); ok {
			t.Errorf("%s: read as %s", text, got)
		}
	}
}

func FuzzReadInsert(f *testing.F) {
	for _, text := range append(inserts, notInserts...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, gotRest, ok := readInsert(text)
		if !ok {
			return
		}
		want, wantRest, err := treeOf(t, text)
		if err != nil { // the grammar may have more words that are no names; then its answer is the one with quotes
			in, _ := bulk.ParseInsert(text)
			quoted := "INSERT INTO "
			if in.Database != "" {
				quoted += "`" + in.Database + "`."
			}
			quoted += "`" + in.Table + "`"
			if in.Columns != nil {
				quoted += " (`" + strings.Join(in.Columns, "`, `") + "`)"
			}
			if strings.Count(strings.ToUpper(text), "VALUE") > 1 {
				t.Skip("which of them begins the rows?")
			}
			if want, wantRest, err = treeOf(t, quoted+" "+text[strings.Index(strings.ToUpper(text), "VALUE"):]); err != nil {
				t.Fatalf("%q is read as %s, and the grammar refuses it: %v", text, got, err)
			}
		}
		if got != want || gotRest != wantRest {
			t.Fatalf("%q\ngot  %s, rest %q\nwant %s, rest %q", text, got, gotRest, want, wantRest)
		}
	})
}
