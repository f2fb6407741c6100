package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// errorScript: statements, and what the last one of a step fails with. MySQL's own numbers, states and texts.
var errorScript = []struct {
	text   string
	number uint16
	state  string
	words  string // in the message; empty: any
}{
	{"SELEC 1", 1064, "42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC 1' at line 1"},
	{"SELECT * FROM nix.t", 1049, "42000", "Unknown database 'nix'"},
	{"DROP DATABASE nix", 1008, "HY000", "Can't drop database 'nix'; database doesn't exist"},
	{"CREATE DATABASE test", 1007, "HY000", "Can't create database 'test'; database exists"},
	{"USE nix", 1049, "42000", "Unknown database 'nix'"},
	{"SELECT * FROM nix", 1146, "42S02", "Table 'test.nix' doesn't exist"},
	{"SELECT * FROM test.nix", 1146, "42S02", "Table 'test.nix' doesn't exist"},
	{"INSERT INTO nix VALUES (1)", 1146, "42S02", "Table 'test.nix' doesn't exist"},
	{"DROP TABLE nix", 1051, "42S02", "Unknown table 'test.nix'"},
	{"CREATE TABLE t (id INT PRIMARY KEY)", 1050, "42S01", "Table 't' already exists"},
	{"SELECT nix FROM t", 1054, "42S22", "Unknown column 'nix' in 'field list'"},
	{"SELECT id FROM t WHERE nix = 1", 1054, "42S22", "Unknown column 'nix' in 'where clause'"},
	{"SELECT id FROM t ORDER BY nix", 1054, "42S22", "Unknown column 'nix' in 'order clause'"},
	{"SELECT COUNT(*) FROM t GROUP BY nix", 1054, "42S22", "Unknown column 'nix' in 'group statement'"},
	{"SELECT t.id FROM t JOIN p ON t.nix = p.id", 1054, "42S22", "Unknown column 't.nix' in 'on clause'"},
	{"UPDATE t SET nix = 1", 1054, "42S22", "Unknown column 'nix' in 'field list'"},
	{"INSERT INTO t (nix) VALUES (1)", 1054, "42S22", "Unknown column 'nix' in 'field list'"},
	{"SELECT id FROM t, p", 1052, "23000", "Column 'id' in field list is ambiguous"},
	{"ALTER TABLE t DROP COLUMN nix", 1091, "42000", "Can't DROP 'nix'; check that column/key exists"},
	{"ALTER TABLE t DROP INDEX nix", 1091, "42000", "Can't DROP 'nix'; check that column/key exists"},
	{"CREATE TABLE x (a INT, a INT)", 1060, "42S21", "Duplicate column name 'a'"},
	{"ALTER TABLE t ADD COLUMN s INT", 1060, "42S21", "Duplicate column name 's'"},
	{"CREATE TABLE x (a INT, KEY (nix))", 1072, "42000", "Key column 'nix' doesn't exist in table"},
	{"CREATE TABLE x (a INT AUTO_INCREMENT)", 1075, "42000", "Incorrect table definition; there can be only one auto column and it must be defined as a key"},
	{"SET nix = 1", 1193, "HY000", "Unknown system variable 'nix'"},
	{"SELECT @@nix", 1193, "HY000", "Unknown system variable 'nix'"},
	{"SET GLOBAL version = 'x'", 1238, "HY000", "Variable 'version' is a read only variable"},
	{"SET SESSION max_connections = 5", 1229, "HY000", "Variable 'max_connections' is a GLOBAL variable and should be set with SET GLOBAL"},
	{"SET GLOBAL pseudo_thread_id = 5", 1228, "HY000", "Variable 'pseudo_thread_id' is a SESSION variable and can't be used with SET GLOBAL"},
	{"SET autocommit = 'maybe'", 1231, "42000", "Variable 'autocommit' can't be set to the value of 'maybe'"},
	{"INSERT INTO t (id, s) VALUES (1, 'x')", 1062, "23000", "Duplicate entry '1' for key 't.PRIMARY'"},
	{"INSERT INTO t (id, s, u) VALUES (2, 'x', 7)", 1062, "23000", "Duplicate entry '7' for key 't.u'"},
	{"INSERT INTO t (id, s) VALUES (3, NULL)", 1048, "23000", "Column 's' cannot be null"},
	{"INSERT INTO t (id) VALUES (3)", 1364, "HY000", "Field 's' doesn't have a default value"},
	{"INSERT INTO t (id, s) VALUES (3, REPEAT('x', 11))", 1406, "22001", "Data too long for column 's' at row 1"},
	{"INSERT INTO t (id, s, y) VALUES (3, 'x', 1000)", 1264, "22003", "Out of range value for column 'y' at row 1"},
	{"INSERT INTO t (id, s) VALUES ('abc', 'x')", 1366, "HY000", ""},
	{"INSERT INTO t (id, s, d) VALUES (3, 'x', '2024-13-45')", 1292, "22007", ""},
	{"INSERT INTO t (id, s) VALUES (3)", 1136, "21S01", "Column count doesn't match value count at row 1"},
	{"INSERT INTO t (id, s, c) VALUES (3, 'x', -1)", 3819, "HY000", "Check constraint 'positive' is violated."},
	{"INSERT INTO t (id, s, g) VALUES (3, 'x', 1)", 3105, "HY000", "The value specified for generated column 'g' in table 't' is not allowed."},
	{"INSERT INTO child VALUES (1, 99)", 1452, "23000", "Cannot add or update a child row: a foreign key constraint fails"},
	{"DELETE FROM p WHERE id = 1", 1451, "23000", "Cannot delete or update a parent row: a foreign key constraint fails"},
	{"DROP TABLE p", 3730, "HY000", "Cannot drop table 'p' referenced by a foreign key constraint 'fk'."},
	{"SELECT nix()", 1305, "42000", "FUNCTION test.nix does not exist"},
	{"CALL nix()", 1305, "42000", "PROCEDURE test.nix does not exist"},
	{"DROP TRIGGER nix", 1360, "HY000", "Trigger does not exist"},
	{"DROP VIEW nix", 1051, "42S02", "Unknown table 'test.nix'"},
	{"ROLLBACK TO SAVEPOINT nix", 1305, "42000", "SAVEPOINT nix does not exist"},
	{"EXECUTE nix", 1243, "HY000", "Unknown prepared statement handler (nix) given to EXECUTE"},
	{"SELECT 1, 2 UNION SELECT 1", 1222, "21000", "The used SELECT statements have a different number of columns"},
	{"SELECT (SELECT id FROM p)", 1242, "21000", "Subquery returns more than 1 row"},
	{"SELECT (SELECT 1, 2)", 1241, "21000", "Operand should contain 1 column(s)"},
	{"SELECT JSON_EXTRACT('{', '$.a')", 3141, "22032", ""},
	{"SELECT 1 FROM t t1, p t1", 1066, "42000", "Not unique table/alias: 't1'"},
	{"SHOW GRANTS FOR nix@localhost", 1141, "42000", "There is no such grant defined for user 'nix' on host 'localhost'"},
	{"DROP USER nix@localhost", 1396, "HY000", "Operation DROP USER failed for"},
	{"SELECT ABS(1, 2)", 1582, "42000", "Incorrect parameter count in the call to native function 'abs'"},
	{"SELECT _utf8mb4 'x' COLLATE nix", 1273, "HY000", "Unknown collation: 'nix'"},
}

func TestErrors(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	for _, text := range []string{
		"CREATE TABLE p (id INT PRIMARY KEY)",
		"INSERT INTO p VALUES (1), (2)",
		"CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10) NOT NULL, u INT, y TINYINT, d DATETIME, c INT, g BIGINT AS (id + 1) STORED, " +
			"UNIQUE KEY u (u), CONSTRAINT positive CHECK (c > 0))",
		"INSERT INTO t (id, s, u) VALUES (1, 'a', 7)",
		"CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES p (id))",
		"INSERT INTO child VALUES (5, 1)",
	} {
		exec(t, c, text)
	}
	for _, e := range errorScript {
		t.Run(e.text, func(t *testing.T) {
			_, err := c.ExecContext(t.Context(), e.text)
			var got *mysql.MySQLError
			if !errors.As(err, &got) {
				t.Fatalf("error is %v, want %d", err, e.number)
			}
			if got.Number != e.number || string(got.SQLState[:]) != e.state || !strings.Contains(got.Message, e.words) {
				t.Errorf("got %v\nwant %d (%s): %s", got, e.number, e.state, e.words)
			}
		})
	}
	// In the middle of all that, nothing has changed.
	expect(t, rows(t, c, "SELECT id, s, u FROM t"), "1 a 7")
	exec(t, c, "SET SESSION TRANSACTION READ ONLY")
	_, err := c.ExecContext(t.Context(), "INSERT INTO p VALUES (9)")
	failsWith(t, err, 1792)
}

func TestNoDatabase(t *testing.T) {
	s := start(t)
	c, err := open(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range []string{"SELECT * FROM t", "CREATE TABLE t (a INT)", "DROP TABLE t", "SHOW TABLES"} {
		_, err := c.ExecContext(t.Context(), text)
		failsWith(t, err, 1046)
	}
}

// Errors of locks, with the numbers that applications look for.
func TestLockErrors(t *testing.T) {
	s := start(t)
	db := open(t, s)
	a, b := conn(t, db), conn(t, db)
	exec(t, a, "CREATE TABLE l (id INT PRIMARY KEY, v INT)")
	exec(t, a, "INSERT INTO l VALUES (1, 0), (2, 0)")
	exec(t, b, "SET SESSION innodb_lock_wait_timeout = 1")
	exec(t, a, "BEGIN")
	exec(t, a, "UPDATE l SET v = 1 WHERE id = 1")
	exec(t, b, "BEGIN")
	exec(t, b, "UPDATE l SET v = 2 WHERE id = 2")
	_, err := b.ExecContext(t.Context(), "UPDATE l SET v = 2 WHERE id = 1")
	failsWith(t, err, 1205)
	expect(t, rows(t, b, "SELECT v FROM l WHERE id = 2"), "2") // the transaction lives
	_, err = b.ExecContext(t.Context(), "SELECT * FROM l WHERE id = 1 FOR UPDATE NOWAIT")
	failsWith(t, err, 3572)

	exec(t, b, "SET SESSION innodb_lock_wait_timeout = 50")
	waits := make(chan error, 1)
	go func() {
		_, err := b.ExecContext(t.Context(), "UPDATE l SET v = 3 WHERE id = 1")
		waits <- err
	}()
	eventually(t, "a statement that waits", func() bool { return s.running.Load() == 1 })
	_, errA := a.ExecContext(t.Context(), "UPDATE l SET v = 4 WHERE id = 2")
	errB := <-waits
	if (errA == nil) == (errB == nil) {
		t.Fatalf("a deadlock ended with %v and %v, want one victim", errA, errB)
	}
	failsWith(t, errors.Join(errA, errB), 1213)
	victim := a
	if errB != nil {
		victim = b
	}
	exec(t, victim, "INSERT INTO l VALUES (3, 3)") // in autocommit again: its transaction is gone
	other := map[bool]execer{true: a, false: b}[errB != nil]
	exec(t, other, "COMMIT")
	expect(t, rows(t, other, "SELECT id FROM l ORDER BY id"), "1", "2", "3")
}

func TestQuoted(t *testing.T) {
	for _, c := range []struct {
		format, text string
		want         string
	}{
		{"table not found: %s", "table not found: t", "[t]"},
		{"table %q does not have column %q", `table "a" does not have column "b"`, "[a b]"},
		{"no parts", "no parts", "[]"},
		{"%v out of range for %v", "300 out of range for tinyint", "[300 tinyint]"},
		{"table not found: %s", "something else", "false"},
		{"a %s b", "a x", "false"},
	} {
		parts, ok := quoted(c.format, c.text)
		got := fmt.Sprint(parts)
		if !ok {
			got = "false"
		}
		if got != c.want {
			t.Errorf("quoted(%q, %q) = %s, want %s", c.format, c.text, got, c.want)
		}
	}
}

// Every row of the table makes an error with a state of five characters, whose text has no hole left.
func TestErrorTable(t *testing.T) {
	for _, r := range errorTable {
		n := strings.Count(r.kind.Message, "%")
		parts := make([]any, n)
		for i := range parts {
			parts[i] = fmt.Sprint("part", i)
		}
		e := r.make(r.kind.New(parts...), place{db: "db"})
		if e.Num <= 0 || len(e.State) != 5 || strings.Contains(e.Message, "{") || e.Message == "" {
			t.Errorf("%q became %d (%s): %s", r.kind.Message, e.Num, e.State, e.Message)
		}
		if want := sqlStates[e.Num]; want != "" && want != e.State {
			t.Errorf("%q has state %s, and %d has %s", r.kind.Message, e.State, e.Num, want)
		}
	}
	if e := toClient(gms.NewWrappedInsertError(nil, gms.ErrTableNotFound.New("x")), place{db: "db"}); e.Num != 1146 {
		t.Errorf("a wrapped error became %d", e.Num)
	}
	if e := toClient(gms.ErrSyntaxError.New("bad (errno 1064) (sqlstate 42000)"), place{}); e.Num != 1064 || e.Message != "bad" {
		t.Errorf("a flattened error became %d: %s", e.Num, e.Message)
	}
}
