package sql

import (
	"sync"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// readOnly is the global variable read_only, of standbys: what is not a temporary table changes only for accounts that administer.
//
//  1. It is asked where a statement begins to write rows, where DDL has changed definitions, and before what is about users.
//  2. It is asked again at the commit: once set has returned, nothing of others commits that was written before.
type readOnly struct {
	mu sync.RWMutex // held shared by commits of changes
	on bool
}

// SetReadOnly is SET GLOBAL read_only. It waits for commits under way.
func (b *Backend) SetReadOnly(on bool) {
	b.readOnly.mu.Lock()
	defer b.readOnly.mu.Unlock()
	b.readOnly.on = on
}

func (r *readOnly) get() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.on
}

// errServerReadOnly is ER_OPTION_PREVENTS_STATEMENT as MySQL words it.
func errServerReadOnly() error {
	return mysql.NewSQLError(erOptionPrevents, "HY000", "%s",
		"The MySQL server is running with the --read-only option so it cannot execute this statement")
}

// readOnlyAdmin is the dynamic privilege to change what is read_only, as GMS spells them.
const readOnlyAdmin = "read_only_admin"

// mayChange refuses changes while the server is read_only and the account may not change it all the same.
func (s *Session) mayChange(ctx *gms.Context) error {
	if !s.backend.readOnly.get() {
		return nil
	}
	if s.administers(ctx, readOnlyAdmin) {
		return nil
	}
	return errServerReadOnly()
}

// administers: the account has SUPER, or the dynamic privilege in its place.
func (s *Session) administers(ctx *gms.Context, dynamic string) bool {
	users := s.backend.engine.Analyzer.Catalog.MySQLDb
	return users.UserHasPrivileges(ctx, gms.NewPrivilegedOperation(gms.PrivilegeCheckSubject{}, gms.PrivilegeType_Super)) ||
		users.UserHasPrivileges(ctx, gms.NewDynamicPrivilegedOperation(dynamic))
}

// RefuseReadOnly says of statements about users, which are not of a transaction, whether they are refused.
func (s *Session) RefuseReadOnly(ctx *gms.Context, stmt sqlparser.Statement) error {
	switch stmt.(type) {
	case *sqlparser.CreateUser, *sqlparser.RenameUser, *sqlparser.DropUser, *sqlparser.CreateRole, *sqlparser.DropRole,
		*sqlparser.GrantPrivilege, *sqlparser.GrantRole, *sqlparser.GrantProxy,
		*sqlparser.RevokePrivilege, *sqlparser.RevokeAllPrivileges, *sqlparser.RevokeRole, *sqlparser.RevokeProxy:
		return s.mayChange(ctx)
	}
	return nil
}

// commitChanges commits a transaction, or rolls it back if it has changes and they came too late.
func (t *Transaction) commitChanges(ctx *gms.Context) error {
	r := &t.session.backend.readOnly
	if !t.changes {
		return t.commit(ctx)
	}
	r.mu.RLock()
	if !r.on {
		defer r.mu.RUnlock()
		return t.commit(ctx)
	}
	r.mu.RUnlock() // who may change all the same is not waited for
	if err := t.session.mayChange(ctx); err != nil {
		t.rollback()
		return err
	}
	return t.commit(ctx)
}
