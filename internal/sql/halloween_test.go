package sql_test

import (
	"testing"
)

// TestHalloween: a statement does not meet what it has written itself, however often it opens a scan: lookup joins and correlated
// subqueries do for every row.
func TestHalloween(t *testing.T) {
	for _, c := range []struct{ statement, query, want string }{
		{"INSERT INTO t SELECT /*+ LOOKUP_JOIN(t1,t2) */ t1.id + t2.id * 10 + 100, t1.k, 1 FROM t t1 JOIN t t2 ON t2.k = t1.k",
			"SELECT COUNT(*) FROM t", "12"}, // 4 rows, and 2 × 2 for each k
		{"INSERT INTO t SELECT id + 100, k, (SELECT COUNT(*) FROM t x WHERE x.k = t.k) FROM t", "SELECT COUNT(*), MAX(n) FROM t", "8,2"},
		{"INSERT INTO t VALUES (11, 1, (SELECT COUNT(*) FROM t x)), (12, 1, (SELECT COUNT(*) FROM t x))", "SELECT MIN(n), MAX(n) FROM t WHERE id > 10", "4,4"},
		{"INSERT INTO t SELECT id + 100, k, n FROM t WHERE k > 0", "SELECT COUNT(*) FROM t", "8"},
		{"UPDATE t SET k = k + 1 WHERE k > 0", "SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY k", "2,2 | 3,2"},
		{"UPDATE t SET id = id + 100 WHERE id > 0 ORDER BY id", "SELECT id FROM t ORDER BY id", "101 | 102 | 103 | 104"},
		{"UPDATE t JOIN t t2 ON t2.k = t.k SET t.n = t.n + 1", "SELECT id, n FROM t ORDER BY id", "1,2 | 2,2 | 3,2 | 4,2"},
		{"REPLACE INTO t SELECT id + 1, k, n FROM t WHERE id < 4", "SELECT id, k FROM t ORDER BY id", "1,1 | 2,1 | 3,1 | 4,2"},
		{"INSERT INTO t (id, k, n) SELECT x.a, x.b, x.c FROM (SELECT id + 1 AS a, k AS b, n AS c FROM t WHERE id < 4) x ON DUPLICATE KEY UPDATE n = t.n + 10", "SELECT id, n FROM t ORDER BY id", "1,1 | 2,11 | 3,11 | 4,11"},
	} {
		t.Run(c.statement, func(t *testing.T) {
			s := newClient(openBackend(t), 1)
			defer s.close()
			s.query("CREATE DATABASE d")
			s.session.SetCurrentDatabase("d")
			s.query("CREATE TABLE t (id INT PRIMARY KEY, k INT, n INT, KEY (k))")
			s.query("INSERT INTO t VALUES (1,1,1), (2,1,1), (3,2,1), (4,2,1)")
			for _, begin := range []string{"", "BEGIN"} {
				if begin != "" {
					s.query("DELETE FROM t")
					s.query("BEGIN")
					s.query("INSERT INTO t VALUES (1,1,1), (2,1,1), (3,2,1), (4,2,1)") // own rows from before are seen
				}
				if got := s.run(t.Context(), c.statement); len(got) > 5 && got[:5] == "error" {
					t.Fatal(got)
				}
				if got := s.query(c.query); got != c.want {
					t.Errorf("%s: got %s, want %s", begin, got, c.want)
				}
			}
		})
	}
}
