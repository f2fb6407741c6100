package server

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sqlparse"
)

func variableOf(t testing.TB, c execer, name string) string {
	t.Helper()
	got := rows(t, c, "SHOW GLOBAL VARIABLES LIKE '"+name+"'")
	if len(got) != 1 {
		t.Fatalf("variable %s: got %q", name, got)
	}
	return strings.TrimPrefix(got[0], name+" ")
}

func TestVariables(t *testing.T) {
	s := start(t, func(c *Config) { c.Engine.PrewarmFloor = 25; c.Engine.HeatDumpPercent = 40 })
	c := conn(t, open(t, s))
	for name, want := range map[string]string{
		"version":                             versionText,
		"version_comment":                     VersionComment,
		"innodb_buffer_pool_size":             fmt.Sprint(32 << 20),
		"innodb_page_size":                    fmt.Sprint(hearth.PageSize),
		"innodb_flush_log_at_trx_commit":      "1",
		"innodb_buffer_pool_dump_pct":         "40",
		"innodb_buffer_pool_dump_now":         "OFF",
		"innodb_buffer_pool_dump_at_shutdown": "ON",
		"innodb_buffer_pool_load_at_startup":  "ON",
		"innodb_fast_shutdown":                "1",
		"innodb_auto_lru_dump":                "60",
		"hearth_prewarm_floor":                "25",
		"hearth_memory":                       "ends with the process",
		"autocommit":                          "ON",
		"foreign_key_checks":                  "ON",
		"sql_auto_is_null":                    "OFF",
		"max_connections":                     "1000",
		"log_bin":                             "OFF",
	} {
		if got := variableOf(t, c, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	expect(t, rows(t, c, "SELECT @@version, VERSION()"), versionText+" "+versionText)
	expect(t, rows(t, c, "SELECT @@innodb_buffer_pool_size"), fmt.Sprint(32<<20))
	expect(t, rows(t, c, "SHOW VARIABLES LIKE 'sql\\_mode'"), rows(t, c, "SELECT CONCAT('sql_mode ', @@sql_mode)")...)
	expect(t, rows(t, c, "SELECT VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME = 'autocommit'"), "ON")

	for text, number := range map[string]uint16{
		"SET GLOBAL innodb_buffer_pool_size = 1":              1238,
		"SET GLOBAL version = 'x'":                            1238,
		"SET SESSION innodb_buffer_pool_dump_now = 1":         1229,
		"SET GLOBAL innodb_buffer_pool_dump_pct = 0":          1231,
		"SET GLOBAL innodb_buffer_pool_filename = '../x'":     1231,
		"SET GLOBAL innodb_buffer_pool_filename = '/tmp/x'":   1231,
		"SET GLOBAL hearth_no_such_thing = 1":                 1193,
		"SET GLOBAL innodb_flush_log_at_trx_commit = 'maybe'": 1231,
	} {
		_, err := c.ExecContext(t.Context(), text)
		if err == nil {
			t.Errorf("%s: no error, want %d", text, number)
			continue
		}
		failsWith(t, err, number)
	}
}

// TestVersion: what is told to clients, and what version comments are read by, are one thing.
func TestVersion(t *testing.T) {
	var major, minor, patch int
	if _, err := fmt.Sscanf(versionText, "%d.%d.%d-hearth", &major, &minor, &patch); err != nil {
		t.Fatal(err)
	}
	if got := major*10000 + minor*100 + patch; got != sqlparse.ServerVersion {
		t.Errorf("the version is %s, that of the parser %d", versionText, sqlparse.ServerVersion)
	}
}

// TestButtons: dump and load of the pool by InnoDB's variables.
func TestButtons(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(200))")
	exec(t, c, "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
	if got := statusOf(t, c, "Innodb_buffer_pool_load_status"); !strings.Contains(got, "not started") {
		t.Errorf("a new database has nothing to load: %q", got)
	}

	exec(t, c, "SET GLOBAL innodb_buffer_pool_filename = 'pages.dump'")
	exec(t, c, "SET GLOBAL innodb_buffer_pool_dump_now = ON")
	eventually(t, "the dump is written", func() bool {
		return strings.Contains(statusOf(t, c, "Innodb_buffer_pool_dump_status"), "completed")
	})
	eventually(t, "the button is OFF again", func() bool { return variableOf(t, c, "innodb_buffer_pool_dump_now") == "OFF" })
	got := rows(t, c, "SELECT LAST_DUMP_FILE, LAST_DUMP_PAGES > 0 FROM information_schema.HEARTH_WARMTH")
	if len(got) != 1 || !strings.HasSuffix(got[0], "/pages.dump 1") {
		t.Errorf("the last dump is %q", got)
	}

	exec(t, c, "SET GLOBAL innodb_buffer_pool_load_now = ON")
	eventually(t, "the load is done", func() bool {
		return strings.Contains(statusOf(t, c, "Innodb_buffer_pool_load_status"), "load completed")
	})
	if total := statusOf(t, c, "Hearth_prewarm_pages_total"); total == "0" {
		t.Error("the load had no pages")
	}
	exec(t, c, "SET GLOBAL innodb_buffer_pool_load_abort = ON")
	eventually(t, "the button is OFF again", func() bool { return variableOf(t, c, "innodb_buffer_pool_load_abort") == "OFF" })

	exec(t, c, "SET GLOBAL innodb_buffer_pool_filename = 'no-such-file'")
	exec(t, c, "SET GLOBAL innodb_buffer_pool_load_now = ON")
	eventually(t, "the load fails", func() bool {
		return strings.Contains(statusOf(t, c, "Innodb_buffer_pool_load_status"), "load failed")
	})
	exec(t, c, "SET GLOBAL hearth_prewarm_pause = ON")
	exec(t, c, "SET GLOBAL hearth_prewarm_pause = OFF")
}

// TestDumpReplacesDumps: a dump that is given the name of another file leaves that alone.
func TestDumpReplacesDumps(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	for _, name := range []string{"control", "lock", "doublewrite", "spaces", "CONTROL.new"} {
		_, err := c.ExecContext(t.Context(), "SET GLOBAL innodb_buffer_pool_filename = '"+name+"'")
		failsWith(t, err, 1231)
	}
	const text = "something else"
	for _, name := range []string{"mine.txt", "empty"} {
		path := filepath.Join(s.cfg.Data, name)
		before := []byte(text)[:len(name)-len("empty")]
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		exec(t, c, "SET GLOBAL innodb_buffer_pool_filename = '"+name+"'")
		exec(t, c, "SET GLOBAL innodb_buffer_pool_dump_now = ON")
		eventually(t, "the button is OFF again", func() bool { return variableOf(t, c, "innodb_buffer_pool_dump_now") == "OFF" })
		if got := statusOf(t, c, "Innodb_buffer_pool_dump_status"); !strings.Contains(got, "dump failed") || !strings.Contains(got, name) {
			t.Errorf("a dump as %s: %q", name, got)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
			t.Errorf("the dump has changed %s", name)
		}
	}
	exec(t, c, "SET GLOBAL innodb_buffer_pool_filename = 'twice.dump'")
	for range 2 {
		exec(t, c, "SET GLOBAL innodb_buffer_pool_dump_now = ON")
		eventually(t, "the button is OFF again", func() bool { return variableOf(t, c, "innodb_buffer_pool_dump_now") == "OFF" })
		if got := statusOf(t, c, "Innodb_buffer_pool_dump_status"); !strings.Contains(got, "completed") {
			t.Errorf("a dump that replaces a dump: %q", got)
		}
	}
}

// TestPersisted: SET PERSIST holds after a restart, and wins over the configuration.
func TestPersisted(t *testing.T) {
	cfg := testConfig(t)
	t.Run("before", func(t *testing.T) {
		c := conn(t, open(t, startAt(t, cfg)))
		exec(t, c, "SET PERSIST max_connections = 77")
		expect(t, rows(t, c, "SELECT @@global.max_connections"), "77")
		exec(t, c, "SET PERSIST innodb_buffer_pool_dump_pct = 30")
	})
	t.Run("after", func(t *testing.T) {
		c := conn(t, open(t, startAt(t, cfg)))
		expect(t, rows(t, c, "SELECT @@global.max_connections"), "77")
		if got := variableOf(t, c, "innodb_buffer_pool_dump_pct"); got != "30" {
			t.Errorf("got %s, want 30", got)
		}
	})
}

// TestGlobalSeenBySessions: a variable that is global only has one value, also for sessions that were there before it was set.
func TestGlobalSeenBySessions(t *testing.T) {
	s := start(t)
	a, b := conn(t, open(t, s)), conn(t, open(t, s))
	expect(t, rows(t, a, "SELECT @@max_connections"), "1000")
	exec(t, b, "SET GLOBAL max_connections = 900")
	expect(t, rows(t, a, "SELECT @@max_connections, @@global.max_connections"), "900 900")
	expect(t, rows(t, a, "SHOW VARIABLES LIKE 'max\\_connections'"), "max_connections 900")
}

// TestWarmthSettings: what InnoDB's and Percona's variables say of the dumps, they can be told while the server runs.
func TestWarmthSettings(t *testing.T) {
	cfg := testConfig(t)
	dumps := func(s *Server) (n int) {
		files, err := filepath.Glob(filepath.Join(s.cfg.Data, "heat", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	t.Run("set", func(t *testing.T) {
		cfg.Engine.HeatDumpInterval = -1
		s := startAt(t, cfg)
		c := conn(t, open(t, s))
		if got := variableOf(t, c, "innodb_auto_lru_dump"); got != "0" {
			t.Errorf("no dump by itself: innodb_auto_lru_dump is %s", got)
		}
		exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY)")
		if n := dumps(s); n != 0 {
			t.Errorf("%d dumps before there may be one", n)
		}
		exec(t, c, "SET GLOBAL innodb_auto_lru_dump = 1")
		eventually(t, "a dump from time to time", func() bool { return dumps(s) > 0 })
		exec(t, c, "SET GLOBAL innodb_auto_lru_dump = 0")
		exec(t, c, "SET GLOBAL innodb_buffer_pool_dump_at_shutdown = OFF")
		exec(t, c, "SET GLOBAL innodb_buffer_pool_dump_pct = 7")
		exec(t, c, "SET PERSIST hearth_prewarm_floor = 33")
		got := s.DB().Warmth().Settings()
		want := hearth.WarmthSettings{DumpInterval: -1, DumpPercent: 7, Order: hearth.OrderHeat, Floor: 33}
		if got != want {
			t.Errorf("settings %+v, want %+v", got, want)
		}
		for text, number := range map[string]uint16{
			"SET GLOBAL innodb_buffer_pool_load_at_startup = OFF":  1238,
			"SET SESSION innodb_auto_lru_dump = 1":                 1229,
			"SET GLOBAL innodb_auto_lru_dump = -1":                 1231,
			"SET GLOBAL innodb_auto_lru_dump = 4294967296":         1231,
			"SET GLOBAL innodb_buffer_pool_dump_at_shutdown = 'x'": 1231,
			"SET GLOBAL hearth_prewarm_floor = 91":                 1231,
		} {
			_, err := c.ExecContext(t.Context(), text)
			failsWith(t, err, number)
		}
	})
	t.Run("persisted", func(t *testing.T) {
		s := startAt(t, cfg)
		if got := s.DB().Warmth().Settings().Floor; got != 33 {
			t.Errorf("floor %d, want what SET PERSIST said", got)
		}
	})
}

// TestRegexpLimits: a pattern that goes back and back ends by MySQL's limits, which can be set.
func TestRegexpLimits(t *testing.T) {
	c := conn(t, open(t, start(t)))
	defer func() { // the limits are the process's
		exec(t, c, "SET GLOBAL regexp_time_limit = DEFAULT")
		exec(t, c, "SET GLOBAL regexp_stack_limit = DEFAULT")
	}()
	const query = "SELECT REGEXP_LIKE(CONCAT(REPEAT('a', 15), 'b'), '^(a+)+$')"
	expect(t, rows(t, c, query), "0")
	exec(t, c, "SET GLOBAL regexp_time_limit = 1")
	_, err := tryRows(t.Context(), c, query)
	failsWith(t, err, 3699)
	exec(t, c, "SET GLOBAL regexp_time_limit = 0")
	exec(t, c, "SET GLOBAL regexp_stack_limit = 100")
	_, err = tryRows(t.Context(), c, query)
	failsWith(t, err, 3698)
	_, err = c.ExecContext(t.Context(), "SET GLOBAL regexp_time_limit = 2147483648")
	failsWith(t, err, 1231)
}

// TestShowOrder: warnings come in the order in which they came about.
func TestShowOrder(t *testing.T) {
	c := conn(t, open(t, start(t)))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, UNIQUE (b, c), INDEX x (c, b))")
	exec(t, c, "INSERT INTO t VALUES (1, 1, 1)")
	exec(t, c, "INSERT IGNORE INTO t VALUES (1, 2, 2), (2, 1, 1)")
	got := rows(t, c, "SHOW WARNINGS")
	if len(got) != 2 || !strings.Contains(got[0], "'1'") || !strings.Contains(got[1], "'1-1'") {
		t.Errorf("warnings %q", got)
	}
	if one := rows(t, c, "SHOW WARNINGS LIMIT 1"); len(one) != 1 || one[0] != got[0] {
		t.Errorf("with LIMIT 1 %q", one)
	}
}

// TestRangesOfWrites: UPDATE and DELETE of a range look at the rows of the range.
func TestRangesOfWrites(t *testing.T) {
	s := start(t)
	c := conn(t, open(t, s))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, INDEX (b))")
	for i := range 300 {
		exec(t, c, fmt.Sprintf("INSERT INTO t VALUES (%d, %d, %d)", i, 1000-i, i))
	}
	for text, most := range map[string]int64{
		"UPDATE t SET c = 0 WHERE a BETWEEN 100 AND 105":                      6,
		"UPDATE t SET c = 0 WHERE b BETWEEN 800 AND 805 AND c > 0":            6,
		"DELETE FROM t WHERE a BETWEEN 110 AND 115":                           6,
		"DELETE FROM t WHERE a >= 120 AND a < 126":                            6,
		"DELETE FROM t WHERE a BETWEEN 130 AND 132 ORDER BY a LIMIT 2":        3,
		"UPDATE t SET c = 1 WHERE a NOT BETWEEN 10 AND 290 AND a IS NOT NULL": 300,
	} {
		before := statusNumber(t, c, "Hearth_rows_examined")
		exec(t, c, text)
		if n := statusNumber(t, c, "Hearth_rows_examined") - before; n < 1 || n > most {
			t.Errorf("%s: %d rows examined, want %d at most", text, n, most)
		}
	}
}

// TestCardinality: SHOW INDEX says how many values there are, as far as it is known.
func TestCardinality(t *testing.T) {
	c := conn(t, open(t, start(t)))
	exec(t, c, "CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(10), INDEX x (c, b))")
	for i := range 60 {
		exec(t, c, fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 'c%d')", i, i%10, i%3))
	}
	cardinalities := func() (list []string) {
		r, err := c.QueryContext(t.Context(), "SHOW INDEX FROM t")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		columns, _ := r.Columns()
		for r.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(sql.NullString)
			}
			if err := r.Scan(values...); err != nil {
				t.Fatal(err)
			}
			list = append(list, values[slices.Index(columns, "Cardinality")].(*sql.NullString).String)
		}
		return list
	}
	if got := cardinalities(); len(got) != 3 || got[0] == "" || got[0] == "0" || got[1] != "" || got[2] == "" {
		t.Errorf("nobody has counted, and there are %q", got)
	}
	exec(t, c, "ANALYZE TABLE t")
	expect(t, cardinalities(), "60", "3", "30")
}
