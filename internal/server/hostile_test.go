package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// chunked sends a command whose packet may be longer than one chunk.
func (c *rawClient) chunked(kind byte, body string) {
	c.seq = 0
	body = string(kind) + body
	for {
		n := min(len(body), maxChunk)
		c.write([]byte(body[:n]))
		body = body[n:]
		if n < maxChunk {
			return
		}
	}
}

func TestLongStatements(t *testing.T) {
	s := start(t)
	c := rawLogin(t, s, 0)
	const frame = len("\x03SELECT LENGTH('')")
	sizes := []int{1 << 20, maxChunk - frame - 1, maxChunk - frame, maxChunk - frame + 1}
	if !testing.Short() {
		sizes = append(sizes, 20<<20, 2*maxChunk-frame, 60<<20)
	}
	for _, size := range sizes {
		c.chunked(comQuery, "SELECT LENGTH('"+strings.Repeat("x", size)+"')")
		got, err := c.result()
		if err != nil || len(got) != 1 || got[0][0] != fmt.Sprint(size) {
			t.Fatalf("a literal of %d bytes: %q, %v", size, got, err)
		}
	}
	c.chunked(comQuery, "SELECT '"+strings.Repeat("x", 65<<20)+"'")
	if _, err := c.result(); err == nil || err.(rawError).number() != erPacketTooLarge {
		t.Errorf("a statement beyond max_allowed_packet: %v, want %d", err, erPacketTooLarge)
	}
	if _, err := c.read(); err == nil {
		t.Error("the connection goes on after a packet that was too large")
	}
}

// A stranger may say little, and not for long.
func TestStrangers(t *testing.T) {
	s := start(t, func(c *Config) { c.ConnectTimeout = 2 * time.Second })
	t.Run("large answer", func(t *testing.T) {
		c := rawDial(t, s)
		c.must(c.read())
		c.net.Write([]byte{0xff, 0xff, 0xff, 1})
		if b := c.must(c.read()); b[0] != 0xff || rawError(b).number() != erPacketTooLarge {
			t.Errorf("got %q", b)
		}
	})
	t.Run("wrong number", func(t *testing.T) {
		c := rawDial(t, s)
		c.must(c.read())
		c.seq = 7
		c.write(helloPacket("root", 0))
		if b := c.must(c.read()); b[0] != 0xff || rawError(b).number() != erPacketOrder {
			t.Errorf("got %q", b)
		}
	})
	t.Run("silence", func(t *testing.T) {
		before := s.Counters().ThreadsConnected
		c := rawDial(t, s)
		c.must(c.read())
		if _, err := c.read(); err != io.EOF {
			t.Errorf("read: %v, want the end", err)
		}
		eventually(t, "the end of the silent connection", func() bool { return s.Counters().ThreadsConnected <= before })
	})
	t.Run("silence in TLS", func(t *testing.T) {
		c := rawDial(t, s)
		c.must(c.read())
		hello := helloPacket("", capabilitySSL)[:sslRequestBytes]
		c.write(hello)
		if _, err := c.read(); err == nil {
			t.Error("the server spoke")
		}
	})
}

// A client that stops in the middle of a packet, or does not take its answer, does not keep the connection.
func TestStalledClients(t *testing.T) {
	s := start(t, func(c *Config) { c.NetReadTimeout, c.NetWriteTimeout = time.Second, time.Second })
	root := conn(t, open(t, s))
	exec(t, root, "CREATE TABLE w (id INT PRIMARY KEY, s LONGTEXT)")
	for id := range 50 {
		exec(t, root, "INSERT INTO w VALUES (?, REPEAT('w', 1000000))", id)
	}
	base := s.Counters().ThreadsConnected

	half := rawLogin(t, s, 0)
	half.net.Write([]byte{100, 0, 0, 0, comQuery, 'S', 'E'})
	eventually(t, "the end of half a packet", func() bool { return s.Counters().ThreadsConnected == base })

	deaf := rawLogin(t, s, 0)
	deaf.net.(*net.TCPConn).SetReadBuffer(4 << 10)
	deaf.command(comQuery, "SELECT s FROM test.w")
	eventually(t, "the end of a client that does not listen", func() bool { return s.Counters().ThreadsConnected == base })
	if n := s.running.Load(); n != 0 {
		t.Errorf("%d statements run", n)
	}
}

func TestGarbage(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := start(t)
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for range 300 {
		c := rawDial(t, s)
		c.must(c.read())
		switch r.IntN(3) {
		case 0:
			c.net.Write(random(r.IntN(200)))
		case 1:
			c.write(random(r.IntN(200)))
		case 2:
			hello := helloPacket("root", r.Uint32())
			for range r.IntN(4) {
				hello[r.IntN(len(hello))] = byte(r.Uint32())
			}
			c.write(hello[:r.IntN(len(hello)+1)])
		}
		c.net.Close()
	}
	// Commands of every kind with garbage, on one connection as long as it lives.
	var c *rawClient
	for i := range 600 {
		if c == nil {
			c = rawLogin(t, s, r.Uint32()&flagMulti)
		}
		kind := byte(r.IntN(34))
		if kind == comProcessKill {
			continue // might hit the right number
		}
		body := random(r.IntN(40))
		if kind == comStmtExecute || kind == cmdStmtFetch || kind == cmdStmtReset || kind == cmdStmtSendLong {
			c.net.Close() // on this one an answer may still come
			c = rawLogin(t, s, r.Uint32()&flagMulti)
			id, _ := c.prepare("SELECT ?, ?, ?")
			body = append(binary.LittleEndian.AppendUint32(nil, id), body...)
		}
		c.command(kind, string(body))
		// The answer may be none. What follows tells whether the connection is in order or gone.
		c.net.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := io.Copy(io.Discard, c.in); err == nil || i%20 == 0 {
			c.net.Close()
			c = nil
			continue
		}
		c.net.SetReadDeadline(time.Now().Add(time.Minute))
	}
	if c != nil {
		c.net.Close()
	}
	expect(t, rows(t, conn(t, open(t, s)), "SELECT 1"), "1")
	eventually(t, "no strangers", func() bool { return s.Counters().ThreadsConnected <= 1 })
}

// Statements that would take the stack, which nothing in Go recovers from. They may be refused or answered.
func TestDeepStatements(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE deep (id INT PRIMARY KEY, s LONGTEXT)")
	const n = 200_000
	for name, text := range map[string]string{
		"parens":     "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"not":        "SELECT " + strings.Repeat("NOT ", n) + "1",
		"minus":      "SELECT " + strings.Repeat("- ", n) + "1",
		"sum":        "SELECT 1" + strings.Repeat("+1", n),
		"or":         "SELECT id FROM deep WHERE id = 0" + strings.Repeat(" OR id = 1", n),
		"case":       "SELECT " + strings.Repeat("CASE WHEN 1 THEN ", n) + "1" + strings.Repeat(" END", n),
		"functions":  "SELECT " + strings.Repeat("ABS(", n) + "1" + strings.Repeat(")", n),
		"subqueries": "SELECT " + strings.Repeat("(SELECT ", n) + "1" + strings.Repeat(")", n),
		"derived":    strings.Repeat("SELECT * FROM (", n) + "SELECT 1" + strings.Repeat(") t", n),
		"unions":     "SELECT 1" + strings.Repeat(" UNION SELECT 1", n),
		"joins":      "SELECT * FROM deep" + strings.Repeat(" JOIN deep d USING (id)", n),
		"commas":     "SELECT 1 FROM deep a0" + strings.Repeat(", deep", n),
		"in":         "SELECT id FROM deep WHERE id IN (0" + strings.Repeat(",1", n) + ")",
		"intervals":  "SELECT NOW()" + strings.Repeat(" + INTERVAL 1 DAY", n),
		"exists":     "SELECT " + strings.Repeat("EXISTS(SELECT ", n) + "1" + strings.Repeat(")", n),
		"if":         "CREATE PROCEDURE ifs() " + strings.Repeat("IF 1 THEN ", n) + "SELECT 1; " + strings.Repeat("END IF; ", n),
		"begin":      "CREATE PROCEDURE begins() " + strings.Repeat("BEGIN ", n) + "SELECT 1; " + strings.Repeat("END; ", n),
		"json":       "SELECT JSON_VALID('" + strings.Repeat("[", n) + strings.Repeat("]", n) + "')",
		"comments":   strings.Repeat("/*!50000 ", n) + "SELECT 1" + strings.Repeat(" */", n),
		"ctes":       "WITH c0 AS (SELECT 1)" + strings.Repeat(", c AS (SELECT * FROM c0)", n/10) + " SELECT * FROM c",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryRows(t.Context(), c, text)
			t.Logf("%.120v", err)
			if got := rows(t, c, "SELECT 1"); got[0] != "1" {
				t.Fatalf("afterwards: %q", got)
			}
		})
	}
}

// Definitions that name each other, or themselves.
func TestDeepDefinitions(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE PROCEDURE again() CALL again()")
	if _, err := c.ExecContext(t.Context(), "CALL again()"); err == nil {
		t.Error("a procedure that calls itself for ever came to an end")
	}
	exec(t, c, "CREATE PROCEDURE ping(n INT) CALL pong(n)")
	exec(t, c, "CREATE PROCEDURE pong(n INT) CALL ping(n)")
	if _, err := c.ExecContext(t.Context(), "CALL ping(1)"); err == nil {
		t.Error("procedures that call each other for ever came to an end")
	}
	// Views and triggers, too; these may be refused when they are made.
	for _, text := range []string{
		"CREATE TABLE d1 (id INT PRIMARY KEY)", "CREATE TABLE d2 (id INT PRIMARY KEY)",
		"CREATE VIEW v1 AS SELECT id FROM d1", "CREATE VIEW v2 AS SELECT id FROM v1", "CREATE OR REPLACE VIEW v1 AS SELECT id FROM v2",
		"SELECT * FROM v1", "SELECT * FROM v2", "SHOW FULL TABLES", "SELECT * FROM information_schema.columns",
		"CREATE TRIGGER tr1 AFTER INSERT ON d1 FOR EACH ROW INSERT INTO d2 VALUES (NEW.id + 1)",
		"CREATE TRIGGER tr2 AFTER INSERT ON d2 FOR EACH ROW INSERT INTO d1 VALUES (NEW.id + 1)",
		"INSERT INTO d1 VALUES (1)", "INSERT INTO d2 VALUES (1)",
		"CREATE TRIGGER tr3 AFTER UPDATE ON d1 FOR EACH ROW UPDATE d1 SET id = id + 1", "UPDATE d1 SET id = id + 1",
		"CREATE TRIGGER tr4 AFTER DELETE ON d1 FOR EACH ROW CALL again()", "DELETE FROM d1",
	} {
		_, err := tryRows(t.Context(), c, text)
		t.Logf("%s: %v", text, err)
	}
	expect(t, rows(t, c, "SELECT 1"), "1")
}

func TestOddTexts(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE odd (id INT PRIMARY KEY, s VARCHAR(100), b VARBINARY(100))")
	for _, text := range []string{
		"SELECT '\xff\xfe\xfd'", "SELECT \xff", "SELECT `\xff\xfe`", "\xff\xfe", "SELECT '\x00'", "SELECT \x00", "\x00", "SELECT '", "SELECT \"", "SELECT `", "SELECT /*",
		"INSERT INTO odd VALUES (1, '\xff\xfe', '\xff\xfe')", "CREATE TABLE `\xff` (a INT)", "SELECT 0x", "SELECT x'f'", "SELECT _binary '\xff'", "SELECT '\\", "@", "SELECT @", "SELECT @@",
		"SELECT ? FROM odd", "SELECT :v1", ":v1", "DELIMITER //", "SELECT 1e400", "SELECT -9223372036854775809", "SELECT 99999999999999999999999999", "SELECT 1 LIMIT 18446744073709551616",
		"SELECT * FROM odd LIMIT -1", "SELECT REPEAT('x', -1)", "SELECT REPEAT('x', 1e18)", "SELECT SPACE(99999999999)", "SELECT LPAD('x', 99999999999, 'y')", "SELECT RPAD('x', 99999999999, 'y')",
		"SELECT SUBSTRING('abc', -9223372036854775808)", "SELECT '" + strings.Repeat("a\\", 1000) + "'", "SELECT CHAR(255 USING utf8mb4)", "SELECT CONVERT('\xff' USING latin1)",
	} {
		rows, err := tryRows(t.Context(), c, text)
		t.Logf("%.40q: %.60q %.100v", text, rows, err)
		if err := c.PingContext(t.Context()); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
	}
	if n := s.panics.Load(); n != 0 {
		t.Logf("%d panics", n)
	}
}

// Texts that would grow beyond max_allowed_packet are NULL, as in MySQL.
func TestGrowingTexts(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "SET @big = REPEAT('x', 40000000)")
	for text, want := range map[string]string{
		"SELECT LENGTH(@big)":                         "40000000",
		"SELECT LENGTH(CONCAT(@big, @big))":           "NULL",
		"SELECT LENGTH(CONCAT_WS(',', @big, @big))":   "NULL",
		"SELECT LENGTH(REPLACE(@big, 'x', 'xx'))":     "NULL",
		"SELECT REPEAT('x', 1e18)":                    "NULL",
		"SELECT REPEAT('ab', 3), SPACE(2), SPACE(-1)": "ababab    ",
		"SELECT SPACE(99999999999)":                   "NULL",
		"SELECT LPAD('x', 99999999999, 'y')":          "NULL",
		"SELECT RPAD('hé', 4, 'öü'), LPAD('hé', 5, 'öü'), RPAD('grüße', 3, 'x'), LPAD('x', 3, '')": "héöü öüöhé grü ",
		"SELECT LPAD('x', -1, 'y')":                     "NULL",
		"SELECT CONCAT('a', 1, NULL), CONCAT('a', 'b')": "NULL ab",
	} {
		expect(t, rows(t, c, text), want)
	}
}

// A panic is the failure of its statement.
func TestPanic(t *testing.T) {
	s := start(t)
	s.engine.Analyzer.Catalog.RegisterFunction(gms.NewEmptyContext(), gms.Function0{Name: "boom", Fn: func() gms.Expression { return boom{} }})
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE boomed (id INT PRIMARY KEY)")
	exec(t, c, "BEGIN")
	exec(t, c, "INSERT INTO boomed VALUES (1)")
	for _, text := range []string{"SELECT BOOM()", "INSERT INTO boomed SELECT 5 UNION ALL SELECT BOOM()", "SELECT BOOM() FROM boomed WHERE id = ?"} {
		var args []any
		if strings.Contains(text, "?") {
			args = append(args, 1)
		}
		_, err := tryRows(t.Context(), c, text, args...)
		if e := failsWith(t, err, 1105); !strings.Contains(e.Message, "kaboom") {
			t.Errorf("%s: %v", text, err)
		}
	}
	exec(t, c, "COMMIT")
	expect(t, rows(t, c, "SELECT id FROM boomed"), "1")
	if n := s.panics.Load(); n != 3 {
		t.Errorf("%d panics were counted, want 3", n)
	}
}

type boom struct{}

func (boom) Resolved() bool                                           { return true }
func (boom) String() string                                           { return "BOOM()" }
func (boom) Type() gms.Type                                           { return types.Int64 }
func (boom) IsNullable() bool                                         { return true }
func (boom) Eval(*gms.Context, gms.Row) (any, error)                  { panic("kaboom") }
func (boom) Children() []gms.Expression                               { return nil }
func (b boom) WithChildren(...gms.Expression) (gms.Expression, error) { return b, nil }
func (boom) FunctionName() string                                     { return "boom" }
func (boom) Description() string                                      { return "panics" }
func (boom) IsNonDeterministic() bool                                 { return true }

// What statements hold in memory has a bound; those that stay below it go on.
func TestMemoryLimits(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxResultMemory = 4 << 20 })
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE mem (id INT PRIMARY KEY, k INT, s VARCHAR(1000), KEY (k))")
	var values []string
	for id := range 8000 {
		values = append(values, fmt.Sprintf("(%d, %d, REPEAT('m', 1000))", id, id%10))
	}
	exec(t, c, "INSERT INTO mem VALUES "+strings.Join(values, ", "))
	for _, text := range []string{
		"SELECT * FROM mem ORDER BY s, id",
		"SELECT id, ROW_NUMBER() OVER (ORDER BY s) FROM mem",
		"SELECT COUNT(*) FROM (SELECT s, id FROM mem) a JOIN (SELECT s, id FROM mem) b ON a.s = b.s AND a.id = b.id",
	} {
		_, err := tryRows(t.Context(), c, text)
		failsWith(t, err, erOutOfSortMemory)
	}
	for _, text := range []string{
		"SELECT id FROM mem ORDER BY k, id DESC LIMIT 3",
		"SELECT k, COUNT(*) FROM mem GROUP BY k ORDER BY k",
		"SELECT m.id FROM mem m WHERE m.id = (SELECT MAX(x.id) FROM (SELECT id FROM mem WHERE k = m.k ORDER BY s DESC LIMIT 5) x) LIMIT 1",
		"SELECT * FROM mem", // rows that go out take no memory
	} {
		if _, err := tryRows(t.Context(), c, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// When the process as a whole has no memory left, what GMS keeps in caches is refused, and the largest statement ends.
func TestMemoryOfTheProcess(t *testing.T) {
	s := start(t, func(c *Config) { c.MemoryLimit, c.MaxResultMemory = minMemoryLimit, minMemoryLimit })
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE mem (id INT PRIMARY KEY, s VARCHAR(100))")
	exec(t, c, "INSERT INTO mem VALUES (1, 'a'), (2, 'b'), (3, 'a')")
	const distinct = "SELECT DISTINCT s FROM mem ORDER BY s"
	expect(t, rows(t, c, distinct), "a", "b")
	ballast := make([]byte, 4*minMemoryLimit)
	runtime.GC()
	eventually(t, "a look at the heap", func() bool { return s.memory.live.Load() > s.memory.limit })
	_, err := tryRows(t.Context(), c, distinct)
	failsWith(t, err, erOutOfSortMemory)
	_, err = tryRows(t.Context(), c, "SELECT SLEEP(60)")
	failsWith(t, err, erOutOfSortMemory)
	runtime.KeepAlive(ballast)
	runtime.GC()
	eventually(t, "another look", func() bool { return s.memory.live.Load() < s.memory.limit })
	expect(t, rows(t, c, distinct), "a", "b")
}

func TestLargestStatement(t *testing.T) {
	now := time.Now()
	a, b, c := &statement{began: now}, &statement{began: now.Add(-time.Second)}, &statement{began: now}
	if got := largest([]*statement{a, b, c}); got != b {
		t.Error("of statements that nothing is known of, not the oldest")
	}
	c.memory.Store(1)
	if got := largest([]*statement{a, b, c}); got != c {
		t.Error("not the one that holds most")
	}
	if got := largest(nil); got != nil {
		t.Errorf("of none %v", got)
	}
}
