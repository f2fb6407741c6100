package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/peer"
)

// startMariaDB starts a MariaDB that ends with the test, which is skipped where there is none.
func startMariaDB(t *testing.T) *peer.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a MariaDB")
	}
	for _, tool := range []string{"mariadb", "mariadb-dump", "mariadb-install-db"} {
		if _, err := osexec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (on Debian: apt-get install mariadb-server)", tool)
		}
	}
	dir, err := os.MkdirTemp("", "hearth-dump-") // short, for the path of the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := peer.MariaDB(peer.Config{Dir: dir, Pool: 64 << 20, LogSize: 64 << 20, Extra: []string{"--max-allowed-packet=64M"}})
	if errors.Is(err, peer.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// endpoint is a server as the command-line tools find it.
type endpoint struct {
	name string
	args []string
}

func mariadbEndpoint(s *peer.Server) endpoint {
	return endpoint{"MariaDB", []string{"--no-defaults", "--user=root", "--socket=" + s.Socket}}
}

func hearthEndpoint(s *Server) endpoint {
	a := s.Addr().(*net.TCPAddr)
	return endpoint{"hearth", []string{"--no-defaults", "--user=root", "--host=127.0.0.1", fmt.Sprintf("--port=%d", a.Port)}}
}

// client runs the mariadb program over a file of statements.
func (e endpoint) client(t *testing.T, in io.Reader, args ...string) []byte {
	t.Helper()
	return e.tool(t, "mariadb", in, append([]string{"--default-character-set=utf8mb4", "--local-infile=1"}, args...)...)
}

func (e endpoint) run(t *testing.T, statements string) []byte {
	t.Helper()
	return e.client(t, strings.NewReader(statements))
}

func (e endpoint) dump(t *testing.T, args ...string) []byte {
	t.Helper()
	return e.tool(t, "mariadb-dump", nil, args...)
}

func (e endpoint) tool(t *testing.T, name string, in io.Reader, args ...string) []byte {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), name, append(slices.Clone(e.args), args...)...)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &stderr
	if err := cmd.Run(); err != nil {
		said := stderr.Bytes()
		if i := bytes.LastIndex(said, []byte("ERROR")); i >= 0 {
			said = said[i:]
		}
		t.Fatalf("%s with %s: %v: %.2000s", name, e.name, err, said)
	}
	return out.Bytes()
}

// everything is the schema that goes around. It is written for MariaDB.
const everything = "testdata/dump/everything.sql"

// TestRoundTrip: what mariadb-dump writes of a MariaDB loads into hearth, what it writes of hearth loads into MariaDB, and there it
// is the same: every value of every row, and the definitions save for what is listed in lost.
func TestRoundTrip(t *testing.T) {
	maria := startMariaDB(t)
	m := mariadbEndpoint(maria)
	m.run(t, "CREATE DATABASE source CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	file, err := os.ReadFile(everything)
	if err != nil {
		t.Fatal(err)
	}
	m.client(t, bytes.NewReader(file), "source")
	db, err := maria.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil { // its goroutines are there before those of hearth, which are counted
		t.Fatal(err)
	}

	for _, options := range [][]string{
		{},
		{"--hex-blob", "--single-transaction"},
		{"--skip-opt", "--complete-insert", "--hex-blob", "--create-options", "--order-by-primary"},
		{"--replace", "--skip-lock-tables", "--skip-extended-insert", "--skip-tz-utc", "--hex-blob"},
	} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			options := append([]string{"--routines", "--triggers", "--events"}, options...)
			h := hearthEndpoint(start(t))
			h.run(t, "CREATE DATABASE middle CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
			h.client(t, bytes.NewReader(m.dump(t, append(options, "source")...)), "middle")

			m.run(t, "DROP DATABASE IF EXISTS target; CREATE DATABASE target CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
			m.client(t, bytes.NewReader(h.dump(t, append(options, "middle")...)), "target")
			compareDatabases(t, db, "source", "target")

			// Once more: hearth takes its own dumps.
			h.run(t, "CREATE DATABASE again CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
			h.client(t, bytes.NewReader(h.dump(t, append(options, "middle")...)), "again")
			m.run(t, "DROP DATABASE target; CREATE DATABASE target CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
			m.client(t, bytes.NewReader(h.dump(t, append(options, "again")...)), "target")
			compareDatabases(t, db, "source", "target")
		})
	}
}

// TestDumpsOfSeveralDatabases: with their CREATE DATABASE and USE. Database mysql stays where it is: it has the accounts of its server.
func TestDumpsOfSeveralDatabases(t *testing.T) {
	m := mariadbEndpoint(startMariaDB(t))
	h := hearthEndpoint(start(t))
	m.run(t, "CREATE DATABASE a; CREATE TABLE a.t (n INT PRIMARY KEY); INSERT INTO a.t VALUES (1), (2); CREATE DATABASE `b c`; CREATE VIEW `b c`.v AS SELECT n + 1 AS m FROM a.t")
	h.client(t, bytes.NewReader(m.dump(t, "--databases", "a", "b c")))
	if got := string(h.client(t, strings.NewReader("SELECT * FROM `b c`.v ORDER BY m"), "--skip-column-names")); got != "2\n3\n" {
		t.Fatalf("the view has %q", got)
	}
	m.run(t, "DROP DATABASE a; DROP DATABASE `b c`")
	dump := h.dump(t, "--all-databases", "--ignore-database=mysql")
	m.client(t, bytes.NewReader(dump))
	if got := string(m.client(t, strings.NewReader("SELECT * FROM `b c`.v ORDER BY m"), "--skip-column-names")); got != "2\n3\n" {
		t.Fatalf("of all databases: the view has %q", got)
	}
}

// definitions are queries of information_schema whose rows describe a database.
var definitions = map[string]string{
	"table": `SELECT table_name, table_type, table_collation, table_comment, auto_increment FROM information_schema.tables WHERE table_schema = ?`,
	"column": `SELECT table_name, column_name, ordinal_position, column_type, is_nullable, column_default, character_set_name, collation_name, extra,
		column_comment, generation_expression FROM information_schema.columns WHERE table_schema = ?`,
	"index": `SELECT table_name, index_name, seq_in_index, column_name, sub_part, non_unique FROM information_schema.statistics WHERE table_schema = ?`,
	"foreign key": `SELECT k.table_name, k.constraint_name, k.ordinal_position, k.column_name, k.referenced_table_name, k.referenced_column_name, r.update_rule, r.delete_rule
		FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r USING (constraint_schema, constraint_name, table_name)
		WHERE k.constraint_schema = ? AND k.referenced_table_name IS NOT NULL`,
	"check":     `SELECT table_name, check_clause FROM information_schema.check_constraints WHERE constraint_schema = ?`,
	"view":      `SELECT table_name, security_type, definer FROM information_schema.views WHERE table_schema = ?`,
	"trigger":   `SELECT trigger_name, event_manipulation, event_object_table, action_timing, action_statement, sql_mode, definer FROM information_schema.triggers WHERE trigger_schema = ?`,
	"routine":   `SELECT routine_name, routine_type, routine_definition, routine_comment, sql_mode, definer FROM information_schema.routines WHERE routine_schema = ?`,
	"parameter": `SELECT specific_name, ordinal_position, parameter_mode, parameter_name, dtd_identifier FROM information_schema.parameters WHERE specific_schema = ?`,
	"event":     `SELECT event_name, event_definition, interval_value, interval_field, starts, status, on_completion, definer FROM information_schema.events WHERE event_schema = ?`,
}

// lost is what does not survive: docs/compatibility.md has the reasons. In the row of a definition that begins with the key, the
// words change.
var lost = map[string][2]string{
	`column "numbers" "du"`: {"decimal(12,4) unsigned", "decimal(12,4)"},
	`column "numbers" "fu"`: {"float unsigned", "float"},
	`column "numbers" "gu"`: {"double unsigned", "double"},
	`column "numbers" "fp"`: {"float(7,3)", "float"},
	`column "numbers" "gp"`: {"double(15,5)", "double"},
	`column "times" "t" `:   {"time", "time(6)"},
	`column "times" "t3" `:  {"time(3)", "time(6)"},
}

func compareDatabases(t *testing.T, db *sql.DB, a, b string) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(definitions)) {
		want, got := allRows(t, db, definitions[what], a), allRows(t, db, definitions[what], b)
		for i, row := range want {
			for prefix, change := range lost {
				if strings.HasPrefix(what+" "+row, prefix) {
					want[i] = strings.Replace(row, strconv.Quote(change[0]), strconv.Quote(change[1]), 1)
				}
			}
		}
		slices.Sort(want)
		compareRows(t, what, want, got)
	}
	for _, row := range allRows(t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", a) {
		name, err := strconv.Unquote(row)
		if err != nil {
			t.Fatal(err)
		}
		table := "`" + strings.ReplaceAll(name, "`", "``") + "`"
		var columns []string
		for _, c := range allRows(t, db, "SELECT data_type, column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?", a, name) {
			kind, quoted, _ := strings.Cut(c, " ")
			column, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			column = "`" + strings.ReplaceAll(column, "`", "``") + "`"
			switch kind {
			case `"time"`:
				column = "CAST(" + column + " AS TIME(6))"
			case `"float"`, `"double"`:
				column = "CAST(" + column + " AS CHAR) + 0" // as it is shown, without the zeros of FLOAT(M,D)
			}
			columns = append(columns, column)
		}
		query := "SELECT " + strings.Join(columns, ", ") + " FROM "
		compareRows(t, "rows of "+table, allRows(t, db, query+a+"."+table), allRows(t, db, query+b+"."+table))
	}
}

// compareRows says which rows are missing and which are too many.
func compareRows(t *testing.T, what string, want, got []string) {
	t.Helper()
	count := map[string]int{}
	for _, row := range want {
		count[row]++
	}
	for _, row := range got {
		count[row]--
	}
	for _, row := range slices.Sorted(maps.Keys(count)) {
		switch n := count[row]; {
		case n > 0:
			t.Errorf("%s: lost   %.500s", what, row)
		case n < 0:
			t.Errorf("%s: gained %.500s", what, row)
		}
	}
}

// allRows returns rows as text, sorted.
func allRows(t *testing.T, db *sql.DB, query string, args ...any) (list []string) {
	t.Helper()
	r, err := db.QueryContext(context.Background(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]sql.RawBytes, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for r.Next() {
		if err := r.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		text := make([]string, len(values))
		for i, v := range values {
			if text[i] = "NULL"; v != nil {
				text[i] = fmt.Sprintf("%q", v)
			}
		}
		list = append(list, strings.Join(text, " "))
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	slices.Sort(list)
	return list
}

// TestMysqldump8: the format of MySQL's own program, from a sample (its head says where it is from).
func TestMysqldump8(t *testing.T) {
	if _, err := osexec.LookPath("mariadb"); err != nil {
		t.Skip("mariadb is not installed (on Debian: apt-get install mariadb-client)")
	}
	s := start(t)
	h := hearthEndpoint(s)
	file, err := os.ReadFile("testdata/dump/mysqldump8.sql")
	if err != nil {
		t.Fatal(err)
	}
	h.client(t, bytes.NewReader(file))
	for _, c := range []struct{ query, want string }{
		{"SELECT id, name, data, HEX(raw), flag + 0, ST_AsText(place), price, gross, made, hidden FROM items ORDER BY id", "" +
			"1\tTee\t{\"a\": [1, 2]}\t00275CFF\t5\tPOINT(0 0)\t1.50\t1.79\t2024-02-29 12:00:00.123\tNULL\n" +
			"2\ttee\tNULL\tNULL\tNULL\tNULL\t100.00\t119.00\t2024-02-29 12:00:01\t7\n" +
			"7\t🍀\tNULL\t00FF\t5\tNULL\t0.00\t0.00\t1970-01-01 00:00:01\tNULL\n"},
		{"SELECT * FROM cheap ORDER BY id", "1\tTee\n7\t🍀\n"},
		{"CALL count_items()", "3\n"},
		{"INSERT INTO items (name, price) VALUES ('  trimmed ', 2); SELECT id, name FROM items WHERE id > 7", "8\ttrimmed\n"},
	} {
		got := string(h.client(t, strings.NewReader("SET time_zone = '+00:00'; "+c.query), "--skip-column-names", "shop"))
		if got != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", c.query, got, c.want)
		}
	}
}

// TestLoadDataAsMariaDB: random files in random formats make the same rows in both servers.
func TestLoadDataAsMariaDB(t *testing.T) {
	m := mariadbEndpoint(startMariaDB(t))
	h := hearthEndpoint(start(t))
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var statements strings.Builder
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	var files []string
	for i := range 60 {
		fields, lines := pick("\\t", ",", ";;", "<>"), pick("\\n", "\\n", "\\r\\n", "|", "##\\n")
		quote, escape, start := pick("", "", "\"", "'"), pick("\\\\", "\\\\", "", "!"), pick("", "", "", ">>")
		raw := strings.NewReplacer("\\t", "\t", "\\n", "\n", "\\r", "\r", "\\\\", "\\")
		words := []string{raw.Replace(fields), raw.Replace(lines), raw.Replace(lines), raw.Replace(fields), quote, quote, raw.Replace(escape), start, "a", "b", "N", "NULL", " ", "1", "ü", "\\", ",", "\n"}
		var file strings.Builder
		for range rnd.IntN(60) {
			file.WriteString(words[rnd.IntN(len(words))])
		}
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(file.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, fmt.Sprintf("%q", file.String()))
		columns := pick("(a, b, c)", "(c, a)", "(b, @x, a) SET c = @x", "(a, b) SET c = CONCAT(a, '-', b)", "(@x) SET a = @x, b = 'set'")
		ignore := pick("", "", "IGNORE 1 LINES", "IGNORE 3 LINES")
		enclosed := ""
		if quote != "" {
			enclosed = pick("", "OPTIONALLY ") + "ENCLOSED BY '" + strings.ReplaceAll(quote, "'", "''") + "'"
		}
		fmt.Fprintf(&statements, "SELECT '--- %d'; DELETE FROM t; SET @x = NULL;\nLOAD DATA LOCAL INFILE '%s' INTO TABLE t FIELDS TERMINATED BY '%s' %s ESCAPED BY '%s' LINES STARTING BY '%s' TERMINATED BY '%s' %s %s;\n"+
			"SELECT HEX(a), HEX(b), HEX(c) FROM t ORDER BY id;\n", i, name, fields, enclosed, escape, start, lines, ignore, columns)
	}
	both := make([]string, 2)
	for i, e := range []endpoint{m, h} {
		e.run(t, "CREATE DATABASE l CHARACTER SET utf8mb4; CREATE TABLE l.t (a VARCHAR(200), b VARCHAR(200), c VARCHAR(200), id INT AUTO_INCREMENT PRIMARY KEY)")
		both[i] = string(e.client(t, strings.NewReader(statements.String()), "--skip-column-names", "l"))
	}
	want, got := strings.Split(both[0], "--- "), strings.Split(both[1], "--- ")
	for i := 1; i < len(want) && i < len(got); i++ {
		if want[i] != got[i] {
			t.Errorf("seed %d: file %s\n%s\nMariaDB: %s\nhearth:  %s", seed, files[i-1], strings.Split(statements.String(), "SELECT '--- ")[i], want[i], got[i])
		}
	}
	if len(want) != len(got) {
		t.Fatalf("seed %d: %d results, want %d", seed, len(got), len(want))
	}
}
