package server

import "testing"

// TestUpdateOfCase: an UPDATE writes what it is told, also where the collation takes it for the same.
func TestUpdateOfCase(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20) UNIQUE, n INT) COLLATE utf8mb4_0900_ai_ci")
	exec(t, c, "CREATE TABLE log (old VARCHAR(20), new VARCHAR(20)) COLLATE utf8mb4_bin")
	exec(t, c, "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1)")
	changed := func(text string, want int64, args ...any) {
		t.Helper()
		if n, _ := exec(t, c, text, args...).RowsAffected(); n != want {
			t.Errorf("%s: %d rows, want %d", text, n, want)
		}
	}
	changed("UPDATE t SET s = 'A' WHERE s = 'a'", 1)
	expect(t, rows(t, c, "SELECT s FROM t ORDER BY id"), "A", "b")
	expect(t, rows(t, c, "SELECT s FROM t FORCE INDEX (s) WHERE s = 'a'"), "A")
	changed("UPDATE t SET s = 'A' WHERE s = 'a'", 0)
	changed("UPDATE t SET s = UPPER(s), n = n", 1)
	expect(t, rows(t, c, "SELECT s FROM t ORDER BY id"), "A", "B")
	changed("UPDATE t SET s = ? WHERE id = 1", 1, "á")
	exec(t, c, "CREATE TRIGGER tr AFTER UPDATE ON t FOR EACH ROW INSERT INTO log VALUES (OLD.s, NEW.s)")
	changed("UPDATE t SET s = 'Á' WHERE id = 1", 1)
	expect(t, rows(t, c, "SELECT * FROM log"), "á Á")
	exec(t, c, "CREATE TABLE child (s VARCHAR(20) REFERENCES t (s) ON UPDATE CASCADE, FOREIGN KEY (s) REFERENCES t (s) ON UPDATE CASCADE) COLLATE utf8mb4_0900_ai_ci")
	exec(t, c, "INSERT INTO child VALUES ('a')")
	exec(t, c, "UPDATE IGNORE t SET s = 'a' WHERE id = 1")
	expect(t, rows(t, c, "SELECT s FROM t WHERE id = 1"), "a")
	exec(t, c, "INSERT INTO t VALUES (2, 'x', 0) ON DUPLICATE KEY UPDATE s = 'b'")
	expect(t, rows(t, c, "SELECT s FROM t WHERE id = 2"), "b")
}

// TestUpdateOutOfRange: a number that its column cannot hold is refused wherever it is set, and cut where IGNORE says so.
func TestUpdateOutOfRange(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (id INT PRIMARY KEY, n TINYINT, u INT UNSIGNED, d DECIMAL(3,1), f FLOAT)")
	exec(t, c, "CREATE TABLE o (id INT PRIMARY KEY, n INT)")
	exec(t, c, "INSERT INTO t VALUES (1, 120, 1, 99.5, 1), (2, 1, 1, 1, 1)")
	exec(t, c, "INSERT INTO o VALUES (1, 200)")
	for _, text := range []string{
		"UPDATE t SET n = n + 10",
		"UPDATE t SET n = n + 10 WHERE id = 1",
		"UPDATE t SET n = 128 WHERE id = 1",
		"UPDATE t SET n = -129 WHERE id = 1",
		"UPDATE t SET u = -1 WHERE id = 1",
		"UPDATE t SET u = 4294967296 WHERE id = 1",
		"UPDATE t SET d = d + 1 WHERE id = 1",
		"UPDATE t SET f = 1e39 WHERE id = 1",
		"UPDATE t JOIN o ON t.id = o.id SET t.n = o.n",
		"INSERT INTO t VALUES (1, 0, 0, 0, 0) ON DUPLICATE KEY UPDATE n = n + 10",
	} {
		failsWith(t, func() error { _, err := c.ExecContext(t.Context(), text); return err }(), 1264)
	}
	expect(t, rows(t, c, "SELECT n, u, d, f FROM t ORDER BY id"), "120 1 99.5 1", "1 1 1.0 1")
	exec(t, c, "UPDATE IGNORE t SET n = n + 10 WHERE id = 1")
	expect(t, rows(t, c, "SELECT n FROM t WHERE id = 1"), "127")
	exec(t, c, "UPDATE t SET n = NULL, u = DEFAULT WHERE id = 1")
	exec(t, c, "UPDATE t SET n = n + 1 WHERE id = 2")
	expect(t, rows(t, c, "SELECT n, u FROM t ORDER BY id"), "NULL NULL", "2 1")
}
