package sql

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// savepoint by name.
type savepoint struct {
	name   string // lower case
	early  bool   // the engine's transaction had not begun
	at     hearth.Savepoint
	change dict.Mark // of the transaction's DDL, if there was some
}

// CreateSavepoint implements gms.TransactionSession. One of the same name is replaced.
func (s *Session) CreateSavepoint(_ *gms.Context, tx gms.Transaction, name string) error {
	t, ok := tx.(*Transaction)
	if !ok {
		return nil
	}
	if i := t.find(name); i >= 0 {
		t.saves = append(t.saves[:i], t.saves[i+1:]...)
	}
	sp := savepoint{name: strings.ToLower(name), early: t.tx == nil}
	if t.tx != nil {
		sp.at = t.tx.Savepoint()
	}
	if t.change != nil {
		sp.change = t.change.Mark()
	}
	t.saves = append(t.saves, sp)
	return nil
}

// RollbackToSavepoint implements gms.TransactionSession. Savepoints made later are gone; the named one stays.
func (s *Session) RollbackToSavepoint(_ *gms.Context, tx gms.Transaction, name string) error {
	t, i, err := savepointOf(tx, name)
	if err != nil {
		return err
	}
	sp := t.saves[i]
	t.saves = t.saves[:i+1]
	if t.tx == nil {
		return nil
	}
	if sp.early {
		sp.at = t.start
	}
	return t.rollbackTo(sp.at, sp.change)
}

// ReleaseSavepoint implements gms.TransactionSession. Savepoints made later are gone too.
func (s *Session) ReleaseSavepoint(_ *gms.Context, tx gms.Transaction, name string) error {
	t, i, err := savepointOf(tx, name)
	if err != nil {
		return err
	}
	t.saves = t.saves[:i]
	return nil
}

func savepointOf(tx gms.Transaction, name string) (*Transaction, int, error) {
	if t, ok := tx.(*Transaction); ok {
		if i := t.find(name); i >= 0 {
			return t, i, nil
		}
	}
	return nil, 0, gms.ErrSavepointDoesNotExist.New(name)
}

func (t *Transaction) find(name string) int {
	name = strings.ToLower(name)
	for i := range t.saves {
		if t.saves[i].name == name {
			return i
		}
	}
	return -1
}

// rollbackTo undoes what the transaction did since a savepoint of the engine, in the dictionary's picture too.
func (t *Transaction) rollbackTo(sp hearth.Savepoint, m dict.Mark) error {
	t.trees = nil // trees made since are gone
	if err := t.tx.RollbackTo(sp); err != nil {
		return sqlError(err)
	}
	if t.change != nil {
		t.change.RollbackTo(m)
	}
	return nil
}
