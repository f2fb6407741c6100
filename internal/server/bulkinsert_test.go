package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// bulkTables are made twice: one is filled past GMS, one through it.
var bulkTables = []struct {
	name, definition string
	columns          []string // a name and its kind, which says what values may be tried
}{
	{"numbers", `id INT AUTO_INCREMENT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED NOT NULL, b BIGINT, bu BIGINT UNSIGNED, d DECIMAL(6,2), f FLOAT, g DOUBLE,
		y YEAR, m MEDIUMINT UNSIGNED, bits BIT(5), UNIQUE KEY (b), KEY (d, t)`,
		[]string{"id auto", "t number", "tu number", "b number", "bu number", "d number", "f number", "g number", "y number", "m number", "bits number"}},
	{"texts", `k VARCHAR(8) COLLATE utf8mb4_0900_ai_ci, v CHAR(5) NOT NULL, tt TINYTEXT, raw VARBINARY(6), fixed BINARY(4), b BLOB, l1 VARCHAR(4) CHARACTER SET latin1,
		e ENUM('a', 'it''s', ''), s SET('x', 'y'), PRIMARY KEY (k), KEY (v(2))`,
		[]string{"k key", "v text", "tt text", "raw text", "fixed text", "b text", "l1 text", "e text", "s text"}},
	{"times", `d DATE, t TIME, dt DATETIME(3), ts TIMESTAMP NULL, j JSON, KEY (dt)`,
		[]string{"d time", "t time", "dt time", "ts time", "j json"}},
	{"keyed", `a INT UNSIGNED NOT NULL, b VARCHAR(3) NOT NULL, n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, PRIMARY KEY (a, b), KEY (n)`,
		[]string{"a key", "b text", "n auto"}},
	{"bare", `a INT, b VARCHAR(20)`, []string{"a number", "b text"}},
	{"defaults", `a INT DEFAULT 7, b VARCHAR(9) DEFAULT 'x', c INT NOT NULL, made DATETIME DEFAULT '2020-01-01'`, []string{"a number", "b text", "c number", "made time"}},
	{"checked", `a INT, b INT, CHECK (a < 100)`, []string{"a number", "b number"}},
	{"computed", `a INT, b INT AS (a * 2) STORED, c INT`, []string{"a number", "b number", "c number"}},
	{"triggered", `a INT, b INT`, []string{"a number", "b number"}},
	{"child", `a INT, b INT UNSIGNED, FOREIGN KEY (b) REFERENCES parent (a)`, []string{"a number", "b number"}},
}

// bulkValues of each kind: what fits somewhere, and what fits nowhere.
var bulkValues = map[string][]string{
	"key":  {"0"}, // in its place a random number
	"auto": {"NULL", "NULL", "NULL", "NULL", "0", "NULL", "00", "1", "5", "77", "-3", "'9'", "4294967295"},
	"number": {"0", "1", "7", "12", "3", "31", "5", "NULL", "-1", "127", "128", "-129", "255", "256", "65536", "8388608", "2147483647", "-2147483649", "9223372036854775807",
		"-9223372036854775808", "18446744073709551615", "1.5", "-0.005", "12.345", "99999.99", "1e3", "-2.5e-3", "1e400", "'3'", "' 4'", "'5x'", "''", "'x'", "x'05'", "0x1F", "-0", "2024", "70"},
	"text": {"''", "'a'", "'b'", "'x'", "'ü'", `'a'`, "'a'", "NULL", "'A'", "'it''s'", `'it\'s'`, `'\\'`, "'ü'", "'üüüü'", "'🍀🍀'", "'12345'", "'123456'", "'123456789'", "'x,y'", "'x'", "'a '", `'\0'`, `'\%'`,
		"0", "12", "-5", "1.50", "1e3", "x'00ff'", "0xC3BC", "_binary 'a'", "_binary '\\0b'", "'\xff'", "_binary '\xff\xfe'"},
	"time": {"NULL", "'2024-02-29'", "'2024-02-28'", "'2024-02-29 12:34:56.789'", "'2024-02-29'", "NULL", "NULL", "'2024-02-30'", "'12:34:56'", "'-838:59:59'", "20240229", "123456", "'x'", "''", "'0000-00-00'", "'1969-12-31'", "x'00'"},
	"json": {"NULL", `'{"a": [1, 2.50, null]}'`, "'[]'", "'1'", "'[]'", "NULL", "NULL", "'x'", "1", "'1'", `'"ü"'`, "''"},
}

var bulkModes = []string{
	"ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
	"NO_AUTO_VALUE_ON_ZERO", "", "ANSI_QUOTES,STRICT_ALL_TABLES",
}

// TestBulkInsertAsGMS: random INSERTs do the same past GMS as through it: rows, affected rows, insert ids, warnings, errors. A comment
// before the statement keeps it from the bulk path.
func TestBulkInsertAsGMS(t *testing.T) {
	s := start(t)
	db := open(t, s)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }

	sides := []*sql.Conn{conn(t, db), conn(t, db)}
	for i, c := range sides {
		name := []string{"past", "thru"}[i]
		exec(t, c, "CREATE DATABASE "+name)
		exec(t, c, "USE "+name)
		exec(t, c, "CREATE TABLE parent (a INT UNSIGNED PRIMARY KEY)")
		exec(t, c, "INSERT INTO parent VALUES (1), (7), (12)")
		for _, table := range bulkTables {
			exec(t, c, "CREATE TABLE "+table.name+" ("+table.definition+")")
		}
		exec(t, c, "CREATE TRIGGER tr BEFORE INSERT ON triggered FOR EACH ROW SET NEW.b = NEW.a + 1")
	}
	both := func(text string) {
		for _, c := range sides {
			exec(t, c, text)
		}
	}
	before := s.bulkInserts.Load()
	const statements = 1500
	inTransaction, attempts := false, 0
	for n := range statements {
		switch rnd.IntN(25) {
		case 0:
			if inTransaction {
				both(pick([]string{"COMMIT", "ROLLBACK"}))
			} else {
				both("BEGIN")
			}
			inTransaction = !inTransaction
		case 1:
			both("SET sql_mode = '" + pick(bulkModes) + "'")
		case 2:
			both("SET foreign_key_checks = " + pick([]string{"0", "1"}))
		}
		table := bulkTables[rnd.IntN(len(bulkTables))]
		columns := slices.Clone(table.columns)
		list := ""
		if rnd.IntN(3) == 0 {
			rnd.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
			columns = columns[:1+rnd.IntN(len(columns))]
			names := make([]string, len(columns))
			for i, c := range columns {
				names[i], _, _ = strings.Cut(c, " ")
			}
			list = " (" + strings.Join(names, ", ") + ")"
		}
		var rowTexts []string
		for range 1 + rnd.IntN(4) {
			values := make([]string, len(columns))
			for i, c := range columns {
				_, kind, _ := strings.Cut(c, " ")
				all := bulkValues[kind]
				if rnd.IntN(20) > 0 { // mostly tame ones, else every statement fails
					all = all[:min(7, len(all))]
				}
				if values[i] = pick(all); kind == "key" {
					values[i] = fmt.Sprint(rnd.IntN(2000))
				}
			}
			rowTexts = append(rowTexts, "("+strings.Join(values, ", ")+")")
		}
		text := "INSERT INTO " + table.name + list + " VALUES " + strings.Join(rowTexts, ", ")
		attempts++
		past, thru := insertAndTell(t, sides[0], text), insertAndTell(t, sides[1], "/* by GMS */ "+text)
		if past != strings.ReplaceAll(strings.ReplaceAll(thru, "thru", "past"), "/* by GMS */ ", "") {
			t.Fatalf("seed %d, statement %d: %s\npast GMS: %s\nthrough:  %s", seed, n, text, past, thru)
		}
		if n%100 == 99 || n == statements-1 {
			for _, table := range bulkTables {
				query := "SELECT * FROM " + table.name
				got, want := sortedRows(t, sides[0], query), sortedRows(t, sides[1], query)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, after statement %d: table %s\npast GMS: %q\nthrough:  %q", seed, n, table.name, got, want)
				}
			}
		}
	}
	if inTransaction {
		both("COMMIT")
	}
	if done := s.bulkInserts.Load() - before; done < statements/8 {
		t.Errorf("seed %d: only %d of %d statements went past GMS: the test shows little", seed, done, attempts)
	} else {
		t.Logf("%d of %d statements went past GMS", done, attempts)
	}
	for _, r := range rows(t, sides[0], "CHECK TABLE numbers, texts, times, keyed, bare") {
		if !strings.HasSuffix(r, " OK") {
			t.Error(r)
		}
	}
}

// insertAndTell says all that a client can know of an INSERT.
func insertAndTell(t *testing.T, c *sql.Conn, text string) string {
	t.Helper()
	ctx := context.Background()
	r, err := c.ExecContext(ctx, text)
	var b strings.Builder
	if err != nil {
		var e *mysql.MySQLError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", text, err)
		}
		fmt.Fprintf(&b, "error %d %s %s", e.Number, e.SQLState, e.Message)
	} else {
		affected, _ := r.RowsAffected()
		id, _ := r.LastInsertId()
		fmt.Fprintf(&b, "%d affected, id %d", affected, id)
	}
	fmt.Fprintf(&b, "; warnings %q; last_insert_id %q", rows(t, c, "SHOW WARNINGS"), rows(t, c, "SELECT LAST_INSERT_ID()"))
	return b.String()
}

func sortedRows(t *testing.T, c *sql.Conn, query string) []string {
	t.Helper()
	list := rows(t, c, query)
	slices.Sort(list)
	return list
}

// What an INSERT must not do it must not do past GMS either.
func TestBulkInsertGuards(t *testing.T) {
	s := start(t)
	db := open(t, s, "multiStatements=true")
	c := conn(t, db)
	for _, text := range []string{
		"CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY)", "CREATE VIEW v AS SELECT a FROM t",
		"CREATE USER reader IDENTIFIED BY 'x'", "GRANT SELECT ON d.* TO reader", "CREATE USER writer IDENTIFIED BY 'x'", "GRANT INSERT ON d.t TO writer",
	} {
		exec(t, c, text)
	}
	fails := func(c execer, number uint16, text string) {
		t.Helper()
		_, err := c.ExecContext(t.Context(), text)
		failsWith(t, err, number)
	}
	const insert = "INSERT INTO d.t VALUES (1)"
	fails(openAs(t, s, "reader", "x"), 1142, insert)
	before := s.bulkInserts.Load()
	exec(t, openAs(t, s, "writer", "x"), insert)
	if s.bulkInserts.Load() != before+1 {
		t.Error("an INSERT like this goes past GMS")
	}

	exec(t, c, "START TRANSACTION READ ONLY")
	fails(c, 1792, "INSERT INTO t VALUES (2)")
	exec(t, c, "COMMIT")
	if _, err := c.ExecContext(t.Context(), "INSERT INTO v VALUES (2)"); err == nil {
		t.Error("a view took a row")
	}
	fails(c, 1146, "INSERT INTO nothing VALUES (2)")

	exec(t, c, "INSERT INTO t VALUES (2); INSERT INTO t VALUES (3); ;")
	fails(c, 1062, "INSERT INTO t VALUES (4), (1); INSERT INTO t VALUES (5)")
	expect(t, rows(t, c, "SELECT a FROM t ORDER BY a"), "1", "2", "3")

	exec(t, c, "CREATE TEMPORARY TABLE t (a INT)")
	exec(t, c, "INSERT INTO t VALUES (9), (9)")
	expect(t, rows(t, c, "SELECT a FROM t"), "9", "9")
	exec(t, c, "DROP TEMPORARY TABLE t")
	expect(t, rows(t, c, "SELECT a FROM t ORDER BY a"), "1", "2", "3")

	exec(t, c, "SET autocommit = 0")
	exec(t, c, "INSERT INTO t VALUES (10), (11)")
	exec(t, c, "ROLLBACK")
	expect(t, rows(t, c, "SELECT a FROM t ORDER BY a"), "1", "2", "3")
}
