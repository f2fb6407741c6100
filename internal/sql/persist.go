package sql

import (
	"context"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// PersistGlobal implements gms.PersistableSession: the value is in the dictionary, and is there after a restart.
func (s *Session) PersistGlobal(ctx *gms.Context, name string, value any) error {
	if s.settings.fake {
		return errFakes()
	}
	v, _, ok := gms.SystemVariables.GetGlobal(name)
	if !ok {
		return gms.ErrUnknownSystemVariable.New(name)
	}
	converted, _, err := v.GetType().Convert(ctx, value)
	if err != nil {
		return err
	}
	text, _, err := types.LongText.Convert(ctx, converted)
	if err != nil {
		return err
	}
	return s.backend.changeVariables(func(c *dict.Change) error { return c.PutVariable(name, fmt.Sprint(text)) })
}

// RemovePersistedGlobal implements gms.PersistableSession.
func (s *Session) RemovePersistedGlobal(name string) error {
	if s.settings.fake {
		return errFakes()
	}
	if _, _, ok := gms.SystemVariables.GetGlobal(name); !ok {
		return gms.ErrUnknownSystemVariable.New(name)
	}
	return s.backend.changeVariables(func(c *dict.Change) error { return c.DropVariable(name) })
}

// RemoveAllPersistedGlobals implements gms.PersistableSession.
func (s *Session) RemoveAllPersistedGlobals() error {
	if s.settings.fake {
		return errFakes()
	}
	return s.backend.changeVariables(func(c *dict.Change) error {
		for name := range c.Schema().Variables() {
			if err := c.DropVariable(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// GetPersistedValue implements gms.PersistableSession: nil if the variable has none.
func (s *Session) GetPersistedValue(name string) (any, error) {
	text, ok := s.backend.dict.Schema().Variable(name)
	if !ok {
		return nil, nil
	}
	v, _, ok := gms.SystemVariables.GetGlobal(name)
	if !ok {
		return nil, gms.ErrUnknownSystemVariable.New(name)
	}
	value, _, err := v.GetType().Convert(gms.NewEmptyContext(), text)
	return value, err
}

// changeVariables runs in a transaction of its own: SET PERSIST is no part of the session's.
func (b *Backend) changeVariables(fn func(*dict.Change) error) error {
	tx, err := b.db.Begin(context.Background(), hearth.TxOptions{})
	if err != nil {
		return sqlError(err)
	}
	c := b.dict.Begin(tx)
	if err := fn(c); err != nil {
		tx.Rollback()
		c.Abandoned()
		return sqlError(err)
	}
	if err := tx.Commit(context.Background()); err != nil {
		c.Abandoned()
		return sqlError(err)
	}
	c.Committed()
	return nil
}
