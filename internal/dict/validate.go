package dict

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql/types"
)

// checkName: it can be part of a key, and MySQL allows it.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a name is empty")
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %q is not UTF-8", name)
	case utf8.RuneCountInString(name) > MaxName:
		return fmt.Errorf("%q has more than %d characters: %w", name, MaxName, ErrNameTooLong)
	}
	return nil
}

// validate says what makes a table impossible. It runs on what is written and on what is read.
func (t *Table) validate() error {
	if t.ID == 0 || t.Storage == 0 {
		return fmt.Errorf("table %s has id %d and storage %d, they come from NewID", t.Name, t.ID, t.Storage)
	}
	if t.Temporary {
		return fmt.Errorf("table %s is temporary, the dictionary does not have those", t.Name)
	}
	if err := checkName(t.Name); err != nil {
		return err
	}
	if len(t.Columns) == 0 {
		return fmt.Errorf("table %s has no column", t.Name)
	}
	names := map[string]bool{}
	for _, c := range t.Columns {
		if err := takeName(names, c.Name); err != nil {
			return fmt.Errorf("table %s, column: %w", t.Name, err)
		}
		switch {
		case c.Virtual && c.Generated == nil:
			return fmt.Errorf("table %s: column %s is virtual without an expression", t.Name, c.Name)
		case c.Type == nil:
			return fmt.Errorf("table %s: column %s has no type", t.Name, c.Name)
		}
	}
	if i := t.AutoIncrement(); i >= 0 {
		if t.Counter == 0 {
			return fmt.Errorf("table %s has an AUTO_INCREMENT column and no counter, it comes from NewID", t.Name)
		}
		if _, err := counterMax(t.Columns[i].Type); err != nil {
			return fmt.Errorf("table %s, column %s: %w", t.Name, t.Columns[i].Name, err)
		}
	}
	if err := t.validateKey(t.Primary); err != nil {
		return fmt.Errorf("table %s, primary key: %w", t.Name, err)
	}
	clear(names)
	ids := map[uint64]bool{}
	for _, x := range t.Indexes {
		if err := takeName(names, x.Name); err != nil {
			return fmt.Errorf("table %s, index: %w", t.Name, err)
		}
		if x.ID == 0 || ids[x.ID] {
			return fmt.Errorf("table %s: index %s has id %d, it comes from NewID", t.Name, x.Name, x.ID)
		}
		ids[x.ID] = true
		if err := t.validateKey(x.Parts); err != nil {
			return fmt.Errorf("table %s, index %s: %w", t.Name, x.Name, err)
		}
		if len(x.Parts) == 0 {
			return fmt.Errorf("table %s: index %s has no columns", t.Name, x.Name)
		}
	}
	clear(names)
	for _, k := range t.Checks {
		if err := takeName(names, k.Name); err != nil {
			return fmt.Errorf("table %s, check: %w", t.Name, err)
		}
	}
	return t.validateForeignKeys()
}

func (t *Table) validateKey(parts []Part) error {
	used := map[int]bool{}
	for _, p := range parts {
		if p.Column < 0 || p.Column >= len(t.Columns) {
			return fmt.Errorf("column %d of %d", p.Column, len(t.Columns))
		}
		if used[p.Column] {
			return fmt.Errorf("column %s twice", t.Columns[p.Column].Name)
		}
		used[p.Column] = true
		if typ := t.Columns[p.Column].Type; p.Prefix != 0 && !types.IsText(typ) {
			return fmt.Errorf("a prefix of column %s, which is %s", t.Columns[p.Column].Name, typ)
		}
	}
	return nil
}

// validateForeignKeys lets a foreign key name columns that are not there: a renamed column passes through such a state, for
// go-mysql-server renames it and its foreign keys one after the other. Check does not let it.
func (t *Table) validateForeignKeys() error {
	names := map[string]bool{}
	for _, fk := range t.ForeignKeys {
		if err := takeName(names, fk.Name); err != nil {
			return fmt.Errorf("table %s, foreign key: %w", t.Name, err)
		}
		if len(fk.Columns) == 0 || len(fk.Columns) != len(fk.ParentColumns) {
			return fmt.Errorf("table %s, foreign key %s: %d columns refer to %d", t.Name, fk.Name, len(fk.Columns), len(fk.ParentColumns))
		}
	}
	return nil
}

// takeName checks a name and that nobody took it before.
func takeName(taken map[string]bool, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	lower := strings.ToLower(name)
	if taken[lower] {
		return fmt.Errorf("%s: %w", name, ErrExists)
	}
	taken[lower] = true
	return nil
}
