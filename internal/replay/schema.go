package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// schemas finds definitions of tables in information_schema and keeps them until the target says that one has changed.
type schemas struct {
	db      *sql.DB
	mariadb bool

	mu     sync.Mutex
	tables map[[2]string]*Table // nil: there is none of that name
}

// maxTables bounds what is kept.
const maxTables = 10_000

// table finds a definition.
func (s *schemas) table(ctx context.Context, schema, name string) (*Table, error) {
	key := [2]string{schema, name}
	s.mu.Lock()
	t, known := s.tables[key]
	s.mu.Unlock()
	if !known {
		var err error
		if t, err = s.load(ctx, schema, name); err != nil {
			return nil, fmt.Errorf("definition of %s.%s: %w", schema, name, err)
		}
		s.mu.Lock()
		if s.tables == nil || len(s.tables) >= maxTables {
			s.tables = map[[2]string]*Table{}
		}
		s.tables[key] = t
		s.mu.Unlock()
	}
	if t == nil {
		return nil, unable("no such table")
	}
	return t, nil
}

// forget drops everything: a statement met a table or column that is not there (1054, 1146).
func (s *schemas) forget() {
	s.mu.Lock()
	s.tables = nil
	s.mu.Unlock()
}

func (s *schemas) load(ctx context.Context, schema, name string) (*Table, error) {
	t := &Table{}
	err := s.each(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, ''),
		IS_NULLABLE, COLUMN_DEFAULT IS NULL, COALESCE(COLUMN_DEFAULT, ''), EXTRA FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, []any{schema, name}, func(scan func(...any) error) error {
		var c Column
		var columnType, nullable, def, extra string
		var noDefault bool
		if err := scan(&t.Schema, &t.Name, &c.Name, &c.Type, &columnType, &c.Charset, &c.Collation, &nullable, &noDefault, &def, &extra); err != nil {
			return err
		}
		c.Type = strings.ToLower(c.Type)
		extra = strings.ToUpper(extra)
		c.Unsigned = strings.Contains(strings.ToLower(columnType), "unsigned")
		c.Nullable = strings.EqualFold(nullable, "YES")
		c.AutoIncrement = strings.Contains(extra, "AUTO_INCREMENT")
		c.Generated = strings.Contains(extra, "GENERATED") && !strings.Contains(extra, "DEFAULT_GENERATED") ||
			strings.Contains(extra, "VIRTUAL") || strings.Contains(extra, "PERSISTENT")
		if !noDefault && !strings.EqualFold(def, "NULL") {
			c.Default = s.defaultOf(&c, def, strings.Contains(extra, "DEFAULT_GENERATED"))
		}
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil || len(t.Columns) == 0 {
		return nil, err
	}
	useless := map[string]bool{}
	err = s.each(ctx, `SELECT INDEX_NAME, NON_UNIQUE = 0, COALESCE(COLUMN_NAME, ''), INDEX_TYPE FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`, []any{schema, name}, func(scan func(...any) error) error {
		var index, column, indexType string
		var unique bool
		if err := scan(&index, &unique, &column, &indexType); err != nil {
			return err
		}
		if column == "" || (indexType != "BTREE" && indexType != "HASH") {
			useless[index] = true
			return nil
		}
		if n := len(t.Indexes); n > 0 && t.Indexes[n-1].Name == index {
			t.Indexes[n-1].Columns = append(t.Indexes[n-1].Columns, column)
			return nil
		}
		t.Indexes = append(t.Indexes, Index{index, unique, []string{column}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	kept := t.Indexes[:0]
	for _, x := range t.Indexes {
		if !useless[x.Name] {
			kept = append(kept, x)
		}
	}
	t.Indexes = kept
	if t.Parents, err = s.keys(ctx, "k.TABLE_SCHEMA = ? AND k.TABLE_NAME = ?", schema, name); err != nil {
		return nil, err
	}
	t.Children, err = s.keys(ctx, "k.REFERENCED_TABLE_SCHEMA = ? AND k.REFERENCED_TABLE_NAME = ?", schema, name)
	return t, err
}

// defaultOf makes SQL of a default. MariaDB tells it as SQL, MySQL as bare text unless it is an expression.
func (s *schemas) defaultOf(c *Column, def string, expression bool) string {
	if s.mariadb || expression || strings.EqualFold(def, "CURRENT_TIMESTAMP") {
		if strings.ContainsAny(def, "\\\"`") { // would depend on the session's mode
			return ""
		}
		return def
	}
	if strings.ContainsAny(def, "\\'") {
		return ""
	}
	return "'" + def + "'"
}

func (s *schemas) keys(ctx context.Context, where, schema, name string) (list []ForeignKey, err error) {
	err = s.each(ctx, `SELECT k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME,
		k.REFERENCED_COLUMN_NAME, r.DELETE_RULE, r.UPDATE_RULE
		FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
		ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
		WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND `+where+` ORDER BY 2, 3, 1, k.ORDINAL_POSITION`, []any{schema, name}, func(scan func(...any) error) error {
		var f ForeignKey
		var child, parent, onDelete, onUpdate string
		if err := scan(&f.Name, &f.ChildSchema, &f.ChildTable, &child, &f.ParentSchema, &f.ParentTable, &parent, &onDelete, &onUpdate); err != nil {
			return err
		}
		changes := func(rule string) bool { return rule == "CASCADE" || rule == "SET NULL" || rule == "SET DEFAULT" }
		f.OnDelete, f.OnUpdate = changes(onDelete), changes(onUpdate)
		if n := len(list); n > 0 && list[n-1].Name == f.Name && list[n-1].ChildTable == f.ChildTable && list[n-1].ChildSchema == f.ChildSchema {
			f = list[n-1]
			list = list[:n-1]
		}
		f.ChildColumns = append(f.ChildColumns, child)
		f.ParentColumn = append(f.ParentColumn, parent)
		list = append(list, f)
		return nil
	})
	return list, err
}

// each runs a query and gives every row to f.
func (s *schemas) each(ctx context.Context, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
