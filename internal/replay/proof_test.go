package replay

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/slowlog"
)

var errEOF = io.EOF

// seedOf a random test, printed so that a failure can be repeated with HEARTH_SEED.
func seedOf(t testing.TB) *rand.Rand {
	t.Helper()
	n := rand.Uint64()
	if s := os.Getenv("HEARTH_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n = v
	}
	t.Logf("HEARTH_SEED=%d", n)
	return rand.New(rand.NewPCG(n, n))
}

// proofSchema is what hostile statements could hurt.
var proofSchema = []string{
	"DROP DATABASE IF EXISTS inj", "CREATE DATABASE inj", "USE inj",
	"CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, body VARCHAR(200), k INT, KEY (k)) ENGINE=InnoDB",
	"INSERT INTO note (body, k) SELECT CONCAT('n', seq), seq FROM seq_1_to_500",
	"CREATE TABLE other (a INT PRIMARY KEY, b INT, UNIQUE (b)) ENGINE=InnoDB",
	"INSERT INTO other SELECT seq, seq FROM seq_1_to_500",
	"CREATE SEQUENCE sq",
	"CREATE FUNCTION f(x INT) RETURNS INT MODIFIES SQL DATA BEGIN UPDATE note SET k = k + 1; RETURN x; END",
	"CREATE PROCEDURE p() UPDATE note SET k = k + 1",
	"CREATE VIEW v AS SELECT f(1) AS a",
}

// hostile statements, each of which does harm or keeps the target busy when it is let through.
var hostile = []string{
	"DELETE FROM note", "UPDATE note SET k = 0", "DROP TABLE note", "TRUNCATE note", "INSERT INTO note VALUES (9999, 'x', 1)",
	"SELECT f(1)", "SELECT inj.f(1)", "SELECT `f`(1)", "SELECT f/**/(1)", "SELECT f\n(1)", "SELECT * FROM v", "CALL p()",
	"SELECT NEXTVAL(sq)", "SELECT NEXT VALUE FOR sq", "SELECT SETVAL(sq, 100)", "SELECT /*!NEXTVAL*/(sq)",
	"SELECT 1 INTO OUTFILE '/tmp/replay-must-not-be'", "SELECT 1 INTO @a", "SELECT @a := 1", "SELECT 1; DELETE FROM note",
	"SELECT 1 --1; DELETE FROM note", "SELECT 5--1, f(1)", "SELECT 1 /*M!, f(1) */", "SELECT 1 /*!99999 ' */, f(1) /*! ' */",
	"/*! DELETE FROM note */", "/*!100100 UPDATE note SET k = 7 */", "SELECT 1 /*!; DELETE FROM note */",
	"WITH x AS (SELECT 1) DELETE FROM note", "REPLACE INTO other VALUES (1, 7)", "LOAD DATA INFILE '/etc/passwd' INTO TABLE note",
	"HANDLER note OPEN", "DO f(1)", "SET GLOBAL read_only = 0", "SET @@global.read_only = 0", "SET GLOBAL max_connections = 10",
	"SET STATEMENT max_statement_time = 0 FOR DELETE FROM note", "SET sql_mode = 'ORACLE'", "KILL 1", "SHUTDOWN", "FLUSH TABLES",
	"LOCK TABLES note WRITE", "CREATE TEMPORARY TABLE z AS SELECT * FROM note", "ALTER TABLE note ADD c INT", "RENAME TABLE note TO n2",
	"BEGIN NOT ATOMIC DELETE FROM note; END", "EXECUTE IMMEDIATE 'DELETE FROM note'", "PREPARE s FROM 'DELETE FROM note'", "XA START 'a'",
	"GRANT ALL ON *.* TO x", "CREATE USER x", "ANALYZE DELETE FROM note", "EXPLAIN ANALYZE DELETE FROM note", "RESET MASTER", "PURGE BINARY LOGS TO 'x'",
	"SELECT SLEEP(3600)", "SELECT BENCHMARK(1000000000, SHA2('a', 512))", "SELECT GET_LOCK('a', 100)", "SELECT LOAD_FILE('/etc/passwd')",
	"SELECT * FROM note WHERE id = 1 FOR UPDATE", "SELECT 'a\\' , f(1) , '", "SELECT \"a\\\", f(1), \"",
	"INSERT INTO note (body) SELECT f(1)", "UPDATE note SET k = f(1) WHERE id = 1", "DELETE FROM note WHERE id = (SELECT f(1))",
	"UPDATE note SET k = NEXTVAL(sq) WHERE id < 5", "INSERT INTO note (k) VALUES (NEXTVAL(sq)), (f(2))",
	"DELETE note, other FROM note JOIN other ON note.id = other.a WHERE other.a < 5", "UPDATE note, other SET k = 1, b = 2000 WHERE a = id AND a = 7",
	"INSERT INTO other VALUES (1, 2) ON DUPLICATE KEY UPDATE b = 2000", "DELETE FROM note WHERE id = 3 -- comment", "DELETE FROM note WHERE id = 3 # c\n",
}

// words that random statements are made of.
var proofWords = strings.Fields("SELECT SELECT SELECT FROM note other v WHERE id = 1 ( ) , ; f f( ( ) ' \" ` \\ -- # /* */ /*! /*M! /*!99999 /*+ INTO @a := " +
	"DELETE UPDATE INSERT REPLACE note SET k = 2 WITH x AS FOR UPDATE SHARE LOCK IN MODE NEXTVAL(sq) NEXT VALUE sq SLEEP(9) UNION ALL " +
	"DROP TABLE OUTFILE 'a' CALL p() DO 1 . 1.5 1e3 --1 // \\N \n VALUES ON DUPLICATE KEY LIMIT 3 ORDER BY GROUP HAVING NULL sql_mode SET")

const strayBytes = "'\"`\\/*!-#;()\x00\n\x1a\xbf@:="

// mangle makes another statement of one: words in, out, doubled, swapped, glued.
func mangle(r *rand.Rand, s string) string {
	words := strings.Split(s, " ")
	for range 1 + r.IntN(4) {
		i := r.IntN(len(words))
		switch r.IntN(5) {
		case 0:
			words[i] = proofWords[r.IntN(len(proofWords))]
		case 1:
			words = append(words[:i], append([]string{proofWords[r.IntN(len(proofWords))]}, words[i:]...)...)
		case 2:
			j := r.IntN(len(words))
			words[i], words[j] = words[j], words[i]
		case 3:
			if b := []byte(words[i]); len(b) > 0 {
				b[r.IntN(len(b))] = strayBytes[r.IntN(len(strayBytes))]
				words[i] = string(b)
			}
		default:
			words[i] += hostile[r.IntN(len(hostile))]
		}
	}
	return strings.Join(words, " ")
}

// What must hold above all: nothing that comes out of a log changes the target, though the account has all privileges and the
// server would let it. First the corpus, then what chance makes of it, then the samples; each also in other modes.
func TestNothingIsEverWritten(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, proofSchema...)
	r := seedOf(t)
	var texts []string
	texts = append(texts, hostile...)
	for range 20_000 {
		from := hostile[r.IntN(len(hostile))]
		if r.IntN(3) == 0 {
			from = "SELECT * FROM note WHERE id = " + strconv.Itoa(r.IntN(600))
		}
		texts = append(texts, mangle(r, from))
	}
	for _, sample := range readSamples(t) {
		if sample.Query != "" {
			texts = append(texts, sample.Query)
		}
	}
	src := entries("inj", texts...)
	for i := range src.entries {
		src.entries[i].ThreadID = uint64(i % 16)
	}
	modes := entries("inj", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SET sql_mode = 'ANSI_QUOTES'", "SET NAMES gbk", "SET NAMES latin1")
	for i := range modes.entries {
		modes.entries[i].ThreadID = uint64(i)
	}
	src.entries = append(modes.entries, src.entries...)

	before := writeCounters(t, db, "inj.note", "inj.other")
	c := config(t, s)
	c.Target.Limits.Time = 500e6
	totals := play(t, c, src)
	t.Log(totals)
	if d := differences(before, writeCounters(t, db, "inj.note", "inj.other")); len(d) > 0 {
		t.Errorf("the target was changed: %s", strings.Join(d, "; "))
	}
	if _, err := os.Stat("/tmp/replay-must-not-be"); err == nil {
		t.Error("a file was written")
	}
	if totals.Sum(Run) == 0 || totals.Sum(Rewritten) == 0 {
		t.Error("nothing was replayed, so nothing was proved")
	}
}

// The layers hold when the classifier does not: statements that change something, sent past it, are refused by the server.
func TestTheSessionItselfIsReadOnly(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, proofSchema...)
	c := config(t, s)
	ctx := context.Background()
	tg, err := openTarget(ctx, c.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.close()
	cn, err := tg.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer cn.c.Close()
	if err := cn.enter(State{Schema: "inj", Known: true}, tg.baseModes); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"DELETE FROM note", "UPDATE note SET k = 1", "INSERT INTO note VALUES (1000, '', 1)", "DROP TABLE note", "CREATE TABLE z (a INT)",
		"SELECT f(1)", "CALL p()", "TRUNCATE note", "SELECT 1; DELETE FROM note",
	} {
		if _, _, err := cn.read(bad, c.Target.Limits); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM note").Scan(&n); err != nil || n != 500 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// FuzzClassify: whatever comes, what is let through is one statement that begins like a read, and reads the same twice.
func FuzzClassify(f *testing.F) {
	for _, h := range hostile {
		f.Add([]byte(h), false, false)
		f.Add([]byte(h), true, true)
	}
	f.Fuzz(func(t *testing.T, s []byte, noBackslash, ansi bool) {
		m := Mode{noBackslash, ansi}
		var c Classifier
		v := c.Classify(s, m)
		if v.Class != Read && v.Class != Strip {
			return
		}
		again := append([]byte(nil), v.Text...)
		var d Classifier
		if w := d.Classify(again, m); w.Class != Read {
			t.Fatalf("%q passes as %q, which is %v (%s)", s, again, w.Class, w.Reason)
		}
		if err := agrees(again, m); err != nil {
			t.Logf("%q: %v", again, err) // the veto exists for this
		}
	})
}

func FuzzRewrite(f *testing.F) {
	for _, h := range hostile {
		f.Add([]byte(h))
	}
	table := &Table{Schema: "inj", Name: "note", Columns: []Column{{Name: "id", Type: "int", AutoIncrement: true}, {Name: "body", Type: "varchar", Charset: "utf8mb4", Collation: "utf8mb4_bin", Nullable: true},
		{Name: "k", Type: "int", Nullable: true}, {Name: "a", Type: "int"}, {Name: "b", Type: "int"}},
		Indexes: []Index{{"PRIMARY", true, []string{"id"}}, {"k", false, []string{"k"}}, {"b", true, []string{"b", "a"}}}}
	r := Rewriter{Table: func(context.Context, string, string) (*Table, error) { return table, nil }}
	f.Fuzz(func(t *testing.T, s []byte) {
		out, err := r.Rewrite(context.Background(), Change{Text: s, Schema: "inj", InsertID: 5, LastInsertID: 6})
		if (err == nil) == (len(out) == 0) {
			t.Fatalf("%d reads, %v", len(out), err)
		}
	})
}

var _ = fmt.Sprint
var _ slowlog.Entry
