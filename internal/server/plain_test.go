package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plainTables are made twice: plain statements of one go past GMS, those of the other through it.
var plainTables = []struct {
	name, definition string
	columns          []string // a name and its kind, which says what literals may be tried
	keys             []string // that conditions are made of, with the order of their rows
}{
	{"numbers", `a INT, b TINYINT UNSIGNED, c BIGINT UNSIGNED, d DECIMAL(6,2), e DECIMAL(3,0) UNSIGNED, n SMALLINT, g DOUBLE, v VARCHAR(8), t DATETIME(2),
		PRIMARY KEY (a, b), UNIQUE KEY (c), KEY (n, d), KEY (n, b, e)`,
		[]string{"a int", "b int", "c int", "d number", "e number", "n int", "g number", "v text", "t time"}, []string{"a b", "c", "n", "n b", "b", "a"}},
	{"texts", `k VARCHAR(5), f CHAR(3) NOT NULL COLLATE utf8mb4_bin, l VARCHAR(4) CHARACTER SET latin1, w VARCHAR(6) COLLATE utf8mb4_general_ci, x TEXT,
		i INT NOT NULL AUTO_INCREMENT, j INT UNSIGNED, e ENUM('a', 'b'), r VARBINARY(4), PRIMARY KEY (k), KEY (f, w), KEY (w, i), UNIQUE KEY (i), KEY (l), KEY (x(2)), KEY (r)`,
		[]string{"k text", "f text", "l text", "w text", "x text", "i int", "j int", "e text", "r text"}, []string{"k", "f w", "f", "w", "i", "l", "x", "r", "w i"}},
	{"times", `a INT, t DATE, y DATETIME, s TIMESTAMP NULL, m TIME, j JSON, z YEAR, PRIMARY KEY (a), KEY (t), KEY (y, a)`,
		[]string{"a int", "t time", "y time", "s time", "m time", "j text", "z int"}, []string{"a", "t", "y"}},
	{"bare", `a INT, b INT, KEY (a)`, []string{"a int", "b int"}, []string{"a", "b"}},
	{"checked", `a INT PRIMARY KEY, b INT, CHECK (b < 100)`, []string{"a int", "b int"}, []string{"a"}},
	{"computed", `a INT PRIMARY KEY, b INT, c INT AS (b + 1), d INT AS (b * 2) STORED, KEY (d)`, []string{"a int", "b int", "c int", "d int"}, []string{"a", "d"}},
	{"stamped", `a INT PRIMARY KEY, b INT, c TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP`, []string{"a int", "b int"}, []string{"a"}},
	{"triggered", `a INT PRIMARY KEY, b INT`, []string{"a int", "b int"}, []string{"a"}},
	{"parent", `a INT PRIMARY KEY, b INT`, []string{"a int", "b int"}, []string{"a"}},
	{"child", `a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES parent (a) ON DELETE SET NULL`, []string{"a int", "b int"}, []string{"a", "b"}},
}

// plainLiterals of each kind: first those that mostly fit.
var plainLiterals = map[string][]string{
	"int": {"0", "1", "2", "3", "4", "5", "6", "7", "NULL", "-1", "127", "128", "200", "255", "256", "-129", "40000", "70000", "2147483648", "18446744073709551615", "9223372036854775807",
		"'3'", "1.5", "2e0", "'x'", "007", "0x02", "-0"},
	"number": {"0", "1", "2.5", "3", "-4.25", "0.005", "7", "NULL", "99999", "1e2", "'2.50'", "12345.678", "-1", "200", "70000"},
	"text":   {"'a'", "'A'", "'b'", "'ä'", "''", "'ab'", "'a '", "'B'", "'abc'", "'abcdefghi'", "NULL", "0", "12", `'it\'s'`, "'it''s'", "'🍀'", "'\xff'", "_binary 'a'", "'1'", "'{}'"},
	"time":   {"'2024-02-29'", "'2024-02-29 12:34:56'", "'2024-02-28'", "'12:34:56'", "NULL", "'2024-02-30'", "20240229", "'x'", "'2024-02-29 12:34:56.789'", "'0000-00-00'"},
}

// plainPair is a session with each side. What both answer has to be the same, packet by packet.
type plainPair struct {
	t    *testing.T
	past *rawClient
	thru *rawClient
}

const byGMS = "/* by GMS */ "

// answer is all packets up to the end of the result.
func (c *rawClient) answer(text string) (packets []string) {
	c.t.Helper()
	c.command(comQuery, text)
	for {
		b := c.must(c.read())
		packets = append(packets, string(b))
		if first := len(packets) == 1; first && b[0] == 0 || b[0] == 0xff || !first && b[0] == 0xfe && len(b) < 9 {
			return packets
		}
	}
}

func (p plainPair) both(text string) []string {
	p.t.Helper()
	past, thru := p.past.answer(text), p.thru.answer(byGMS+text)
	if len(past) != len(thru) {
		p.t.Fatalf("%s\npast GMS: %q\nthrough:  %q", text, past, thru)
	}
	if !strings.Contains(text, "ORDER BY") {
		slices.Sort(past)
		slices.Sort(thru)
	}
	for i := range thru {
		past[i], thru[i] = samePacket(past[i]), samePacket(thru[i])
	}
	if !slices.Equal(past, thru) {
		p.t.Fatalf("%s\npast GMS: %q\nthrough:  %q", text, past, thru)
	}
	return past
}

// TestPlainAsGMS: random statements that are plain, or nearly so, do the same past GMS as through it: fields, rows, counts, warnings,
// errors. A comment before the statement keeps it from the plain path.
func TestPlainAsGMS(t *testing.T) {
	s := start(t)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	literal := func(kind string) string {
		all := plainLiterals[kind]
		if rnd.IntN(8) > 0 {
			all = all[:min(8, len(all))]
		}
		return pick(all)
	}
	p := plainPair{t, rawLogin(t, s, 0), rawLogin(t, s, 0)}
	p.past.answer("CREATE DATABASE past")
	p.thru.answer("CREATE DATABASE thru")
	p.past.answer("USE past")
	p.thru.answer("USE thru")
	for _, table := range plainTables {
		p.both("CREATE TABLE " + table.name + " (" + table.definition + ")")
	}
	p.both("CREATE VIEW seen AS SELECT a, b FROM numbers")
	p.both("CREATE TRIGGER tr BEFORE UPDATE ON triggered FOR EACH ROW SET NEW.b = NEW.b + 1")
	fill := func() {
		for _, table := range plainTables {
			var names []string
			var values []string
			for _, c := range table.columns {
				name, kind, _ := strings.Cut(c, " ")
				if table.name == "computed" && (name == "c" || name == "d") {
					continue
				}
				names, values = append(names, name), append(values, literal(kind))
			}
			p.both("INSERT INTO " + table.name + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")")
		}
	}
	for range 60 {
		fill()
	}
	const statements = 3000
	before := s.plainStatements.Load()
	for n := range statements {
		switch rnd.IntN(60) {
		case 0:
			p.both(pick([]string{"BEGIN", "COMMIT", "ROLLBACK", "START TRANSACTION READ ONLY", "SET autocommit = 0", "SET autocommit = 1"}))
		case 1:
			p.both("SET sql_mode = '" + pick([]string{bulkModes[0], bulkModes[0], bulkModes[0], bulkModes[0], "", "", "ANSI_QUOTES,STRICT_ALL_TABLES", "NO_BACKSLASH_ESCAPES"}) + "'")
		case 2:
			p.both("SET sql_select_limit = " + pick([]string{"2", "DEFAULT", "DEFAULT", "DEFAULT"}))
		case 3:
			p.both("SET TRANSACTION ISOLATION LEVEL " + pick([]string{"READ COMMITTED", "SERIALIZABLE", "REPEATABLE READ"}))
		case 4, 5:
			fill()
		}
		table := plainTables[rnd.IntN(len(plainTables))]
		if rnd.IntN(3) > 0 { // of these, statements are plain
			table = plainTables[rnd.IntN(2)]
		}
		kinds := map[string]string{}
		var names []string
		for _, c := range table.columns {
			name, kind, _ := strings.Cut(c, " ")
			names, kinds[name] = append(names, name), kind
		}
		key := strings.Fields(pick(table.keys))
		var conditions []string
		for i, c := range key {
			how := "= "
			if i == len(key)-1 && rnd.IntN(3) == 0 {
				how = pick([]string{"< ", "<= ", "> ", ">= ", "BETWEEN 1 AND ", "BETWEEN 'a' AND ", "<> ", "<=> "})
			} else if rnd.IntN(4) == 0 {
				conditions = append(conditions, c+" IN ("+literal(kinds[c])+", "+literal(kinds[c])+", "+literal(kinds[c])+")")
				continue
			}
			conditions = append(conditions, c+" "+how+literal(kinds[c]))
		}
		if rnd.IntN(4) == 0 {
			c := pick(names)
			conditions = append(conditions, c+pick([]string{" > ", " <= ", " = "})+literal(kinds[c]))
		}
		rnd.Shuffle(len(conditions), func(i, j int) { conditions[i], conditions[j] = conditions[j], conditions[i] })
		where := " WHERE " + strings.Join(conditions, pick([]string{" AND ", " AND ", " and ", " AND ", " AND ", " AND ", " OR "}))
		var text string
		switch name := table.name; rnd.IntN(7) {
		case 0, 1, 2, 3:
			if name == "numbers" && rnd.IntN(20) == 0 {
				name = "seen"
			}
			list := "*"
			if rnd.IntN(4) > 0 {
				columns := slices.Clone(names)
				rnd.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
				if columns = columns[:1+rnd.IntN(len(columns))]; rnd.IntN(10) == 0 {
					columns = append(columns, pick([]string{columns[0], "nothing", strings.ToUpper(columns[0]), "`" + columns[0] + "`"}))
				}
				list = strings.Join(columns, ", ")
			}
			if rnd.IntN(3) == 0 {
				list = fmt.Sprintf(pick([]string{"COUNT(*)", "SUM(%s)", "DISTINCT %s", "count(*)", "Sum(%s)"}), pick(names))
				list, _, _ = strings.Cut(list, "%!")
			}
			if text = "SELECT " + list + " FROM " + name + where; rnd.IntN(3) == 0 {
				// An order in which no two rows are alike, where LIMIT cuts.
				switch order := pick(names); {
				case rnd.IntN(2) == 0 && strings.Contains(text, "= "):
					all := map[string]string{"numbers": "c", "texts": "k", "times": "a"}[name]
					if all != "" {
						text += " ORDER BY " + all + pick([]string{"", " DESC", " ASC"}) + pick([]string{"", " LIMIT 1", " LIMIT 3", " LIMIT 0"})
					}
				case rnd.IntN(8) == 0:
					text += " GROUP BY " + order
				}
			}
			text += pick([]string{"", "", " FOR UPDATE", " FOR SHARE", " LOCK IN SHARE MODE", " FOR UPDATE NOWAIT", " FOR UPDATE SKIP LOCKED", ";"})
		case 4, 5:
			var sets []string
			for range 1 + rnd.IntN(3) {
				c := pick(names)
				set := c + " = " + literal(kinds[c])
				if rnd.IntN(2) == 0 {
					set = c + " = " + pick(names) + pick([]string{" + ", " - ", " * ", "+", "-", " / "}) + literal(pick([]string{"int", "number"}))
				}
				sets = append(sets, set)
			}
			text = "UPDATE " + name + " SET " + strings.Join(sets, ", ") + where
		default:
			if text = "DELETE FROM " + name + where; rnd.IntN(2) == 0 {
				text = "DELETE FROM " + name + " WHERE " + key[0] + " = " + literal("int")
			}
		}
		answer := p.both(text)
		if n%2 == 0 {
			p.both("SELECT ROW_COUNT(), FOUND_ROWS()")
		} else if !strings.HasPrefix(answer[0], "\xff") {
			p.both("SHOW WARNINGS")
		}
		if n%200 == 199 || n == statements-1 {
			for _, table := range plainTables {
				past, thru := p.past.answer("SELECT * FROM "+table.name+" FOR UPDATE"), p.thru.answer("SELECT * FROM "+table.name+" FOR UPDATE")
				slices.Sort(past)
				slices.Sort(thru)
				for i := range thru {
					thru[i] = samePacket(thru[i])
				}
				for i := range past {
					past[i] = samePacket(past[i])
				}
				if !slices.Equal(past, thru) {
					t.Fatalf("seed %d, after statement %d: table %s\npast GMS: %q\nthrough:  %q", seed, n, table.name, past, thru)
				}
			}
		}
	}
	if done := s.plainStatements.Load() - before; done < statements/60 {
		t.Errorf("seed %d: only %d of %d statements went past GMS: the test shows little", seed, done, statements)
	} else {
		t.Logf("%d of %d statements went past GMS", done, statements)
	}
	p.both("COMMIT")
	for _, table := range plainTables {
		for _, row := range p.past.answer("CHECK TABLE " + table.name) {
			if bytes.Contains([]byte(row), []byte("rror")) {
				t.Errorf("%s: %q", table.name, row)
			}
		}
	}
}

// samePacket is a packet without what differs: the name of the database, the comment, and of a field whether it is of a key and
// AUTO_INCREMENT, which GMS forgets where it projects.
func samePacket(packet string) string {
	if n := len(packet); n > 20 && strings.HasPrefix(packet, "\x03def\x04") {
		b := []byte(packet)
		b[n-5] &^= 0x02
		b[n-4] &^= 0x02
		packet = string(b)
	}
	return strings.ReplaceAll(strings.ReplaceAll(packet, "thru", "past"), byGMS, "")
}

// TestPlainPrepared: the same, prepared over the protocol.
func TestPlainPrepared(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s, "interpolateParams=false"))
	exec(t, c, "CREATE TABLE p (a INT, b VARCHAR(5), c DECIMAL(6,2), PRIMARY KEY (a), KEY (b, a))")
	exec(t, c, "INSERT INTO p VALUES (1, 'x', 1.5), (2, 'x', NULL), (3, 'y', -1)")
	for _, q := range []struct {
		text string
		args []any
	}{
		{"SELECT c, b FROM p WHERE a = ?", []any{2}},
		{"SELECT * FROM p WHERE a BETWEEN ? AND ? ORDER BY a DESC LIMIT 1", []any{1, 2}},
		{"SELECT a FROM p WHERE b = ? AND a > ?", []any{"x", 1}},
		{"SELECT a FROM p WHERE b = ?", []any{nil}},
		{"SELECT a FROM p WHERE b = ?", []any{"too long"}},
		{"SELECT a FROM p WHERE a = ?", []any{"2"}},
		{"SELECT a FROM p WHERE a = ?", []any{1.5}},
	} {
		got, want := rows(t, c, q.text, q.args...), rows(t, c, byGMS+q.text, q.args...)
		if !slices.Equal(got, want) {
			t.Errorf("%s of %v: got %q, want %q", q.text, q.args, got, want)
		}
	}
	before := s.plainStatements.Load()
	exec(t, c, "UPDATE p SET c = c + ?, b = ? WHERE a = ?", 2, "z", 1)
	exec(t, c, "DELETE FROM p WHERE a = ?", 3)
	expect(t, rows(t, c, "SELECT c, b FROM p WHERE a = ?", 1), "3.50 z")
	if got := s.plainStatements.Load() - before; got != 3 {
		t.Errorf("%d of 3 statements went past GMS", got)
	}
	expect(t, rows(t, c, byGMS+"SELECT a, b, c FROM p ORDER BY a"), "1 z 3.50", "2 x NULL")
}

// TestPlainTakes says which statements go past GMS and which do not; all of them answer the same.
func TestPlainTakes(t *testing.T) {
	s := start(t)
	p := plainPair{t, rawLogin(t, s, 0), rawLogin(t, s, 0)}
	p.past.answer("CREATE DATABASE past")
	p.thru.answer("CREATE DATABASE thru")
	p.past.answer("USE past")
	p.thru.answer("USE thru")
	p.both("CREATE TABLE l (w INT, d INT, o INT, n INT, i INT NOT NULL, amount DECIMAL(6,2), name VARCHAR(9), PRIMARY KEY (w, d, o, n), KEY by_name (w, name, i))")
	for o := range 30 {
		p.both(fmt.Sprintf("INSERT INTO l VALUES (1, 2, %d, 1, %d, %d.25, 'n%d'), (1, 2, %d, 2, 7, NULL, NULL)", o, o%5, o, o%3, o))
	}
	for _, text := range []string{
		"SELECT amount FROM l WHERE w = 1 AND d = 2 AND o = 3 AND n = 1",
		"select i, name from l where n = 2 and o = 3 and d = 2 and w = 1 for update",
		"SELECT o FROM l WHERE w = 1 AND d = 2 ORDER BY o DESC LIMIT 1",
		"SELECT o FROM l WHERE w = 1 AND d = 2 ORDER BY o LIMIT 1 FOR UPDATE",
		"SELECT i FROM l WHERE w = 1 AND name = 'N1' ORDER BY i",
		"SELECT i, n FROM l WHERE w = 1 AND name = 'n1' AND i BETWEEN 1 AND 3",
		"SELECT SUM(amount) FROM l WHERE w = 1 AND d = 2 AND o = 3",
		"SELECT sum(amount) FROM l WHERE w = 1 AND d = 2 AND o = 77",
		"SELECT SUM(i) FROM l WHERE w = 1 AND d = 2 AND o < 20",
		"SELECT COUNT(*) FROM l WHERE w = 1 AND d = 2 AND o IN (9, 3, 3, 4, 99, 5)",
		"SELECT COUNT(*) FROM l WHERE w = 1 AND d = 2 AND o IN (9, 3, 3, 4, 99, 5) AND i < 3",
		"SELECT COUNT(*) FROM l WHERE w = 1 AND d = 2 AND o IN (99)",
		"SELECT o, i FROM l WHERE w = 1 AND d = 2 AND o IN (9, 3, 3, 4) AND i >= 3",
		"SELECT DISTINCT i FROM l WHERE w = 1 AND d = 2 AND o >= 3 AND o < 20",
		"UPDATE l SET amount = amount + 1.5, i = i - 1, name = 'x' WHERE w = 1 AND d = 2 AND o = 3 AND n = 1",
		"UPDATE l SET amount = 0 WHERE w = 1 AND d = 2 AND o = 4",
		"DELETE FROM l WHERE w = 1 AND d = 2 AND o = 5",
	} {
		before := s.plainStatements.Load()
		p.both(text)
		if s.plainStatements.Load() == before {
			t.Errorf("%s: went through GMS", text)
		}
	}
	for _, text := range []string{
		"SELECT amount FROM l WHERE w = 1 AND d = 2 OR o = 3",
		"SELECT amount FROM l WHERE w = '1' AND d = 2",
		"SELECT amount FROM l WHERE w = 1 AND amount = 3.25",
		"SELECT amount a FROM l WHERE w = 1",
		"SELECT COUNT(*) FROM l WHERE w = 1 AND d = 2 AND name = 'n1'", // two indexes: statistics decide
		"SELECT MAX(o) FROM l WHERE w = 1 AND d = 2",
		"SELECT i FROM l WHERE w = 1 AND d = 2 AND i = 3 FOR UPDATE",
		"SELECT SUM(name) FROM l WHERE w = 1 AND d = 2",
		"SELECT COUNT(i) FROM l WHERE w = 1",
		"SELECT o FROM l WHERE d = 2",
		"UPDATE l SET n = 5 WHERE w = 1 AND d = 2 AND o = 6 AND n = 2",
		"UPDATE l SET i = NULL WHERE w = 1 AND d = 2 AND o = 6",
		"UPDATE l SET name = 'much too long' WHERE w = 1 AND d = 2 AND o = 6",
		"DELETE FROM l WHERE w = 1 AND d = 2 AND i = 3",
		"DELETE FROM l",
	} {
		before := s.plainStatements.Load()
		p.both(text)
		if s.plainStatements.Load() != before {
			t.Errorf("%s: went past GMS", text)
		}
	}
}

// What a statement must not do it must not do past GMS either.
func TestPlainGuards(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s, "multiStatements=true"))
	for _, text := range []string{
		"CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1, 1), (2, 2)",
		"CREATE USER reader IDENTIFIED BY 'x'", "GRANT SELECT ON d.* TO reader", "CREATE USER nobody IDENTIFIED BY 'x'",
	} {
		exec(t, c, text)
	}
	reader, nobody := openAs(t, s, "reader", "x"), openAs(t, s, "nobody", "x")
	for _, text := range []string{"UPDATE d.t SET b = 7 WHERE a = 1", "DELETE FROM d.t WHERE a = 1"} {
		_, err := reader.ExecContext(t.Context(), text)
		failsWith(t, err, 1142)
	}
	expect(t, rows(t, reader, "SELECT b FROM d.t WHERE a = 1"), "1")
	if _, err := tryRows(t.Context(), nobody, "SELECT b FROM d.t WHERE a = 1"); err == nil {
		t.Error("somebody without privileges read a row")
	}

	exec(t, c, "START TRANSACTION READ ONLY")
	_, err := c.ExecContext(t.Context(), "UPDATE t SET b = 7 WHERE a = 1")
	failsWith(t, err, 1792)
	exec(t, c, "COMMIT")

	exec(t, c, "UPDATE t SET b = 3 WHERE a = 1; UPDATE t SET b = 4 WHERE a = 2;")
	expect(t, rows(t, c, "SELECT b FROM t WHERE a >= 1 ORDER BY a"), "3", "4")

	// A snapshot stays one, and an own write is seen.
	exec(t, c, "BEGIN")
	expect(t, rows(t, c, "SELECT b FROM t WHERE a = 1"), "3")
	other := conn(t, open(t, s))
	exec(t, other, "UPDATE d.t SET b = 9 WHERE a = 1")
	expect(t, rows(t, c, "SELECT b FROM t WHERE a = 1"), "3")
	expect(t, rows(t, c, "SELECT b FROM t WHERE a = 1 FOR UPDATE"), "9")
	exec(t, c, "UPDATE t SET b = b + 1 WHERE a = 1")
	expect(t, rows(t, c, "SELECT b FROM t WHERE a = 1"), "10")
	exec(t, other, "SET innodb_lock_wait_timeout = 1")
	_, err = other.ExecContext(t.Context(), "UPDATE d.t SET b = 0 WHERE a = 1")
	failsWith(t, err, 1205)
	_, err = tryRows(t.Context(), other, "SELECT b FROM d.t WHERE a = 1 FOR UPDATE NOWAIT")
	failsWith(t, err, 3572)
	exec(t, c, "ROLLBACK")
	expect(t, rows(t, c, "SELECT b FROM t WHERE a = 1"), "9")

	// A locking read with LIMIT locks what it returns.
	exec(t, c, "BEGIN")
	expect(t, rows(t, c, "SELECT a FROM t WHERE a > 0 ORDER BY a LIMIT 1 FOR UPDATE"), "1")
	expect(t, rows(t, other, "SELECT a FROM d.t WHERE a > 0 ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED"), "2")
	exec(t, c, "ROLLBACK")

	// An UPDATE that fails behind its first row leaves nothing behind.
	exec(t, c, "CREATE TABLE full (a INT PRIMARY KEY, b INT, c INT NOT NULL)")
	exec(t, c, "INSERT INTO full VALUES (1, 1, 1), (2, NULL, 2)")
	exec(t, c, "BEGIN")
	_, err = c.ExecContext(t.Context(), "UPDATE full SET c = b + 10 WHERE a >= 1")
	failsWith(t, err, 1048)
	expect(t, rows(t, c, "SELECT c FROM full WHERE a >= 1 ORDER BY a"), "1", "2")
	exec(t, c, "COMMIT")
}
