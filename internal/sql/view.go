package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var _ gms.ViewDatabase = (*Database)(nil)

// CreateView implements gms.ViewDatabase.
func (d *Database) CreateView(ctx *gms.Context, name, selectStatement, createStatement string) error {
	s := SessionOf(ctx)
	if err := s.LockTables(ctx, dict.Exclusive, dict.TableLock(d.name, name)); err != nil {
		return err
	}
	db := d.record(ctx)
	switch {
	case db == nil:
		return gms.ErrDatabaseNotFound.New(d.name)
	case db.View(name) != nil:
		return gms.ErrExistingView.New(d.name, name)
	case db.Table(name) != nil:
		return gms.ErrTableAlreadyExists.New(name)
	}
	v := dict.View{
		Name:                name,
		TextDefinition:      selectStatement,
		CreateViewStatement: createStatement,
		SqlMode:             gms.LoadSqlMode(ctx).String(),
	}
	return s.ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.PutView(d.name, v) })
}

// DropView implements gms.ViewDatabase.
func (d *Database) DropView(ctx *gms.Context, name string) error {
	s := SessionOf(ctx)
	if err := s.LockTables(ctx, dict.Exclusive, dict.TableLock(d.name, name)); err != nil {
		return err
	}
	if db := d.record(ctx); db == nil || db.View(name) == nil {
		return gms.ErrViewDoesNotExist.New(d.name, name)
	}
	return s.ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.DropView(d.name, name) })
}

// GetViewDefinition implements gms.ViewDatabase.
func (d *Database) GetViewDefinition(ctx *gms.Context, name string) (gms.ViewDefinition, bool, error) {
	if db := d.record(ctx); db != nil {
		if v := db.View(name); v != nil {
			return *v, true, nil
		}
	}
	return gms.ViewDefinition{}, false, nil
}

// AllViews implements gms.ViewDatabase.
func (d *Database) AllViews(ctx *gms.Context) ([]gms.ViewDefinition, error) {
	db := d.record(ctx)
	if db == nil {
		return nil, nil
	}
	return values(db.Views()), nil
}

// values copies what a list of the dictionary points to.
func values[T any](list []*T) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, p := range list {
		out[i] = *p
	}
	return out
}
