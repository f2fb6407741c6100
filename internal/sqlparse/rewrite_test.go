package sqlparse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dolthub/vitess/go/mysql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// sameAs holds a statement of the one column against that of the other, as trees written out.
func sameAs(t *testing.T, src, want string) {
	t.Helper()
	a, b := mustParse(t, src), mustParse(t, want)
	text := func(n ast.SQLNode) string {
		s := ast.String(n)
		if ddl, ok := n.(*ast.DDL); ok && ddl.TableSpec != nil {
			for _, c := range ddl.TableSpec.Columns {
				s += fmt.Sprintf(" %s %s", c.Name, c.Type.Type)
			}
		}
		return s
	}
	if got, want := text(a), text(b); got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", src, got, want)
	}
}

// TestRules: each row of the table of compat.go has a statement here that it is for.
func TestRules(t *testing.T) {
	const nothing = "SET @hearth_nothing = NULL"
	const status = "SELECT `Type`, `Name`, `Status` FROM information_schema.hearth_engine_status"
	for _, c := range []struct{ src, want string }{
		{"show engine innodb status", status},
		{"SHOW ENGINE `hearth` LOGS", status + " WHERE FALSE"},
		{"SHOW ERRORS LIMIT 3", "SELECT '' AS Level, 0 AS Code, '' AS Message FROM dual WHERE FALSE"},
		{"SHOW COUNT(*) WARNINGS", "SELECT hearth_warning_count() AS `@@session.warning_count`"},
		{"SHOW COUNT(*) ERRORS", "SELECT 0 AS `@@session.error_count`"},
		{"SHOW LOCAL VARIABLES LIKE 'x'", "SHOW SESSION VARIABLES LIKE 'x'"},
		{"SHOW SCHEMAS LIKE 'x'", "SHOW DATABASES LIKE 'x'"},
		{"SHOW STORAGE ENGINES", "SHOW ENGINES"},
		{"SHOW MASTER LOGS", "SHOW BINARY LOGS"},
		{"SHOW BINLOG STATUS", "SHOW MASTER STATUS"},
		{"SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS"},
		{"SHOW ALL REPLICAS STATUS", "SHOW REPLICA STATUS"},
		{"SHOW SLAVE HOSTS", "SHOW REPLICAS"},
		{"SHOW REPLICA HOSTS", "SHOW REPLICAS"},
		{"SHOW PACKAGE STATUS WHERE Db = 'x'", "SHOW FUNCTION STATUS WHERE FALSE"},
		{"SHOW PACKAGE BODY STATUS WHERE Db = 'x'", "SHOW FUNCTION STATUS WHERE FALSE"},
		{"SHOW PROFILES", "SELECT 0 AS Query_ID, 0.0 AS Duration, '' AS Query FROM dual WHERE FALSE"},
		{"SHOW PROFILE", "SELECT '' AS Status, 0.0 AS Duration FROM dual WHERE FALSE"},
		{"SHOW EXTENDED FULL COLUMNS FROM t", "SHOW FULL COLUMNS FROM t"},
		{"SHOW FULL COLUMNS IN t", "SHOW FULL COLUMNS FROM t"},
		{"SHOW FULL FIELDS IN t", "SHOW FULL COLUMNS FROM t"},
		{"SHOW COLUMNS IN t IN d", "SHOW COLUMNS FROM t IN d"},
		{"SHOW FIELDS IN t", "SHOW COLUMNS FROM t"},
		{"DESCRIBE d.t c_d", `SHOW COLUMNS FROM d.t LIKE 'c\\_d'`},
		{"DESC t 'a%'", "SHOW COLUMNS FROM t LIKE 'a%'"},
		{"EXPLAIN PARTITIONS SELECT 1", "EXPLAIN FORMAT=tree SELECT 1"},
		{"EXPLAIN t a", "SHOW COLUMNS FROM t LIKE 'a'"},
		{"EXPLAIN SELECT 1", "EXPLAIN FORMAT=tree SELECT 1"},
		{"HELP 'contents'", "SELECT '' AS name, '' AS is_it_category FROM dual WHERE FALSE"},
		{"OPTIMIZE LOCAL TABLE a, d.b", "ANALYZE TABLE a, d.b"},
		{"ANALYZE NO_WRITE_TO_BINLOG TABLE a", "ANALYZE TABLE a"},
		{"ANALYZE TABLE a PERSISTENT FOR ALL", "ANALYZE TABLE a"},
		{"FLUSH PRIVILEGES", nothing},
		{"FLUSH LOCAL BINARY LOGS, STATUS", nothing},
		{"FLUSH LOCAL SLOW LOGS, STATUS", "CALL hearth_flush_logs()"},
		{"FLUSH LOGS", "CALL hearth_flush_logs()"},
		{"RESET QUERY CACHE", nothing},
		{"LOCK INSTANCE FOR BACKUP", nothing},
		{"UNLOCK INSTANCE", nothing},
		{"LOCK TABLE t WRITE", "LOCK TABLES t WRITE"},
		{"UNLOCK TABLE", "UNLOCK TABLES"},
		{"SHUTDOWN", "CALL hearth_shutdown()"},
		{"DO SLEEP(1), (1 + 2)", "SET @hearth_nothing = ((SLEEP(1)) IS NULL), @hearth_nothing = (((1 + 2)) IS NULL)"},
		{"DELETE QUICK LOW_PRIORITY IGNORE FROM t WHERE a = 1", "DELETE FROM t WHERE a = 1"},
		{"DELETE LOW_PRIORITY FROM t", "DELETE FROM t"},
		{"DELETE IGNORE t FROM t JOIN u", "DELETE t FROM t JOIN u"},
		{"SET PASSWORD FOR 'u'@'h' = 'x'", "ALTER USER 'u'@'h' IDENTIFIED BY 'x'"},
		{"SET PASSWORD FOR u = PASSWORD('x')", "ALTER USER u IDENTIFIED BY 'x'"},
		{"SET ROLE ALL", nothing},
		{"SET RESOURCE GROUP g", nothing},
		{"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "START TRANSACTION READ ONLY"},
		{"ALTER VIEW v AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1"},
		{"ALTER ALGORITHM=MERGE VIEW v AS SELECT 1", "CREATE OR REPLACE ALGORITHM=MERGE VIEW v AS SELECT 1"},
		{"ALTER DEFINER=`a`@`b` VIEW v AS SELECT 1", "CREATE OR REPLACE DEFINER=`a`@`b` VIEW v AS SELECT 1"},
		{"ALTER SQL SECURITY INVOKER VIEW v AS SELECT 1", "CREATE OR REPLACE SQL SECURITY INVOKER VIEW v AS SELECT 1"},
		{"DROP FUNCTION IF EXISTS f", nothing},
		{"DROP SEQUENCE IF EXISTS s", nothing},
		{"DROP PACKAGE BODY IF EXISTS p", nothing},
		{"DROP TABLES a, b", "DROP TABLE a, b"},
		{"RENAME TABLES a TO b", "RENAME TABLE a TO b"},
	} {
		sameAs(t, c.src, c.want)
	}
	for _, r := range []struct{ src, in string }{
		{"SHOW OPEN TABLES FROM `a'b` WHERE In_use > 0", "`Database` = 'a''b'"},
		{"CHECK TABLE `t``x` FAST", "hearth_check_table(DATABASE(), 't`x')"},
		{"REPAIR LOCAL TABLE d.t", "'d.t'"},
		{"CHECKSUM TABLE d.t", "hearth_checksum_table('d', 't')"},
		{"SHOW CREATE USER 'u'@'h'", "`User` = 'u'"},
	} {
		if got := ast.String(mustParse(t, r.src)); !strings.Contains(got, strings.ToLower(r.in)) && !strings.Contains(got, r.in) &&
			!strings.Contains(got, strings.ReplaceAll(r.in, "''", `\'`)) {
			t.Errorf("%s: no %s in %s", r.src, r.in, got)
		}
	}
}

// TestEveryRuleIsTested: a rule without a statement in this file is one nobody has tried.
func TestEveryRuleIsTested(t *testing.T) {
	// Statements that need a session: TestClient has them.
	elsewhere := map[string]bool{"ALTER USER CURRENT_USER": true, "ALTER USER USER": true}
	used := map[*rule]bool{}
	for _, file := range []string{"testdata/clients.sql", "testdata/ddl.sql"} {
		for _, s := range statements(t, file) {
			c := newCursor(s, false)
			for i := range rules {
				if c.i = 0; c.accept(strings.Fields(rules[i].words)...) {
					used[&rules[i]] = true
				}
			}
		}
	}
	for i, r := range rules {
		switch r.words {
		case "SHOW ALL REPLICAS STATUS", "SHOW REPLICA HOSTS", "SHOW FULL COLUMNS IN", "SHOW FULL FIELDS IN", "SHOW FIELDS IN", "DELETE QUICK",
			"DELETE IGNORE", "ALTER DEFINER", "ALTER SQL SECURITY", "DROP SEQUENCE IF EXISTS", "DROP PACKAGE", "EXPLAIN":
			continue // in TestRules
		}
		if !used[&rules[i]] && !elsewhere[r.words] {
			t.Errorf("nobody sends %s", r.words)
		}
		if r.reason == "" {
			t.Errorf("%s has no reason", r.words)
		}
	}
}

// TestClauses: parts of statements.
func TestClauses(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"SELECT 1 FROM t WHERE a = SOME (SELECT 2) AND b <> ALL (SELECT 3)", "SELECT 1 FROM t WHERE a IN (SELECT 2) AND b NOT IN (SELECT 3)"},
		{"SELECT {d '2020-01-01'}, {t '1:2:3'}, {ts '2020-01-01 1:2:3'}, {fn NOW()}",
			"SELECT DATE '2020-01-01', TIME '1:2:3', TIMESTAMP '2020-01-01 1:2:3', NOW()"},
		{"SELECT 1 FROM t WHERE ROW(a, b) = ROW(1, 2)", "SELECT 1 FROM t WHERE (a, b) = (1, 2)"},
		{"SELECT 1 FROM t WHERE a IS UNKNOWN OR b IS NOT UNKNOWN", "SELECT 1 FROM t WHERE a IS NULL OR b IS NOT NULL"},
		{"SELECT INTERVAL(1, 2, 3), NOW() + INTERVAL (1) DAY", "SELECT `interval`(1, 2, 3), NOW() + INTERVAL (1) DAY"},
		{"SELECT 1 FROM t FORCE INDEX (PRIMARY)", "SELECT 1 FROM t FORCE INDEX (`PRIMARY`)"},
		{"SELECT 1 FROM t IGNORE KEY FOR GROUP BY (a)", "SELECT 1 FROM t IGNORE INDEX (a)"},
		{"SELECT 1 FROM t USE INDEX ()", "SELECT 1 FROM t"},
		{"SELECT HIGH_PRIORITY SQL_BIG_RESULT DISTINCT a FROM t", "SELECT DISTINCT a FROM t"},
		{"INSERT DELAYED IGNORE INTO t VALUES (1)", "INSERT IGNORE INTO t VALUES (1)"},
		{"REPLACE LOW_PRIORITY INTO t VALUES (1)", "REPLACE INTO t VALUES (1)"},
		{"UPDATE LOW_PRIORITY t SET a = 1", "UPDATE t SET a = 1"},
		{"DELETE FROM t AS x WHERE x.a = 1", "DELETE x FROM t AS x WHERE x.a = 1"},
		{"CREATE TABLE t (a TEXT(10), b TEXT(63), c TEXT(64), d TEXT(20000), e BLOB(65536), f TEXT(4000000000))",
			"CREATE TABLE t (a TINYTEXT, b TINYTEXT, c TEXT, d MEDIUMTEXT, e MEDIUMBLOB, f LONGTEXT)"},
		{"CREATE TABLE t (a UUID, b INET6, c INET4, e LONG VARCHAR, f CHAR BYTE)",
			"CREATE TABLE t (a CHAR(36), b VARCHAR(39), c VARCHAR(15), e MEDIUMTEXT, f BINARY)"},
		{"CREATE TABLE t (`uuid` INT, text INT, a INT INVISIBLE DEFAULT 3, b INT STORAGE DISK COLUMN_FORMAT FIXED)",
			"CREATE TABLE t (`uuid` INT, text INT, a INT DEFAULT 3, b INT)"},
		{"CREATE TABLE t (a INT AS (1) PERSISTENT)", "CREATE TABLE t (a INT AS (1) STORED)"},
		{"CREATE TABLE t (a VARCHAR(36) DEFAULT uuid() COMMENT 'x', b DATETIME DEFAULT now())",
			"CREATE TABLE t (a VARCHAR(36) DEFAULT (uuid()) COMMENT 'x', b DATETIME DEFAULT now())"},
		{"CREATE TABLE t (a INT, INDEX x (a) KEY_BLOCK_SIZE=4 IGNORED)", "CREATE TABLE t (a INT, INDEX x (a))"},
		{"CREATE TABLE t (a INT) ENGINE=InnoDB `PAGE_COMPRESSED`=1 COMMENT='x' PARTITION BY KEY () PARTITIONS 4",
			"CREATE TABLE t (a INT) ENGINE=InnoDB COMMENT='x'"},
		{"CREATE TABLE t (a INT REFERENCES u (b) ON DELETE CASCADE NOT NULL)", "CREATE TABLE t (a INT NOT NULL)"},
		{"CREATE TABLE t (LIKE u)", "CREATE TABLE t LIKE u"},
		{"ALTER TABLE t ADD (a INT, b UUID), DROP c", "ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b CHAR(36), DROP c"},
		{"ALTER ONLINE TABLE t WAIT 5 ADD x TEXT(300), ORDER BY a, b", "ALTER TABLE t ADD x TEXT"},
		{"CREATE INDEX i ON t (a) ALGORITHM=INPLACE LOCK NONE", "CREATE INDEX i ON t (a)"},
		{"DROP INDEX i ON t LOCK=NONE", "DROP INDEX i ON t"},
		{"CREATE DEFINER = CURRENT_USER() VIEW v AS SELECT 1", "CREATE VIEW v AS SELECT 1"},
		{"CREATE DATABASE d COMMENT 'x'", "CREATE DATABASE d"},
		{"CREATE USER u IDENTIFIED VIA mysql_native_password USING '*A'", "CREATE USER u IDENTIFIED WITH mysql_native_password AS '*A'"},
		{"CREATE USER u IDENTIFIED BY PASSWORD '*A'", "CREATE USER u IDENTIFIED WITH mysql_native_password AS '*A'"},
		{"UPDATE t SET a = 1 WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.a) AND NOT EXISTS (SELECT DISTINCT c FROM v)",
			"UPDATE t SET a = 1 WHERE ((SELECT count(*) FROM u WHERE u.b = t.a) > 0) AND NOT ((SELECT count(*) FROM v) > 0)"},
		{"UPDATE t SET a = 1 WHERE NOT (a IN (SELECT c FROM u))", "UPDATE t SET a = 1 WHERE (NOT (a IN (SELECT c FROM u))) IS TRUE"},
		{"UPDATE t SET a = 1 WHERE b = 2 AND a NOT IN (SELECT c FROM u)", "UPDATE t SET a = 1 WHERE b = 2 AND (a NOT IN (SELECT c FROM u)) IS TRUE"},
	} {
		sameAs(t, c.src, c.want)
	}
}

// TestExistsStays: where it is not the rows of FROM and WHERE that are asked for, and outside of UPDATE and DELETE.
func TestExistsStays(t *testing.T) {
	for _, src := range []string{
		"DELETE FROM t WHERE EXISTS (SELECT a FROM u GROUP BY a HAVING COUNT(*) > 1)",
		"DELETE FROM t WHERE EXISTS (SELECT a FROM u LIMIT 0)",
		"DELETE FROM t WHERE EXISTS (SELECT MAX(a) FROM u)",
		"DELETE FROM t WHERE EXISTS (SELECT 1 UNION SELECT 2)",
		"DELETE FROM t WHERE EXISTS (SELECT 1)",
		"SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u)",
		"DELETE FROM t WHERE a = (SELECT EXISTS (SELECT 1 FROM u))",
	} {
		if got := ast.String(mustParse(t, src)); !strings.Contains(got, "exists (") {
			t.Errorf("%s: got %s", src, got)
		}
	}
}

// TestTimes: TIME(n) loses its length, in CREATE and in ALTER.
func TestTimes(t *testing.T) {
	for _, src := range []string{"CREATE TABLE t (a TIME(3), b DATETIME(3))", "ALTER TABLE t ADD a TIME(3), MODIFY b TIME(6)"} {
		if got := ast.String(mustParse(t, src)); strings.Contains(got, "time(") && !strings.Contains(got, "datetime(3)") {
			t.Errorf("%s: got %s", src, got)
		}
	}
	ddl := mustParse(t, "CREATE TABLE t (a TIME(3), b DATETIME(3))").(*ast.DDL)
	if a, b := ddl.TableSpec.Columns[0].Type.Length, ddl.TableSpec.Columns[1].Type.Length; a != nil || b == nil {
		t.Errorf("got lengths %v and %v", a, b)
	}
}

// TestCounts: variables that are none.
func TestCounts(t *testing.T) {
	got := ast.String(mustParse(t, "SELECT @@warning_count, @@session.error_count AS e, @@row_count"))
	if want := "select hearth_warning_count() as @@warning_count, 0 as e, @@row_count"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStoredFunctions: they are refused by name, not as a mistake in the syntax.
func TestStoredFunctions(t *testing.T) {
	for _, text := range []string{
		"CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a + 1",
		"CREATE DEFINER=`root`@`localhost` FUNCTION f() RETURNS INT BEGIN RETURN 1; END",
		"CREATE FUNCTION IF NOT EXISTS f() RETURNS INT NO SQL RETURN 1", "CREATE AGGREGATE FUNCTION f RETURNS STRING SONAME 'x.so'",
	} {
		_, err := New().ParseSimple(text)
		var e *mysql.SQLError
		if !errors.As(err, &e) || e.Num != errNotSupported {
			t.Errorf("%s: error %v, want number %d", text, err, errNotSupported)
		}
	}
	if _, err := New().ParseSimple("CREATE TRIGGER function_ BEFORE INSERT ON t FOR EACH ROW SET NEW.a ="); err == nil || strings.Contains(err.Error(), "functions") {
		t.Errorf("error %v, want one of the syntax", err)
	}
}
