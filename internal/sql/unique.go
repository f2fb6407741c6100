package sql

import (
	"errors"
	"fmt"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// insertRow puts a new row, with key and value. If there is one of that key it is locked and told in the error.
func (e *editor) insertRow(ctx *gms.Context, row gms.Row) error {
	for {
		err := e.rows.Insert(e.key, e.value)
		if !errors.Is(err, hearth.ErrKeyExists) {
			return err
		}
		if e.def.keyless() {
			return fmt.Errorf("table %s.%s: the hidden row id %x is taken", e.def.rec.Database, e.def.rec.Name, e.key)
		}
		existing, err := e.stored(e.key)
		if err != nil {
			return err
		}
		if existing != nil { // else it went away in between
			return gms.NewUniqueKeyErr(e.def.indexes[0].duplicate(ctx, row), true, existing)
		}
	}
}

// insertEntry puts the entry of row, with key and value of x. If a unique index has one of that key, what was done since sp is undone,
// and the row of that entry is locked and told in the error.
func (e *editor) insertEntry(ctx *gms.Context, x *indexEditor, row gms.Row, sp hearth.Savepoint) error {
	for {
		err := x.tree.Insert(x.key, x.value)
		if !errors.Is(err, hearth.ErrKeyExists) {
			return err
		}
		if !x.unique || x.hasNull {
			return x.corrupt(x.key, "the entry of a new row is there already")
		}
		value, err := x.tree.GetForUpdate(x.key, hearth.LockOptions{})
		if errors.Is(err, hearth.ErrKeyNotFound) {
			continue // it went away in between
		}
		if err != nil {
			return err
		}
		key, err := x.entries.RowKey(x.key, value)
		if err != nil {
			return err
		}
		if err := e.rollbackTo(sp); err != nil {
			return err
		}
		existing, err := e.stored(key)
		if err != nil {
			return err
		}
		if existing == nil {
			return x.corrupt(x.key, "the entry has no row")
		}
		return gms.NewUniqueKeyErr(x.duplicate(ctx, row), false, existing)
	}
}

// corrupt says that an index and its table disagree.
func (x *Index) corrupt(key []byte, what string) error {
	return fmt.Errorf("index %s of table %s.%s is damaged at key %x: %s", x.name, x.def.rec.Database, x.def.rec.Name, key, what)
}

// duplicate is MySQL's message for a row that has the same key as another one. GMS passes no other text on, so it has to be final.
func (x *Index) duplicate(ctx *gms.Context, row gms.Row) string {
	values := make([]string, len(x.parts))
	for i, p := range x.parts {
		values[i] = keyText(ctx, x.def.rec.Columns[p.Column].Type, row[p.Column], int(p.Prefix))
	}
	return fmt.Sprintf("Duplicate entry '%s' for key '%s.%s'", strings.Join(values, "-"), x.def.rec.Name, x.name)
}

// keyText is a value of a key as MySQL prints it.
func keyText(ctx *gms.Context, typ gms.Type, v any, prefix int) string {
	if v == nil {
		return "NULL"
	}
	text := fmt.Sprint(v)
	if s, err := typ.SQL(ctx, nil, v); err == nil {
		text = s.ToString()
	}
	if r := []rune(text); prefix > 0 && len(r) > prefix {
		return string(r[:prefix])
	}
	return text
}
