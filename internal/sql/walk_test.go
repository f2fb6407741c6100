package sql_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWalkBesideDDL: a statement that walks over all tables sees one picture of them, whatever others make and drop meanwhile.
func TestWalkBesideDDL(t *testing.T) {
	b := openBackend(t)
	maker, walker := newClient(b, 1), newClient(b, 2)
	defer maker.close()
	defer walker.close()
	maker.query("CREATE DATABASE d")
	for _, c := range []*client{maker, walker} {
		c.session.SetCurrentDatabase("d")
	}
	for i := range 20 {
		maker.query(fmt.Sprintf("CREATE TABLE stays%d (a INT PRIMARY KEY, KEY (a))", i))
	}
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	done := make(chan struct{})
	defer func() { <-done }() // before the sessions end
	go func() {
		defer close(done)
		for i := range rounds {
			maker.query(fmt.Sprintf("CREATE TABLE goes%d (a INT PRIMARY KEY, KEY (a))", i))
			maker.query(fmt.Sprintf("DROP TABLE goes%d", i))
		}
	}()
	for walks := true; walks; {
		select {
		case <-done:
			walks = false
		default:
		}
		for _, text := range []string{
			"SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'd' AND table_name LIKE 'stays%'",
			"SELECT COUNT(DISTINCT table_name) FROM information_schema.statistics WHERE table_schema = 'd' AND table_name LIKE 'stays%'",
			"SHOW TABLES LIKE 'stays%'",
			"SHOW TABLE STATUS LIKE 'stays%'",
		} {
			if got := walker.query(text); got != "20" && strings.Count(got, "stays") != 20 {
				t.Fatalf("%s: %s", text, got)
			}
		}
	}
}

// TestWalkIntoNewTable: a statement that walks over all tables and makes one finds the one it makes.
func TestWalkIntoNewTable(t *testing.T) {
	b := openBackend(t)
	c := newClient(b, 1)
	defer c.close()
	c.query("CREATE DATABASE d")
	c.session.SetCurrentDatabase("d")
	c.query("CREATE TABLE one (a INT PRIMARY KEY)")
	c.query("CREATE TABLE two AS SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'd'")
	if got := c.query("SELECT * FROM two"); got != "one,a" {
		t.Errorf("got %q", got)
	}
}

// TestWalkInProcedure: what a procedure looks up and then makes is there for its next statement.
func TestWalkInProcedure(t *testing.T) {
	b := openBackend(t)
	c := newClient(b, 1)
	defer c.close()
	c.query("CREATE DATABASE d")
	c.session.SetCurrentDatabase("d")
	c.query("CREATE PROCEDURE p() BEGIN " +
		"DECLARE n INT; SELECT COUNT(*) INTO n FROM information_schema.tables WHERE table_schema = 'd' AND table_name = 't'; " +
		"IF n = 0 THEN CREATE TABLE t (a INT PRIMARY KEY); END IF; INSERT INTO t VALUES (n + 1); END")
	for want := range 2 {
		c.query("CALL p()")
		if got := c.query("SELECT COUNT(*) FROM t"); got != fmt.Sprint(want+1) {
			t.Fatalf("after call %d there are %s rows", want+1, got)
		}
	}
}
