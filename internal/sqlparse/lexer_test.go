package sqlparse

import (
	"context"
	"strings"
	"testing"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// TestText: what the grammar gets to read.
func TestText(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"untouched", "SELECT 'a--b', \"/*!50000 x*/\", `a$b` /* c */ -- d", ""},
		{"no space before a string", "SELECT'a'", "SELECT 'a'"},
		{"version comment", "SELECT /*!40001 SQL_NO_CACHE */ 1", "SELECT   SQL_NO_CACHE   1"},
		{"version comment without a version", "CREATE TABLE t (a INT) /*! ENGINE = innodb */", "CREATE TABLE t (a INT)   ENGINE = innodb  "},
		{"six digits", "SELECT 1 /*!100100 , 2 */", "SELECT 1  "},
		{"newer than the server", "SELECT 1 /*!99999 , 2 */", "SELECT 1  "},
		{"MariaDB's own", "SELECT 1 /*M!100616 , 2 */", ""},
		{"a comment within", "SELECT /*!50000 1 /* x */ , 2 */", "SELECT   1 /* x */ , 2  "},
		{"a string within that would end it", "SELECT /*!50000 '*/' */", "SELECT   '*/'  "},
		{"two minus", "SELECT 5--1", "SELECT 5- -1"},
		{"three minus", "SELECT 5---1", "SELECT 5- - -1"},
		{"minus and a comment", "SELECT 5-- 1", ""},
		{"slashes", "SELECT 4//2", "SELECT 4/ /2"},
		{"names", "SELECT a$b, größe.x, 1st, x.2nd FROM `t`", "SELECT `a$b`, `größe`.x, 1st, x.2nd FROM `t`"},
		{"bit literal", "SELECT 0b101, 0b2, 0xb1", "SELECT b'101', 0b2, 0xb1"},
		{"national string", "SELECT N'a', n 'b', nn'c'", "SELECT _utf8mb3 'a', n 'b', nn 'c'"},
		{"adjacent strings", "SELECT 'a' /* x$y */ 'b''' \"c\"", "SELECT 'ab''' \"c\""},
		{"escapes", `SELECT 'a\'--\\', "b\"--", 'c''--'`, ""},
		{"white space", "SELECT\v1\f", "SELECT 1 "},
		{"forged mark", "SELECT /*hearth:lock=x*/ 1", "SELECT   1"},
		{"forged mark in a version comment", "SELECT /*!50000 /*hearth:lock=x*/ 1 */", "SELECT     1  "},
		{"forged mark in a line", "SELECT -- hearth:lock=x\n1", "SELECT \n1"},
		{"collation of MariaDB", "SELECT a COLLATE utf8mb4_uca1400_ai_ci", "SELECT a COLLATE utf8mb4_0900_ai_ci"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := scan(c.src, false, false)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.src
			}
			if got := s.text(); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if c.want == "" && len(s.edits) != 0 {
				t.Errorf("%d edits that change nothing", len(s.edits))
			}
		})
	}
}

// TestANSIQuotes: the double quote changes sides.
func TestANSIQuotes(t *testing.T) {
	const src = `SELECT "a--b", 'c'`
	for _, ansi := range []bool{false, true} {
		l := lexer{src: src, ansi: ansi}
		l.next()
		want := map[bool]kind{false: str, true: quotedID}[ansi]
		if got := l.next(); got.kind != want || src[got.start:got.end] != `"a--b"` {
			t.Errorf("ansi %v: got kind %d, want %d", ansi, got.kind, want)
		}
	}
}

// TestSource: each byte of the text comes from where the map says.
func TestSource(t *testing.T) {
	const src = "SELECT /*!60000 a$b, */ 'x' 'y', 5--1, 0b1, N'z' FROM größe -- end"
	s, err := scan(src, false, false)
	if err != nil {
		t.Fatal(err)
	}
	text := s.text()
	for _, word := range []string{"SELECT", "5-", "FROM", "-- end", ", 5"} {
		if got, want := s.source(strings.Index(text, word)), strings.Index(src, word); got != want {
			t.Errorf("%q: got %d, want %d", word, got, want)
		}
	}
}

// TestSplit: the first of several statements, and the rest.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ src, text, rest string }{
		{"SELECT 1", "SELECT 1", ""},
		{"SELECT 1;", "SELECT 1", ""},
		{"SELECT ';'; SELECT 2; SELECT 3", "SELECT ';'", "SELECT 2; SELECT 3"},
		{"/*!40101 SET NAMES utf8mb4 */; SELECT 1", "SET NAMES utf8mb4", "SELECT 1"},
		{"-- a;b\nSELECT 1; SELECT 2", "-- a;b\nSELECT 1", "SELECT 2"},
		{"CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END; SELECT 3", "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", "SELECT 3"},
		{"/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`h`*/ /*!50003 TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 5--1; END */; SELECT 3",
			"CREATE    DEFINER=`r`@`h`    TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 5- -1; END", "SELECT 3"},
		{"SHOW OPEN TABLES; DO 1; SELECT 3", "SHOW OPEN TABLES", "DO 1; SELECT 3"},
		{"SELECT 1 FOR SHARE; SELECT 2", "SELECT 1 FOR SHARE", "SELECT 2"},
	} {
		stmt, text, rest, err := New().ParseWithOptions(t.Context(), c.src, ';', true, noOptions)
		if err != nil || stmt == nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if strings.TrimSpace(text) != c.text || rest != c.rest {
			t.Errorf("%s:\ngot  %q and %q\nwant %q and %q", c.src, text, rest, c.text, c.rest)
		}
		_, next, err := New().ParseOneWithOptions(t.Context(), c.src, noOptions)
		if got := strings.TrimSpace(strings.TrimLeft(c.src[next:], "; ")); err != nil || got != c.rest {
			t.Errorf("%s: the next one begins at %q (%v), want %q", c.src, got, err, c.rest)
		}
	}
}

// Texts of views, triggers and procedures are kept as the grammar read them, and read again: the second reading must find the same
// positions.
func TestTextIsReadAgainAsItIs(t *testing.T) {
	for _, src := range []string{
		"/*!50001 CREATE VIEW v AS SELECT 1 AS a */;",
		"/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select 1 AS `a` */",
		"  /* why */ /*!50001 CREATE*/ /*!50001 VIEW v AS SELECT 'ü' AS ü */",
	} {
		_, text, _, err := New().ParseWithOptions(context.Background(), src, ';', false, ast.ParserOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stmt, again, _, err := New().ParseWithOptions(context.Background(), text, ';', false, ast.ParserOptions{})
		if err != nil || again != text || !strings.HasPrefix(text, "CREATE") {
			t.Fatalf("%s: read as %q, and then as %q: %v", src, text, again, err)
		}
		ddl := stmt.(*ast.DDL)
		if sub := text[ddl.SubStatementPositionStart:ddl.SubStatementPositionEnd]; !strings.HasPrefix(strings.ToLower(strings.TrimSpace(sub)), "select") {
			t.Fatalf("%s: the view's query is %q", src, sub)
		}
	}
}
