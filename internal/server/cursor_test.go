package server

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Two connections read from cursors, row by row and by turns, while both run other statements: nobody may get rows of another.
func TestCursors(t *testing.T) {
	const perTable = 1200
	s := start(t)
	c := conn(t, open(t, s))
	for _, name := range []string{"left_", "right_"} {
		exec(t, c, "CREATE TABLE "+name+" (id INT PRIMARY KEY, s VARCHAR(100))")
		var values []string
		for id := range perTable {
			values = append(values, fmt.Sprintf("(%d, '%s')", id, cursorValue(name, id)))
		}
		exec(t, c, "INSERT INTO "+name+" VALUES "+strings.Join(values, ", "))
	}
	var wg sync.WaitGroup
	for _, name := range []string{"left_", "right_"} {
		wg.Go(func() {
			cur := rawLogin(t, s, 0)
			for range 5 {
				id, _ := cur.prepare("SELECT s FROM test." + name + " ORDER BY id")
				if columns, refused := cur.open(id); refused != nil || columns != 1 {
					t.Errorf("open: %d columns, %q", columns, refused)
					return
				}
				next := 0
				for last := false; !last; {
					var got [][]byte
					got, last = cur.fetch(id, 7)
					for _, row := range got {
						if want := cursorValue(name, next); !bytes.HasSuffix(row, []byte(want)) {
							t.Errorf("row %d of %s is %q, want %q", next, name, row, want)
							return
						}
						next++
					}
					if next%100 < 7 { // the session is free for others
						if got, err := cur.query("SELECT 40 + 2"); err != nil || got[0][0] != "42" {
							t.Errorf("a query beside the cursor: %q, %v", got, err)
							return
						}
					}
				}
				if next != perTable {
					t.Errorf("%d rows of %s, want %d", next, name, perTable)
				}
			}
		})
	}
	wg.Wait()
}

func cursorValue(table string, id int) string {
	return strings.Repeat(table, 1+id%10) + fmt.Sprint(id)
}

func TestCursorErrors(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxResultMemory = 1 << 20 })
	root := conn(t, open(t, s))
	exec(t, root, "CREATE TABLE big (id INT PRIMARY KEY, s LONGTEXT)")
	for id := range 64 {
		exec(t, root, "INSERT INTO big VALUES (?, REPEAT('x', 100000))", id)
	}
	c := rawLogin(t, s, 0)

	// A failure before the first row has its own number.
	id, _ := c.prepare("SELECT (SELECT id FROM test.big)")
	if _, refused := c.open(id); refused == nil || rawError(refused).number() != 1242 {
		t.Errorf("a cursor that fails: %q, want error 1242", refused)
	}
	// What a cursor may keep has a bound.
	id, _ = c.prepare("SELECT s FROM test.big")
	if _, refused := c.open(id); refused == nil || rawError(refused).number() != erOutOfSortMemory {
		t.Errorf("a cursor that is too large: %q, want error %d", refused, erOutOfSortMemory)
	}
	// A statement without rows needs no cursor, a result without rows has one.
	id, _ = c.prepare("INSERT INTO test.big VALUES (1000, 'x')")
	if columns, refused := c.open(id); refused != nil || columns != 0 {
		t.Errorf("INSERT with a cursor: %d columns, %q", columns, refused)
	}
	id, _ = c.prepare("SELECT id FROM test.big WHERE id < 0")
	if _, refused := c.open(id); refused != nil {
		t.Errorf("an empty cursor: %q", refused)
	}
	if got, last := c.fetch(id, 10); len(got) != 0 || !last {
		t.Errorf("an empty cursor has %d rows, last is %v", len(got), last)
	}
	// One that is left open is in nobody's way.
	id, _ = c.prepare("SELECT id FROM test.big ORDER BY id")
	c.open(id)
	c.fetch(id, 1)
	c.net.Close()
	exec(t, root, "DROP TABLE big")
}

// Prepared statements are counted over all clients, and closing one makes room.
func TestPreparedLimit(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxPrepared = 3 })
	a, b := rawLogin(t, s, 0), rawLogin(t, s, 0)
	first, _ := a.prepare("SELECT 1")
	a.prepare("SELECT 2")
	b.prepare("SELECT 3")
	b.command(comStmtPrepare, "SELECT 4")
	if got := b.must(b.read()); got[0] != 0xff || rawError(got).number() != erTooManyPrepared {
		t.Fatalf("the fourth statement: %q", got)
	}
	a.command(comStmtClose, string([]byte{byte(first), 0, 0, 0}))
	a.query("SELECT 1")
	b.prepare("SELECT 4")
	b.net.Close()
	eventually(t, "the statements of a connection that has gone", func() bool { return s.preparedCount.Load() == 1 })
}

// What the library's grammar would refuse, or count wrongly, or answer with an unknown error.
func TestPrepareTexts(t *testing.T) {
	s := start(t)
	db := open(t, s)
	c := conn(t, db)
	exec(t, c, "CREATE TABLE p (id INT PRIMARY KEY, s VARCHAR(20))")
	exec(t, c, "INSERT INTO p VALUES (1, ':v1'), (2, 'b')")
	raw := rawLogin(t, s, 0)
	raw.query("USE test")
	for text, want := range map[string]int{
		"SELECT * FROM p WHERE s = ':v1'":                   0,
		"SELECT * FROM p WHERE s = ':v1' AND id = ?":        1,
		"SELECT * FROM p WHERE id = ? FOR SHARE":            1,
		"SELECT * FROM p WHERE id = ? FOR UPDATE NOWAIT":    1,
		"INSERT INTO p VALUES (?, ?), (?, ?)":               4,
		"SELECT ?, ? UNION SELECT ?, 1":                     3,
		"/* ? */ SELECT '?', id FROM p WHERE id IN (?,?,?)": 3,
	} {
		if _, n := raw.prepare(text); n != want {
			t.Errorf("%s: %d parameters, want %d", text, n, want)
		}
	}
	for text, number := range map[string]int{
		"SELEC 1":                  1064,
		"SELECT 1; SELECT 2":       1064,
		"":                         1065,
		"SELECT * FROM nowhere":    1146,
		"SELECT nothing FROM p":    1054,
		"INSERT INTO p VALUES (?)": 1136,
	} {
		raw.command(comStmtPrepare, text)
		b := raw.must(raw.read())
		if b[0] == 0xff {
			if got := rawError(b).number(); got != number {
				t.Errorf("%q: error %d, want %d", text, got, number)
			}
			continue
		}
		t.Errorf("%q was prepared", text)
		for range int(b[5]) + int(b[7]) {
			raw.read()
		}
	}
	if n := s.preparedCount.Load(); n != 7 {
		t.Errorf("%d prepared statements, want the 7 that were", n)
	}
	expect(t, rows(t, c, "SELECT id FROM p WHERE s = ? AND id < ?", ":v1", 5), "1")
}

// Pieces of a parameter come one by one.
func TestLongData(t *testing.T) {
	s := start(t)
	c := rawLogin(t, s, 0)
	id, _ := c.prepare("SELECT LENGTH(?), LEFT(?, 3)")
	long := func(param byte, piece string) {
		c.command(cmdStmtSendLong, string([]byte{byte(id), byte(id >> 8), 0, 0, param, 0})+piece)
	}
	for range 10 {
		long(0, strings.Repeat("x", 100_000))
	}
	long(1, "abcdef")
	c.command(comStmtExecute, string([]byte{byte(id), byte(id >> 8), 0, 0, 0, 1, 0, 0, 0, 0, 1, 0xfc, 0, 0xfc, 0}))
	if columns := c.must(c.read()); columns[0] != 2 {
		t.Fatalf("execute: %q", columns)
	}
	c.read()
	c.read()
	row := c.must(c.read())
	if n := int(row[2]) | int(row[3])<<8 | int(row[4])<<16; n != 1_000_000 || !bytes.HasSuffix(row, []byte("abc")) {
		t.Errorf("row is %q", row)
	}
}
