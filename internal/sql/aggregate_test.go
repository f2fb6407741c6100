package sql_test

import "testing"

// TestExtremes: MIN and MAX read one row where an index gives the order, and are NULL where there is none.
func TestExtremes(t *testing.T) {
	c := newClient(openBackend(t), 1)
	defer c.close()
	c.query("CREATE DATABASE d")
	c.session.SetCurrentDatabase("d")
	c.query("CREATE TABLE e (a INT PRIMARY KEY)")
	c.query("CREATE TABLE t (a INT, b INT, c INT, PRIMARY KEY (a, b))")
	c.query("INSERT INTO t VALUES (1, 5, 9), (1, 6, 8), (3, 2, NULL), (7, 1, 4)")
	for query, want := range map[string]string{
		"SELECT MAX(a) FROM e":                                      "NULL",
		"SELECT MIN(a) FROM e":                                      "NULL",
		"SELECT COALESCE(MAX(a), 0) + 1 FROM e":                     "1",
		"SELECT MAX(a) FROM t":                                      "7",
		"SELECT MIN(a) FROM t":                                      "1",
		"SELECT MAX(a) + 1 AS next FROM t":                          "8",
		"SELECT MAX(a) FROM t WHERE a < 7":                          "3",
		"SELECT MIN(a) FROM t WHERE a > 1":                          "3",
		"SELECT MAX(a) FROM t WHERE a > 7":                          "NULL",
		"SELECT IFNULL(MIN(a), -1) FROM t WHERE a > 7":              "-1",
		"SELECT MAX(b) FROM t WHERE a = 1":                          "6",
		"SELECT MAX(b) FROM t WHERE a = 2":                          "NULL",
		"SELECT MAX(c) FROM t":                                      "9",
		"SELECT MIN(a) FROM t WHERE a IN (3, 7)":                    "3",
		"SELECT (SELECT MAX(a) FROM e) IS NULL":                     "1",
		"SELECT COUNT(*) FROM t WHERE a = (SELECT MAX(a) FROM t)":   "1",
		"SELECT MAX(a) FROM t HAVING MAX(a) > 100":                  "none",
		"SELECT MAX(a) FROM (SELECT a FROM t WHERE a > 100) AS sub": "NULL",
	} {
		if got := c.query(query); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}
