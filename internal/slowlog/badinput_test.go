package slowlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

const (
	timeHeader  = "# Time: 2025-05-05T05:05:01.000000Z\n"
	userHeader  = "# User@Host: app[app] @ h [127.0.0.1]  Id:    50\n"
	queryHeader = "# Query_time: 0.000200  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n"
	setHeader   = "SET timestamp=1746421501;\n"
	header      = timeHeader + userHeader + queryHeader + setHeader
	banner      = "/usr/sbin/mysqld, Version: 8.4.0 (MySQL). started with:\nTcp port: 3306  Unix socket: /tmp/s\nTime                 Id Command    Argument\n"
)

// entry is a whole entry around a text.
func entry(text string) string { return header + text + ";\n" }

// entries reads a log as "kind schema text" lines. Every byte must be in an entry, in a banner, or skipped.
func entries(t testing.TB, r *slowlog.Reader) (got []string) {
	t.Helper()
	var e slowlog.Entry
	for last := int64(-1); ; last = e.End {
		err := r.Next(&e)
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Offset < last || e.End <= e.Offset {
			t.Fatalf("an entry at [%d,%d) after one that ended at %d", e.Offset, e.End, last)
		}
		schema := string(e.Schema)
		if !e.SchemaKnown {
			schema = "?"
		}
		got = append(got, fmt.Sprintf("%v %s|%s", e.Kind, schema, e.Text))
	}
}

// TestBadInput has a row for everything that may stand in a log and must not lose, split or invent an entry.
func TestBadInput(t *testing.T) {
	next := entry("SELECT 'next'")
	const nextIs = "query ?|SELECT 'next'"
	quoted := "INSERT INTO ticket VALUES ('see:\n" + entry("DROP TABLE t") + entry("DROP TABLE u") + "that is all')"
	for _, c := range []struct {
		name, log string
		want      []string
	}{
		{"fake entries in a string", entry(quoted) + next, []string{"query ?|" + quoted, nextIs}},
		{"fake entries in ANSI quotes", entry(`SELECT "x`+"\n"+entry("DROP TABLE t")+`" FROM t`) + next,
			[]string{`query ?|SELECT "x` + "\n" + entry("DROP TABLE t") + `" FROM t`, nextIs}},
		{"fake entry in a name", entry("SELECT `x\n"+entry("DROP TABLE t")+"`") + next, []string{"query ?|SELECT `x\n" + entry("DROP TABLE t") + "`", nextIs}},
		{"fake entries in a comment", entry("SELECT /* see\n"+entry("DROP TABLE t")+entry("DROP TABLE u")+"*/ 1") + next,
			[]string{"query ?|SELECT /* see\n" + entry("DROP TABLE t") + entry("DROP TABLE u") + "*/ 1", nextIs}},
		{"semicolon and newline in quotes", entry("SELECT ';\n', \";\n\", `;\n`") + next, []string{"query ?|SELECT ';\n', \";\n\", `;\n`", nextIs}},
		{"semicolon and newline in a body", entry("CREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\n  SELECT 2;\nEND") + next,
			[]string{"query ?|CREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\n  SELECT 2;\nEND", nextIs}},
		{"a comment swallows the semicolon", entry("SELECT 1 -- all") + next, []string{"query ?|SELECT 1 -- all", nextIs}},
		{"a comment at the start", entry("# all\nSELECT 1") + next, []string{"query ?|# all\nSELECT 1", nextIs}},
		{"header lines outside of quotes", entry("SELECT 1\n"+header+"+ 1") + next, []string{"query ?|SELECT 1\n" + header + "+ 1", nextIs}},
		{"comment of the daemon inside a string", entry("SELECT ';\n# slowlogd: x\n'") + next, []string{"query ?|SELECT ';\n# slowlogd: x\n'", nextIs}},
		{"banner inside a string", entry("SELECT ';\n"+banner+"'") + next, []string{"query ?|SELECT ';\n" + banner + "'", nextIs}},
		{"quote in a line comment", entry("SELECT 1 -- it's\n+ 1 # don't") + next, []string{"query ?|SELECT 1 -- it's\n+ 1 # don't", nextIs}},
		{"two minus signs are no comment", entry("SELECT 5--1, '--'") + next, []string{"query ?|SELECT 5--1, '--'", nextIs}},
		{"code in a version comment", entry("SELECT /*!50000 '*/;\n"+header+"' */ 1") + next, []string{"query ?|SELECT /*!50000 '*/;\n" + header + "' */ 1", nextIs}},
		{"MariaDB's version comment", entry("SELECT /*M! '*/' */ 1") + next, []string{"query ?|SELECT /*M! '*/' */ 1", nextIs}},
		{"a comment that is not ended by its start", entry("SELECT /*/ ' */ 1") + next, []string{"query ?|SELECT /*/ ' */ 1", nextIs}},
		{"unbalanced quote", entry("SELECT 'x") + next + next, []string{"query ?|SELECT 'x", nextIs, nextIs}},
		{"unbalanced comment", entry("SELECT /* x") + next + next, []string{"query ?|SELECT /* x", nextIs, nextIs}},
		{"no backslash escapes", entry(`SELECT 'C:\', "D:\"`) + next, []string{`query ?|SELECT 'C:\', "D:\"`, nextIs}},
		{"no backslash escapes, last entry", next + entry(`SELECT 'C:\'`), []string{nextIs, `query ?|SELECT 'C:\'`}},
		{"SJIS with 0x5c as second byte", entry("SELECT '\x95\\'") + next, []string{"query ?|SELECT '\x95\\'", nextIs}},
		{"GBK with 0x5c as second byte", entry("SELECT '\xbf\\', 1") + next, []string{"query ?|SELECT '\xbf\\', 1", nextIs}},
		{"NUL and invalid UTF-8", entry("SELECT '\x00\xff\xc3'") + next, []string{"query ?|SELECT '\x00\xff\xc3'", nextIs}},
		{"CRLF everywhere", strings.ReplaceAll(entry("SELECT 1")+next, "\n", "\r\n"), []string{"query ?|SELECT 1", nextIs}},
		{"text of newlines", entry("\n\n\n\n") + next, []string{"query ?|\n\n\n\n", nextIs}},
		{"empty text", header + ";\n" + next, []string{"empty ?|", nextIs}},
		{"header only", timeHeader + userHeader + next, []string{"broken ?|", nextIs}},
		{"time only", timeHeader + next, []string{"broken ?|", nextIs}},
		{"header, then a banner", timeHeader + userHeader + queryHeader + banner + next, []string{"broken ?|", "query |SELECT 'next'"}},
		{"no time", userHeader + queryHeader + setHeader + "SELECT 1;\n" + next, []string{"query ?|SELECT 1", nextIs}},
		{"no SET", timeHeader + userHeader + queryHeader + "SELECT 1;\n" + next, []string{"query ?|SELECT 1", nextIs}},
		{"no SET, an administrator command", timeHeader + userHeader + queryHeader + "# administrator command: Quit;\n" + next, []string{"admin ?|Quit", nextIs}},
		{"no SET, a client's USE", timeHeader + userHeader + queryHeader + "use x;\n" + next, []string{"query ?|use x", nextIs}},
		{"a client's SET", entry("SET timestamp=5") + next, []string{"query ?|SET timestamp=5", nextIs}},
		{"a SET that is no header", timeHeader + userHeader + queryHeader + "SET x=1,timestamp=5;\n" + next, []string{"query ?|SET x=1,timestamp=5", nextIs}},
		{"administrator command in a comment of the client", entry("# administrator command: Quit\nSELECT 1") + next,
			[]string{"query ?|# administrator command: Quit\nSELECT 1", nextIs}},
		{"the server's summary", entry("throttle:         12 'index not used' warning(s) suppressed.") + next,
			[]string{"summary ?|throttle:         12 'index not used' warning(s) suppressed.", nextIs}},
		{"hidden password", entry("CREATE USER x IDENTIFIED BY <secret>") + next, []string{"query ?|CREATE USER x IDENTIFIED BY <secret>", nextIs}},
		{"odd schema", timeHeader + userHeader + queryHeader + "use order-desk 7;\n" + setHeader + "SELECT 1;\n", []string{"query order-desk 7|SELECT 1"}},
		{"schema with a semicolon", timeHeader + userHeader + queryHeader + "use a;b;\n" + setHeader + "SELECT 1;\n", []string{"query a;b|SELECT 1"}},
		{"schema with a newline", timeHeader + userHeader + queryHeader + "use a\nb;\n" + setHeader + "SELECT 1;\n", []string{"query a\nb|SELECT 1"}},
		{"schema with a backtick", timeHeader + userHeader + queryHeader + "use `a``b`;\n" + setHeader + "SELECT 1;\n", []string{"query a`b|SELECT 1"}},
		{"schema that looks like a field", timeHeader + userHeader + "# Thread_id: 5  Schema: a  QC_hit: b  QC_hit: No\n" + queryHeader + setHeader + "SELECT 1;\n",
			[]string{"query a  QC_hit: b|SELECT 1"}},
		{"a banner forgets the schema", timeHeader + userHeader + queryHeader + "use a;\n" + setHeader + "SELECT 1;\n" + banner + next, []string{"query a|SELECT 1", "query |SELECT 'next'"}},
		{"warnings that look like lines of a log", timeHeader + userHeader + queryHeader + "# Warnings\n# Warning 1265 Data truncated: 'x\ny'\n# Note 1592 # Time: x\n" + setHeader + "SELECT 1;\n" + next,
			[]string{"query ?|SELECT 1", nextIs}},
		{"explain that looks like lines of a log", timeHeader + userHeader + queryHeader + "#\n# explain: 1\tSIMPLE\t# Time: 1\n#\n" + setHeader + "SELECT 1;\n" + next,
			[]string{"query ?|SELECT 1", nextIs}},
		{"disk full inside a string", strings.TrimSuffix(entry("SELECT 'abc"), ";\n") + next + next, []string{"broken ?|SELECT 'abc" + timeHeader, nextIs, nextIs}},
		{"disk full inside a header", timeHeader + "# User@Ho\n" + next, []string{"broken ?|", nextIs}},
		{"two writers", timeHeader + userHeader + timeHeader + userHeader + queryHeader + setHeader + "SELECT 1;\n" + queryHeader + setHeader + "SELECT 2;\n" + next,
			[]string{"broken ?|", "query ?|SELECT 1;\n" + queryHeader + setHeader + "SELECT 2", nextIs}},
		{"the end inside a header", next + timeHeader + "# User@", []string{nextIs, "partial ?|"}},
		{"the end inside a text", next + header + "SELECT na", []string{nextIs, "partial ?|SELECT na"}},
		{"the end inside a string", next + header + "SELECT 'na;\n", []string{nextIs, "partial ?|SELECT 'na;\n"}},
		{"no newline at the end", next + header + "SELECT 1;", []string{nextIs, "query ?|SELECT 1"}},
		{"no newline behind a comment at the end", next + header + "SELECT 1 -- x;", []string{nextIs, "query ?|SELECT 1 -- x"}},
		{"begun inside a text", "ned FROM t;\n" + next, []string{nextIs}},
		{"begun inside a character", "\xa9';\n" + next, []string{nextIs}},
		{"begun inside a header line", "ser@Host: x[x] @ h []\n" + queryHeader + setHeader + "SELECT 1;\n" + next, []string{nextIs}},
		{"garbage behind an entry is its text (rule 3)", next + "\x1f\x8b\n\x00\n" + next, []string{nextIs + ";\n\x1f\x8b\n\x00\n" + strings.TrimSuffix(next, ";\n")}},
		{"garbage before the first entry", "\x1f\x8b\x08\n" + strings.Repeat("\x00\xff", 9000) + "\n" + next, []string{nextIs}},
		{"length that is wrong", timeHeader + userHeader + queryHeader + "# Query_bytes: 3\n" + setHeader + "SELECT 1;\n" + next, []string{"query ?|SELECT 1", nextIs}},
		{"length beyond the log", timeHeader + userHeader + queryHeader + "# Query_bytes: 5000\n" + setHeader + "SELECT 1;\n" + next, []string{"query ?|SELECT 1", nextIs}},
		{"length beyond all bounds", timeHeader + userHeader + queryHeader + "# Query_bytes: 99999999999999999999999\n" + setHeader + "SELECT 1;\n" + next, []string{"query ?|SELECT 1", nextIs}},
		{"nothing", "", nil},
		{"newlines", "\n\n\n", nil},
		{"no log at all", "GIF89a\x00\x01" + strings.Repeat("x", 10_000), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, src := range []io.Reader{strings.NewReader(c.log), iotest.OneByteReader(strings.NewReader(c.log))} {
				if got := entries(t, slowlog.NewReader(src, slowlog.Options{})); !slices.Equal(got, c.want) {
					t.Errorf("log %q\n got %q\nwant %q", c.log, got, c.want)
				}
			}
		})
	}
}

// first reads the only entry of a log.
func first(t *testing.T, log string, o slowlog.Options) *slowlog.Entry {
	t.Helper()
	var e slowlog.Entry
	if err := slowlog.NewReader(strings.NewReader(log), o).Next(&e); err != nil {
		t.Fatal(err)
	}
	return &e
}

func TestOddUsers(t *testing.T) {
	for line, want := range map[string][3]string{
		"app[app] @ web [10.0.0.1]  Id:     7":        {"app", "web", "10.0.0.1"},
		"app[app] @ web []  Id:     7":                {"app", "web", ""},
		"[bob] @ localhost []  Id:     7":             {"bob", "localhost", ""},
		"root[] @ localhost []  Id:     7":            {"root", "localhost", ""},
		"[] @  []  Id:     7":                         {"", "", ""},
		"a[b][a[b]] @ h [::1]  Id:     7":             {"a[b]", "h", "::1"},
		"a] @ b[a] @ b] @ h [::1]  Id:     7":         {"a] @ b", "h", "::1"},
		"a b[a b] @ h [fe80::1%2]  Id:     7":         {"a b", "h", "fe80::1%2"},
		"a@b[a@b] @ h []  Id:     7":                  {"a@b", "h", ""},
		"a[a] @ 2001:db8::7 [2001:db8::7]  Id:     7": {"a", "2001:db8::7", "2001:db8::7"},
		"app[app] @ web [10.0.0.1]":                   {"app", "web", "10.0.0.1"},
		"app[app] @ web [10.0.0.1]  Id: x":            {"app", "web [10.0.0.1]  Id: x", ""},
		"app":                                         {"app", "", ""},
		"":                                            {"", "", ""},
	} {
		e := first(t, "# User@Host: "+line+"\n"+queryHeader+setHeader+"SELECT 1;\n", slowlog.Options{})
		if got := [3]string{string(e.User), string(e.Host), string(e.IP)}; got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
		if want := strings.HasSuffix(line, " 7"); e.HasThreadID != want || want && e.ThreadID != 7 {
			t.Errorf("%q: got thread %d (%t), want 7 (%t)", line, e.ThreadID, e.HasThreadID, want)
		}
	}
	if e := first(t, "# User@Host: a[a] @ h []  Id: 18446744073709551615\n"+setHeader+"SELECT 1;\n", slowlog.Options{}); e.ThreadID != 1<<64-1 {
		t.Errorf("got thread %d, want 2^64-1", e.ThreadID)
	}
}

func TestOddMetrics(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"Query_time: 1.5  Lock_time: 0.000001  Rows_sent: 3": 1500 * time.Millisecond,
		"Query_time: 0.000001234":                            1234,
		"Query_time: 3":                                      3 * time.Second,
		"Query_time: -1.5":                                   0,
		"Query_time: 18446744073709.550781":                  0,
		"Query_time: 99999999999999999999999999.5":           0,
		"Query_time:":                                        0,
		"Query_time: x":                                      0,
		"Rows_sent: 3  Unknown_key: ::  Query_time: 2.000000  Lock_time: 0.5": 2 * time.Second,
		"Rows_sent:\t3\tQuery_time: 2.000000":                                 2 * time.Second,
	} {
		e := first(t, timeHeader+userHeader+"# "+line+"\n"+setHeader+"SELECT 1;\n", slowlog.Options{})
		if !e.HasQueryTime || e.QueryTime != want {
			t.Errorf("%q: got %v, want %v", line, e.QueryTime, want)
		}
		if e.Started.After(e.Ended) {
			t.Errorf("%q: started %v after it ended %v", line, e.Started, e.Ended)
		}
	}
	e := first(t, timeHeader+userHeader+"# Query_time: 1  Rows_examined: 99999999999999999999999\n"+setHeader+"SELECT 1;\n", slowlog.Options{})
	if e.RowsExamined != 1<<64-1 {
		t.Errorf("got %d rows, want the greatest number", e.RowsExamined)
	}
}

// TestTimes: when a statement started and ended, in each format.
func TestTimes(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UTC()
	}
	const took = "# Query_time: 2.500000  Lock_time: 0\n"
	for _, c := range []struct{ name, log, started, ended string }{
		{"ISO, Z", "# Time: 2025-05-05T05:05:01.250000Z\n" + userHeader + took + "SET timestamp=1;\n", "2025-05-05T05:04:58.75Z", "2025-05-05T05:05:01.25Z"},
		{"ISO, zone", "# Time: 2025-05-05T05:05:01.250000-02:30\n" + userHeader + took + "SET timestamp=1;\n", "2025-05-05T07:34:58.75Z", "2025-05-05T07:35:01.25Z"},
		{"ISO, no fraction", "# Time: 2024-02-29T23:59:59Z\n" + userHeader + took + "SET timestamp=1;\n", "2024-02-29T23:59:56.5Z", "2024-02-29T23:59:59Z"},
		{"leap second", "# Time: 2016-12-31T23:59:60.000000Z\n" + userHeader + took + "SET timestamp=1;\n", "2016-12-31T23:59:57.5Z", "2017-01-01T00:00:00Z"},
		{"start and end", "# Time: 2025-05-05T05:05:01.250000Z\n" + userHeader + took + "# Start: 2025-05-05T05:04:00.000000Z End: 2025-05-05T05:04:01.000000Z\nSET timestamp=1;\n",
			"2025-05-05T05:04:00Z", "2025-05-05T05:04:01Z"},
		{"local time with SET timestamp", "# Time: 250505  7:05:01.250000\n" + userHeader + took + "SET timestamp=1746421501;\n", "2025-05-05T05:04:58.75Z", "2025-05-05T05:05:01.25Z"},
		{"local time alone", "# Time: 250505  7:05:01\n" + userHeader + took, "2025-05-05T05:04:58.5Z", "2025-05-05T05:05:01Z"},
		{"local time that exists twice", "# Time: 251026  2:30:00\n" + userHeader + took + "SET timestamp=1761442200;\n", "2025-10-26T01:29:57.5Z", "2025-10-26T01:30:00Z"},
		{"no time", userHeader + took + "SET timestamp=1746421501;\n", "2025-05-05T05:04:58.5Z", "2025-05-05T05:05:01Z"},
		{"a time that is none", "# Time: yesterday\n" + userHeader + took + "SET timestamp=1746421501;\n", "2025-05-05T05:04:58.5Z", "2025-05-05T05:05:01Z"},
	} {
		e := first(t, c.log+"SELECT 1;\n", slowlog.Options{Zone: time.FixedZone("CEST", 2*3600)})
		if !e.Started.Equal(at(c.started)) || !e.Ended.Equal(at(c.ended)) {
			t.Errorf("%s: got %v to %v, want %s to %s", c.name, e.Started, e.Ended, c.started, c.ended)
		}
	}
	if e := first(t, userHeader+took+"SELECT 1;\n", slowlog.Options{}); !e.Started.IsZero() || !e.Ended.IsZero() {
		t.Errorf("got %v to %v from an entry without any time", e.Started, e.Ended)
	}
	if e := first(t, userHeader+took+"SELECT 1;\n", slowlog.Options{Time: "2025-05-05T05:05:01.250000Z"}); !e.Ended.Equal(at("2025-05-05T05:05:01.25Z")) || e.Time != nil {
		t.Errorf("got %v, want the time known before", e.Ended)
	}
}

// TestClockSet: a clock that is set back and forth by years changes the times of entries, and nothing else. In old formats SET
// timestamp counts, which a session can set, too.
func TestClockSet(t *testing.T) {
	var log []byte
	want := []string{"2025-05-05T05:05:01Z", "1999-12-31T23:59:59Z", "2038-01-19T03:14:08Z", "2025-05-05T05:05:02Z"}
	for _, at := range want {
		log = fmt.Appendf(log, "# Time: %s\n%s%sSET timestamp=1746421501;\nSELECT '%s';\n", at, userHeader, queryHeader, at)
	}
	log = append(log, "# Time: 700101  0:00:01\n"+userHeader+queryHeader+"SET timestamp=4102444800;\nSELECT '2100-01-01T00:00:00Z';\n"...)
	want = append(want, "2100-01-01T00:00:00Z")
	r := slowlog.NewReader(bytes.NewReader(log), slowlog.Options{Zone: time.UTC})
	for i, at := range want {
		var e slowlog.Entry
		if err := r.Next(&e); err != nil {
			t.Fatal(err)
		}
		if got := e.Ended.Format(time.RFC3339); got != at || string(e.Text) != "SELECT '"+at+"'" || e.Started.After(e.Ended) {
			t.Errorf("entry %d: %q from %v to %s, want %s", i, e.Text, e.Started, got, at)
		}
	}
}

// TestLookAhead: a quote that does not close costs no more than a bounded look, and what a text quotes may not be longer.
func TestLookAhead(t *testing.T) {
	good := strings.Repeat(entry("SELECT 'a', 'b'"), 2000)
	log := entry("SELECT 'it") + good
	if got := entries(t, slowlog.NewReader(strings.NewReader(log), slowlog.Options{LookAhead: 4096})); len(got) != 2001 || got[0] != "query ?|SELECT 'it" {
		t.Errorf("got %d entries, the first %q, want 2001", len(got), got[0])
	}
	excerpt := strings.Repeat(entry("SELECT 1"), 20)
	rows := strings.Repeat(",('a row')", 10_000)
	text := "INSERT INTO t VALUES ('" + excerpt + "')" + rows + ",('" + excerpt + "')" + rows
	if got := entries(t, slowlog.NewReader(strings.NewReader(entry(text)+good), slowlog.Options{LookAhead: 8192})); len(got) != 2001 || got[0] != "query ?|"+text {
		t.Errorf("got %d entries, want 2001: a text with two excerpts of a log, then others", len(got))
	}
}

// TestHugeText: a text beyond MaxText is cut, what was cut is counted, and memory stays within twice the limit.
func TestHugeText(t *testing.T) {
	const limit, size = 8 << 20, 64 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	src := io.MultiReader(strings.NewReader(header+"SELECT /* "), io.LimitReader(endless('x'), size), strings.NewReader("*/ 1;\n"+entry("SELECT 2")))
	r := slowlog.NewReader(src, slowlog.Options{MaxText: limit})
	var e slowlog.Entry
	if err := r.Next(&e); err != nil {
		t.Fatal(err)
	}
	length := int64(len("SELECT /* ") + size + len("*/ 1"))
	if int64(len(e.Text)) != limit || e.Truncated != length-limit || !bytes.HasPrefix(e.Text, []byte("SELECT /* xxx")) {
		t.Errorf("got %d bytes and %d cut, want %d and %d", len(e.Text), e.Truncated, limit, length-limit)
	}
	if want := int64(len(header)) + length + 2; e.End != want {
		t.Errorf("got an entry that ends at %d, want %d", e.End, want)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 2*limit {
		t.Errorf("%d bytes are held, want no more than twice %d", held, limit)
	}
	if err := r.Next(&e); err != nil || string(e.Text) != "SELECT 2" || e.Truncated != 0 {
		t.Errorf("behind it: %q, %v", e.Text, err)
	}
}

// endless is a source of one byte for ever.
type endless byte

func (b endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

// TestLinesWithoutEnd: neither a header line nor garbage that never ends takes memory.
func TestLinesWithoutEnd(t *testing.T) {
	for _, start := range []string{"", "# Time: ", "# User@Host: ", timeHeader + "# Query_time: ", userHeader + "use ", userHeader + "# Warnings\n"} {
		src := io.MultiReader(strings.NewReader(start), io.LimitReader(endless('x'), 32<<20), strings.NewReader("\n"+entry("SELECT 2")+entry("SELECT 3")))
		r := slowlog.NewReader(src, slowlog.Options{MaxText: 1 << 20})
		got := entries(t, r)
		if n := len(got); n == 0 || got[n-1] != "query ?|SELECT 3" {
			t.Errorf("%q and 32 MiB: got %d entries", start, n)
		}
	}
}

// TestManyConnections: ids cost nothing.
func TestManyConnections(t *testing.T) {
	var log []byte
	for i := range 100_000 {
		log = fmt.Appendf(log, "# User@Host: a[a] @ h []  Id: %d\n%sSELECT 1;\n", 1<<33+i, setHeader)
	}
	r := slowlog.NewReader(bytes.NewReader(log), slowlog.Options{})
	var e slowlog.Entry
	for i := range uint64(100_000) {
		if err := r.Next(&e); err != nil || e.ThreadID != 1<<33+i {
			t.Fatalf("entry %d: thread %d, %v", i, e.ThreadID, err)
		}
	}
}

// steps is a source that returns what its steps say.
type steps []any

func (s *steps) Read(p []byte) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	step := (*s)[0]
	if err, ok := step.(error); ok {
		*s = (*s)[1:]
		return 0, err
	}
	n := copy(p, step.(string))
	if (*s)[0] = step.(string)[n:]; (*s)[0] == "" {
		*s = (*s)[1:]
	}
	return n, nil
}

// TestQuiet: an entry that looks ended is given out when nothing more comes; one that does not waits.
func TestQuiet(t *testing.T) {
	src := &steps{entry("SELECT 1"), slowlog.ErrQuiet, header + "SELECT 'a;\n", slowlog.ErrQuiet, "';\n", slowlog.ErrQuiet, slowlog.ErrQuiet, timeHeader, slowlog.ErrQuiet}
	r := slowlog.NewReader(src, slowlog.Options{})
	var got []string
	var e slowlog.Entry
	for {
		err := r.Next(&e)
		if err == io.EOF {
			break
		}
		switch {
		case errors.Is(err, slowlog.ErrQuiet):
			got = append(got, "quiet")
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(e.Text))
		}
	}
	if want := []string{"SELECT 1", "quiet", "SELECT 'a;\n'", "quiet", "quiet", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSourceFails: an error of the source is told as it is, and lasts.
func TestSourceFails(t *testing.T) {
	reset := errors.New("connection reset")
	r := slowlog.NewReader(&steps{entry("SELECT 1") + header + "SELECT 2", reset}, slowlog.Options{})
	var e slowlog.Entry
	if err := r.Next(&e); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Next(&e); !errors.Is(err, reset) {
			t.Fatalf("got %v, want %v", err, reset)
		}
	}
	if want := int64(len(entry("SELECT 1"))); r.Offset() != want {
		t.Errorf("to be resumed at %d, want %d", r.Offset(), want)
	}
	if err := slowlog.NewReader(&steps{}, slowlog.Options{}).Next(&e); err != io.EOF {
		t.Errorf("an empty source: %v, want EOF", err)
	}
}

// TestComments: the daemon's lines are told to who asks, and are no part of an entry.
func TestComments(t *testing.T) {
	log := "# slowlogd: joined\n" + entry("SELECT 1") + "# slowlogd: at 7:450\n# slowlogd: skipped 3 entries 900 bytes\n" + entry("SELECT 2")
	var got []string
	r := slowlog.NewReader(strings.NewReader(log), slowlog.Options{Comment: func(line []byte, offset int64) {
		if !strings.HasPrefix(log[offset:], "# slowlogd: "+string(line)+"\n") {
			t.Errorf("%q is not at %d", line, offset)
		}
		got = append(got, string(line))
	}})
	if got := entries(t, r); !slices.Equal(got, []string{"query ?|SELECT 1", "query ?|SELECT 2"}) {
		t.Errorf("got %q", got)
	}
	if want := []string{"joined", "at 7:450", "skipped 3 entries 900 bytes"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Skipped() != 0 {
		t.Errorf("%d bytes skipped, want 0", r.Skipped())
	}
}

// TestNoAllocations: an entry costs none, of whatever format.
func TestNoAllocations(t *testing.T) {
	for file := range answers(t) {
		log := sample(t, file)
		r := slowlog.NewReader(&loop{log: log}, slowlog.Options{})
		var e slowlog.Entry
		attributes := 0
		read := func() {
			if err := r.Next(&e); err != nil {
				t.Fatal(err)
			}
			for range e.Attrs() {
				attributes++
			}
		}
		for range 10_000 { // until buffers have their size
			read()
		}
		if n := testing.AllocsPerRun(10_000, read); n != 0 {
			t.Errorf("%s: %v allocations an entry, want 0", file, n)
		}
		if attributes == 0 && file != "truncated.log" {
			t.Errorf("%s: no attributes", file)
		}
	}
	var w slowlog.Writer
	e := randomEntry(newRand(t))
	dst := make([]byte, 0, 1<<20)
	if n := testing.AllocsPerRun(1000, func() { dst = w.Append(dst[:0], &e) }); n != 0 {
		t.Errorf("writing: %v allocations an entry, want 0", n)
	}
}

// loop is a log that repeats for ever.
type loop struct {
	log []byte
	at  int
}

func (l *loop) Read(p []byte) (n int, err error) {
	for n < len(p) {
		m := copy(p[n:], l.log[l.at:])
		n, l.at = n+m, (l.at+m)%len(l.log)
	}
	return n, nil
}
