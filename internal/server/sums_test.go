package server

import (
	"database/sql"
	"testing"
)

// TestExactSums: SUM and AVG of exact numbers are exact, with the types of MySQL.
func TestExactSums(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (id INT PRIMARY KEY, g INT, d DECIMAL(20,2), i INT, b BIGINT, u BIGINT UNSIGNED, f DOUBLE, v VARCHAR(20), y YEAR)")
	exec(t, c, `INSERT INTO t VALUES (1, 1, 900719925474099300.01, 1, 9223372036854775807, 18446744073709551615, 0.5, '1.5', 2001),
		(2, 1, 0.02, 2, 9223372036854775807, 18446744073709551615, 0.25, '2', 2002), (3, 2, NULL, 4, 1, 1, 1, 'x', NULL), (4, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
	for _, q := range [][]string{
		{"SELECT SUM(d), AVG(d), SUM(i), AVG(i), SUM(b), SUM(u), SUM(f), AVG(f), SUM(y) FROM t",
			"900719925474099300.03 450359962737049650.015000 7 2.3333 18446744073709551615 36893488147419103231 1.75 0.5833333333333334 4003"},
		{"SELECT g, SUM(d), AVG(i), SUM(b) FROM t GROUP BY g ORDER BY g",
			"1 900719925474099300.03 1.5000 18446744073709551614", "2 NULL 4.0000 1", "3 NULL NULL NULL"},
		{"SELECT SUM(DISTINCT u), AVG(DISTINCT i) FROM t", "18446744073709551616 2.3333"},
		{"SELECT SUM(v), SUM(NULL), SUM(i) FROM t WHERE id < 3", "3.5 NULL 3"},
		{"SELECT SUM(i) FROM t WHERE id > 100", "NULL"},
		{"SELECT SUM(d) + 1, SUM(i) / 2, SUM(i) / COUNT(i), ROUND(AVG(d), 1), -SUM(d) FROM t",
			"900719925474099301.03 3.5000 2.3333 450359962737049650.0 -900719925474099300.03"},
		{"SELECT SUM(d * 2), SUM(d + i), SUM(CASE WHEN id = 1 THEN d ELSE 0 END), SUM(IF(id = 2, d, 0)), SUM(IFNULL(d, 0)), SUM(id = 1) FROM t",
			"1801439850948198600.06 900719925474099303.03 900719925474099300.01 0.02 900719925474099300.03 1"},
		{"SELECT g FROM t GROUP BY g HAVING SUM(d) > 1 ORDER BY SUM(i)", "1"},
		{"SELECT x.s FROM (SELECT SUM(d) AS s FROM t) x", "900719925474099300.03"},
		{"SELECT (SELECT SUM(d) FROM t)", "900719925474099300.03"},
		{"WITH x AS (SELECT AVG(i) AS a FROM t) SELECT a FROM x", "2.3333"},
		{"SELECT id, SUM(d) OVER (ORDER BY id), AVG(i) OVER (ORDER BY id), SUM(b) OVER (PARTITION BY g ORDER BY id) FROM t ORDER BY id",
			"1 900719925474099300.01 1.0000 9223372036854775807", "2 900719925474099300.03 1.5000 18446744073709551614",
			"3 900719925474099300.03 2.3333 1", "4 900719925474099300.03 2.3333 NULL"},
		{"SELECT SUM(i) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id", "1", "3", "6", "4"},
		{"SELECT STD(i), STDDEV(i), VARIANCE(i), VAR_POP(i) FROM t WHERE id < 3", "0.5 0.5 0.25 0.25"},
		{"SELECT STDDEV_SAMP(i), VAR_SAMP(i), VAR_SAMP(d) FROM t WHERE id IN (1, 3)", "2.1213203435596424 4.5 NULL"},
	} {
		if got, err := tryRows(t.Context(), c, q[0]); err != nil {
			t.Errorf("%s: %v", q[0], err)
		} else {
			sameRows(t, q[0], got, q[1:])
		}
	}
	exec(t, c, "CREATE VIEW w AS SELECT g, SUM(d) AS s, AVG(i) FROM t GROUP BY g")
	expect(t, rows(t, c, "SELECT s FROM w WHERE g = 1"), "900719925474099300.03")
	exec(t, c, "CREATE TABLE made AS SELECT SUM(d) AS sd, AVG(d) AS ad, SUM(i) AS si, AVG(i) AS ai, SUM(f) AS sf FROM t")
	expect(t, rows(t, c, "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'made' ORDER BY ORDINAL_POSITION"),
		"decimal(42,2)", "decimal(24,6)", "decimal(32,0)", "decimal(14,4)", "double")
	exec(t, c, "CREATE PROCEDURE p() SELECT SUM(d) FROM t")
	expect(t, rows(t, c, "CALL p()"), "900719925474099300.03")
	exec(t, c, "PREPARE p FROM 'SELECT SUM(d) FROM t WHERE id < ?'; ")
	exec(t, c, "SET @n = 10")
	expect(t, rows(t, c, "EXECUTE p USING @n"), "900719925474099300.03")

	r, err := c.QueryContext(t.Context(), "SELECT SUM(d), AVG(i), SUM(i) AS s FROM t WHERE id < ?", 100)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	columns, err := r.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"SUM(d)", "AVG(i)", "s"} {
		nullable, _ := columns[i].Nullable()
		if columns[i].Name() != want || columns[i].DatabaseTypeName() != "DECIMAL" || !nullable {
			t.Errorf("column %q is a %s, nullable: %v", columns[i].Name(), columns[i].DatabaseTypeName(), nullable)
		}
	}
	var sum sql.NullString
	for r.Next() {
		if err := r.Scan(&sum, new(any), new(any)); err != nil || sum.String != "900719925474099300.03" {
			t.Errorf("got %v, %v", sum, err)
		}
	}
}

func sameRows(t *testing.T, query string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s\nrow %d: got  %q\n       want %q", query, i, g, w)
		}
	}
}
