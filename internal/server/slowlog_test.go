package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// slowLogOf a server that logs every statement.
func everyStatement(c *Config) { c.SlowLog, c.LongQueryTime = true, -1 }

// slowEntry is a copy of an entry.
type slowEntry struct {
	slowlog.Entry
	text, schema, user string
}

// readSlowLog reads a whole log, all of whose entries must be whole.
func readSlowLog(t testing.TB, path string) (list []slowEntry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := slowlog.NewReader(bufio.NewReader(f), slowlog.Options{})
	for {
		var e slowlog.Entry
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == slowlog.Broken || e.Kind == slowlog.Partial {
			t.Errorf("%s: entry at %d is %v: %.200q", path, e.Offset, e.Kind, e.Text)
		}
		e.Header = slices.Clone(e.Header)
		list = append(list, slowEntry{e, string(e.Text), string(e.Schema), string(e.User)})
	}
	if r.Skipped() != 0 {
		t.Errorf("%s: %d bytes belong to no entry", path, r.Skipped())
	}
	return list
}

func (e *slowEntry) attr(name string) string {
	v, _ := e.Attr(name)
	return string(v)
}

// find the one entry with that text.
func find(t testing.TB, list []slowEntry, text string) *slowEntry {
	t.Helper()
	at := -1
	for i := range list {
		if list[i].text != text {
			continue
		}
		if at >= 0 {
			t.Errorf("the log has %q twice", text)
		}
		at = i
	}
	if at < 0 {
		for i := range list {
			t.Logf("entry %v %q", list[i].Kind, list[i].text)
		}
		t.Fatalf("the log has no %q", text)
	}
	return &list[at]
}

// TestSlowLog: every statement and command is read back as it was sent, with what is true of it.
func TestSlowLog(t *testing.T) {
	s := start(t, everyStatement)
	c := conn(t, open(t, s))
	began := time.Now()
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(100), INDEX (b))")
	exec(t, c, "INSERT INTO t (b) VALUES ('x'), ('y;\n# Time: 2026-01-02T03:04:05.000450Z\n'), ('z')")
	rows(t, c, "SELECT * FROM t WHERE b >= 'y' -- a comment")
	exec(t, c, "UPDATE t SET b = CONCAT(b, '!') WHERE a > 1")
	_, bad := c.ExecContext(t.Context(), "SELECT nothing FROM t")
	failsWith(t, bad, 1054)
	_, bad = c.ExecContext(t.Context(), "SELEC 1")
	failsWith(t, bad, 1064)
	if err := c.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	stmt, err := c.PrepareContext(t.Context(), "SELECT a, '?' AS `?` FROM t /* ? */ WHERE b = ? OR a = ? OR b = ?")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := stmt.Query("it's \\ \n", 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	stmt.Close()
	exec(t, c, "CREATE USER u@localhost IDENTIFIED BY 'hush \\' hush'")
	exec(t, c, "SET PASSWORD FOR u@localhost = 'hush'")
	exec(t, c, "ALTER USER u@localhost IDENTIFIED WITH mysql_native_password BY 'hush'")
	_, bad = c.ExecContext(t.Context(), "CREATE USER v@localhost IDENTIFIED BY 'hush' HUSH HUSH")
	failsWith(t, bad, 1064)
	exec(t, c, "PREPARE p FROM 'CREATE USER w@localhost IDENTIFIED BY ''hush'''")
	exec(t, c, "FLUSH SLOW LOGS")

	list := readSlowLog(t, s.cfg.SlowLogFile)
	for i := range list {
		e := &list[i]
		if strings.Contains(e.text, "hush") {
			t.Errorf("a password is in the log: %q", e.text)
		}
		if e.user != "root" || e.ThreadID == 0 || !e.HasThreadID || !e.SchemaKnown || e.Started.Before(began.Add(-time.Minute)) || e.Ended.Before(e.Started) ||
			e.attr("Query_bytes") == "" || e.attr("Pages_read") == "" || string(e.IP) != "127.0.0.1" {
			t.Errorf("entry %q: %s", e.text, e.Header)
		}
	}
	insert := find(t, list, "INSERT INTO t (b) VALUES ('x'), ('y;\n# Time: 2026-01-02T03:04:05.000450Z\n'), ('z')")
	if insert.RowsAffected != 3 || insert.InsertID != 1 || insert.schema != "test" {
		t.Errorf("INSERT: %d rows, insert id %d, schema %q", insert.RowsAffected, insert.InsertID, insert.schema)
	}
	if e := find(t, list, "SELECT * FROM t WHERE b >= 'y' -- a comment"); e.RowsSent != 2 || e.RowsExamined != 2 || e.Errno != 0 {
		t.Errorf("SELECT: %d rows sent, %d examined, error %d", e.RowsSent, e.RowsExamined, e.Errno)
	}
	if e := find(t, list, "UPDATE t SET b = CONCAT(b, '!') WHERE a > 1"); e.RowsAffected != 2 || e.RowsExamined != 2 {
		t.Errorf("UPDATE: %d rows affected, %d examined", e.RowsAffected, e.RowsExamined)
	}
	if e := find(t, list, "SELECT nothing FROM t"); e.Errno != 1054 || e.RowsExamined != 0 {
		t.Errorf("failed SELECT: error %d, %d rows", e.Errno, e.RowsExamined)
	}
	if e := find(t, list, "SELEC 1"); e.Errno != 1064 || e.RowsExamined != 0 || e.RowsSent != 0 {
		t.Errorf("syntax error: error %d, %d rows", e.Errno, e.RowsExamined)
	}
	count := map[string]int{}
	for i := range list {
		if list[i].Kind == slowlog.Admin {
			count[list[i].text]++
		}
		count[list[i].text]++
	}
	if n := count[`SELECT a, '?' AS `+"`?`"+` FROM t /* ? */ WHERE b = 'it\'s \\ \n' OR a = 2 OR b = NULL`]; n != 2 {
		t.Errorf("the prepared statement is there %d times, want 2", n)
	}
	for _, name := range []string{"Ping", "Prepare", "Close stmt"} {
		if count[name] == 0 {
			t.Errorf("no administrator command %q: %v", name, count)
		}
	}
	find(t, list, "CREATE USER u@localhost IDENTIFIED BY <secret>")
	find(t, list, "SET PASSWORD FOR u@localhost = <secret>")
	find(t, list, "PREPARE p FROM <secret>")
	find(t, list, "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(100), INDEX (b))")
}

// TestSlowLogOfSeveral: of several statements in one text, each is an entry.
func TestSlowLogOfSeveral(t *testing.T) {
	s := start(t, everyStatement)
	c := conn(t, open(t, s, "multiStatements=true"))
	r, err := c.QueryContext(t.Context(), "SELECT 1;\n SELECT 2 ; INSERT INTO nowhere VALUES (1); SELECT 3")
	if err == nil {
		for r.NextResultSet() {
		}
		err = r.Err()
		r.Close()
	}
	failsWith(t, err, 1146)
	exec(t, c, "CREATE TABLE t (a INT)")
	exec(t, c, "INSERT INTO t VALUES (1), (2);INSERT INTO t VALUES (3), (4); DELETE FROM t WHERE a = 1")
	exec(t, c, "FLUSH LOGS")
	list := readSlowLog(t, s.cfg.SlowLogFile)
	for text, affected := range map[string]uint64{
		"SELECT 1": 0, "SELECT 2": 0, "INSERT INTO nowhere VALUES (1)": 0,
		"INSERT INTO t VALUES (1), (2)": 2, "INSERT INTO t VALUES (3), (4)": 2, "DELETE FROM t WHERE a = 1": 1,
	} {
		if e := find(t, list, text); e.RowsAffected != affected {
			t.Errorf("%s: %d rows affected, want %d", text, e.RowsAffected, affected)
		}
	}
	for i := range list {
		if strings.Contains(list[i].text, "SELECT 3") {
			t.Errorf("a statement that was not run is in the log: %q", list[i].text)
		}
	}
}

// TestSlowLogSettings: which statements are logged, where, and what cannot be set.
func TestSlowLogSettings(t *testing.T) {
	s := start(t)
	db := open(t, s)
	c, other := conn(t, db), conn(t, db)
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY)")
	exec(t, c, "INSERT INTO t VALUES (1), (2), (3)")
	path := filepath.Join(s.cfg.Data, "mine.log")
	slow := func(c execer) string { return statusOf(t, c, "Slow_queries") }

	if got := variableOf(t, c, "slow_query_log_file"); got != s.cfg.SlowLogFile || !strings.HasSuffix(got, "-slow.log") {
		t.Errorf("slow_query_log_file is %q", got)
	}
	if _, err := os.Stat(s.cfg.SlowLogFile); err == nil {
		t.Error("there is a log although it is off")
	}
	exec(t, c, "SET long_query_time = 0.000001")
	expect(t, rows(t, c, "SELECT @@long_query_time, @@global.long_query_time"), "1e-06 10")
	rows(t, c, "SELECT 'counted although there is no log'")
	if slow(c) == "0" {
		t.Error("slow statements are counted without a log, too")
	}
	exec(t, c, "SET GLOBAL slow_query_log_file = 'mine.log'")
	exec(t, c, "SET GLOBAL slow_query_log = ON")
	rows(t, c, "SELECT 'logged'")
	rows(t, other, "SELECT 'fast for its session'")
	exec(t, c, "SET GLOBAL long_query_time = 0")
	rows(t, other, "SELECT 'still fast'")
	exec(t, c, "SET GLOBAL slow_query_log_use_global_control = 'long_query_time'")
	rows(t, other, "SELECT 'slow for all'")
	exec(t, c, "SET SESSION min_examined_row_limit = 2")
	rows(t, c, "SELECT a FROM t WHERE a = 1")
	rows(t, c, "SELECT a FROM t WHERE a > 1")
	exec(t, c, "SET SESSION min_examined_row_limit = 0")
	exec(t, c, "ALTER TABLE t ADD COLUMN b INT")
	exec(t, c, "SET GLOBAL log_slow_admin_statements = ON")
	exec(t, c, "ALTER TABLE t ADD COLUMN c INT")
	exec(t, c, "SET GLOBAL log_slow_admin_statements = OFF")
	exec(t, c, "SET GLOBAL log_output = 'NONE'")
	rows(t, c, "SELECT 'nowhere'")
	exec(t, c, "SET GLOBAL log_output = 'FILE'")
	rows(t, c, "SELECT 'last'")
	exec(t, c, "SET GLOBAL slow_query_log = OFF")
	rows(t, c, "SELECT 'off'")
	eventually(t, "the log is written", func() bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), "'last'")
	})
	var texts []string
	for _, e := range readSlowLog(t, path) {
		if strings.HasPrefix(e.text, "SELECT '") || strings.HasPrefix(e.text, "SELECT a") || strings.HasPrefix(e.text, "ALTER") {
			texts = append(texts, e.text)
		}
	}
	expect(t, texts, "SELECT 'logged'", "SELECT 'slow for all'", "SELECT a FROM t WHERE a > 1", "ALTER TABLE t ADD COLUMN c INT", "SELECT 'last'")

	for text, number := range map[string]uint16{
		"SET GLOBAL slow_query_log_file = '/etc/mine.log'":            1231,
		"SET GLOBAL slow_query_log_file = '../mine.log'":              1231,
		"SET GLOBAL slow_query_log_file = 'control'":                  1231,
		"SET GLOBAL slow_query_log_file = '.log'":                     1231,
		"SET GLOBAL slow_query_log_file = 'log/mine.log'":             1231,
		"SET GLOBAL log_output = 'TABLE'":                             1231,
		"SET GLOBAL slow_query_log_use_global_control = 'everything'": 1231,
		"SET SESSION slow_query_log = ON":                             1229,
		"SET long_query_time = -1":                                    1231,
	} {
		_, err := c.ExecContext(t.Context(), text)
		if err == nil {
			t.Errorf("%s: no error, want %d", text, number)
			continue
		}
		failsWith(t, err, number)
	}
	if err := os.Mkdir(filepath.Join(s.cfg.Data, "dir.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "SET GLOBAL slow_query_log_file = 'dir.log'") // it is off
	_, err := c.ExecContext(t.Context(), "SET GLOBAL slow_query_log = ON")
	failsWith(t, err, 1004)
	if got := variableOf(t, c, "slow_query_log"); got != "OFF" {
		t.Errorf("a log that cannot be opened is %s", got)
	}
	nobody := conn(t, db)
	exec(t, nobody, "CREATE USER n@localhost IDENTIFIED BY 'n'")
	n, err := openAs(t, s, "n", "n").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	_, err = n.ExecContext(t.Context(), "FLUSH SLOW LOGS")
	failsWith(t, err, 1227)
}

// TestSlowLogRotation: statements go on while the log is renamed and flushed. Every one is in one of the files, once, in order.
func TestSlowLogRotation(t *testing.T) {
	const clients, statements, rotations = 4, 300, 40
	s := start(t, everyStatement)
	db := open(t, s)
	admin := conn(t, db)
	var wg sync.WaitGroup
	for id := range clients {
		c := conn(t, db)
		wg.Go(func() {
			for i := range statements {
				if _, err := c.ExecContext(t.Context(), fmt.Sprintf("SELECT 'client %d', %d, '%s'", id, i, strings.Repeat("x", i*7%5000))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	path := s.cfg.SlowLogFile
	var files []string
	for i := range rotations {
		old := fmt.Sprintf("%s.%d", path, i)
		if err := os.Rename(path, old); err != nil {
			t.Fatal(err)
		}
		files = append(files, old)
		exec(t, admin, "FLUSH SLOW LOGS")
	}
	wg.Wait()
	exec(t, admin, "FLUSH SLOW LOGS")
	next := make([]int, clients)
	for _, file := range append(files, path) {
		for _, e := range readSlowLog(t, file) {
			var id, i int
			if n, _ := fmt.Sscanf(e.text, "SELECT 'client %d', %d,", &id, &i); n != 2 {
				continue
			}
			if i != next[id] {
				t.Fatalf("%s: client %d: statement %d, want %d", file, id, i, next[id])
			}
			next[id]++
		}
	}
	for id, n := range next {
		if n != statements {
			t.Errorf("client %d: %d statements are in the logs, want %d", id, n, statements)
		}
	}
	if lost := statusOf(t, admin, "Hearth_slow_log_lost"); lost != "0" {
		t.Errorf("%s entries were lost", lost)
	}
}

// TestSlowLogTruncated: copytruncate leaves no hole. What is written behind it is whole, but for the entry that was cut.
func TestSlowLogTruncated(t *testing.T) {
	s := start(t, everyStatement)
	c := conn(t, open(t, s))
	for range 5 {
		for range 20 {
			rows(t, c, "SELECT 'before'")
		}
		exec(t, c, "FLUSH SLOW LOGS")
		if err := os.Truncate(s.cfg.SlowLogFile, 0); err != nil {
			t.Fatal(err)
		}
	}
	rows(t, c, "SELECT 'after'")
	exec(t, c, "FLUSH SLOW LOGS")
	find(t, readSlowLog(t, s.cfg.SlowLogFile), "SELECT 'after'")
}

// SIGHUP opens the slow query log again.
func TestHangup(t *testing.T) {
	cfg := testConfig(t)
	cfg.SlowLog, cfg.LongQueryTime, cfg.SlowLogFile = true, -1, filepath.Join(filepath.Dir(cfg.Data), "slow.log")
	mine := make(chan os.Signal, 1)
	signal.Notify(mine, syscall.SIGHUP) // the server may not be ready for one yet
	defer signal.Stop(mine)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg, io.Discard) }()
	exists := func() bool { _, err := os.Stat(cfg.SlowLogFile); return err == nil }
	eventually(t, "there is a log", exists)
	eventually(t, "it serves", func() bool {
		c := mysql.NewConfig()
		c.User, c.Net, c.Addr, c.AllowNativePasswords = "root", "unix", filepath.Join(cfg.Data, DefaultSocketName), true
		return tryLogin(t, c) == nil
	})
	if err := os.Rename(cfg.SlowLogFile, cfg.SlowLogFile+".1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is a new one", func() bool {
		syscall.Kill(os.Getpid(), syscall.SIGHUP)
		return exists()
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := len(readSlowLog(t, cfg.SlowLogFile+".1")); n == 0 {
		t.Error("the old log has no entries")
	}
}
