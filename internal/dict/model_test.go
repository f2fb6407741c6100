package dict

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// model is a dictionary as plain maps: database → what+name → content. Table names and view names are one space.
type model map[string]map[string]string

func (m model) clone() model {
	c := model{}
	for db, names := range m {
		c[db] = map[string]string{}
		for name, content := range names {
			c[db][name] = content
		}
	}
	return c
}

// modelOf puts a picture into the same form.
func modelOf(s *Schema) model {
	m := model{}
	for _, db := range s.Databases() {
		names := map[string]string{"comment": db.Comment}
		for _, t := range db.Tables() {
			names["t "+strings.ToLower(t.Name)] = fmt.Sprint(t.ID, t.Comment)
		}
		for _, v := range db.Views() {
			names["v "+strings.ToLower(v.Name)] = v.TextDefinition
		}
		for _, e := range db.Events() {
			names["e "+strings.ToLower(e.Name)] = e.EventBody
		}
		m[db.Name] = names
	}
	return m
}

func (m model) equal(other model) bool { return fmt.Sprint(m) == fmt.Sprint(other) } // fmt sorts maps

// TestModel makes random changes, returns to savepoints, commits, rolls back, stops and starts, and compares with plain maps.
func TestModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	committed := model{}
	for n := range 150 {
		own := committed.clone()
		c, tx := w.begin()
		type place struct {
			model model
			mark  Mark
			save  hearth.Savepoint
		}
		var places []place
		for range 1 + rng.IntN(8) {
			switch rng.IntN(8) {
			case 0:
				places = append(places, place{own.clone(), c.Mark(), tx.Savepoint()})
			case 1:
				if len(places) > 0 {
					p := places[rng.IntN(len(places))]
					places = nil
					own = p.model.clone()
					w.ok(tx.RollbackTo(p.save))
					c.RollbackTo(p.mark)
				}
			default:
				before, mark, save := own.clone(), c.Mark(), tx.Savepoint()
				err := randomChange(w, rng, c, own)
				if want := own["refused"]; (err != nil) != (want != nil) {
					t.Fatalf("seed %d, change %d: got %v, want refusal %t", seed, n, err, want != nil)
				}
				if err != nil { // as a session does after a statement that failed
					if !errors.Is(err, ErrExists) && !errors.Is(err, ErrNotFound) {
						t.Fatalf("seed %d, change %d: %v", seed, n, err)
					}
					own = before
					w.ok(tx.RollbackTo(save))
					c.RollbackTo(mark)
					places = nil
				}
			}
			if got := modelOf(c.Schema()); !got.equal(own) {
				t.Fatalf("seed %d, change %d: its picture is\n%v, want\n%v", seed, n, got, own)
			}
			if got := modelOf(w.Schema()); !got.equal(committed) {
				t.Fatalf("seed %d, change %d: the committed picture is\n%v, want\n%v", seed, n, got, committed)
			}
		}
		if rng.IntN(4) == 0 {
			w.rollback(c, tx)
		} else {
			w.commit(c, tx)
			committed = own
		}
		if rng.IntN(20) == 0 {
			w.reopen(rng.IntN(2) == 0)
		}
		if got := modelOf(w.Schema()); !got.equal(committed) {
			t.Fatalf("seed %d, change %d: afterwards there is\n%v, want\n%v", seed, n, got, committed)
		}
		if findings := w.Check(context.Background()); len(findings) > 0 {
			t.Fatalf("seed %d, change %d: check: %q", seed, n, findings)
		}
	}
}

// randomChange does one thing to the change and to the model. The model gets a key "refused" when the change must fail.
func randomChange(w *world, rng *rand.Rand, c *Change, m model) error {
	database, name := fmt.Sprint("d", rng.IntN(2)), string(rune('A'+rng.IntN(4)))
	lower, content := strings.ToLower(name), fmt.Sprint(rng.IntN(1000))
	names, there := m[database]
	refuse := func() { m["refused"] = map[string]string{} }
	switch rng.IntN(9) {
	case 0:
		if there && rng.IntN(4) > 0 {
			return nil // rarely
		}
		if !there {
			m[database] = map[string]string{}
		}
		m[database]["comment"] = content
		return c.PutDatabase(database, gms.Collation_utf8mb4_bin, content)
	case 1:
		if rng.IntN(3) > 0 {
			return nil
		}
		if !there {
			refuse()
			return c.DropDatabase(database)
		}
		delete(m, database)
		for _, t := range c.Schema().Database(database).Tables() {
			for _, tree := range t.Trees() {
				w.ok(c.tx.DropTree(tree))
			}
		}
		return c.DropDatabase(database)
	case 2, 3: // create a table
		t := w.table(database, name)
		t.Comment = content
		if !there || names["t "+lower] != "" || names["v "+lower] != "" {
			refuse()
		} else {
			names["t "+lower] = fmt.Sprint(t.ID, content)
		}
		_, err := create1(c, t)
		return err
	case 4: // change or rename one
		if !there || len(c.Schema().Database(database).Tables()) == 0 {
			return nil
		}
		tables := c.Schema().Database(database).Tables()
		t := tables[rng.IntN(len(tables))].Clone()
		old := strings.ToLower(t.Name)
		t.Name, t.Comment = name, content
		if lower != old && (names["t "+lower] != "" || names["v "+lower] != "") {
			refuse()
		} else {
			delete(names, "t "+old)
			names["t "+lower] = fmt.Sprint(t.ID, content)
		}
		_, err := c.PutTable(t)
		return err
	case 5:
		if c.Schema().Table(database, name) == nil {
			refuse()
			return c.DropTable(database, name)
		}
		delete(names, "t "+lower)
		return remove(c, database, name)
	case 6:
		if !there || names["t "+lower] != "" {
			refuse()
		} else {
			names["v "+lower] = content
		}
		return c.PutView(database, View{Name: name, TextDefinition: content})
	case 7:
		if !there || !slices.ContainsFunc(c.Schema().Database(database).Views(), func(v *View) bool { return v.Name == name }) {
			refuse()
		}
		delete(names, "v "+lower)
		return c.DropView(database, name)
	default:
		if !there {
			refuse()
		} else {
			names["e "+lower] = content
		}
		return c.PutEvent(database, Event{Name: name, EventBody: content})
	}
}
