package server

import (
	"bytes"
	"context"
	"database/sql"
	"testing"
	"time"
)

// TestAdminStatements: statements that the parser makes out of others answer as MySQL's do.
func TestAdminStatements(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), KEY (b))")
	exec(t, c, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)")
	expect(t, rows(t, c, "CHECK TABLE t, test.nope EXTENDED"), "test.t check status OK", "test.nope check Error Table 'test.nope' doesn't exist")
	expect(t, rows(t, c, "REPAIR TABLE t"), "test.t repair note The storage engine for the table doesn't support repair")
	expect(t, rows(t, c, "OPTIMIZE TABLE t"), rows(t, c, "ANALYZE TABLE t")...)
	sum := rows(t, c, "CHECKSUM TABLE t")
	exec(t, c, "CREATE TABLE u LIKE t")
	exec(t, c, "INSERT INTO u VALUES (3, NULL), (1, 'x'), (2, 'y')")
	if got := rows(t, c, "CHECKSUM TABLE u EXTENDED"); "test.t"+got[0][len("test.u"):] != sum[0] {
		t.Errorf("%q for the same rows as %q", got, sum)
	}
	exec(t, c, "UPDATE u SET b = 'z' WHERE a = 3")
	if got := rows(t, c, "CHECKSUM TABLE u"); "test.t"+got[0][len("test.u"):] == sum[0] {
		t.Errorf("%q for other rows than %q", got, sum)
	}
	expect(t, rows(t, c, "CHECKSUM TABLE nope"), "test.nope NULL")
	expect(t, rows(t, c, "SHOW OPEN TABLES FROM test LIKE 't'"), "test t 0 0")
	expect(t, rows(t, c, "DESCRIBE t a"), "a int NO PRI NULL ")
	expect(t, rows(t, c, "SELECT a FROM t WHERE a = ANY (SELECT a FROM u WHERE a > 1) ORDER BY a"), "2", "3")
	expect(t, rows(t, c, "SHOW COUNT(*) WARNINGS"), "0")
	for _, text := range []string{"SHOW COUNT(*) WARNINGS", "SELECT @@warning_count", "SELECT @@SESSION.warning_count"} {
		exec(t, c, "INSERT IGNORE INTO t VALUES (1, 'again'), (2, 'again')")
		expect(t, rows(t, c, text), "2")
	}
	expect(t, rows(t, c, "SELECT @@error_count"), "0")
	for _, text := range []string{"DO SLEEP(0), 1 + 1", "FLUSH LOGS", "FLUSH TABLES", "FLUSH PRIVILEGES", "LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE",
		"INSERT DELAYED INTO t VALUES (4, 'w')", "DELETE QUICK FROM t WHERE a = 4", "ALTER TABLE t ORDER BY b", "DROP FUNCTION IF EXISTS f",
		"UPDATE t SET b = 'n' WHERE a NOT IN (SELECT a FROM u WHERE a < 3)", "DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b = 'z')"} {
		exec(t, c, text)
	}
	expect(t, rows(t, c, "SELECT a, b FROM t ORDER BY a"), "1 x", "2 y")
	_, err := c.ExecContext(t.Context(), "FLUSH TABLES WITH READ LOCK")
	failsWith(t, err, errNotSupportedYet)

	exec(t, c, "CREATE USER ada@'%' IDENTIFIED BY 'old'")
	exec(t, c, "SET PASSWORD FOR ada@'%' = 'new'")
	ada := openAs(t, s, "ada", "new")
	expect(t, rows(t, ada, "SELECT 1"), "1")
	exec(t, ada, "SET PASSWORD = 'newer'")
	expect(t, rows(t, openAs(t, s, "ada", "newer"), "SELECT 1"), "1")
}

// TestShutdownStatement: SHUTDOWN ends Run.
func TestShutdownStatement(t *testing.T) {
	cfg := testConfig(t)
	cfg.Socket = cfg.Data + ".sock"
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- Run(context.Background(), cfg, &out) }()
	db := openDSN(t, "root@unix("+cfg.Socket+")/")
	eventually(t, "it serves", func() bool { return db.PingContext(t.Context()) == nil })
	exec(t, db, "SHUTDOWN")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

func openDSN(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
