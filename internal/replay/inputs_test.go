package replay

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/slowlog"
)

func TestGeneralLog(t *testing.T) {
	const log = "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB. started with:\nTcp port: 3306  Unix socket: /run/mysqld.sock\nTime\t\t    Id Command\tArgument\n" +
		"260101 12:00:00\t     3 Connect\troot@localhost on shop using Socket\n\t\t     3 Query\tSELECT 1,\n  'two lines'\n\t\t     4 Connect\tapp@h on \n" +
		"2026-01-01T12:00:01.000000Z\t    4 Init DB\todd name\n\t\t     4 Query\tSELECT 2\n\t\t     3 Query\tuse `other`\n\t\t     3 Query\tSELECT 3\n\t\t     3 Quit\t\n"
	s := NewGeneralSource(io.NopCloser(strings.NewReader(log)), 0)
	var got []string
	var e slowlog.Entry
	end := int64(0)
	for {
		err := s.Next(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if end != 0 && e.Offset != end {
			t.Errorf("an entry at %d, the one before ends at %d", e.Offset, end)
		}
		end = e.End
		if e.Kind == slowlog.Query {
			got = append(got, string(e.Schema)+": "+string(e.Text))
		}
	}
	want := "shop: SELECT 1,\n  'two lines'|odd name: SELECT 2|shop: use `other`|other: SELECT 3"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, "|"), want)
	}
	if end != int64(len(log)) {
		t.Errorf("the last entry ends at %d, the log at %d", end, len(log))
	}
}

// The logs that a real server writes: the general log as a file, the slow log as a table.
func TestOtherInputsOfARealServer(t *testing.T) {
	s := mariadb(t)
	db := open(t, s, "")
	db.SetMaxOpenConns(1)
	exec(t, db, pairSchema...)
	dir := t.TempDir()
	name := filepath.Join(dir, "general.log")
	exec(t, db, "SET GLOBAL general_log_file = '"+name+"'", "SET GLOBAL slow_query_log_file = '"+filepath.Join(dir, "slow.log")+"'",
		"SET GLOBAL log_output = 'FILE,TABLE'", "SET GLOBAL general_log = 1", "SET GLOBAL long_query_time = 0",
		"TRUNCATE mysql.slow_log", "SET GLOBAL slow_query_log = 1")
	work := open(t, s, "pair")
	work.SetMaxOpenConns(1)
	exec(t, work, "SELECT * FROM t WHERE a = 11", "SELECT *\nFROM t\nWHERE a = 12", "UPDATE t SET b = 1 WHERE a = 13")
	logged(t, work)
	exec(t, db, "SET GLOBAL general_log = 0", "SET GLOBAL slow_query_log = 0", "SET GLOBAL log_output = 'FILE'", "SET GLOBAL long_query_time = 10")

	f, err := OpenLog(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, s)
	c.Filter.Schemas = []string{"pair"}
	if totals := play(t, c, NewGeneralSource(f, 0)); totals.Sum(Run) < 2 || totals.Sum(Rewritten) != 1 || totals.Sum(Failed) != 0 {
		t.Errorf("general log: %s", totals)
	}
	table, err := NewTableSource(context.Background(), s.DSN(""), false)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var texts []string
	var e slowlog.Entry
	for len(texts) < 3 {
		if err := table.Next(&e); err != nil {
			t.Fatal(err)
		}
		if string(e.Schema) == "pair" && strings.Contains(string(e.Text), "a = 1") {
			texts = append(texts, string(e.Text))
		}
	}
	if texts[1] != "SELECT *\nFROM t\nWHERE a = 12" {
		t.Errorf("slow_log: %q", texts)
	}
	history, err := NewTableSource(context.Background(), s.DSN(""), true)
	if err != nil {
		t.Fatalf("history of performance_schema: %v", err)
	}
	history.Close()
}
