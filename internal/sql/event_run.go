package sql

import (
	"context"
	"errors"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// MarkEvent notes in the dictionary that an event is executed now, and disables it if that is asked for. It returns the event as it is
// noted, nil if it is no longer what the caller saw: then it must not run.
func (b *Backend) MarkEvent(ctx context.Context, database string, seen *dict.Event, now time.Time, disable bool) (*dict.Event, error) {
	return b.changeEvent(ctx, database, seen, func(c *dict.Change) error {
		e := *seen
		e.LastExecuted = now
		if disable {
			e.Status = gms.EventStatus_Disable.String()
		}
		return c.PutEvent(database, e)
	})
}

// EndEvent drops an event that is over, or disables it if it is to be preserved; if it is still what the caller saw.
func (b *Backend) EndEvent(ctx context.Context, database string, seen *dict.Event) error {
	_, err := b.changeEvent(ctx, database, seen, func(c *dict.Change) error {
		if !seen.OnCompletionPreserve {
			return c.DropEvent(database, seen.Name)
		}
		e := *seen
		e.Status = gms.EventStatus_Disable.String()
		return c.PutEvent(database, e)
	})
	return err
}

// changeEvent is a transaction of its own. It does nothing if the event was altered or dropped meanwhile.
func (b *Backend) changeEvent(ctx context.Context, database string, seen *dict.Event, step func(*dict.Change) error) (*dict.Event, error) {
	tx, err := b.db.Begin(ctx, hearth.TxOptions{Durability: durability()})
	if err != nil {
		return nil, err
	}
	change := b.dict.Begin(tx)
	db := change.Schema().Database(database)
	if db == nil || db.Event(seen.Name) != seen {
		change.Abandoned()
		return nil, tx.Rollback()
	}
	var now *dict.Event
	if err = step(change); err == nil {
		if db = change.Schema().Database(database); db != nil {
			now = db.Event(seen.Name)
		}
		err = tx.Commit(context.WithoutCancel(ctx))
	} else {
		tx.Rollback()
	}
	switch {
	case err == nil:
		change.Committed()
		return now, nil
	case errors.Is(err, dict.ErrConflict), errors.Is(err, dict.ErrNotFound):
		change.Abandoned()
		return nil, nil
	}
	change.Abandoned()
	return nil, err
}

// eventProcedure is the procedure that a session finds which executes an event: the event's body, as MySQL has it too.
type eventProcedure struct {
	database string
	details  gms.StoredProcedureDetails
}

// RunAsEvent makes the session one that executes an event, and returns the statement that does: a CALL of what nobody else can call.
func (s *Session) RunAsEvent(ctx *gms.Context, database string, e *dict.Event) (sqlparser.Statement, error) {
	s.SetCurrentDatabase(database)
	if err := s.SetSessionVariable(ctx, gms.SqlModeSessionVar, e.SqlMode); err != nil {
		return nil, err
	}
	name := e.Name + " " // no name of MySQL ends with a space
	s.event = &eventProcedure{database, gms.StoredProcedureDetails{
		Name:            name,
		CreateStatement: "CREATE PROCEDURE " + quoteName(name) + "() " + e.EventBody,
		CreatedAt:       e.CreatedAt,
		ModifiedAt:      e.LastAltered,
		SqlMode:         e.SqlMode,
	}}
	return &sqlparser.Call{
		ProcName: sqlparser.ProcedureName{Name: sqlparser.NewColIdent(name), Qualifier: sqlparser.NewTableIdent(database)},
		Auth:     sqlparser.AuthInformation{AuthType: sqlparser.AuthType_IGNORE},
	}, nil
}
