package dict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// step is one change of a picture. It can be applied to any picture in which the names it touches are as the change has seen
// them, which rule 6 guarantees; so the steps of one change fit on those of another.
type step func(*edit)

// apply makes the picture that has the steps besides. s stays as it is.
func (s *Schema) apply(steps []step) *Schema {
	next := *s
	next.generation = 0
	e := &edit{next: &next, own: map[any]bool{}}
	for _, do := range steps {
		do(e)
	}
	return &next
}

// edit is a picture in the making. It copies a map before it first writes to it.
type edit struct {
	next *Schema
	own  map[any]bool // pointers to the maps, and databases, that are copies already
}

// writable copies the map at m unless that was done.
func writable[K comparable, V any](e *edit, m *map[K]V) map[K]V {
	if !e.own[m] {
		e.own[m] = true
		if *m = maps.Clone(*m); *m == nil {
			*m = map[K]V{}
		}
	}
	return *m
}

// database returns a database that may be written to.
func (e *edit) database(name string) *Database {
	name = strings.ToLower(name)
	db := e.next.databases[name]
	if db == nil {
		panic(fmt.Sprintf("BUG: database %q of a change is gone from the picture", name))
	}
	if !e.own[db] {
		copied := *db
		db = &copied
		e.own[db] = true
		writable(e, &e.next.databases)[name] = db
	}
	return db
}

// put sets one entry by its name in lower case.
func put[V any](e *edit, m *map[string]V, name string, v V) {
	writable(e, m)[strings.ToLower(name)] = v
}

// drop removes one entry.
func drop[V any](e *edit, m *map[string]V, name string) {
	delete(writable(e, m), strings.ToLower(name))
}

func (e *edit) putTable(t *Table) {
	put(e, &e.database(t.Database).tables, t.Name, t)
	e.addReferences(t.ForeignKeys)
}

func (e *edit) dropTable(t *Table) {
	drop(e, &e.database(t.Database).tables, t.Name)
	e.removeReferences(t)
}

func (e *edit) addReferences(declared []ForeignKey) {
	for _, fk := range declared {
		parent := nameOf(fk.ParentDatabase, fk.ParentTable)
		references := writable(e, &e.next.references)
		list := append(slices.Clone(references[parent]), fk) // somebody may be reading the old list
		slices.SortFunc(list, compareForeignKeys)
		references[parent] = list
	}
}

func (e *edit) removeReferences(t *Table) {
	for _, fk := range t.ForeignKeys {
		parent := nameOf(fk.ParentDatabase, fk.ParentTable)
		references := writable(e, &e.next.references)
		list := slices.DeleteFunc(slices.Clone(references[parent]), func(other ForeignKey) bool {
			return compareForeignKeys(fk, other) == 0
		})
		if len(list) == 0 {
			delete(references, parent)
		} else {
			references[parent] = list
		}
	}
}

// compareForeignKeys orders by the declaring table and the name.
func compareForeignKeys(a, b ForeignKey) int {
	return cmp.Or(strings.Compare(a.Database, b.Database), strings.Compare(a.Table, b.Table), strings.Compare(a.Name, b.Name))
}
