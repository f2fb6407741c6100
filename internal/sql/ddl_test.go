package sql_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
)

// definitions are one of each kind of change of a table.
var definitions = []string{
	"CREATE TABLE u (id INT PRIMARY KEY, n INT, KEY (n))",
	"CREATE TABLE u LIKE t",
	"CREATE TABLE u AS SELECT * FROM t",
	"DROP TABLE t",
	"RENAME TABLE t TO u",
	"TRUNCATE TABLE t",
	"CREATE INDEX x ON t (n, s)",
	"CREATE UNIQUE INDEX x ON t (s)",
	"DROP INDEX n ON t",
	"ALTER TABLE t RENAME INDEX n TO m",
	"ALTER TABLE t ADD COLUMN c INT",
	"ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 5 FIRST",
	"ALTER TABLE t DROP COLUMN n",
	"ALTER TABLE t MODIFY n BIGINT",
	"ALTER TABLE t MODIFY s VARCHAR(5) AFTER id",
	"ALTER TABLE t DROP PRIMARY KEY",
	"ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (s)",
	"ALTER TABLE t ADD CONSTRAINT c CHECK (n < 1000)",
	"ALTER TABLE t ALTER COLUMN n SET DEFAULT 3",
	"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (n) REFERENCES p (id)",
	"ALTER TABLE t ADD COLUMN v INT AS (n + 1) VIRTUAL, ADD KEY (v)",
	"ALTER TABLE t AUTO_INCREMENT = 1000",
	"CREATE VIEW v AS SELECT id FROM t",
	"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.n = 1",
	"CREATE PROCEDURE q() SELECT 1",
	"CREATE DATABASE e",
	"DROP DATABASE d",
}

const definitionRows = 300

func openDefinitions(t *testing.T, dir string) (*hearth.DB, *sql.Backend) {
	t.Helper()
	db, err := hearth.Open(t.Context(), dir, &hearth.Options{
		Memory: hearth.MemoryOff, Durability: hearth.DurabilityProcess, PoolSize: 16 << 20, SmallPages: true,
		SegmentSize: 1 << 20, LogSize: hearth.MinLogSegments << 20,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sql.Open(t.Context(), db, sql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db, b
}

func fillDefinitions(s *client) {
	s.query("CREATE DATABASE d")
	s.session.SetCurrentDatabase("d")
	s.query("CREATE TABLE p (id INT PRIMARY KEY)")
	s.query("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, s VARCHAR(10), KEY n (n), UNIQUE KEY s (s), KEY i (id))")
	var parents, rows []string
	for i := range definitionRows {
		parents = append(parents, fmt.Sprintf("(%d)", i))
		rows = append(rows, fmt.Sprintf("(%d,%d,'s%d')", i+1, i%50, i))
	}
	s.query("INSERT INTO p VALUES " + strings.Join(parents, ","))
	s.query("INSERT INTO t VALUES " + strings.Join(rows, ","))
}

// TestDefinitionsAreKept: after each of them the database is sound, and the same when it is opened again.
func TestDefinitionsAreKept(t *testing.T) {
	for _, d := range definitions {
		t.Run(d, func(t *testing.T) {
			dir := t.TempDir()
			db, b := openDefinitions(t, dir)
			s := newClient(b, 1)
			fillDefinitions(s)
			s.query(d)
			before := describe(s)
			sound(t, b)
			s.close()
			if err := b.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			db.Close()

			db, b = openDefinitions(t, dir)
			defer db.Close()
			s = newClient(b, 1)
			defer s.close()
			s.session.SetCurrentDatabase("d")
			same(t, "opened again", before, describe(s))
			sound(t, b)
		})
	}
}

// TestDefinitionsAreUndone: the transaction of each of them does not commit, for the process dies, or the client goes. Nothing is left.
func TestDefinitionsAreUndone(t *testing.T) {
	for _, d := range definitions {
		t.Run(d, func(t *testing.T) {
			dir, dead := t.TempDir(), t.TempDir()
			db, b := openDefinitions(t, dir)
			defer db.Close()
			s := newClient(b, 1)
			fillDefinitions(s)
			before := describe(s)
			if err := s.leaveOpen(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dead, os.DirFS(dir)); err != nil { // what a death at this moment leaves
				t.Fatal(err)
			}
			s.close() // rolls back
			unchanged(t, "after the rollback", b, before)

			db, b = openDefinitions(t, dead)
			defer db.Close()
			unchanged(t, "after the death", b, before)
		})
	}
}

func unchanged(t *testing.T, when string, b *sql.Backend, before []string) {
	t.Helper()
	s := newClient(b, 2)
	s.session.SetCurrentDatabase("d")
	same(t, when, before, describe(s))
	s.close()
	sound(t, b)
}

// counter is what a death may raise: values that were reserved are not given out again.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func same(t *testing.T, when string, before, after []string) {
	t.Helper()
	for i := range max(len(before), len(after)) {
		var was, is string
		if i < len(before) {
			was = counter.ReplaceAllString(before[i], "")
		}
		if i < len(after) {
			is = counter.ReplaceAllString(after[i], "")
		}
		if was != is {
			t.Errorf("%s: %s\nbefore: %s", when, is, was)
			return
		}
	}
}

// leaveOpen runs a statement up to the end of its rows, but not the commit that closing them would be.
func (c *client) leaveOpen(ctx context.Context, text string) error {
	gctx := gms.NewContext(ctx, gms.WithSession(c.session), gms.WithQuery(text))
	_, it, _, err := c.backend.Engine().QueryWithBindings(gctx, text, nil, nil, nil)
	for err == nil {
		_, err = it.Next(gctx)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// describe is everything there is to see, each question with its answer.
func describe(s *client) (all []string) {
	ask := func(query string) string {
		got := s.run(context.Background(), query)
		all = append(all, query+": "+got)
		return got
	}
	for _, db := range strings.Split(ask("SELECT schema_name FROM information_schema.schemata ORDER BY 1"), " | ") {
		if db != "d" {
			continue
		}
		for _, t := range strings.Split(ask("SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1"), " | ") {
			if t != "none" {
				ask("SHOW CREATE TABLE " + t)
				ask("SELECT * FROM " + t + " ORDER BY id")
			}
		}
		ask("SELECT id FROM t WHERE n = 7 ORDER BY id")
		ask("SELECT id FROM t WHERE s = 's7'")
		ask("SHOW TRIGGERS")
		ask("SHOW PROCEDURE STATUS WHERE db = 'd'")
	}
	return all
}

// sound: the dictionary, the tables and the engine agree.
func sound(t *testing.T, b *sql.Backend) {
	t.Helper()
	for _, f := range b.Dict().Check(context.Background()) {
		t.Error(f)
	}
	findings, err := b.Verify(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
	if t.Failed() {
		return
	}
	for _, f := range must(b.DB().Check(context.Background())) {
		t.Error(f)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
