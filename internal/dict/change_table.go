package dict

import "fmt"

// PutTable stores a table: a new one if its Version is 0, else the next definition (also: name) of the one it is a clone of. It
// returns the table as the picture now shows it, which has another Version; t itself is not kept. Trees are the caller's.
//
// ErrExists: the name is taken. ErrNotFound: the database is not there. ErrConflict: t is not a clone of the present definition.
func (c *Change) PutTable(t *Table) (*Table, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	db, err := c.database(t.Database)
	if err != nil {
		return nil, err
	}
	old, err := c.lockTable(t)
	if err != nil {
		return nil, err
	}
	if err := c.moveName(old, t, db); err != nil {
		return nil, err
	}
	shown, err := c.writeTable(t, db)
	if err != nil {
		return nil, err
	}
	c.touch(t)
	if old != nil {
		c.touch(old)
	}
	c.add(func(e *edit) {
		if old != nil {
			e.dropTable(old)
		}
		e.putTable(shown)
	})
	return shown, nil
}

// lockTable locks the record of the table that t is to replace, and returns that table, nil if t is new.
func (c *Change) lockTable(t *Table) (old *Table, err error) {
	key := tableKey(t.ID)
	b, err := c.lock(key)
	if err != nil {
		return nil, err
	}
	conflict := fmt.Errorf("table %s.%s: %w", t.Database, t.Name, ErrConflict)
	if b == nil {
		if t.Version != 0 {
			return nil, conflict
		}
		return nil, nil
	}
	var r tableRecord
	if err := decode(key, b, &r); err != nil {
		return nil, err
	}
	if r.Version != t.Version {
		return nil, conflict
	}
	for _, db := range c.Schema().databases {
		if db.ID == r.Database {
			old = db.Table(string(r.Name))
		}
	}
	if old == nil || old.Version != r.Version {
		return nil, conflict
	}
	return old, nil
}

// moveName takes the name of t in db and lets go of the one it had.
func (c *Change) moveName(old, t *Table, db *Database) error {
	key := inDatabase(namePrefix, db.ID, t.Name)
	if old != nil {
		from, err := c.database(old.Database)
		if err != nil {
			return err
		}
		had := inDatabase(namePrefix, from.ID, old.Name)
		if had == key {
			return nil // nothing to do, or another case of the same name
		}
		if err := c.delete(had); err != nil {
			return err
		}
	}
	if err := c.hold(db); err != nil {
		return err
	}
	return c.insert(key, encode(recordOfID(t.ID)), "table "+t.Database+"."+t.Name)
}

// writeTable writes the record of t with a new version and returns what a restart would make of it.
func (c *Change) writeTable(t *Table, db *Database) (*Table, error) {
	version, err := c.dict.NewID()
	if err != nil {
		return nil, err
	}
	r, err := recordOf(t, db.ID)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	r.Version = version
	key, b := tableKey(t.ID), encode(&r)
	shown, err := decodeTable(key, b, db.Name)
	if err != nil {
		return nil, err
	}
	return shown, c.put(key, b)
}

// DropTable removes a table's definition and its counter. Its trees are the caller's to drop.
func (c *Change) DropTable(database, name string) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	t := db.Table(name)
	if t == nil {
		return fmt.Errorf("table %s.%s: %w", database, name, ErrNotFound)
	}
	if err := c.removeTable(db, t); err != nil {
		return err
	}
	c.add(func(e *edit) { e.dropTable(t) })
	return nil
}

// removeTable deletes the records of a table.
func (c *Change) removeTable(db *Database, t *Table) error {
	if _, err := c.lockTable(t); err != nil {
		return err
	}
	c.touch(t)
	return c.delete(tableKey(t.ID), inDatabase(namePrefix, db.ID, t.Name))
}

// touch notes that the table, under that name, has the counter at some time of the change.
func (c *Change) touch(t *Table) {
	c.counters[t.Counter] = true
	c.names[nameOf(t.Database, t.Name)] = true
}

func decodeTable(key string, b []byte, database string) (*Table, error) {
	var r tableRecord
	if err := decode(key, b, &r); err != nil {
		return nil, err
	}
	t, err := r.table(database)
	if err != nil {
		return nil, &RecordError{key, fmt.Errorf("is damaged: %w", err)}
	}
	return t, nil
}
