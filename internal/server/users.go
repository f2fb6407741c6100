package server

import (
	"context"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/sql"
)

// userStore keeps users and grants in the dictionary.
type userStore struct{ backend *sql.Backend }

var _ mysql_db.MySQLDbPersistence = userStore{}

// Persist implements mysql_db.MySQLDbPersistence. GMS calls it inside of a statement but not for its transaction: users are
// kept when it returns.
func (u userStore) Persist(ctx *gms.Context, data []byte) error {
	if s := sql.SessionOf(ctx); s != nil && s.Fakes() {
		return fmt.Errorf("keep users: the session fakes changes")
	}
	db, d := u.backend.DB(), u.backend.Dict()
	tx, err := db.Begin(ctx, hearth.TxOptions{})
	if err != nil {
		return fmt.Errorf("keep users: %w", err)
	}
	change := d.Begin(tx)
	if err = change.PutUsers(data); err == nil {
		err = tx.Commit(context.WithoutCancel(ctx))
	} else {
		tx.Rollback()
	}
	if err != nil {
		change.Abandoned()
		return fmt.Errorf("keep users: %w", err)
	}
	change.Committed()
	return nil
}

// openUsers loads the users, or makes the first: root, from this machine, without a password.
func openUsers(b *sql.Backend) (*mysql_db.MySQLDb, error) {
	users := b.Engine().Analyzer.Catalog.MySQLDb
	users.SetPersister(userStore{b})
	users.SetEnabled(true)
	ctx := gms.NewContext(context.Background())
	if saved := b.Dict().Schema().Users(); len(saved) > 0 {
		if err := users.LoadData(ctx, saved); err != nil {
			return nil, fmt.Errorf("users in the data dictionary: %w", err)
		}
		return users, nil
	}
	ed := users.Editor()
	defer ed.Close()
	users.AddSuperUser(ed, "root", "localhost", "")
	if err := users.Persist(ctx, ed); err != nil {
		return nil, err
	}
	return users, nil
}

// rootIsOpen: somebody who may do everything has no password.
func rootIsOpen(users *mysql_db.MySQLDb) bool {
	r := users.Reader()
	defer r.Close()
	open := false
	r.VisitUsers(func(u *mysql_db.User) {
		open = open || u.AuthString == "" && !u.Locked && !u.IsRole && u.PrivilegeSet.Has(gms.PrivilegeType_Super)
	})
	return open
}
