package server

import (
	"fmt"
	"testing"
)

// TestLockThroughView: a locking read of a view locks the rows of its tables, in every way to ask for it.
func TestLockThroughView(t *testing.T) {
	s := start(t)
	db := open(t, s)
	a, b := conn(t, db), conn(t, db)
	exec(t, a, "CREATE TABLE t (id INT PRIMARY KEY, n INT)")
	exec(t, a, "CREATE TABLE u (id INT PRIMARY KEY, n INT)")
	exec(t, a, "INSERT INTO t VALUES (1, 1), (2, 2)")
	exec(t, a, "INSERT INTO u VALUES (1, 1), (2, 2)")
	exec(t, a, "CREATE VIEW v AS SELECT id, n FROM t WHERE n < 100")
	exec(t, a, "CREATE VIEW vv (k, m) AS SELECT id, n FROM v")
	exec(t, a, "CREATE VIEW sums AS SELECT n, COUNT(*) AS c FROM t GROUP BY n UNION SELECT n, 0 FROM u")
	exec(t, a, "CREATE PROCEDURE p() SELECT * FROM v WHERE id = 1 FOR UPDATE")
	exec(t, b, "SET innodb_lock_wait_timeout = 1")
	for _, c := range []struct {
		query       string
		tables      string // that are locked
		onlyWriters bool
	}{
		{"SELECT * FROM v WHERE id = 1 FOR UPDATE", "t", false},
		{"SELECT * FROM v x WHERE x.id = 1 FOR UPDATE", "t", false},
		{"SELECT * FROM vv WHERE k = 1 FOR UPDATE", "t", false},
		{"SELECT * FROM v WHERE id = 1 LOCK IN SHARE MODE", "t", true},
		{"SELECT * FROM v WHERE id = 1 FOR SHARE", "t", true},
		{"SELECT * FROM v JOIN u ON u.id = v.id WHERE v.id = 1 FOR UPDATE", "tu", false},
		{"SELECT * FROM u JOIN vv ON u.id = vv.k WHERE u.id = 1 FOR UPDATE", "tu", false},
		{"SELECT * FROM sums FOR UPDATE", "tu", false},
		{"SELECT * FROM v WHERE id = 1", "", false},
		{"SELECT * FROM u WHERE id IN (SELECT id FROM v) AND id = 1 FOR UPDATE", "u", false},
		{"WITH v AS (SELECT * FROM t) SELECT * FROM v WHERE id = 1 FOR UPDATE", "", false},
		{"CALL p()", "t", false},
		{"EXECUTE prepared", "t", false},
	} {
		exec(t, a, "PREPARE prepared FROM 'SELECT * FROM v WHERE id = 1 FOR UPDATE'")
		for _, table := range []string{"t", "u"} {
			for _, writer := range []bool{false, true} {
				exec(t, a, "BEGIN")
				rows(t, a, c.query)
				wait := "FOR SHARE NOWAIT"
				if writer {
					wait = "FOR UPDATE NOWAIT"
				}
				locked := false
				for _, l := range c.tables {
					locked = locked || string(l) == table && (writer || !c.onlyWriters)
				}
				_, err := tryRows(t.Context(), b, fmt.Sprintf("SELECT * FROM %s WHERE id = 1 %s", table, wait))
				if locked && err == nil || !locked && err != nil {
					t.Errorf("%s: %s of table %s: error %v, want one: %v", c.query, wait, table, err, locked)
				}
				exec(t, a, "ROLLBACK")
			}
		}
	}
	_, err := a.QueryContext(t.Context(), "SELECT * FROM v WHERE id = ? FOR UPDATE", 1)
	if err != nil {
		t.Fatal(err)
	}
}
