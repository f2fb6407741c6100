package server

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/datafile"
)

func statusOf(t testing.TB, c execer, name string) string {
	t.Helper()
	got := rows(t, c, "SHOW GLOBAL STATUS LIKE '"+name+"'")
	if len(got) != 1 {
		t.Fatalf("status %s: got %q", name, got)
	}
	return strings.TrimPrefix(got[0], name+" ")
}

func statusNumber(t testing.TB, c execer, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(statusOf(t, c, name), 10, 64)
	if err != nil {
		t.Fatalf("status %s: %v", name, err)
	}
	return n
}

// TestStatus: the values move as what they count does, and fit each other.
func TestStatus(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY)")
	before := map[string]int64{}
	counted := []string{"Questions", "Com_select", "Com_insert", "Bytes_sent", "Bytes_received", "Innodb_os_log_written", "Innodb_log_write_requests",
		"Innodb_lsn_current", "Innodb_redo_log_current_lsn"}
	for _, name := range counted {
		before[name] = statusNumber(t, c, name)
	}
	exec(t, c, "INSERT INTO t VALUES (1), (2), (3)")
	expect(t, rows(t, c, "SELECT COUNT(*) FROM t"), "3")
	for _, name := range counted {
		if got := statusNumber(t, c, name); got <= before[name] {
			t.Errorf("%s: %d, and %d before", name, got, before[name])
		}
	}
	sum := statusNumber(t, c, "Innodb_buffer_pool_pages_data") + statusNumber(t, c, "Innodb_buffer_pool_pages_free") +
		statusNumber(t, c, "Innodb_buffer_pool_pages_misc")
	if total := statusNumber(t, c, "Innodb_buffer_pool_pages_total"); sum != total || total != 32<<20/16384 {
		t.Errorf("%d pages in all, %d by kind", total, sum)
	}
	if n := statusNumber(t, c, "Threads_connected"); n < 1 {
		t.Errorf("%d connected", n)
	}
	if flushed, current := statusNumber(t, c, "Innodb_lsn_flushed"), statusNumber(t, c, "Innodb_lsn_current"); flushed > current {
		t.Errorf("the log is flushed up to %d, and ends at %d", flushed, current)
	}

	// What is not known is not there.
	for _, name := range []string{"Handler_read_first", "Qcache_hits", "Key_reads", "Innodb_rows_inserted", "Ssl_accepts", "Hearth_other"} {
		expect(t, rows(t, c, "SHOW GLOBAL STATUS LIKE '"+name+"'"))
	}
	names := rows(t, c, "SELECT VARIABLE_NAME FROM information_schema.GLOBAL_STATUS")
	if !slices.IsSorted(rows(t, c, "SHOW GLOBAL STATUS")) || len(names) < 150 {
		t.Errorf("%d names, or not in order", len(names))
	}
	expect(t, rows(t, c, "SHOW GLOBAL STATUS WHERE Variable_name = 'Innodb_redo_log_enabled' AND Value = 'ON'"), "Innodb_redo_log_enabled ON")
}

// TestSessionStatus: a session's own counts, and whether it has TLS.
func TestSessionStatus(t *testing.T) {
	s := start(t)
	a, b := conn(t, open(t, s)), conn(t, open(t, s, "tls=skip-verify"))
	for range 5 {
		rows(t, a, "SELECT 1")
	}
	if got := rows(t, b, "SHOW SESSION STATUS LIKE 'Com_select'"); got[0] != "Com_select 0" {
		t.Errorf("a session that has selected nothing: %q", got)
	}
	if got := rows(t, a, "SHOW STATUS LIKE 'Com_select'"); got[0] != "Com_select 5" {
		t.Errorf("a session that has selected five times: %q", got)
	}
	expect(t, rows(t, a, "SHOW STATUS LIKE 'Ssl_version'"), "Ssl_version ")
	if got := rows(t, b, "SHOW STATUS LIKE 'Ssl_version'"); !strings.HasPrefix(got[0], "Ssl_version TLS 1.") {
		t.Errorf("a session with TLS: %q", got)
	}
}

// TestEngineStatus: the sections that operators look for.
func TestEngineStatus(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	exec(t, c, "INSERT INTO t VALUES (1, 1), (2, 2)")
	deadlock(t, s)
	text := rows(t, c, "SHOW ENGINE INNODB STATUS")[0]
	for _, want := range []string{"InnoDB", "LATEST DETECTED DEADLOCK", "WE ROLL BACK TRANSACTION", "table `test`.`t`", "TRANSACTIONS",
		"History list length", "FILE I/O", "Log sequence number", "Last checkpoint at", "BUFFER POOL AND MEMORY", "Free buffers", "WARMTH"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	expect(t, rows(t, c, "SHOW ENGINE INNODB MUTEX"))
}

// deadlock of two transactions.
func deadlock(t *testing.T, s *Server) {
	a, b := conn(t, open(t, s)), conn(t, open(t, s))
	for i, c := range []execer{a, b} {
		exec(t, c, "BEGIN")
		exec(t, c, "UPDATE t SET b = 0 WHERE a = "+strconv.Itoa(i+1))
	}
	done := make(chan error, 1)
	go func() {
		_, err := a.ExecContext(context.Background(), "UPDATE t SET b = 0 WHERE a = 2")
		done <- err
	}()
	eventually(t, "one waits", func() bool { return len(s.db.LockWaits()) == 1 })
	_, err := b.ExecContext(t.Context(), "UPDATE t SET b = 0 WHERE a = 1")
	if other := <-done; err == nil {
		err = other
	}
	failsWith(t, err, 1213)
	exec(t, a, "ROLLBACK")
	exec(t, b, "ROLLBACK")
}

// TestFileClasses: the names are the engine's.
func TestFileClasses(t *testing.T) {
	var files datafile.Stats
	if len(files) != len(fileClasses) {
		t.Fatalf("%d classes, %d names", len(files), len(fileClasses))
	}
	for i, name := range fileClasses {
		if got := datafile.Class(i).String(); got != name {
			t.Errorf("class %d is %s, and is called %s", i, got, name)
		}
	}
}
