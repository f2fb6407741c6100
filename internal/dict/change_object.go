package dict

import (
	"fmt"
	"strings"
)

// kind is a sort of thing that lives in a database under a name of its own and is stored whole.
type kind[T any] struct {
	what   string // for messages
	prefix string // of its keys
	in     func(*Database) *map[string]*T
	name   func(*T) string
	check  func(*T) error // nil: nothing to check
	encode func(T) []byte
	decode func(key string, b []byte) (*T, error)
}

var views = kind[View]{
	what: "view", prefix: viewPrefix,
	in:     func(db *Database) *map[string]*View { return &db.views },
	name:   func(v *View) string { return v.Name },
	encode: func(v View) []byte { return encode(recordOfView(v)) },
	decode: func(key string, b []byte) (*View, error) {
		var r viewRecord
		err := decode(key, b, &r)
		return r.view(), err
	},
}

var triggers = kind[Trigger]{
	what: "trigger", prefix: triggerPrefix,
	in:     func(db *Database) *map[string]*Trigger { return &db.triggers },
	name:   func(t *Trigger) string { return t.Name },
	check:  func(t *Trigger) error { return checkTimes(t.CreatedAt) },
	encode: func(t Trigger) []byte { return encode(recordOfTrigger(t)) },
	decode: func(key string, b []byte) (*Trigger, error) {
		var r triggerRecord
		err := decode(key, b, &r)
		return r.trigger(), err
	},
}

var procedures = kind[Procedure]{
	what: "procedure", prefix: procedurePrefix,
	in:     func(db *Database) *map[string]*Procedure { return &db.procedures },
	name:   func(p *Procedure) string { return p.Name },
	check:  func(p *Procedure) error { return checkTimes(p.CreatedAt, p.ModifiedAt) },
	encode: func(p Procedure) []byte { return encode(recordOfProcedure(p)) },
	decode: func(key string, b []byte) (*Procedure, error) {
		var r procedureRecord
		err := decode(key, b, &r)
		return r.procedure(), err
	},
}

var events = kind[Event]{
	what: "event", prefix: eventPrefix,
	in:   func(db *Database) *map[string]*Event { return &db.events },
	name: func(e *Event) string { return e.Name },
	check: func(e *Event) error {
		return checkTimes(e.CreatedAt, e.LastAltered, e.LastExecuted, e.ExecuteAt, e.Starts, e.Ends)
	},
	encode: func(e Event) []byte { return encode(recordOfEvent(e)) },
	decode: func(key string, b []byte) (*Event, error) {
		var r eventRecord
		err := decode(key, b, &r)
		return r.event(), err
	},
}

// putObject stores one, in place of the one of that name if there is one.
func putObject[T any](c *Change, k *kind[T], database string, v T) error {
	name := k.name(&v)
	what := k.what + " " + database + "." + name
	if err := checkName(name); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if k.check != nil {
		if err := k.check(&v); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	db, err := c.database(database)
	if err != nil {
		return err
	}
	key, record := inDatabase(k.prefix, db.ID, name), k.encode(v)
	shown, err := k.decode(key, record)
	if err != nil {
		return err
	}
	if old := (*k.in(db))[strings.ToLower(name)]; old == nil {
		if err := c.hold(db); err != nil {
			return err
		}
		if err := c.insert(key, record, what); err != nil {
			return err
		}
	} else {
		if err := expectObject(c, k, key, what, old); err != nil {
			return err
		}
		if err := c.put(key, record); err != nil {
			return err
		}
	}
	c.add(func(e *edit) { put(e, k.in(e.database(database)), name, shown) })
	return nil
}

// dropObject removes one.
func dropObject[T any](c *Change, k *kind[T], database, name string) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	what := k.what + " " + database + "." + name
	old := (*k.in(db))[strings.ToLower(name)]
	if old == nil {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	key := inDatabase(k.prefix, db.ID, name)
	if err := expectObject(c, k, key, what, old); err != nil {
		return err
	}
	if err := c.delete(key); err != nil {
		return err
	}
	c.add(func(e *edit) { drop(e, k.in(e.database(database)), name) })
	return nil
}

func expectObject[T any](c *Change, k *kind[T], key, what string, shown *T) error {
	return c.expect(key, what, shown, func(b []byte) (any, error) { return k.decode(key, b) })
}

// PutView stores a view in place of the one of that name, if there is one. ErrExists: a table has the name.
func (c *Change) PutView(database string, v View) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	if db.View(v.Name) == nil {
		if err := checkName(v.Name); err != nil {
			return err
		}
		key := inDatabase(namePrefix, db.ID, v.Name)
		if err := c.insert(key, encode(recordOfID(0)), "table "+database+"."+v.Name); err != nil {
			return err
		}
	}
	return putObject(c, &views, database, v)
}

// DropView removes a view. ErrNotFound: there is none of that name; so with all that follow.
func (c *Change) DropView(database, name string) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	if err := dropObject(c, &views, database, name); err != nil {
		return err
	}
	return c.delete(inDatabase(namePrefix, db.ID, name))
}

// PutTrigger stores a trigger in place of the one of that name, if there is one; so with all that follow.
func (c *Change) PutTrigger(database string, t Trigger) error {
	return putObject(c, &triggers, database, t)
}

// DropTrigger removes a trigger.
func (c *Change) DropTrigger(database, name string) error {
	return dropObject(c, &triggers, database, name)
}

// PutProcedure stores a procedure.
func (c *Change) PutProcedure(database string, p Procedure) error {
	return putObject(c, &procedures, database, p)
}

// DropProcedure removes a procedure.
func (c *Change) DropProcedure(database, name string) error {
	return dropObject(c, &procedures, database, name)
}

// PutEvent stores an event.
func (c *Change) PutEvent(database string, e Event) error { return putObject(c, &events, database, e) }

// DropEvent removes an event.
func (c *Change) DropEvent(database, name string) error {
	return dropObject(c, &events, database, name)
}
