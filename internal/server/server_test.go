package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	mysql.SetLogger(discardLogger{})
	if err := oneLife(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// oneLife of a database starts what the engine has once in a process, so that tests can count goroutines.
func oneLife() error {
	dir, err := os.MkdirTemp("", "hearth-server-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := hearth.Open(context.Background(), dir, &hearth.Options{PoolSize: 8 << 20, LogSize: 4 << 20, SegmentSize: 1 << 20, Memory: hearth.MemoryOff})
	if err != nil {
		return err
	}
	return db.Close()
}

type discardLogger struct{}

func (discardLogger) Print(...any) {}

// testConfig is one of a small server in memory, on a port of its own.
func testConfig(t testing.TB) Config {
	dir, err := os.MkdirTemp("", "hearth-server-") // shorter than t.TempDir: a path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return Config{
		Data:            filepath.Join(dir, "data"),
		Listen:          "127.0.0.1:0",
		Engine:          hearth.Options{PoolSize: 32 << 20, LogSize: 64 << 20, SegmentSize: 4 << 20, Memory: hearth.MemoryOff},
		ShutdownTimeout: 5 * time.Second,
		Log:             slog.New(slog.DiscardHandler),
	}
}

// start a server that ends with the test, and must leave no goroutine behind.
func start(t testing.TB, change ...func(*Config)) *Server {
	t.Helper()
	cfg := testConfig(t)
	for _, f := range change {
		f(&cfg)
	}
	return startAt(t, cfg)
}

func startAt(t testing.TB, cfg Config) *Server {
	t.Helper()
	before := runtime.NumGoroutine()
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		settle(t, before)
	})
	return s
}

// settle waits until no more goroutines run than before.
func settle(t testing.TB, before int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// eventually waits for what another goroutine is about to do, with patience for a busy machine.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// dsn of a server's TCP address.
func dsn(s *Server, user, password, db string, params ...string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "tcp", s.Addr().String(), db
	c.AllowNativePasswords = true
	text := c.FormatDSN()
	if len(params) > 0 {
		sep := "?"
		if strings.Contains(text, "?") {
			sep = "&"
		}
		text += sep + strings.Join(params, "&")
	}
	return text
}

// open a pool of connections as root.
func open(t testing.TB, s *Server, params ...string) *sql.DB {
	t.Helper()
	return openAs(t, s, "root", "", params...)
}

func openAs(t testing.TB, s *Server, user, password string, params ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn(s, user, password, "", params...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// conn is one connection in a database of the tests.
func conn(t testing.TB, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	exec(t, c, "CREATE DATABASE IF NOT EXISTS test")
	exec(t, c, "USE test")
	return c
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func exec(t testing.TB, c execer, text string, args ...any) sql.Result {
	t.Helper()
	r, err := c.ExecContext(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return r
}

// rows of a query: values as text, NULL as "NULL", with a space between.
func rows(t testing.TB, c execer, text string, args ...any) []string {
	t.Helper()
	list, err := tryRows(t.Context(), c, text, args...)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return list
}

func tryRows(ctx context.Context, c execer, text string, args ...any) (list []string, err error) {
	r, err := c.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for r.Next() {
		if err := r.Scan(into...); err != nil {
			return nil, err
		}
		words := make([]string, len(values))
		for i, v := range values {
			if words[i] = v.String; !v.Valid {
				words[i] = "NULL"
			}
		}
		list = append(list, strings.Join(words, " "))
	}
	return list, r.Err()
}

func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// failsWith checks an error's number.
func failsWith(t testing.TB, err error, number uint16) *mysql.MySQLError {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != number {
		t.Fatalf("error is %v, want number %d", err, number)
	}
	return e
}

func TestStatements(t *testing.T) {
	s := start(t)
	for _, how := range []string{"interpolateParams=true", "interpolateParams=false"} {
		t.Run(how, func(t *testing.T) {
			c := conn(t, open(t, s, how))
			exec(t, c, "DROP TABLE IF EXISTS kinds")
			exec(t, c, "CREATE TABLE kinds (id INT PRIMARY KEY AUTO_INCREMENT, n BIGINT UNSIGNED, d DECIMAL(10,2), f DOUBLE, s VARCHAR(100), b BLOB, t DATETIME(6), y YEAR)")
			r := exec(t, c, "INSERT INTO kinds (n, d, f, s, b, t, y) VALUES (?, ?, ?, ?, ?, ?, ?), (NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
				uint64(1<<63), "12.50", 2.5, "grüße", []byte{0, 255, 1}, "2024-02-29 13:14:15.000016", 2024)
			if n, _ := r.RowsAffected(); n != 2 {
				t.Errorf("%d rows affected, want 2", n)
			}
			if id, _ := r.LastInsertId(); id != 1 {
				t.Errorf("insert id is %d, want 1", id)
			}
			expect(t, rows(t, c, "SELECT n, d, f, s, HEX(b), t, y FROM kinds ORDER BY id"),
				"9223372036854775808 12.50 2.5 grüße 00FF01 2024-02-29 13:14:15.000016 2024", "NULL NULL NULL NULL NULL NULL NULL")
			expect(t, rows(t, c, "SELECT id FROM kinds WHERE s = ? AND n > ?", "grüße", 5), "1")
			if n, _ := exec(t, c, "UPDATE kinds SET f = ? WHERE id > ?", 1.25, 0).RowsAffected(); n != 2 {
				t.Errorf("%d rows affected, want 2", n)
			}
			if n, _ := exec(t, c, "UPDATE kinds SET f = 1.25").RowsAffected(); n != 0 {
				t.Errorf("%d rows changed, want 0", n)
			}
			if n, _ := exec(t, c, "DELETE FROM kinds WHERE id = ?", 1).RowsAffected(); n != 1 {
				t.Errorf("%d rows deleted, want 1", n)
			}
		})
	}
}

// Many more rows than a batch, larger than one, and rows larger than a batch.
func TestLargeResults(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE big (id INT PRIMARY KEY, s LONGTEXT)")
	for id := range 300 {
		exec(t, c, "INSERT INTO big VALUES (?, REPEAT(CHAR(97 + ? % 26), ?))", id, id, id*id%200_000)
	}
	for _, how := range []string{"SELECT id, s FROM big ORDER BY id", "SELECT id, s FROM big WHERE id >= ? ORDER BY id"} {
		var args []any
		if strings.Contains(how, "?") {
			args = append(args, 0)
		}
		got := rows(t, c, how, args...)
		if len(got) != 300 {
			t.Fatalf("%d rows, want 300", len(got))
		}
		for id, row := range got {
			if want := fmt.Sprint(id, " ", strings.Repeat(string(rune('a'+id%26)), id*id%200_000)); row != want {
				t.Fatalf("row %d is %.50q (%d bytes), want %.50q (%d)", id, row, len(row), want, len(want))
			}
		}
	}
}

func TestMultiStatements(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s, "multiStatements=true"))
	r, err := c.QueryContext(t.Context(), "SELECT 1; CREATE TABLE m (a INT PRIMARY KEY); INSERT INTO m VALUES (1), (2); SELECT a FROM m; ")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var sets [][]int
	for {
		var set []int
		for r.Next() {
			var n int
			if err := r.Scan(&n); err != nil {
				t.Fatal(err)
			}
			set = append(set, n)
		}
		sets = append(sets, set)
		if !r.NextResultSet() {
			break
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sets); got != "[[1] [1 2]]" && got != "[[1] [] [] [1 2]]" {
		t.Errorf("result sets %s", got)
	}
	// What comes after a failure is not done.
	_, err = c.ExecContext(t.Context(), "INSERT INTO m VALUES (3); INSERT INTO m VALUES (1); INSERT INTO m VALUES (4)")
	failsWith(t, err, 1062)
	expect(t, rows(t, c, "SELECT a FROM m"), "1", "2", "3")
}

func TestEmptyStatements(t *testing.T) {
	s := start(t)
	c := rawLogin(t, s, flagMulti)
	for _, text := range []string{"", ";", " ;; "} {
		if _, err := c.query(text); err == nil || err.(rawError).number() != 1065 {
			t.Errorf("%q: %v, want error 1065", text, err)
		}
	}
	for _, text := range []string{"/* nothing */", "-- nothing", "/*!999999 not ours */"} {
		if _, err := c.query(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTransactions(t *testing.T) {
	s := start(t)
	db := open(t, s)
	a, b := conn(t, db), conn(t, db)
	exec(t, a, "CREATE TABLE acc (id INT PRIMARY KEY, v INT)")
	exec(t, a, "INSERT INTO acc VALUES (1, 10), (2, 20)")

	exec(t, a, "BEGIN")
	exec(t, a, "UPDATE acc SET v = 11 WHERE id = 1")
	expect(t, rows(t, b, "SELECT v FROM acc WHERE id = 1"), "10")
	exec(t, a, "ROLLBACK")
	expect(t, rows(t, a, "SELECT v FROM acc WHERE id = 1"), "10")

	// A statement that fails is undone alone.
	exec(t, a, "BEGIN")
	exec(t, a, "INSERT INTO acc VALUES (3, 30)")
	_, err := a.ExecContext(t.Context(), "INSERT INTO acc VALUES (4, 40), (1, 0)")
	failsWith(t, err, 1062)
	exec(t, a, "COMMIT")
	expect(t, rows(t, b, "SELECT id FROM acc ORDER BY id"), "1", "2", "3")

	// In autocommit it leaves no transaction behind.
	_, err = a.ExecContext(t.Context(), "INSERT INTO acc VALUES (5, 50), (1, 0)")
	failsWith(t, err, 1062)
	exec(t, a, "INSERT INTO acc VALUES (6, 60)")
	expect(t, rows(t, b, "SELECT id FROM acc ORDER BY id"), "1", "2", "3", "6")

	// Definitions commit what was open, and leave autocommit.
	exec(t, a, "BEGIN")
	exec(t, a, "INSERT INTO acc VALUES (7, 70)")
	exec(t, a, "CREATE TABLE other (x INT PRIMARY KEY)")
	expect(t, rows(t, b, "SELECT v FROM acc WHERE id = 7"), "70")
	exec(t, a, "INSERT INTO other VALUES (1)")
	exec(t, a, "ROLLBACK")
	expect(t, rows(t, b, "SELECT x FROM other"), "1")

	// A snapshot is taken when it is asked for.
	exec(t, a, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	exec(t, b, "UPDATE acc SET v = 99 WHERE id = 1")
	expect(t, rows(t, a, "SELECT v FROM acc WHERE id = 1"), "10")
	exec(t, a, "COMMIT")
	expect(t, rows(t, a, "SELECT v FROM acc WHERE id = 1"), "99")

	// SET TRANSACTION is about the next one only.
	exec(t, a, "SET TRANSACTION READ ONLY")
	exec(t, a, "BEGIN")
	_, err = a.ExecContext(t.Context(), "UPDATE acc SET v = 1 WHERE id = 1")
	failsWith(t, err, 1792)
	_, err = a.ExecContext(t.Context(), "SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
	failsWith(t, err, 1568)
	exec(t, a, "ROLLBACK")
	exec(t, a, "UPDATE acc SET v = 1 WHERE id = 1")
	exec(t, a, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
	expect(t, rows(t, a, "SELECT @@transaction_isolation"), "REPEATABLE-READ")
}

func TestStatusFlags(t *testing.T) {
	const autocommit, inTransaction = 2, 1
	s := start(t)
	c := rawLogin(t, s, 0)
	flags := func(text string) int {
		t.Helper()
		c.command(comQuery, text)
		b := c.must(c.read())
		if b[0] != 0 {
			t.Fatalf("%s: %q", text, b)
		}
		return int(b[3]) | int(b[4])<<8
	}
	for _, step := range []struct {
		text string
		want int
	}{
		{"SET @a = 1", autocommit},
		{"BEGIN", autocommit | inTransaction},
		{"SET @a = 2", autocommit | inTransaction},
		{"COMMIT", autocommit},
		{"SET autocommit = 0", 0},
		{"SET autocommit = 1", autocommit},
	} {
		if got := flags(step.text); got != step.want {
			t.Errorf("%s: flags %#x, want %#x", step.text, got, step.want)
		}
	}
}

// A client that goes away takes its transaction with it, also while a statement of it waits.
func TestDisconnect(t *testing.T) {
	s := start(t)
	db := open(t, s)
	a := conn(t, db)
	exec(t, a, "CREATE TABLE d (id INT PRIMARY KEY, v INT)")
	exec(t, a, "INSERT INTO d VALUES (1, 1)")

	gone := rawLogin(t, s, 0)
	for _, text := range []string{"USE test", "BEGIN", "UPDATE d SET v = 2 WHERE id = 1"} {
		if _, err := gone.query(text); err != nil {
			t.Fatal(err)
		}
	}
	gone.net.Close()
	exec(t, a, "UPDATE d SET v = v + 10 WHERE id = 1") // waits for the lock until the transaction is rolled back
	expect(t, rows(t, a, "SELECT v FROM d"), "11")

	exec(t, a, "BEGIN")
	exec(t, a, "UPDATE d SET v = 0 WHERE id = 1")
	waiting := rawLogin(t, s, 0)
	waiting.query("USE test")
	waiting.command(comQuery, "UPDATE d SET v = 3 WHERE id = 1")
	eventually(t, "a statement that waits", func() bool { return s.running.Load() == 1 })
	waiting.net.Close()
	eventually(t, "the end of a statement whose client has gone", func() bool { return s.running.Load() == 0 })
	exec(t, a, "COMMIT")
	expect(t, rows(t, a, "SELECT v FROM d"), "0")
}

func TestKill(t *testing.T) {
	s := start(t)
	db := open(t, s)
	a, b, admin := conn(t, db), conn(t, db), conn(t, db)
	exec(t, a, "CREATE TABLE k (id INT PRIMARY KEY, v INT)")
	exec(t, a, "INSERT INTO k VALUES (1, 1), (2, 2)")
	id := rows(t, b, "SELECT CONNECTION_ID()")[0]

	exec(t, a, "BEGIN")
	exec(t, a, "UPDATE k SET v = 10 WHERE id = 2")
	exec(t, b, "BEGIN")
	exec(t, b, "INSERT INTO k VALUES (3, 3)")
	done := make(chan error, 1)
	go func() {
		_, err := b.ExecContext(context.Background(), "UPDATE k SET v = v + 100") // the first row changes, the second is locked
		done <- err
	}()
	eventually(t, "the statement in the process list", func() bool {
		return slices.ContainsFunc(rows(t, admin, "SHOW PROCESSLIST"), func(row string) bool {
			return strings.HasPrefix(row, id+" root ") && strings.Contains(row, "Query") && strings.Contains(row, "v + 100")
		})
	})
	exec(t, admin, "KILL QUERY "+id)
	failsWith(t, <-done, 1317)
	exec(t, a, "COMMIT")
	exec(t, b, "COMMIT") // the transaction lives, the statement left nothing
	expect(t, rows(t, admin, "SELECT * FROM k ORDER BY id"), "1 1", "2 10", "3 3")

	exec(t, admin, "KILL "+id)
	eventually(t, "the end of the connection", func() bool { return b.PingContext(context.Background()) != nil })
	var err error
	eventually(t, "the server has forgotten it", func() bool { // the client sees the end first
		_, err = admin.ExecContext(t.Context(), "KILL "+id)
		return err != nil
	})
	failsWith(t, err, 1094)
	_, err = admin.ExecContext(t.Context(), "KILL QUERY 4000000000")
	failsWith(t, err, 1094)
	_, err = admin.ExecContext(t.Context(), "KILL QUERY CONNECTION_ID()")
	if err == nil {
		t.Error("KILL of an expression went through")
	}
}

func TestKillOthers(t *testing.T) {
	s := start(t)
	root := conn(t, open(t, s))
	exec(t, root, "CREATE USER plain@localhost IDENTIFIED BY 'p'")
	rootID := rows(t, root, "SELECT CONNECTION_ID()")[0]
	plain, err := openAs(t, s, "plain", "p").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, err = plain.ExecContext(t.Context(), "KILL "+rootID)
	failsWith(t, err, 1095)
	for _, text := range []string{"SHOW PROCESSLIST", "SELECT * FROM information_schema.processlist"} {
		if got := rows(t, plain, text); len(got) != 1 || !strings.Contains(got[0], "plain") {
			t.Errorf("%s shows a user %q", text, got)
		}
		if got := rows(t, root, text); len(got) != 2 {
			t.Errorf("%s shows root %q", text, got)
		}
	}
}

func TestMaxExecutionTime(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "SET SESSION max_execution_time = 50")
	_, err := tryRows(t.Context(), c, "SELECT SLEEP(60)")
	failsWith(t, err, 3024)
	exec(t, c, "SET SESSION max_execution_time = 0")
	expect(t, rows(t, c, "SELECT SLEEP(0.1)"), "0")
}

func TestMaxConnections(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxConnections = 3 })
	root := open(t, s)
	exec(t, root, "CREATE USER plain@localhost IDENTIFIED BY 'p'")
	plain := openAs(t, s, "plain", "p")
	root.SetMaxIdleConns(0)
	eventually(t, "no connection", func() bool { return s.Counters().ThreadsConnected == 0 })
	for range 3 {
		c, err := plain.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	_, err := plain.Conn(t.Context())
	failsWith(t, err, 1040)
	c, err := root.Conn(t.Context()) // one more, for those who administer
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = root.Conn(t.Context())
	failsWith(t, err, 1040)
	exec(t, c, "SET GLOBAL max_connections = 10")
	again, err := plain.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if n := s.Counters().RefusedFull; n != 2 {
		t.Errorf("%d refused, want 2", n)
	}
}

func TestWaitTimeout(t *testing.T) {
	s := start(t, func(c *Config) { c.WaitTimeout = 2 * time.Second })
	c := rawLogin(t, s, 0)
	b := c.must(c.read()) // the server speaks first
	if e := rawError(b); b[0] != 0xff || e.number() != erClientTimeout {
		t.Errorf("got %q, want error %d", b, erClientTimeout)
	}
	if _, err := c.read(); err == nil {
		t.Error("the connection is open after the timeout")
	}
	longer := rawLogin(t, s, 0)
	if _, err := longer.query("SET SESSION wait_timeout = 100"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if _, err := longer.query("SELECT 1"); err != nil {
		t.Errorf("after SET wait_timeout: %v", err)
	}
}

func TestResetConnection(t *testing.T) {
	s := start(t)
	root := conn(t, open(t, s))
	exec(t, root, "CREATE TABLE r (id INT PRIMARY KEY)")
	c := rawLogin(t, s, 0)
	for _, text := range []string{"USE test", "SET @x = 1", "SET SESSION sql_safe_updates = 1", "BEGIN", "INSERT INTO r VALUES (1)"} {
		if _, err := c.query(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	c.prepare("SELECT 1")
	c.command(cmdReset, "")
	if b := c.must(c.read()); b[0] != 0 {
		t.Fatalf("reset: %q", b)
	}
	got, err := c.query("SELECT @x, @@sql_safe_updates, DATABASE(), (SELECT COUNT(*) FROM r)")
	if err != nil || fmt.Sprint(got) != "[[ 0 test 0]]" {
		t.Errorf("after a reset: %q, %v", got, err)
	}
	if n := s.preparedCount.Load(); n != 0 {
		t.Errorf("%d prepared statements after a reset", n)
	}
}

func TestStatistics(t *testing.T) {
	s := start(t)
	c := rawLogin(t, s, 0)
	c.command(comStatistics, "")
	if b := c.must(c.read()); !strings.HasPrefix(string(b), "Uptime: ") {
		t.Errorf("COM_STATISTICS: %q", b)
	}
	other := rawLogin(t, s, 0)
	id, err := other.query("SELECT CONNECTION_ID()")
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	fmt.Sscan(id[0][0], &n)
	c.command(comProcessKill, string([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}))
	if b := c.must(c.read()); b[0] != 0 {
		t.Errorf("COM_PROCESS_KILL: %q", b)
	}
	if _, err := other.query("SELECT 1"); err == nil {
		t.Error("a killed connection answers")
	}
}

func TestCounters(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	before := s.Counters()
	exec(t, c, "CREATE TABLE cnt (id INT PRIMARY KEY)")
	exec(t, c, "INSERT INTO cnt VALUES (1), (2)")
	rows(t, c, "SELECT * FROM cnt")
	rows(t, c, "SELECT * FROM cnt WHERE id = ?", 1)
	c.ExecContext(t.Context(), "INSERT INTO cnt VALUES (1)")
	after := s.Counters()
	for name, want := range map[string]uint64{"select": 2, "insert": 2, "create_table": 1, "stmt_prepare": 1, "stmt_execute": 1} {
		if got := after.Com[name] - before.Com[name]; got != want {
			t.Errorf("Com_%s went up by %d, want %d", name, got, want)
		}
	}
	if got := after.Questions - before.Questions; got != 5 {
		t.Errorf("Questions went up by %d, want 5", got)
	}
	if got := after.RowsSent - before.RowsSent; got != 3 {
		t.Errorf("rows sent went up by %d, want 3", got)
	}
	if after.BytesReceived <= before.BytesReceived || after.BytesSent <= before.BytesSent {
		t.Error("no bytes were counted")
	}
	c.Close()
	if n := s.Counters().Com["insert"]; n < after.Com["insert"] {
		t.Errorf("Com_insert fell to %d when a connection ended", n)
	}
}

// Statements in many connections, and a stop in the middle of them: what was acknowledged is there at the next start.
func TestShutdownUnderLoad(t *testing.T) {
	cfg := testConfig(t)
	s := startAt(t, cfg)
	db := open(t, s)
	c := conn(t, db)
	exec(t, c, "CREATE TABLE load_ (id INT PRIMARY KEY)")
	var kept sync.Map
	var inserted atomic.Int64
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for i := 0; ; i++ {
				id := w*1_000_000 + i
				if _, err := db.ExecContext(context.Background(), "INSERT INTO test.load_ VALUES (?)", id); err != nil {
					return
				}
				kept.Store(id, true)
				inserted.Add(1)
			}
		})
	}
	sleeper := rawLogin(t, s, 0)
	sleeper.command(comQuery, "SELECT SLEEP(100)")
	eventually(t, "all work", func() bool {
		return inserted.Load() > 100 && len(rows(t, c, "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(100)'")) == 1
	})
	c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	workers.Wait()
	if b := sleeper.must(sleeper.read()); b[0] != 0xff || rawError(b).number() != erServerShutdown {
		t.Errorf("the statement that outlived the deadline got %q", b)
	}
	again := startAt(t, cfg)
	c = conn(t, open(t, again))
	have := map[string]bool{}
	for _, id := range rows(t, c, "SELECT id FROM load_") {
		have[id] = true
	}
	kept.Range(func(id, _ any) bool {
		if !have[fmt.Sprint(id)] {
			t.Errorf("%v was acknowledged and is gone", id)
		}
		return true
	})
}

// calm waits until what a start leaves running has begun, and counts it.
func calm() (goroutines int) {
	for same := 0; same < 20; same++ {
		if n := runtime.NumGoroutine(); n != goroutines {
			goroutines, same = n, 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	return goroutines
}

func TestManyConnects(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of connections")
	}
	s := start(t)
	before := calm()
	const connects = 4000
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range connects / 8 {
				c, err := net.Dial("tcp", s.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				switch (w + i) % 4 {
				case 0: // without a word
				case 1:
					c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
				case 2: // half of an answer
					c.Write([]byte{200, 0, 0, 1, 5, 6})
				case 3: // one that waits for the greeting
					c.Read(make([]byte, 16))
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	settle(t, before)
	eventually(t, "no connection", func() bool { return s.open.Load() == 0 })
	expect(t, rows(t, conn(t, open(t, s)), "SELECT 1"), "1")
}
