package server

import "testing"

// TestRenameWithTriggers: triggers follow their table.
func TestRenameWithTriggers(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (id INT PRIMARY KEY, n INT)")
	exec(t, c, "CREATE TABLE other (id INT PRIMARY KEY, n INT)")
	exec(t, c, "CREATE TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET NEW.n = 7")
	exec(t, c, "CREATE TRIGGER `two``` AFTER  INSERT\nON `test` . `t` FOR EACH ROW BEGIN INSERT INTO other VALUES (NEW.id, NEW.n); END")
	exec(t, c, "CREATE TRIGGER three BEFORE INSERT ON other FOR EACH ROW SET NEW.n = NEW.n + 1 /* before insert on t for */")
	for i, rename := range []string{"RENAME TABLE t TO `a b`", "ALTER TABLE `a b` RENAME TO `x``y`", "RENAME TABLE `x``y` TO t"} {
		exec(t, c, rename)
		name := []string{"`a b`", "`x``y`", "t"}[i]
		exec(t, c, "DELETE FROM other")
		exec(t, c, "INSERT INTO "+name+" VALUES (?, 0)", i)
		expect(t, rows(t, c, "SELECT n FROM "+name+" WHERE id = ?", i), "7")
		expect(t, rows(t, c, "SELECT n FROM other"), "8")
	}
	expect(t, rows(t, c, "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'test' ORDER BY 1"),
		"one t", "three other", "two` t")
	exec(t, c, "RENAME TABLE t TO gone")
	exec(t, c, "DROP TABLE gone")
	if got := rows(t, c, "SHOW TRIGGERS"); len(got) != 1 {
		t.Fatalf("triggers of a table that was dropped: %q", got)
	}
}

// TestChecksBesideVirtualColumns: they can be added and dropped.
func TestChecksBesideVirtualColumns(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (id INT PRIMARY KEY, a INT, v INT AS (a * 2) VIRTUAL, CONSTRAINT c0 CHECK (a < 10))")
	exec(t, c, "INSERT INTO t (id, a) VALUES (1, 5)")
	exec(t, c, "ALTER TABLE t ADD CONSTRAINT c1 CHECK (v < 12)")
	_, err := c.ExecContext(t.Context(), "INSERT INTO t (id, a) VALUES (2, 6)")
	failsWith(t, err, 3819)
	_, err = c.ExecContext(t.Context(), "ALTER TABLE t ADD CONSTRAINT c2 CHECK (v < 10)")
	failsWith(t, err, 3819)
	exec(t, c, "ALTER TABLE t DROP CHECK c1")
	exec(t, c, "INSERT INTO t (id, a) VALUES (2, 6)")
	exec(t, c, "ALTER TABLE t DROP CONSTRAINT c0")
	exec(t, c, "INSERT INTO t (id, a) VALUES (3, 60)")
	_, err = c.ExecContext(t.Context(), "ALTER TABLE t DROP CHECK c1")
	failsWith(t, err, 3940)
}

// TestSearchKeys: definitions with FULLTEXT and SPATIAL keys, which dumps have, are carried out without them.
func TestSearchKeys(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(200), body TEXT, KEY title (title), FULLTEXT KEY search (title, body), FULLTEXT (body))")
	expect(t, rows(t, c, "SHOW WARNINGS"),
		"Warning 1214 The used table type doesn't support FULLTEXT indexes: key 'search' is left out",
		"Warning 1214 The used table type doesn't support FULLTEXT indexes: key 'body' is left out")
	exec(t, c, "INSERT INTO posts VALUES (1, 'one', 'the first')")
	for _, text := range []string{
		"ALTER TABLE posts ADD FULLTEXT INDEX again (body)", "CREATE FULLTEXT INDEX third ON posts (title)",
		"ALTER TABLE posts ADD COLUMN n INT DEFAULT 3, ADD FULLTEXT KEY with_others (body)",
	} {
		exec(t, c, text)
		if w := rows(t, c, "SHOW WARNINGS"); len(w) != 1 {
			t.Errorf("%s: warnings %q", text, w)
		}
	}
	expect(t, rows(t, c, "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_NAME = 'posts' ORDER BY 1"), "PRIMARY", "title")
	expect(t, rows(t, c, "SELECT n FROM posts"), "3")
	_, err := tryRows(t.Context(), c, "SELECT * FROM posts WHERE MATCH (body) AGAINST ('first')")
	failsWith(t, err, 1191)
	_, err = c.ExecContext(t.Context(), "ALTER TABLE nowhere ADD FULLTEXT INDEX x (body)")
	failsWith(t, err, 1146)
	exec(t, c, "CREATE TABLE places (id INT PRIMARY KEY, p POINT NOT NULL, SPATIAL KEY (p))")
	if w := rows(t, c, "SHOW WARNINGS"); len(w) != 1 {
		t.Errorf("warnings %q", w)
	}
	exec(t, c, "INSERT INTO places VALUES (1, POINT(1, 2))")
	expect(t, rows(t, c, "SELECT ST_X(p) FROM places"), "1")
}
