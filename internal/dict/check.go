package dict

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hearthdb/hearth"
)

// Check compares the dictionary with itself, with the picture and with the engine, and returns what is wrong, one finding a line;
// none means sound. Nobody may change definitions meanwhile.
func (d *Dict) Check(ctx context.Context) []string {
	k := &checker{dict: d, last: map[any]uint64{}}
	d.counters.Range(func(id, c any) bool { // before the snapshot: what is handed out later is reserved later
		k.last[id] = c.(*counter).last.Load()
		return true
	})
	if err := d.db.View(ctx, k.run); err != nil {
		k.find("%v", err)
	}
	slices.Sort(k.findings)
	return k.findings
}

type checker struct {
	dict     *Dict
	last     map[any]uint64 // by counter
	findings []string
}

func (k *checker) find(format string, args ...any) {
	k.findings = append(k.findings, fmt.Sprintf(format, args...))
}

func (k *checker) run(tx *hearth.Tx) error {
	tree, err := tx.Tree(dictionaryTree)
	if err != nil {
		return err
	}
	l, err := load(tree)
	if err != nil {
		return err
	}
	k.picture(l.schema)
	k.names(l)
	k.ids(l)
	k.references(l.schema)
	if err := k.trees(tx, l.schema); err != nil {
		return err
	}
	return k.counters(tx, l.schema)
}

// picture: what everybody sees is what is stored.
func (k *checker) picture(s *Schema) {
	shown := k.dict.Schema()
	for name := range mergedKeys(shown.databases, s.databases) {
		a, b := shown.databases[name], s.databases[name]
		if a == nil || b == nil {
			k.find("database %s: in the picture %t, stored %t", name, a != nil, b != nil)
			continue
		}
		if a.ID != b.ID || a.Name != b.Name || a.Collation != b.Collation || a.Comment != b.Comment {
			k.find("database %s: the picture is not what is stored", name)
		}
		compare(k, "table "+name+".", a.tables, b.tables)
		compare(k, "view "+name+".", a.views, b.views)
		compare(k, "trigger "+name+".", a.triggers, b.triggers)
		compare(k, "procedure "+name+".", a.procedures, b.procedures)
		compare(k, "event "+name+".", a.events, b.events)
	}
	compare(k, "variable ", shown.variables, s.variables)
	if !slices.Equal(shown.users, s.users) {
		k.find("users: the picture is not what is stored")
	}
	for name := range mergedKeys(shown.references, s.references) {
		if !reflect.DeepEqual(shown.references[name], s.references[name]) {
			k.find("foreign keys that refer to %s.%s: the picture is not what is stored", name.database, name.table)
		}
	}
}

func compare[V any](k *checker, what string, shown, stored map[string]V) {
	for name := range mergedKeys(shown, stored) {
		a, inPicture := shown[name]
		b, inTree := stored[name]
		if inPicture != inTree {
			k.find("%s%s: in the picture %t, stored %t", what, name, inPicture, inTree)
		} else if !reflect.DeepEqual(a, b) {
			k.find("%s%s: the picture is not what is stored", what, name)
		}
	}
}

func mergedKeys[K comparable, V any](a, b map[K]V) map[K]V {
	merged := maps.Clone(a)
	if merged == nil {
		merged = map[K]V{}
	}
	maps.Copy(merged, b)
	return merged
}

// names: each has its record, and each record its bearer.
func (k *checker) names(l *loaded) {
	want := map[string]uint64{}
	for _, db := range l.schema.databases {
		want[databaseNameKey(db.Name)] = db.ID
		for name, t := range db.tables {
			want[inDatabase(namePrefix, db.ID, name)] = t.ID
		}
		for name := range db.views {
			key := inDatabase(namePrefix, db.ID, name)
			if _, taken := want[key]; taken {
				k.find("%s.%s is a table and a view", db.Name, name)
			}
			want[key] = 0
		}
	}
	for key := range mergedKeys(want, l.names) {
		a, wanted := want[key]
		b, found := l.names[key]
		switch {
		case !found:
			k.find("record %q is missing", key)
		case !wanted:
			k.find("record %q belongs to nothing", key)
		case a != b:
			k.find("record %q says id %x, it is %x", key, b, a)
		}
	}
	if n := l.tables; n != countTables(l.schema) {
		k.find("%d records of tables make %d tables: two have one name", n, countTables(l.schema))
	}
}

func countTables(s *Schema) (n int) {
	for _, db := range s.databases {
		n += len(db.tables)
	}
	return n
}

// ids: all are reserved, and none was given out twice.
func (k *checker) ids(l *loaded) {
	seen := map[uint64]string{}
	take := func(id uint64, what string) {
		if other, twice := seen[id]; twice {
			k.find("id %x is that of %s and of %s", id, other, what)
		}
		if seen[id] = what; id > l.ids {
			k.find("id %x of %s is above the reserved ones, up to %x", id, what, l.ids)
		}
	}
	for _, db := range l.schema.databases {
		take(db.ID, "database "+db.Name)
		for _, t := range db.tables {
			what := "table " + db.Name + "." + t.Name
			take(t.ID, what)
			take(t.Version, "the version of "+what)
			if t.Storage != t.ID {
				take(t.Storage, "the storage of "+what)
			}
			if t.Counter != 0 && t.Counter != t.ID {
				take(t.Counter, "the counter of "+what)
			}
			for _, x := range t.Indexes {
				take(x.ID, "index "+x.Name+" of "+what)
			}
		}
	}
}

// references: a foreign key stands on columns that are there, and if it is resolved so is its parent.
func (k *checker) references(s *Schema) {
	for _, db := range s.databases {
		for _, t := range db.tables {
			for _, fk := range t.ForeignKeys {
				what := fmt.Sprintf("foreign key %s of %s.%s", fk.Name, db.Name, t.Name)
				for _, column := range fk.Columns {
					if t.Column(column) < 0 {
						k.find("%s: there is no column %s", what, column)
					}
				}
				parent := s.Table(fk.ParentDatabase, fk.ParentTable)
				if parent == nil {
					if fk.IsResolved {
						k.find("%s is resolved, but there is no table %s.%s", what, fk.ParentDatabase, fk.ParentTable)
					}
					continue
				}
				for _, column := range fk.ParentColumns {
					if fk.IsResolved && parent.Column(column) < 0 {
						k.find("%s: there is no column %s in %s.%s", what, column, fk.ParentDatabase, fk.ParentTable)
					}
				}
			}
		}
	}
}

// trees: every table has its trees in the engine, and the engine has no others of tables.
func (k *checker) trees(tx *hearth.Tx, s *Schema) error {
	names, err := tx.Trees()
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, name := range names {
		if strings.HasPrefix(name, treePrefix) {
			found[name] = true
		}
	}
	for _, db := range s.databases {
		for _, t := range db.tables {
			for _, name := range t.Trees() {
				if !found[name] {
					k.find("tree %s of table %s.%s is missing", name, db.Name, t.Name)
				}
				delete(found, name)
			}
		}
	}
	for name := range found {
		k.find("tree %s belongs to no table", name)
	}
	return nil
}

// counters: each belongs to a table, and is not below what is in memory.
func (k *checker) counters(tx *hearth.Tx, s *Schema) error {
	tables := map[string]*Table{}
	for _, db := range s.databases {
		for _, t := range db.tables {
			if t.Counter != 0 {
				tables[string(counterKey(t.Counter))] = t
			}
		}
	}
	tree, err := tx.Tree(counterTree)
	if err != nil {
		return err
	}
	c := tree.Cursor()
	defer c.Close()
	for ok := c.First(); ok; ok = c.Next() {
		t := tables[string(c.Key())]
		if t == nil {
			k.find("counter %s belongs to no table", c.Key())
			continue
		}
		var r counterRecord
		if err := decode(string(c.Key()), c.Value(), &r); err != nil {
			k.find("counter of table %s.%s: %v", t.Database, t.Name, err)
		} else if last := k.last[t.Counter]; last > r.Last {
			k.find("counter of table %s.%s: %d was handed out, %d is reserved", t.Database, t.Name, last, r.Last)
		}
	}
	return c.Err()
}
