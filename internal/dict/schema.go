package dict

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// Schema is a picture of all definitions. It is immutable (rule 1) and may be used by any number of goroutines.
// Names are found whatever their case; a look-up by a name in lower case allocates nothing.
type Schema struct {
	generation uint64
	databases  map[string]*Database
	references map[tableName][]ForeignKey // by parent
	variables  map[string]string
	users      []byte
}

// tableName is a table's name, lower case.
type tableName struct{ database, table string }

func nameOf(database, table string) tableName {
	return tableName{strings.ToLower(database), strings.ToLower(table)}
}

// Generation counts the published pictures of this process: same number, same picture. It is 0 for the picture of a Change,
// which nobody should cache anything for.
func (s *Schema) Generation() uint64 { return s.generation }

// Database of that name, nil if there is none.
func (s *Schema) Database(name string) *Database { return s.databases[strings.ToLower(name)] }

// Databases lists all, by name.
func (s *Schema) Databases() []*Database { return sorted(s.databases) }

// Table of that name, nil if it or its database is not there.
func (s *Schema) Table(database, table string) *Table {
	if db := s.Database(database); db != nil {
		return db.Table(table)
	}
	return nil
}

// ReferencedBy lists the foreign keys whose parent is the table, by declaring table and name. The caller must not change it.
func (s *Schema) ReferencedBy(database, table string) []ForeignKey {
	return s.references[nameOf(database, table)]
}

// Variable returns the persisted value of a global variable (SET PERSIST).
func (s *Schema) Variable(name string) (value string, ok bool) {
	value, ok = s.variables[strings.ToLower(name)]
	return value, ok
}

// Variables returns all persisted global variables; the map is the caller's.
func (s *Schema) Variables() map[string]string { return maps.Clone(s.variables) }

// Users returns what PutUsers stored, nil if nothing was. The caller must not change it.
func (s *Schema) Users() []byte { return s.users }

// Database is a database and what is in it.
type Database struct {
	ID        uint64
	Name      string
	Collation gms.CollationID
	Comment   string

	tables     map[string]*Table
	views      map[string]*View
	triggers   map[string]*Trigger
	procedures map[string]*Procedure
	events     map[string]*Event
}

// Table of that name, nil if there is none.
func (db *Database) Table(name string) *Table { return db.tables[strings.ToLower(name)] }

// Tables lists all, by name.
func (db *Database) Tables() []*Table { return sorted(db.tables) }

// View of that name, nil if there is none. The caller must not change it; so with all that follow.
func (db *Database) View(name string) *View { return db.views[strings.ToLower(name)] }

// Views lists all, by name.
func (db *Database) Views() []*View { return sorted(db.views) }

// Trigger of that name, nil if there is none.
func (db *Database) Trigger(name string) *Trigger { return db.triggers[strings.ToLower(name)] }

// Triggers lists all in the order in which they were created, which is the order in which they fire.
func (db *Database) Triggers() []*Trigger {
	list := sorted(db.triggers)
	slices.SortStableFunc(list, func(a, b *Trigger) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list
}

// Procedure of that name, nil if there is none.
func (db *Database) Procedure(name string) *Procedure { return db.procedures[strings.ToLower(name)] }

// Procedures lists all, by name.
func (db *Database) Procedures() []*Procedure { return sorted(db.procedures) }

// Event of that name, nil if there is none.
func (db *Database) Event(name string) *Event { return db.events[strings.ToLower(name)] }

// Events lists all, by name.
func (db *Database) Events() []*Event { return sorted(db.events) }

// sorted lists the values of m in the order of their keys.
func sorted[V any](m map[string]V) []V {
	list := make([]V, 0, len(m))
	for _, k := range slices.SortedFunc(maps.Keys(m), cmp.Compare[string]) {
		list = append(list, m[k])
	}
	return list
}
