package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var _ gms.TriggerDatabase = (*Database)(nil)

// GetTriggers implements gms.TriggerDatabase. GMS calls it for every statement that changes rows.
func (d *Database) GetTriggers(ctx *gms.Context) ([]gms.TriggerDefinition, error) {
	db := d.record(ctx)
	if db == nil {
		return nil, nil
	}
	return values(db.Triggers()), nil
}

// CreateTrigger implements gms.TriggerDatabase. The table is not locked: statements that began before do without the trigger.
func (d *Database) CreateTrigger(ctx *gms.Context, t gms.TriggerDefinition) error {
	db := d.record(ctx)
	switch {
	case db == nil:
		return gms.ErrDatabaseNotFound.New(d.name)
	case db.Trigger(t.Name) != nil:
		return mysql.NewSQLError(erTriggerExists, "HY000", "%s", "Trigger already exists")
	}
	return SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.PutTrigger(d.name, t) })
}

// DropTrigger implements gms.TriggerDatabase.
func (d *Database) DropTrigger(ctx *gms.Context, name string) error {
	if db := d.record(ctx); db == nil || db.Trigger(name) == nil {
		return gms.ErrTriggerDoesNotExist.New(name)
	}
	return SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.DropTrigger(d.name, name) })
}

// erTriggerExists is MySQL's number of an error that package mysql has no name for.
const erTriggerExists = 1359
