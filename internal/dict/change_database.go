package dict

import (
	"fmt"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// PutDatabase makes a database, or changes collation and comment of the one that has the name.
func (c *Change) PutDatabase(name string, collation gms.CollationID, comment string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if db := c.Schema().Database(name); db != nil {
		return c.alterDatabase(db, collation, comment)
	}
	id, err := c.dict.NewID()
	if err != nil {
		return err
	}
	if err := c.insert(databaseNameKey(name), encode(recordOfID(id)), "database "+name); err != nil {
		return err
	}
	key := databaseKey(id)
	record := encode(recordOfDatabase(&Database{ID: id, Name: name, Collation: collation, Comment: comment}))
	if err := c.insert(key, record, "database "+name); err != nil {
		return err
	}
	db, err := decodeDatabase(key, record)
	if err != nil {
		return err
	}
	c.add(func(e *edit) { put(e, &e.next.databases, name, db) })
	return nil
}

func (c *Change) alterDatabase(db *Database, collation gms.CollationID, comment string) error {
	if err := c.expectDatabase(db); err != nil {
		return err
	}
	key := databaseKey(db.ID)
	record := encode(recordOfDatabase(&Database{ID: db.ID, Name: db.Name, Collation: collation, Comment: comment}))
	shown, err := decodeDatabase(key, record)
	if err != nil {
		return err
	}
	if err := c.put(key, record); err != nil {
		return err
	}
	c.add(func(e *edit) {
		next := e.database(db.Name)
		next.Collation, next.Comment = shown.Collation, shown.Comment
	})
	return nil
}

// DropDatabase removes a database with everything in it. The trees of its tables are the caller's to drop.
func (c *Change) DropDatabase(name string) error {
	db, err := c.database(name)
	if err != nil {
		return err
	}
	if err := c.expectDatabase(db); err != nil {
		return err
	}
	if err := c.expectContent(db); err != nil {
		return err
	}
	for _, t := range db.Tables() {
		if err := c.removeTable(db, t); err != nil {
			return err
		}
	}
	keys := []string{databaseNameKey(name), databaseKey(db.ID)}
	for name := range db.views {
		keys = append(keys, inDatabase(viewPrefix, db.ID, name), inDatabase(namePrefix, db.ID, name))
	}
	for name := range db.triggers {
		keys = append(keys, inDatabase(triggerPrefix, db.ID, name))
	}
	for name := range db.procedures {
		keys = append(keys, inDatabase(procedurePrefix, db.ID, name))
	}
	for name := range db.events {
		keys = append(keys, inDatabase(eventPrefix, db.ID, name))
	}
	if err := c.delete(keys...); err != nil {
		return err
	}
	c.add(func(e *edit) {
		for _, t := range db.tables {
			e.removeReferences(t)
		}
		drop(e, &e.next.databases, name)
	})
	return nil
}

// expectDatabase locks a database's own record, which says nothing of its tables.
func (c *Change) expectDatabase(db *Database) error {
	key := databaseKey(db.ID)
	alone := &Database{ID: db.ID, Name: db.Name, Collation: db.Collation, Comment: db.Comment}
	return c.expect(key, "database "+db.Name, alone, func(b []byte) (any, error) { return decodeDatabase(key, b) })
}

// expectContent sees whether a database, whose record is locked, so that nobody is putting anything into it, has only what the
// picture shows.
func (c *Change) expectContent(db *Database) error {
	tree, err := c.open()
	if err != nil {
		return err
	}
	shown := map[string]int{
		namePrefix: len(db.tables) + len(db.views), triggerPrefix: len(db.triggers),
		procedurePrefix: len(db.procedures), eventPrefix: len(db.events),
	}
	for prefix, want := range shown {
		stored, under := 0, inDatabase(prefix, db.ID, "")
		cursor := tree.CursorWith(hearth.ReadOptions{Current: true})
		for ok := cursor.Seek([]byte(under)); ok && strings.HasPrefix(string(cursor.Key()), under); ok = cursor.Next() {
			stored++
		}
		err := cursor.Err()
		if cursor.Close(); err != nil {
			return err
		}
		if stored != want {
			return fmt.Errorf("database %s: %w", db.Name, ErrConflict)
		}
	}
	return nil
}

func decodeDatabase(key string, b []byte) (*Database, error) {
	var r databaseRecord
	if err := decode(key, b, &r); err != nil {
		return nil, err
	}
	db, err := r.database()
	if err != nil {
		return nil, &RecordError{key, fmt.Errorf("is damaged: %w", err)}
	}
	return db, nil
}
