package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth"
)

// outcome of a statement: its counts, or its error.
func outcome(c execer, text string) string {
	r, err := c.ExecContext(context.Background(), text)
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		return fmt.Sprintf("error %d %s", e.Number, e.Message)
	}
	if err != nil {
		return err.Error()
	}
	affected, _ := r.RowsAffected()
	id, _ := r.LastInsertId()
	return fmt.Sprintf("%d rows, id %d", affected, id)
}

// TestFakeChanges: what is faked has the outcome that the real thing has, and changes nothing: no row, no counter, no byte of log.
func TestFakeChanges(t *testing.T) {
	s := start(t)
	db := open(t, s, "clientFoundRows=true")
	c := conn(t, db)
	for _, text := range []string{
		"CREATE TABLE p (a INT PRIMARY KEY, b INT)",
		"CREATE TABLE k (a INT PRIMARY KEY AUTO_INCREMENT, b INT, u INT, v VARCHAR(20), UNIQUE (u), INDEX (b), INDEX (v), FOREIGN KEY (b) REFERENCES p (a) ON DELETE CASCADE)",
		"CREATE TABLE n (a INT, b VARCHAR(20), INDEX (a))",
		"CREATE TABLE g (a INT PRIMARY KEY, b INT, c INT GENERATED ALWAYS AS (b * 2) VIRTUAL, INDEX (c), CHECK (b < 1000))",
		"CREATE TABLE log (a INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(30))",
		"CREATE TRIGGER tr AFTER INSERT ON k FOR EACH ROW INSERT INTO log (what) VALUES (NEW.v)",
		"CREATE TABLE quiet (a INT PRIMARY KEY)",
		"CREATE PROCEDURE twice() BEGIN UPDATE p SET b = b + 1; UPDATE p SET b = b + 1 WHERE a < 3; END",
		"CREATE PROCEDURE makes() CREATE TABLE made (a INT)",
		"CREATE TEMPORARY TABLE mine (a INT PRIMARY KEY)",
		"INSERT INTO p VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
		"INSERT INTO k (b, u, v) VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 3, 'z'), (NULL, NULL, 'w')",
		"INSERT INTO n VALUES (1, 'x'), (1, 'x'), (1, 'y'), (2, 'x')",
		"INSERT INTO g (a, b) VALUES (1, 1), (2, 2)",
		"INSERT INTO mine VALUES (1)",
	} {
		exec(t, c, text)
	}
	tables := []string{"p", "k", "n", "g", "log", "quiet", "mine"}
	state := func() (list []string) {
		for _, name := range tables {
			list = append(list, rows(t, c, "SELECT '"+name+"', COUNT(*) FROM "+name)...)
			list = append(list, rows(t, c, "SELECT * FROM "+name)...)
		}
		for _, name := range []string{"k", "log"} {
			list = append(list, rows(t, c, "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = '"+name+"'")...)
		}
		return list
	}
	lsn := func() string { return statusOf(t, c, "Innodb_lsn_current") }
	for _, text := range []string{
		"INSERT INTO k (b, u, v) VALUES (1, 10, 'a'), (2, 11, 'b')",
		"INSERT INTO k (a, b, u, v) VALUES (100, 1, 12, 'a'), (NULL, 2, 13, 'b')",
		"INSERT INTO k (b, u, v) VALUES (1, 2, 'dup')",
		"INSERT INTO k (b, u, v) VALUES (1, 20, 'dup'), (1, 20, 'dup')",
		"INSERT IGNORE INTO k (b, u, v) VALUES (1, 21, 'dup'), (1, 21, 'dup'), (1, 1, 'dup')",
		"INSERT INTO k (b, u, v) VALUES (99, 22, 'no parent')",
		"INSERT INTO k (b, u, v) VALUES (1, 2, 'q'), (2, 30, 'r'), (2, 30, 's') ON DUPLICATE KEY UPDATE v = CONCAT(v, '!')",
		"REPLACE INTO k (a, b, u, v) VALUES (1, 1, 2, 'both'), (2, 1, 40, 'gone before')",
		"REPLACE INTO p VALUES (4, 5)",
		"INSERT INTO p SELECT a + 10, b FROM p",
		"UPDATE k SET u = u + 1 ORDER BY u DESC",
		"UPDATE k SET v = 'x'",
		"UPDATE k SET a = a + 1000, u = 3 WHERE a = 3",
		"UPDATE k SET u = 1 WHERE a = 2",
		"UPDATE k SET b = 77 WHERE a = 1",
		"UPDATE k JOIN p ON k.b = p.a SET k.v = 'joined', p.b = 0",
		"UPDATE p SET a = 9 WHERE a = 1",
		"DELETE FROM k WHERE v > 'x'",
		"DELETE FROM p WHERE a = 1",
		"DELETE FROM k",
		"UPDATE n SET b = 'z' WHERE a = 1",
		"DELETE FROM n WHERE b = 'x' LIMIT 2",
		"INSERT INTO n VALUES (7, 'new'), (7, 'new')",
		"UPDATE g SET b = b + 5 WHERE c = 2",
		"UPDATE g SET b = 5000",
		"INSERT INTO g (a, b) VALUES (3, 3), (4, 4)",
		"DELETE FROM g WHERE c = 4",
		"INSERT INTO quiet VALUES (1), (2), (3)",
		"INSERT INTO mine VALUES (2), (1)",
		"CALL twice()",
		"TRUNCATE TABLE nowhere",
	} {
		before, at := state(), lsn()
		exec(t, c, "SET SESSION innodb_fake_changes = 1")
		faked := outcome(c, text)
		again := outcome(c, text)
		exec(t, c, "COMMIT")
		if now := lsn(); now != at {
			t.Errorf("%s: faked, and the log went from %s to %s", text, at, now)
		}
		exec(t, c, "SET SESSION innodb_fake_changes = 0")
		expect(t, state(), before...)
		if faked != again {
			t.Errorf("%s: %s, and the second time %s", text, faked, again)
		}
		exec(t, c, "BEGIN")
		if real := outcome(c, text); text[:8] != "TRUNCATE" && real != faked {
			t.Errorf("%s: faked %s, in truth %s", text, faked, real)
		}
		exec(t, c, "ROLLBACK")
		expect(t, state()[:len(before)-2], before[:len(before)-2]...) // counters are not rolled back
	}
}

// TestFakeRefuses: what cannot be faked is refused before it does anything, and the mode is of whole transactions.
func TestFakeRefuses(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY)")
	exec(t, c, "CREATE PROCEDURE makes() CREATE TABLE made (a INT)")
	exec(t, c, "CREATE PROCEDURE grants() CREATE USER x@localhost")
	exec(t, c, "SET SESSION innodb_fake_changes = ON")
	expect(t, rows(t, c, "SHOW VARIABLES LIKE 'innodb_fake_changes'"), "innodb_fake_changes ON")
	exec(t, c, "BEGIN")
	for _, text := range []string{
		"CREATE TABLE x (a INT)", "CREATE TEMPORARY TABLE x (a INT)", "ALTER TABLE t ADD COLUMN b INT", "TRUNCATE TABLE t", "DROP TABLE t", "CREATE DATABASE x",
		"CREATE USER x@localhost", "GRANT SELECT ON *.* TO root@localhost", "SET PASSWORD = 'x'", "ANALYZE TABLE t", "LOCK TABLES t WRITE",
		"CREATE VIEW v AS SELECT 1", "CREATE INDEX x ON t (a)", "RENAME TABLE t TO u", "SET PERSIST max_connections = 10",
		"SELECT 1 INTO OUTFILE 'x'", "PREPARE p FROM 'CREATE TABLE x (a INT)'", "CALL makes()", "CALL grants()", "CREATE TABLE x SELECT 1 AS a",
	} {
		if _, err := c.ExecContext(t.Context(), text); err == nil {
			t.Errorf("%s: no error", text)
		} else {
			failsWith(t, err, 1290)
		}
	}
	_, err := c.ExecContext(t.Context(), "SET SESSION innodb_fake_changes = 0")
	failsWith(t, err, 1568)
	expect(t, rows(t, c, "SELECT @@innodb_fake_changes"), "1")
	exec(t, c, "COMMIT")
	exec(t, c, "SET autocommit = 0")
	rows(t, c, "SELECT * FROM t")
	_, err = c.ExecContext(t.Context(), "SET SESSION innodb_fake_changes = 0")
	failsWith(t, err, 1568)
	exec(t, c, "ROLLBACK")
	exec(t, c, "SET SESSION innodb_fake_changes = 0")
	exec(t, c, "SET autocommit = 1")
	_, err = c.ExecContext(t.Context(), "SET GLOBAL innodb_fake_changes = 1")
	failsWith(t, err, 1228)
	expect(t, rows(t, c, "SHOW TABLES"), "t")
	expect(t, rows(t, c, "SELECT COUNT(*) FROM mysql.user"), "1")
	exec(t, c, "START TRANSACTION READ ONLY")
	_, err = c.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
	failsWith(t, err, 1792)
	exec(t, c, "ROLLBACK")
	exec(t, c, "CREATE TABLE after (a INT)") // the mode leaves nothing behind
}

// TestFakeLocksNothing: a session that fakes neither waits for others nor makes them wait.
func TestFakeLocksNothing(t *testing.T) {
	s := start(t)
	db := open(t, s)
	c, other := conn(t, db), conn(t, db)
	exec(t, c, "CREATE TABLE p (a INT PRIMARY KEY)")
	exec(t, c, "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT, UNIQUE (b), FOREIGN KEY (b) REFERENCES p (a))")
	exec(t, c, "INSERT INTO p VALUES (1), (2), (3), (4)")
	exec(t, c, "INSERT INTO t (b) VALUES (1), (2)")
	for _, c := range []*sql.Conn{c, other} {
		exec(t, c, "SET innodb_lock_wait_timeout = 1")
	}
	change := func(c *sql.Conn) {
		t.Helper()
		exec(t, c, "UPDATE t SET b = 3 WHERE a = 1")
		exec(t, c, "DELETE FROM t WHERE b = 2")
		exec(t, c, "INSERT INTO t (b) VALUES (4)")
		rows(t, c, "SELECT * FROM p FOR UPDATE")
	}
	exec(t, c, "SET innodb_fake_changes = 1")
	exec(t, c, "BEGIN")
	change(c)
	exec(t, other, "BEGIN")
	change(other)
	change(c) // beside a real one
	if n := statusOf(t, other, "Innodb_row_lock_waits"); n != "0" {
		t.Errorf("%s waits for locks", n)
	}
	expect(t, rows(t, other, "SELECT b FROM t ORDER BY b"), "3", "4")
	exec(t, other, "COMMIT")
	exec(t, c, "COMMIT")
	expect(t, rows(t, c, "SELECT b FROM t ORDER BY b"), "3", "4")
}

// TestFakeWarms: after a faked statement the real one reads nothing from the disk.
func TestFakeWarms(t *testing.T) {
	cfg := testConfig(t)
	cfg.Engine.PoolSize, cfg.Engine.Prewarm, cfg.Engine.HeatDumpInterval = 8<<20, hearth.PrewarmOff, -1
	cfg.Flush = true
	t.Run("fill", func(t *testing.T) {
		c := conn(t, open(t, startAt(t, cfg)))
		exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, d VARCHAR(200), INDEX (b), UNIQUE (c))")
		for i := 0; i < 40_000; i += 1000 {
			text := "INSERT INTO t VALUES "
			for j := i; j < i+1000; j++ {
				text += fmt.Sprintf("(%d, %d, %d, '%0200d'),", 2*j, j*7919%40_000, j*104729%40_000, j)
			}
			exec(t, c, text[:len(text)-1])
		}
	})
	statements := []string{
		"UPDATE t SET b = 39000 - b, d = 'new' WHERE a IN (200, 20000, 40000, 60000, 70002)",
		"DELETE FROM t WHERE a IN (1000, 11000, 22000, 33000, 44000, 55000)",
		"INSERT INTO t VALUES (1001, 5, 50001, 'x'), (33333, 39999, 50002, 'y'), (77777, 20000, 50003, 'z')",
		"REPLACE INTO t VALUES (50000, 1, 100, 'r')",
		"UPDATE t SET c = c + 100000 WHERE b IN (100, 5000, 10000, 15000, 20001, 25000, 30000, 35000)",
	}
	reads := func(c *sql.Conn, text string) int64 {
		t.Helper()
		before := statusNumber(t, c, "Innodb_buffer_pool_reads")
		exec(t, c, text)
		n := statusNumber(t, c, "Innodb_buffer_pool_reads") - before
		t.Logf("%d pages: %s", n, text)
		return n
	}
	for _, faked := range []bool{false, true} {
		t.Run(fmt.Sprintf("faked %v", faked), func(t *testing.T) {
			s := startAt(t, cfg)
			c := conn(t, open(t, s))
			rows(t, c, "SELECT COUNT(*) FROM information_schema.TABLES")
			var first, second int64
			for _, text := range statements {
				if faked {
					exec(t, c, "SET innodb_fake_changes = 1")
					first += reads(c, text)
					exec(t, c, "SET innodb_fake_changes = 0")
				}
				exec(t, c, "BEGIN")
				second += reads(c, text)
				exec(t, c, "ROLLBACK")
			}
			if !faked && second < 40 {
				t.Errorf("the statements read %d pages, too few to show something", second)
			}
			if faked && (first < 40 || second > 0) {
				t.Errorf("faked they read %d pages, then in truth %d", first, second)
			}
			t.Logf("%d pages, then %d", first, second)
		})
	}
}
