package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var _ gms.ViewDatabase = (*Database)(nil)

// CreateView implements gms.ViewDatabase. The statement is kept with the name of the database: GMS reads it again to use the view, and
// then perhaps no database is selected.
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
	var err error
	if v.CreateViewStatement, err = createViewText(&v, d.name, ctx.Client()); err != nil {
		return err
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
			if s := SessionOf(ctx); s.BaseSession.GetCurrentDatabase() == "" {
				s.viewDatabase = d.name
			}
			return *v, true, nil
		}
	}
	return gms.ViewDefinition{}, false, nil
}

// GetCurrentDatabase implements gms.Session. GMS wants one to be selected when a view is used, wherever that is: then it is the view's.
func (s *Session) GetCurrentDatabase() string {
	if db := s.BaseSession.GetCurrentDatabase(); db != "" {
		return db
	}
	return s.viewDatabase
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
