package dict

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
)

// world is a dictionary on an engine, for a test. Its end is a Check.
type world struct {
	t   testing.TB
	dir string
	db  *hearth.DB
	*Dict
}

func options() *hearth.Options {
	return &hearth.Options{
		PoolSize: 16 << 20, LogSize: 64 << 20, SegmentSize: 4 << 20, RingSize: 4 << 20, Memory: hearth.MemoryOff,
		Durability: hearth.DurabilityProcess, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, dir: t.TempDir()}
	w.open()
	t.Cleanup(func() {
		if w.db == nil {
			return
		}
		w.sound()
		w.close()
	})
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.db, err = hearth.Open(context.Background(), w.dir, options()); err != nil {
		w.t.Fatal(err)
	}
	if w.Dict, err = Open(context.Background(), w.db); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	w.t.Helper()
	w.ok(w.Dict.Close(context.Background()))
	w.ok(w.db.Close())
	w.db = nil
}

// reopen stops and starts, with or without an orderly end of the dictionary.
func (w *world) reopen(orderly bool) {
	w.t.Helper()
	if orderly {
		w.ok(w.Dict.Close(context.Background()))
	}
	w.ok(w.db.Close())
	w.open()
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// sound runs Check.
func (w *world) sound() {
	w.t.Helper()
	for _, finding := range w.Check(context.Background()) {
		w.t.Error("check: ", finding)
	}
}

func (w *world) begin() (*Change, *hearth.Tx) {
	w.t.Helper()
	tx, err := w.db.Begin(context.Background(), hearth.TxOptions{})
	w.ok(err)
	return w.Begin(tx), tx
}

// change runs fn in a change, and commits it if fn returns nil.
func (w *world) change(fn func(*Change) error) error {
	w.t.Helper()
	c, tx := w.begin()
	if err := fn(c); err != nil {
		w.ok(tx.Rollback())
		c.Abandoned()
		return err
	}
	w.commit(c, tx)
	return nil
}

func (w *world) commit(c *Change, tx *hearth.Tx) {
	w.t.Helper()
	w.ok(tx.Commit(context.Background()))
	c.Committed()
}

func (w *world) rollback(c *Change, tx *hearth.Tx) {
	w.t.Helper()
	w.ok(tx.Rollback())
	c.Abandoned()
}

func (w *world) id() uint64 {
	w.t.Helper()
	id, err := w.NewID()
	w.ok(err)
	return id
}

// table makes a small new table in memory.
func (w *world) table(database, name string) *Table {
	id := w.id()
	return &Table{
		ID: id, Storage: id, Database: database, Name: name, Collation: gms.Collation_utf8mb4_0900_ai_ci,
		Columns: []Column{{Name: "id", Type: types.Int64}, {Name: "v", Type: types.LongText, Nullable: true}},
		Primary: []Part{{Column: 0}},
	}
}

// create1 puts a table with its trees.
func create1(c *Change, t *Table) (*Table, error) {
	for _, name := range t.Trees() {
		if _, err := c.tx.CreateTree(name); err != nil {
			return nil, err
		}
	}
	return c.PutTable(t)
}

// remove drops a table with its trees.
func remove(c *Change, database, name string) error {
	for _, tree := range c.Schema().Table(database, name).Trees() {
		if err := c.tx.DropTree(tree); err != nil {
			return err
		}
	}
	return c.DropTable(database, name)
}

// with makes a database and tables in it.
func (w *world) with(database string, tables ...string) {
	w.t.Helper()
	w.ok(w.change(func(c *Change) error {
		if err := c.PutDatabase(database, gms.Collation_utf8mb4_0900_ai_ci, ""); err != nil {
			return err
		}
		for _, name := range tables {
			if _, err := create1(c, w.table(database, name)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// same fails unless two pictures show the same.
func same(t testing.TB, got, want *Schema) {
	t.Helper()
	g, w := *got, *want
	g.generation, w.generation = 0, 0
	if !reflect.DeepEqual(normal(g), normal(w)) {
		t.Errorf("the pictures differ:\ngot  %s\nwant %s", describe(got), describe(want))
	}
}

// normal makes empty maps nil.
func normal(s Schema) Schema {
	databases := map[string]*Database{}
	for name, db := range s.databases {
		d := *db
		nilIfEmpty(&d.tables)
		nilIfEmpty(&d.views)
		nilIfEmpty(&d.triggers)
		nilIfEmpty(&d.procedures)
		nilIfEmpty(&d.events)
		databases[name] = &d
	}
	s.databases = databases
	nilIfEmpty(&s.references)
	nilIfEmpty(&s.variables)
	return s
}

func nilIfEmpty[K comparable, V any](m *map[K]V) {
	if len(*m) == 0 {
		*m = nil
	}
}

func describe(s *Schema) (out string) {
	for _, db := range s.Databases() {
		out += fmt.Sprintf("\n %s: %v", db.Name, db.Comment)
		for _, t := range db.Tables() {
			out += fmt.Sprintf("\n  %+v", *t)
		}
		out += fmt.Sprintf("\n  %v %v %v %v", db.Views(), db.Triggers(), db.Procedures(), db.Events())
	}
	return out + fmt.Sprintf("\n %v %s %v", s.variables, s.users, s.references)
}
