package dict

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hearthdb/hearth"
)

// loaded is what the dictionary's tree says.
type loaded struct {
	schema *Schema
	ids    uint64            // all up to here may be taken
	names  map[string]uint64 // name records: key → id
	tables int               // records of tables
}

// load reads the dictionary's tree.
func load(tree *hearth.Tree) (*loaded, error) {
	b, err := tree.Get([]byte(formatKey))
	if errors.Is(err, hearth.ErrKeyNotFound) {
		return nil, &RecordError{formatKey, errors.New("is not there; the tree is damaged or not a data dictionary")}
	}
	if err != nil {
		return nil, err
	}
	if err := decode(formatKey, b, &versioned{}); err != nil {
		return nil, err
	}
	l := &loader{databases: map[uint64]string{}, names: map[string]uint64{}}
	c := tree.Cursor()
	defer c.Close()
	for ok := c.First(); ok; ok = c.Next() {
		if err := l.record(string(c.Key()), c.Value()); err != nil {
			return nil, err
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return &loaded{(&Schema{}).apply(l.steps), l.ids, l.names, l.tables}, nil
}

// loader turns records into steps from an empty picture. Databases come before what is in them, for the keys are in order.
type loader struct {
	steps     []step
	databases map[uint64]string
	names     map[string]uint64
	ids       uint64
	tables    int
}

// record reads one record. b is the caller's.
func (l *loader) record(key string, b []byte) error {
	sort, _, _ := strings.Cut(key, "/")
	switch sort + "/" {
	case databasePrefix:
		db, err := decodeDatabase(key, b)
		if err != nil {
			return err
		}
		l.databases[db.ID] = db.Name
		l.steps = append(l.steps, func(e *edit) { put(e, &e.next.databases, db.Name, db) })
		return matches(key, databaseKey(db.ID))
	case tablePrefix:
		return l.table(key, b)
	case viewPrefix:
		return loadObject(l, &views, key, b)
	case triggerPrefix:
		return loadObject(l, &triggers, key, b)
	case procedurePrefix:
		return loadObject(l, &procedures, key, b)
	case eventPrefix:
		return loadObject(l, &events, key, b)
	case variablePrefix:
		var r variableRecord
		if err := decode(key, b, &r); err != nil {
			return err
		}
		l.steps = append(l.steps, func(e *edit) { put(e, &e.next.variables, strings.TrimPrefix(key, variablePrefix), string(r.Value)) })
		return nil
	case namePrefix:
		var r idRecord
		err := decode(key, b, &r)
		l.names[key] = r.ID
		return err
	}
	switch key {
	case formatKey:
		return nil
	case idKey:
		var r idRecord
		err := decode(key, b, &r)
		l.ids = r.ID
		return err
	case usersKey:
		var r usersRecord
		err := decode(key, b, &r)
		l.steps = append(l.steps, func(e *edit) { e.next.users = r.Data })
		return err
	}
	return &RecordError{key, errors.New("is of no kind that this version of hearth knows")}
}

func (l *loader) table(key string, b []byte) error {
	var r tableRecord
	if err := decode(key, b, &r); err != nil {
		return err
	}
	database, ok := l.databases[r.Database]
	if !ok {
		return &RecordError{key, fmt.Errorf("is damaged: there is no database %x", r.Database)}
	}
	t, err := r.table(database)
	if err != nil {
		return &RecordError{key, fmt.Errorf("is damaged: %w", err)}
	}
	l.tables++
	l.steps = append(l.steps, func(e *edit) { e.putTable(t) })
	return matches(key, tableKey(t.ID))
}

func loadObject[T any](l *loader, k *kind[T], key string, b []byte) error {
	id, err := databaseOf(key, k.prefix)
	if err != nil {
		return err
	}
	database, ok := l.databases[id]
	if !ok {
		return &RecordError{key, fmt.Errorf("is damaged: there is no database %x", id)}
	}
	v, err := k.decode(key, b)
	if err != nil {
		return err
	}
	l.steps = append(l.steps, func(e *edit) { put(e, k.in(e.database(database)), k.name(v), v) })
	return matches(key, inDatabase(k.prefix, id, k.name(v)))
}

// matches: the record is under the key that what is in it says.
func matches(key, want string) error {
	if key != want {
		return &RecordError{key, fmt.Errorf("is damaged: it belongs under %q", want)}
	}
	return nil
}

// databaseOf reads from the key of what is stored by name which database it is in.
func databaseOf(key, prefix string) (id uint64, err error) {
	digits, _, ok := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	if ok {
		id, err = strconv.ParseUint(digits, 16, 64)
	}
	if !ok || err != nil {
		return 0, &RecordError{key, fmt.Errorf("is damaged: the key is not %s<16 digits>/<name>", prefix)}
	}
	return id, nil
}
