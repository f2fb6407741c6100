package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestReadOnly: while the server is read_only, what is refused an account that does not administer leaves everything as it was,
// whatever way the statement takes; temporary tables and reads go on, and so does who administers.
func TestReadOnly(t *testing.T) {
	s := start(t)
	root := conn(t, open(t, s))
	for _, text := range []string{
		"CREATE TABLE t (a INT PRIMARY KEY, b INT)", "CREATE TABLE child (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES t (a) ON DELETE CASCADE)",
		"CREATE TABLE plain (a INT PRIMARY KEY, b INT)", "CREATE TABLE checked (a INT PRIMARY KEY, b INT, CHECK (b < 100))",
		"INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO child VALUES (3)", "INSERT INTO plain VALUES (1, 1), (2, 2)",
		"CREATE PROCEDURE p() UPDATE t SET b = b + 1", "CREATE VIEW v AS SELECT * FROM t",
		"CREATE USER app@'%' IDENTIFIED WITH mysql_native_password BY 'x'",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, EXECUTE, CREATE TEMPORARY TABLES, CREATE VIEW, CREATE USER, FILE, " +
			"TRIGGER, CREATE ROUTINE, ALTER ROUTINE, REFERENCES, LOCK TABLES, EVENT ON *.* TO app@'%'",
	} {
		exec(t, root, text)
	}
	if err := os.MkdirAll(filepath.Join(s.cfg.Data, filesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.cfg.Data, filesDir, "rows.txt"), []byte("7\t7\n8\t8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mysql.RegisterLocalFile(filepath.Join(s.cfg.Data, filesDir, "rows.txt"))
	apps := openAs(t, s, "app", "x")
	app := conn(t, apps)
	open := conn(t, apps) // has a change that is not committed
	exec(t, open, "BEGIN")
	exec(t, open, "INSERT INTO t VALUES (9, 9)")
	prepared, err := app.PrepareContext(t.Context(), "UPDATE plain SET b = b + ? WHERE a = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.Close()

	state := func() (list []string) {
		for _, q := range []string{"SELECT * FROM t", "SELECT * FROM child", "SELECT * FROM plain", "SELECT * FROM checked",
			"SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'test' ORDER BY 1, 2",
			"SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'test' ORDER BY 1",
			"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY 1", "SELECT user FROM mysql.user ORDER BY 1"} {
			list = append(list, rows(t, root, q)...)
		}
		return list
	}
	before := state()
	exec(t, root, "SET GLOBAL read_only = ON")
	if got := rows(t, app, "SELECT @@read_only, @@GLOBAL.read_only"); got[0] != "1 1" {
		t.Errorf("read_only is %q", got)
	}
	refused := []string{
		"INSERT INTO t VALUES (4, 4)", "INSERT INTO plain VALUES (4, 4), (5, 5), (6, 6)", "INSERT INTO checked VALUES (4, 4)",
		"INSERT INTO plain SELECT a + 10, b FROM t", "REPLACE INTO plain VALUES (1, 9)", "INSERT INTO plain VALUES (1, 1) ON DUPLICATE KEY UPDATE b = 9",
		"UPDATE plain SET b = 9 WHERE a = 1", "UPDATE plain SET b = 9 WHERE a = 77", "UPDATE t SET b = 9",
		"UPDATE t JOIN plain USING (a) SET t.b = 9", "DELETE FROM plain WHERE a = 1", "DELETE FROM plain WHERE a = 77", "DELETE FROM t", "DELETE FROM t WHERE a = 3",
		"LOAD DATA INFILE 'rows.txt' INTO TABLE plain", "CALL p()", "TRUNCATE TABLE plain",
		"LOAD DATA LOCAL INFILE '" + filepath.Join(s.cfg.Data, filesDir, "rows.txt") + "' INTO TABLE plain",
		"CREATE TABLE made (a INT PRIMARY KEY)", "CREATE TABLE made AS SELECT * FROM t", "DROP TABLE child", "ALTER TABLE t ADD COLUMN c INT", "CREATE INDEX ib ON t (b)",
		"ALTER TABLE t RENAME TO renamed", "RENAME TABLE t TO renamed", "CREATE DATABASE other", "DROP DATABASE test", "CREATE VIEW w AS SELECT 1", "DROP VIEW v",
		"CREATE PROCEDURE q() SELECT 1", "DROP PROCEDURE p", "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.b = 1",
		"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
		"CREATE USER other@'%'", "DROP USER app@'%'", "GRANT SELECT ON *.* TO app@'%'",
	}
	if _, err := open.ExecContext(t.Context(), "COMMIT"); number(err) != 1290 {
		t.Errorf("COMMIT of a change that came before: %v, want error 1290", err)
	}
	for _, text := range refused {
		_, err := app.ExecContext(t.Context(), text)
		if number(err) != 1290 {
			t.Errorf("%s: %v, want error 1290", text, err)
		}
	}
	if _, err := prepared.ExecContext(t.Context(), 1, 1); number(err) != 1290 {
		t.Errorf("prepared: %v, want error 1290", err)
	}
	if after := state(); !slices.Equal(before, after) {
		t.Errorf("what was refused has changed something:\n%q\nwas\n%q", after, before)
	}
	for _, text := range []string{
		"CREATE TEMPORARY TABLE mine (a INT PRIMARY KEY, b INT)", "INSERT INTO mine VALUES (1, 1), (2, 2)", "UPDATE mine SET b = 5 WHERE a = 1", "UPDATE mine SET b = b + 1",
		"DELETE FROM mine WHERE a = 2", "ALTER TABLE mine ADD COLUMN c INT", "TRUNCATE TABLE mine", "DROP TEMPORARY TABLE mine",
		"BEGIN", "COMMIT", "SET SESSION innodb_fake_changes = 1", "UPDATE t SET b = 9", "DELETE FROM plain WHERE a = 1", "SET SESSION innodb_fake_changes = 0",
	} {
		exec(t, app, text)
	}
	if after := state(); !slices.Equal(before, after) {
		t.Errorf("what was allowed has changed something:\n%q\nwas\n%q", after, before)
	}
	if _, err := app.ExecContext(t.Context(), "SET GLOBAL read_only = 0"); number(err) != 1227 {
		t.Errorf("SET GLOBAL read_only by an account that does not administer: %v, want error 1227", err)
	}
	for _, text := range []string{"INSERT INTO plain VALUES (4, 4)", "UPDATE plain SET b = 5 WHERE a = 4", "CREATE TABLE made (a INT)", "DROP TABLE made"} {
		exec(t, root, text)
	}
	exec(t, root, "SET GLOBAL read_only = OFF")
	exec(t, app, "UPDATE t SET b = 9")
}

// number of the error that the server told, 0: none.
func number(err error) uint16 {
	if e, ok := err.(*mysql.MySQLError); ok {
		return e.Number
	}
	return 0
}

// TestReadOnlyCommits: when SET GLOBAL read_only = ON has returned, nothing of others commits any more.
func TestReadOnlyCommits(t *testing.T) {
	s := start(t)
	root := conn(t, open(t, s))
	exec(t, root, "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY)")
	exec(t, root, "CREATE USER app@'%' IDENTIFIED WITH mysql_native_password BY 'x'")
	exec(t, root, "GRANT SELECT, INSERT, CREATE ON *.* TO app@'%'")
	apps := openAs(t, s, "app", "x")
	for round := range 20 {
		var writers sync.WaitGroup
		begun := make(chan struct{}, 4)
		for range 4 {
			c := conn(t, apps)
			writers.Go(func() {
				defer c.Close()
				for n := 0; ; n++ {
					if _, err := c.ExecContext(t.Context(), "INSERT INTO t VALUES ()"); err != nil {
						if number(err) != 1290 {
							t.Errorf("insert: %v", err)
						}
						return
					}
					if n == 2 {
						begun <- struct{}{}
					}
				}
			})
		}
		<-begun
		exec(t, root, "SET GLOBAL read_only = ON")
		at := rows(t, root, "SELECT COUNT(*) FROM t")[0]
		writers.Wait()
		if now := rows(t, root, "SELECT COUNT(*) FROM t")[0]; now != at {
			t.Fatalf("round %d: %s rows when read_only was on, %s later", round, at, now)
		}
		exec(t, root, "SET GLOBAL read_only = OFF")
	}
}

// TestReadOnlyAtStart: the configuration's.
func TestReadOnlyAtStart(t *testing.T) {
	s := start(t, func(c *Config) { c.ReadOnly = true })
	root := conn(t, open(t, s))
	exec(t, root, "CREATE TABLE t (a INT PRIMARY KEY)")
	for _, privileges := range []string{"SELECT, INSERT, CREATE", "SELECT, INSERT, CREATE, SUPER"} {
		exec(t, root, "DROP USER IF EXISTS app@'%'")
		exec(t, root, "CREATE USER app@'%' IDENTIFIED WITH mysql_native_password BY 'x'")
		exec(t, root, fmt.Sprintf("GRANT %s ON *.* TO app@'%%'", privileges))
		app := openAs(t, s, "app", "x")
		_, err := app.ExecContext(t.Context(), "INSERT INTO test.t VALUES (1)")
		if super := number(err) == 0; super != (privileges == "SELECT, INSERT, CREATE, SUPER") {
			t.Errorf("with %s: %v", privileges, err)
		}
	}
}
