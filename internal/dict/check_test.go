package dict

import (
	"context"
	"fmt"
	"strings"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// Check finds what is broken on purpose, and nothing else.
func TestCheckFinds(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(w *world, tx *hearth.Tx)
		want    []string // parts of the findings
	}{
		"nothing": {func(*world, *hearth.Tx) {}, nil},
		"a tree too few": {func(w *world, tx *hearth.Tx) {
			w.ok(tx.DropTree(w.Schema().Table("d", "a").RowTree()))
		}, []string{"of table d.a is missing"}},
		"an index's tree too few": {func(w *world, tx *hearth.Tx) {
			w.ok(tx.DropTree(w.Schema().Table("d", "a").Trees()[1]))
		}, []string{"of table d.a is missing"}},
		"a tree too many": {func(w *world, tx *hearth.Tx) {
			_, err := tx.CreateTree("t/00000000000000ff/0000000000000001")
			w.ok(err)
		}, []string{"belongs to no table"}},
		"somebody else's tree": {func(w *world, tx *hearth.Tx) {
			_, err := tx.CreateTree("mine")
			w.ok(err)
		}, nil},
		"a picture with more": {func(w *world, _ *hearth.Tx) {
			w.publishSteps([]step{func(e *edit) { drop(e, &e.database("d").tables, "a") }})
		}, []string{"table d.a: in the picture false, stored true"}},
		"a picture that is old": {func(w *world, _ *hearth.Tx) {
			old := w.Schema().Table("d", "a").Clone()
			old.Comment = "another"
			w.publishSteps([]step{func(e *edit) { e.putTable(old) }})
		}, []string{"table d.a: the picture"}},
		"a record too few": {func(w *world, tx *hearth.Tx) {
			deleteKey(w, tx, dictionaryTree, tableKey(w.Schema().Table("d", "a").ID))
		}, []string{"table d.a: in the picture true", "belongs to nothing", "belongs to no table", "belongs to no table", "belongs to no table"}},
		"a name too few": {func(w *world, tx *hearth.Tx) {
			deleteKey(w, tx, dictionaryTree, inDatabase(namePrefix, w.Schema().Database("d").ID, "A"))
		}, []string{"is missing"}},
		"a name too many": {func(w *world, tx *hearth.Tx) {
			putKey(w, tx, dictionaryTree, inDatabase(namePrefix, w.Schema().Database("d").ID, "b"), encode(recordOfID(7)))
		}, []string{"belongs to nothing"}},
		"a name of another": {func(w *world, tx *hearth.Tx) {
			putKey(w, tx, dictionaryTree, databaseNameKey("d"), encode(recordOfID(7)))
		}, []string{"says id 7"}},
		"ids that repeat": {func(w *world, tx *hearth.Tx) {
			putKey(w, tx, dictionaryTree, idKey, encode(recordOfID(0)))
		}, []string{"above the reserved", "above the reserved", "above the reserved", "above the reserved"}},
		"one id for two": {func(w *world, tx *hearth.Tx) {
			twice := *w.Schema().Database("d")
			twice.Name = "d2"
			putKey(w, tx, dictionaryTree, databaseKey(w.Schema().Database("d").ID), encode(recordOfDatabase(&twice)))
		}, []string{"database d: in the picture true", "database d2: in the picture false", "belongs to nothing", "is missing"}},
		"a parent that is not there": {func(w *world, _ *hearth.Tx) {
			foreignKey(w, ForeignKey{Name: "f", Columns: []string{"id"}, ParentDatabase: "d", ParentTable: "x", ParentColumns: []string{"id"}, IsResolved: true})
		}, []string{"there is no table d.x"}},
		"a parent that is not there yet": {func(w *world, _ *hearth.Tx) {
			foreignKey(w, ForeignKey{Name: "f", Columns: []string{"id"}, ParentDatabase: "d", ParentTable: "x", ParentColumns: []string{"id"}})
		}, nil},
		"a foreign key on nothing": {func(w *world, _ *hearth.Tx) {
			foreignKey(w, ForeignKey{Name: "f", Columns: []string{"x"}, ParentDatabase: "d", ParentTable: "a", ParentColumns: []string{"y"}, IsResolved: true})
		}, []string{"there is no column x", "there is no column y in d.a"}},
		"a counter too many": {func(w *world, tx *hearth.Tx) {
			putKey(w, tx, counterTree, "00000000000000ff", encode(counterRecord{versioned{format}, 1}))
		}, []string{"counter 00000000000000ff belongs to no table"}},
		"a counter too low": {func(w *world, tx *hearth.Tx) {
			putKey(w, tx, counterTree, string(counterKey(w.Schema().Table("d", "a").Counter)), encode(counterRecord{versioned{format}, 0}))
		}, []string{"1 was handed out, 0 is reserved"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.with("d")
			var a *Table
			w.ok(w.change(func(c *Change) (err error) {
				a = w.table("d", "a")
				a.Indexes = []Index{{ID: w.id(), Name: "k", Parts: []Part{{Column: 0}}}}
				a.Columns[0].AutoIncrement, a.Counter = true, a.ID
				a, err = create1(c, a)
				return err
			}))
			_, err := w.NextAuto(context.Background(), a, 0, 1, 1)
			w.ok(err)
			w.sound()
			w.ok(w.db.Update(context.Background(), func(tx *hearth.Tx) error {
				c.breakIt(w, tx)
				return nil
			}))
			findings := w.Check(context.Background())
			if left := unexplained(findings, c.want); left != "" || len(findings) != len(c.want) {
				t.Errorf("found %q, want %q; %s", findings, c.want, left)
			}
			w.ok(w.db.Close())
			w.db = nil
		})
	}
}

// unexplained says which wanted finding is not there. Each finding explains one.
func unexplained(findings, want []string) string {
	taken := map[int]bool{}
next:
	for _, part := range want {
		for i, finding := range findings {
			if !taken[i] && strings.Contains(finding, part) {
				taken[i] = true
				continue next
			}
		}
		return fmt.Sprintf("no finding has %q", part)
	}
	return ""
}

func foreignKey(w *world, fk ForeignKey) {
	fk.OnUpdate = gms.ForeignKeyReferentialAction_Cascade
	w.ok(w.change(func(c *Change) error {
		clone := c.Schema().Table("d", "a").Clone()
		clone.ForeignKeys = []ForeignKey{fk}
		_, err := c.PutTable(clone)
		return err
	}))
}

func putKey(w *world, tx *hearth.Tx, tree, key string, value []byte) {
	t, err := tx.Tree(tree)
	w.ok(err)
	w.ok(t.Put([]byte(key), value))
}

func deleteKey(w *world, tx *hearth.Tx, tree, key string) {
	t, err := tx.Tree(tree)
	w.ok(err)
	found, err := t.Delete([]byte(key))
	w.ok(err)
	if !found {
		w.t.Fatalf("there is no %s in %s", key, tree)
	}
}
