package sqlparse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

var noOptions ast.ParserOptions

func mustParse(t *testing.T, src string) ast.Statement {
	t.Helper()
	stmt, err := New().ParseSimple(src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return stmt
}

// TestEmpty: comments alone are no statement, and the rest of the text is not lost.
func TestEmpty(t *testing.T) {
	for _, src := range []string{"", ";", "-- x", "/*M!999999\\- enable the sandbox mode */", "/* x */ ;", "/*!99999 SELECT 1 */"} {
		if _, _, _, err := New().ParseWithOptions(t.Context(), src, ';', true, noOptions); !errors.Is(err, ast.ErrEmpty) {
			t.Errorf("%q: got %v, want %v", src, err, ast.ErrEmpty)
		}
	}
	_, _, rest, err := New().ParseWithOptions(t.Context(), "/* x */ ; SELECT 1", ';', true, noOptions)
	if rest != "SELECT 1" || !errors.Is(err, ast.ErrEmpty) {
		t.Errorf("got %q and %v", rest, err)
	}
}

// TestSyntaxError: number, state and text are MySQL's.
func TestSyntaxError(t *testing.T) {
	for _, c := range []struct{ src, near, line string }{
		{"SELEC 1", "SELEC 1", "1"},
		{"SELECT 1\nFROM t\nWHERE a = = 3", "= 3", "3"},
		{"SELECT 1 FROM t WHERE )", ")", "1"},
		{"SELECT * FROM", "FROM", "1"},
	} {
		_, err := New().ParseSimple(c.src)
		var e *mysql.SQLError
		if !errors.As(err, &e) || e.Num != 1064 || e.State != "42000" {
			t.Errorf("%s: got %v", c.src, err)
			continue
		}
		if want := fmt.Sprintf("near '%s' at line %s", c.near, c.line); !strings.Contains(e.Message, want) {
			t.Errorf("%s: got %q, want %q in it", c.src, e.Message, want)
		}
	}
}

// TestSubstatement: the planner cuts bodies out of the text by their positions. They are right in the text that is returned
// and, from ParseOneWithOptions, in the text that was given, edits and cut clauses or not.
func TestSubstatement(t *testing.T) {
	for _, c := range []struct{ src, text, given string }{
		{"CREATE VIEW v AS SELECT 1 AS a", "SELECT 1 AS a", "SELECT 1 AS a"},
		{"/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50013 DEFINER=`r`@`h` */ /*!50001 VIEW `v` AS select `a` AS `a` from `t` */",
			"select `a` AS `a` from `t`", "select `a` AS `a` from `t`"},
		{"CREATE VIEW v AS SELECT 1 AS a FROM t\nWITH CASCADED CHECK OPTION", "SELECT 1 AS a FROM t", "SELECT 1 AS a FROM t"},
		{"CREATE VIEW v AS WITH c AS (SELECT 1) SELECT * FROM c /*!50002 WITH LOCAL CHECK OPTION */",
			"WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c /*!50002"},
		{"CREATE VIEW v$w AS SELECT 5--1 AS a", "SELECT 5- -1 AS a", "SELECT 5--1 AS a"},
		{"CREATE PROCEDURE p() BEGIN SELECT 1 FROM t FOR UPDATE NOWAIT; END", "BEGIN SELECT 1 FROM t FOR UPDATE NOWAIT; END",
			"BEGIN SELECT 1 FROM t FOR UPDATE NOWAIT; END"},
		{"CREATE VIEW v AS SELECT 1 FROM t WHERE a = ANY (SELECT 2)", "SELECT 1 FROM t WHERE a = ANY (SELECT 2)",
			"SELECT 1 FROM t WHERE a = ANY (SELECT 2)"},
	} {
		stmt, text, _, err := New().ParseWithOptions(t.Context(), c.src, ';', false, noOptions)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		ddl := stmt.(*ast.DDL)
		if got := strings.TrimSpace(text[ddl.SubStatementPositionStart:ddl.SubStatementPositionEnd]); got != c.text {
			t.Errorf("%s: got %q, want %q", c.src, got, c.text)
		}
		stmt, _, err = New().ParseOneWithOptions(t.Context(), c.src, noOptions)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		ddl = stmt.(*ast.DDL)
		if got := strings.TrimSpace(c.src[ddl.SubStatementPositionStart:ddl.SubStatementPositionEnd]); got != c.given {
			t.Errorf("%s: got %q, want %q", c.src, got, c.given)
		}
	}
}

// TestDeep: what is nested too deeply is refused with MySQL's error; what clients send in earnest is not.
func TestDeep(t *testing.T) {
	repeat := strings.Repeat
	for _, c := range []struct {
		name, src string
		ok        bool
	}{
		{"40,000 terms of OR", "SELECT * FROM t WHERE a = 0" + repeat(" OR a = 1", 40_000), true},
		{"40,000 terms of AND", "SELECT * FROM t WHERE a = 0" + repeat(" AND a <> 1", 40_000), true},
		{"a million terms of OR", "SELECT * FROM t WHERE a = 0" + repeat(" OR a = 1", 1_000_000), false},
		{"1,000 sums", "SELECT 1" + repeat("+1", 1000), true},
		{"a million sums", "SELECT 1" + repeat("+1", 1_000_000), false},
		{"10,000 sums", "SELECT 1" + repeat("+1", 10_000), false},
		{"a million minus signs", "SELECT " + repeat("- ", 1_000_000) + "1", false},
		{"a million NOT", "SELECT " + repeat("NOT ", 1_000_000) + "1", false},
		{"100 parentheses", "SELECT " + repeat("(", 100) + "1" + repeat(")", 100), true},
		{"a million parentheses", "SELECT " + repeat("(", 1_000_000) + "1" + repeat(")", 1_000_000), false},
		{"a million open parentheses", "SELECT " + repeat("(", 1_000_000), false},
		{"5,000 nested calls", "SELECT " + repeat("abs(", 5000) + "1" + repeat(")", 5000), false},
		{"500 UNION", "SELECT 1, 2" + repeat(" UNION ALL SELECT 1, 2", 500), true},
		{"a million UNION", "SELECT 1, 2" + repeat(" UNION ALL SELECT 1, 2", 1_000_000), false},
		{"a million strings", "SELECT " + repeat("'a' \"b\" ", 1_000_000), false},
		{"a million strings in the same quotes", "SELECT " + repeat("'a' ", 1_000_000), true},
		{"100,000 rows", "INSERT INTO t VALUES (1, 'a')" + repeat(",(2, concat('b', 5 + 6))", 100_000), true},
		{"nested blocks", "CREATE PROCEDURE p() " + repeat("BEGIN ", 100_000) + repeat("END; ", 100_000), false},
		{"nested CASE", "SELECT " + repeat("CASE WHEN 1 THEN ", 100_000) + "1" + repeat(" END", 100_000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New().ParseSimple(c.src)
			if (err == nil) != c.ok {
				t.Fatalf("got %.200v, want accepted: %v", err, c.ok)
			}
			var e *mysql.SQLError
			if err != nil && !errors.As(err, &e) {
				t.Errorf("got a %T, want MySQL's", err)
			}
		})
	}
}

// TestBalance: the same terms in the same order, in a shallow tree.
func TestBalance(t *testing.T) {
	var terms []string
	for i := range 5000 {
		terms = append(terms, fmt.Sprintf("a = %d", i))
	}
	stmt := mustParse(t, "SELECT * FROM t WHERE "+strings.Join(terms, " or "))
	var got []string
	walk(stmt, func(n ast.SQLNode) bool {
		if c, ok := n.(*ast.ComparisonExpr); ok {
			got = append(got, ast.String(c))
			return false
		}
		return true
	})
	if strings.Join(got, " or ") != strings.Join(terms, " or ") {
		t.Error("the terms are others, or in another order")
	}
}

// TestBalanceUnion: the SELECTs stay in order, and what follows the chain stays at its top. Chains of two kinds are not mixed.
func TestBalanceUnion(t *testing.T) {
	src := "SELECT 0 AS a, 1 + 1 + 1"
	for i := 1; i < 300; i++ {
		src += fmt.Sprintf(" UNION ALL SELECT %d, 2", i)
	}
	top := mustParse(t, src+" ORDER BY a LIMIT 5").(*ast.SetOp)
	if top.OrderBy == nil || top.Limit == nil {
		t.Error("ORDER BY or LIMIT is gone")
	}
	var got []string
	depth := 0
	var down func(s ast.SelectStatement, d int)
	down = func(s ast.SelectStatement, d int) {
		depth = max(depth, d)
		switch s := s.(type) {
		case *ast.SetOp:
			down(s.Left, d+1)
			down(s.Right, d+1)
		case *ast.Select:
			got = append(got, ast.String(s.SelectExprs[0].(*ast.AliasedExpr).Expr))
		}
	}
	down(top, 0)
	for i, g := range got {
		if g != fmt.Sprint(i) {
			t.Fatalf("place %d has %s", i, g)
		}
	}
	if len(got) != 300 || depth > 10 {
		t.Errorf("%d SELECTs, %d deep", len(got), depth)
	}
	mixed := mustParse(t, "SELECT 1"+strings.Repeat(" UNION ALL SELECT 1", 200)+" UNION SELECT 1 EXCEPT SELECT 2").(*ast.SetOp)
	if mixed.Type != ast.ExceptStr || mixed.Left.(*ast.SetOp).Type != ast.UnionStr {
		t.Errorf("got %.100s", ast.String(mixed))
	}
}

// TestClient: SET PASSWORD is about the one who sends it.
func TestClient(t *testing.T) {
	ctx := gms.NewContext(t.Context(), gms.WithSession(
		gms.NewBaseSessionWithClientServer("", gms.Client{User: "ada", Address: "10.%"}, 1)))
	for _, src := range []string{"SET PASSWORD = 'x'", "ALTER USER CURRENT_USER() IDENTIFIED BY 'x'", "ALTER USER USER() IDENTIFIED BY 'x'",
		"SET PASSWORD FOR CURRENT_USER = 'x'", "SET PASSWORD FOR 'ada'@'10.%' = PASSWORD('x')"} {
		stmt, _, _, err := New().Parse(ctx, src, false)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		ddl, ok := stmt.(*ast.DDL)
		if !ok || ddl.User.Name != "ada" || ddl.User.Host != "10.%" {
			t.Errorf("%s: got %#v", src, stmt)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"SELECT''", "SELECT /*!50000 1 */ FOR SHARE", "CREATE TABLE t (a TIME(3), b TEXT(5)) PAGE_CHECKSUM=1", "DO 1, (2)",
		"ALTER TABLE t ADD (a INT, b UUID), ORDER BY a", "SHOW OPEN TABLES FROM `a` LIKE 'x'", "SELECT N'a' 'b' \"c\" 0b1 --1",
		"DELETE FROM a AS b WHERE c = ANY (SELECT 1)", "CREATE PROCEDURE p(a CHAR(3) CHARSET x) BEGIN SELECT 1 FOR UPDATE OF a, b SKIP LOCKED; END",
		"SELECT INTERVAL(1, 2), {d '1'}, ~a FROM b FORCE INDEX FOR JOIN (PRIMARY)", "CREATE USER u IDENTIFIED VIA a USING 'b'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		stmt, text, rest, err := New().ParseWithOptions(t.Context(), src, ';', true, noOptions)
		if err != nil {
			return
		}
		if stmt == nil {
			t.Fatal("no statement and no error")
		}
		if len(rest) > len(src) {
			t.Fatalf("the rest %q is longer than what was given", rest)
		}
		if ddl, ok := stmt.(*ast.DDL); ok && ddl.SubStatementPositionEnd > 0 {
			if a, b := ddl.SubStatementPositionStart, ddl.SubStatementPositionEnd; a < 0 || a > b || a > len(text) {
				t.Fatalf("body [%d,%d) of %q", a, b, text)
			}
		}
		walk(stmt, func(n ast.SQLNode) bool {
			if s, ok := n.(*ast.Select); ok && s.Lock == "" && len(s.Comments) > 0 {
				if _, marked := parseMark(string(s.Comments[0])); marked && !strings.Contains(strings.ToLower(src), "lock") &&
					!strings.Contains(strings.ToLower(src), "for") {
					t.Fatalf("a mark that nobody asked for: %q", src)
				}
			}
			return true
		})
	})
}

// BenchmarkParse: what the wrapper costs on ordinary statements, beside the grammar alone.
func BenchmarkParse(b *testing.B) {
	for name, src := range map[string]string{
		"point":  "SELECT c FROM sbtest1 WHERE id=501",
		"insert": "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 503, '" + strings.Repeat("12345678901-", 10) + "', '" + strings.Repeat("12345678901-", 5) + "')",
	} {
		b.Run(name+"/scan", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := parsed{}
				p.scanned, _ = scan(src, false, true)
				p.candidates()
			}
		})
		b.Run(name+"/grammar", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ast.Parse(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
