package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var _ gms.StoredProcedureDatabase = (*Database)(nil)

// GetStoredProcedure implements gms.StoredProcedureDatabase.
func (d *Database) GetStoredProcedure(ctx *gms.Context, name string) (gms.StoredProcedureDetails, bool, error) {
	if s := SessionOf(ctx); s != nil && s.event != nil && s.event.database == d.name && s.event.details.Name == name {
		return s.event.details, true, nil
	}
	if db := d.record(ctx); db != nil {
		if p := db.Procedure(name); p != nil {
			return *p, true, nil
		}
	}
	return gms.StoredProcedureDetails{}, false, nil
}

// GetStoredProcedures implements gms.StoredProcedureDatabase.
func (d *Database) GetStoredProcedures(ctx *gms.Context) ([]gms.StoredProcedureDetails, error) {
	db := d.record(ctx)
	if db == nil {
		return nil, nil
	}
	return values(db.Procedures()), nil
}

// SaveStoredProcedure implements gms.StoredProcedureDatabase.
func (d *Database) SaveStoredProcedure(ctx *gms.Context, p gms.StoredProcedureDetails) error {
	db := d.record(ctx)
	switch {
	case db == nil:
		return gms.ErrDatabaseNotFound.New(d.name)
	case db.Procedure(p.Name) != nil:
		return gms.ErrStoredProcedureAlreadyExists.New(p.Name)
	}
	return SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.PutProcedure(d.name, p) })
}

// DropStoredProcedure implements gms.StoredProcedureDatabase.
func (d *Database) DropStoredProcedure(ctx *gms.Context, name string) error {
	if db := d.record(ctx); db == nil || db.Procedure(name) == nil {
		return gms.ErrStoredProcedureDoesNotExist.New(name)
	}
	return SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.DropProcedure(d.name, name) })
}
