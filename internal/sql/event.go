package sql

import (
	"strings"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var _ gms.EventDatabase = (*Database)(nil)

// GetEvent implements gms.EventDatabase.
func (d *Database) GetEvent(ctx *gms.Context, name string) (gms.EventDefinition, bool, error) {
	if db := d.record(ctx); db != nil {
		if e := db.Event(name); e != nil {
			return *e, true, nil
		}
	}
	return gms.EventDefinition{}, false, nil
}

// GetEvents implements gms.EventDatabase. The token is the picture they are from.
func (d *Database) GetEvents(ctx *gms.Context) ([]gms.EventDefinition, any, error) {
	db := d.record(ctx)
	if db == nil {
		return nil, nil, nil
	}
	return values(db.Events()), d.backend.dict.Schema().Generation(), nil
}

// NeedsToReloadEvents implements gms.EventDatabase: something, perhaps an event, has changed since.
func (d *Database) NeedsToReloadEvents(_ *gms.Context, token any) (bool, error) {
	seen, ok := token.(uint64)
	return !ok || seen != d.backend.dict.Schema().Generation(), nil
}

// SaveEvent implements gms.EventDatabase.
func (d *Database) SaveEvent(ctx *gms.Context, e gms.EventDefinition) (enabled bool, err error) {
	db := d.record(ctx)
	switch {
	case db == nil:
		return false, gms.ErrDatabaseNotFound.New(d.name)
	case db.Event(e.Name) != nil:
		return false, gms.ErrEventAlreadyExists.New(e.Name)
	}
	if err := checkSchedule(&e); err != nil {
		return false, err
	}
	return isEnabled(e), d.putEvent(ctx, e)
}

// checkSchedule of an event that is new, or was altered.
func checkSchedule(e *dict.Event) error {
	if e.HasExecuteAt {
		return nil
	}
	e.Starts, e.Ends = e.Starts.Truncate(time.Second), e.Ends.Truncate(time.Second)
	if strings.TrimSpace(e.ExecuteEvery) == "" {
		return errInterval
	}
	if _, err := parsePeriod(e.ExecuteEvery); err != nil {
		return err
	}
	if e.HasEnds && e.Ends.Before(e.Starts) {
		return mysql.NewSQLError(1543, "HY000", "%s", "ENDS is either invalid or before STARTS")
	}
	return nil
}

func isEnabled(e gms.EventDefinition) bool { return e.Status == gms.EventStatus_Enable.String() }

// EventEnabled tells whether an event is to be executed when it is due.
func EventEnabled(e *dict.Event) bool { return isEnabled(*e) }

func (d *Database) putEvent(ctx *gms.Context, e gms.EventDefinition) error {
	return SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.PutEvent(d.name, e) })
}

// DropEvent implements gms.EventDatabase.
func (d *Database) DropEvent(ctx *gms.Context, name string) error {
	if db := d.record(ctx); db == nil || db.Event(name) == nil {
		return gms.ErrEventDoesNotExist.New(name)
	}
	return SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.DropEvent(d.name, name) })
}

// UpdateEvent implements gms.EventDatabase: under another name, too.
func (d *Database) UpdateEvent(ctx *gms.Context, was string, e gms.EventDefinition) (enabled bool, err error) {
	db := d.record(ctx)
	switch {
	case db == nil || db.Event(was) == nil:
		return false, gms.ErrEventDoesNotExist.New(was)
	}
	if err := checkSchedule(&e); err != nil {
		return false, err
	}
	switch {
	case strings.EqualFold(was, e.Name):
		return isEnabled(e), d.putEvent(ctx, e)
	case db.Event(e.Name) != nil:
		return false, gms.ErrEventAlreadyExists.New(e.Name)
	}
	return isEnabled(e), SessionOf(ctx).ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error {
		if err := c.DropEvent(d.name, was); err != nil {
			return err
		}
		return c.PutEvent(d.name, e)
	})
}

// UpdateLastExecuted implements gms.EventDatabase.
func (d *Database) UpdateLastExecuted(ctx *gms.Context, name string, at time.Time) error {
	db := d.record(ctx)
	if db == nil || db.Event(name) == nil {
		return gms.ErrEventDoesNotExist.New(name)
	}
	e := *db.Event(name)
	e.LastExecuted = at
	return d.putEvent(ctx, e)
}
