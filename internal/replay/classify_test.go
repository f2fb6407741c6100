package replay

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// sample is a line of the answer key.
type sample struct {
	File      string
	N         int
	Kind      string
	Class     string
	Query     string
	QueryB64  string `json:"query_b64"`
	Schema    *string
	ThreadID  uint64 `json:"thread_id"`
	Timestamp int64
}

func readSamples(t *testing.T) (list []sample) {
	t.Helper()
	f, err := os.Open("../slowlog/testdata/expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var s sample
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.QueryB64 != "" {
			b, err := base64.StdEncoding.DecodeString(s.QueryB64)
			if err != nil {
				t.Fatal(err)
			}
			s.Query = string(b)
		}
		list = append(list, s)
	}
	return list
}

var kinds = map[string]slowlog.Kind{
	"query": slowlog.Query, "admin": slowlog.Admin, "empty": slowlog.Empty, "broken": slowlog.Broken,
	"partial": slowlog.Partial, "summary": slowlog.Summary,
}

// Every entry of the answer key has the class the key says; sessions keep their state in between.
func TestClassesOfTheSamples(t *testing.T) {
	samples := readSamples(t)
	if len(samples) != 72 {
		t.Fatalf("%d samples, want 72", len(samples))
	}
	var c Classifier
	states := map[string]State{}
	for _, s := range samples {
		lane := s.File + string(rune(s.ThreadID))
		state := states[lane]
		e := slowlog.Entry{Kind: kinds[s.Kind], Text: []byte(s.Query)}
		m := state.Mode(Mode{})
		v := c.Entry(&e, m)
		if v.Class.String() != s.Class {
			t.Errorf("%s %d: %q is %v (%s), want %s", s.File, s.N, s.Query, v.Class, v.Reason, s.Class)
		}
		if v.Class == Session {
			states[lane], _ = state.After(e.Text, m)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		text   string
		mode   Mode
		class  Class
		reason string
	}{
		{"select 1", Mode{}, Read, ""},
		{"SELECT 1;", Mode{}, Read, ""},
		{"((SELECT 1) UNION (SELECT 2))", Mode{}, Read, ""},
		{"WITH a (x) AS (SELECT 1) SELECT x FROM a", Mode{}, Read, ""},
		{"WITH a AS (SELECT 1), b (y) AS (SELECT 2) SELECT * FROM a, b", Mode{}, Read, ""},
		{"SELECT * FROM (SELECT 1) AS d (a), (SELECT 2) e (b)", Mode{}, Read, ""},
		{"TABLE t", Mode{}, Read, ""},
		{"VALUES (1),(2)", Mode{}, Read, ""},
		{"VALUES ROW(1), ROW(2)", Mode{}, Read, ""},
		{"SELECT REPLACE(a, 'x', INSERT(b, 1, 2, 'y')), TRUNCATE(1.5, 1) FROM t", Mode{}, Read, ""},
		{"SELECT CAST(a AS CHAR(10) CHARACTER SET utf8mb4), \\N FROM t PARTITION (p0) USE INDEX (i) WHERE a NOT IN (1,2)", Mode{}, Read, ""},
		{"SELECT a.1b, 1.5e3, .5, a.`into`, t.sleep FROM t", Mode{}, Read, ""},
		{"SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t WINDOW w AS (ORDER BY c)", Mode{}, Read, ""},
		{"SELECT 5--1", Mode{}, Read, ""},
		{"SELECT grüße FROM t", Mode{}, Read, ""},

		{"SELECT * FROM t FOR UPDATE", Mode{}, Strip, "locking clause"},
		{"SELECT * FROM t WHERE a IN (SELECT b FROM u FOR SHARE) LOCK IN SHARE MODE", Mode{}, Strip, "locking clause"},
		{"SELECT * FROM t FOR UPDATE OF t, d.`u` SKIP LOCKED", Mode{}, Strip, "locking clause"},
		{"SELECT * FROM t FOR UPDATE WAIT 5", Mode{}, Strip, "locking clause"},
		{"SELECT * FROM t FOR FOR UPDATE UPDATE", Mode{}, Reject, "locks in locks"},
		{"SELECT 1 /*!99999 FOR SHARE */ UPDATE t SET a = 1", Mode{}, Reject, "has the word UPDATE"},

		{"SELECT SLEEP (1)", Mode{}, Reject, "function sleep"},
		{"SELECT/**/SLEEP/**/(1)", Mode{}, Reject, "function sleep"},
		{"SELECT 5--1, SLEEP(1)", Mode{}, Reject, "function sleep"},
		{"SELECT 5 // 2, SLEEP(1)", Mode{}, Reject, "function sleep"},
		{"SELECT 1 /*!, SLEEP(1) */", Mode{}, Reject, "function sleep"},
		{"SELECT 1 /*M!100000 , SLEEP(1) */", Mode{}, Reject, "function sleep"},
		{"SELECT 1 /*!99999 ' */, SLEEP(1) /*! ' */", Mode{}, Reject, errVersioned.Error()},
		{"SELECT 1 /*!99999 # */, SLEEP(1)", Mode{}, Reject, errVersioned.Error()},
		{"SELECT 1 /*! /* */ , 2 */", Mode{}, Reject, errVersioned.Error()},
		{"/*!99999 SELECT */ DELETE FROM t", Mode{}, Reject, "version comment at its head"},
		{"SELECT 1.INTO OUTFILE 'x'", Mode{}, Reject, "stores its result (INTO)"},
		{"SELECT @a := 1", Mode{}, Reject, "assigns a variable"},
		{"SELECT 1 INTO @a", Mode{}, Reject, "stores its result (INTO)"},
		{"SELECT * FROM t PROCEDURE ANALYSE()", Mode{}, Reject, "has the word PROCEDURE"},
		{"SELECT NEXT VALUE FOR s", Mode{}, Reject, "moves a sequence"},
		{"SELECT `NEXTVAL`(s)", Mode{}, Reject, "unknown function `nextval`"},
		{"SELECT f(1)", Mode{}, Reject, "unknown function f"},
		{"SELECT d.now()", Mode{}, Reject, "unknown function now"},
		{"SELECT `f` (1)", Mode{}, Reject, "unknown function `f`"},
		{"SELECT 1; DROP TABLE t", Mode{}, Reject, "more than one statement"},
		{"SELECT /*+ SET_VAR(max_execution_time=0) */ 1", Mode{}, Reject, "hint that sets something"},
		{"SELECT 'a", Mode{}, Reject, errOpenQuote.Error()},
		{"SELECT 1 /* ", Mode{}, Reject, errOpenComment.Error()},
		{"SELECT 1 \x00", Mode{}, Reject, errByte.Error()},
		{"SELECT ?", Mode{}, Reject, "placeholder"},
		{`SELECT 'C:\', SLEEP(1), '`, Mode{}, Read, ""},
		{`SELECT 'C:\', SLEEP(1), ''`, Mode{NoBackslashEscapes: true}, Reject, "function sleep"},
		{`SELECT "a\", SLEEP(1), "b"`, Mode{AnsiQuotes: true}, Reject, "function sleep"},

		{"WITH x AS (SELECT 1) UPDATE t SET a = 1", Mode{}, Write, "write"},
		{"HANDLER t OPEN", Mode{}, Reject, "not on the list"},
		{"CALL p()", Mode{}, Reject, "not on the list"},
		{"DO SLEEP(1)", Mode{}, Reject, "not on the list"},
		{"BEGIN NOT ATOMIC DELETE FROM t; END", Mode{}, Reject, "not on the list"},
		{"START REPLICA", Mode{}, Reject, "not on the list"},
		{"SET @@global.read_only = 0", Mode{}, Reject, "changes the server"},
		{"SET @a = 1, GLOBAL read_only = 0", Mode{}, Reject, "changes the server"},
		{"SET PASSWORD = 'x'", Mode{}, Reject, "changes the server"},
		{"SET STATEMENT max_statement_time=0 FOR SELECT 1", Mode{}, Reject, "changes the server"},
		{"SET autocommit = 0", Mode{}, Session, "session state"},
		{"EXPLAIN DELETE FROM t", Mode{}, Skip, "shows or explains"},
	} {
		var cl Classifier
		v := cl.Classify([]byte(c.text), c.mode)
		if v.Class != c.class || v.Reason != c.reason {
			t.Errorf("%q: %v (%s), want %v (%s)", c.text, v.Class, v.Reason, c.class, c.reason)
		}
	}
}

func TestStripLeavesTheRest(t *testing.T) {
	for _, c := range [][2]string{
		{"SELECT * FROM note WHERE id = 14 FOR UPDATE", "SELECT * FROM note WHERE id = 14"},
		{"SELECT 'FOR UPDATE' FROM t LOCK IN SHARE MODE NOWAIT", "SELECT 'FOR UPDATE' FROM t"},
		{"SELECT SUBSTRING('abc' FROM 1 FOR 2) FOR UPDATE", "SELECT SUBSTRING('abc' FROM 1 FOR 2)"},
	} {
		var cl Classifier
		if v := cl.Classify([]byte(c[0]), Mode{}); v.Class != Strip || strings.TrimSpace(string(v.Text)) != c[1] {
			t.Errorf("%q: %v %q, want %q", c[0], v.Class, v.Text, c[1])
		}
	}
}

func TestFingerprintsIgnoreLiterals(t *testing.T) {
	var c Classifier
	f := func(s string) uint64 { return c.Classify([]byte(s), Mode{}).Fingerprint }
	if f("SELECT a FROM t WHERE b IN (1, 2,3) AND c = 'x'") != f("select A from T where B in (7) and C='it''s'") {
		t.Error("literals make a difference")
	}
	if f("SELECT a FROM t WHERE b = 1") == f("SELECT a FROM t WHERE c = 1") {
		t.Error("columns make none")
	}
}

func TestSessionState(t *testing.T) {
	for _, c := range []struct {
		stmt    string
		want    State
		ignored string
	}{
		{"use `a``b`", State{Schema: "a`b", Known: true}, ""},
		{"SET NAMES latin1", State{Names: "latin1"}, ""},
		{"SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'", State{Names: "utf8mb4 collate utf8mb4_bin"}, ""},
		{"SET NAMES gbk", State{Unsafe: true}, ""},
		{"SET SESSION sql_mode = 'no_backslash_escapes'", State{Modes: "NO_BACKSLASH_ESCAPES"}, ""},
		{"SET sql_mode = ORACLE", State{}, "not on the list"},
		{"SET @@session.time_zone = '+00:00', @x = 5", State{Vars: "@x=5\ntime_zone='+00:00'"}, ""},
		{"SET @x = (SELECT 1)", State{}, "value is no literal"},
		{`SET @x = '\', GLOBAL read_only = 0, @y = '`, State{}, "value is no literal"},
		{"SET autocommit = 0", State{}, "not on the list"},
	} {
		got, ignored := State{}.After([]byte(c.stmt), Mode{})
		if got != c.want || ignored != c.ignored {
			t.Errorf("%q: %+v (%s), want %+v (%s)", c.stmt, got, ignored, c.want, c.ignored)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	var c Classifier
	s := []byte("SELECT c FROM sbtest1 WHERE id = 4711 AND k BETWEEN 100 AND 200 ORDER BY c LIMIT 10")
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if v := c.Classify(s, Mode{}); v.Class != Read {
			b.Fatal(v)
		}
	}
}

func BenchmarkAgrees(b *testing.B) {
	s := []byte("SELECT c FROM sbtest1 WHERE id = 4711 AND k BETWEEN 100 AND 200 ORDER BY c LIMIT 10")
	b.ReportAllocs()
	for b.Loop() {
		if err := agrees(s, Mode{}); err != nil {
			b.Fatal(err)
		}
	}
}
