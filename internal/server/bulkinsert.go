package server

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/bulk"
)

// maxBulkText is how long an INSERT of literals may be to be read without a syntax tree, in bytes: all its rows are in memory before
// the first is written.
const maxBulkText = 16 << 20

var insertPrivileges = []string{ast.AuthType_INSERT}

// insertBulk runs an INSERT of many literals past GMS, if it is a plain one (sql.InsertBulk). Not done: nothing has happened.
func (cl *client) insertBulk(sc *gms.Context, st *statement, cmd command, at *place, out **result) (rest string, done bool, err error) {
	if cmd.prepared != nil || len(cmd.text) > maxBulkText || cl.vars.parser.AnsiQuotes || cl.server.engine.IsReadOnly() {
		return "", false, nil
	}
	in, ok := bulk.ParseInsert(cmd.text)
	if !ok || !cl.may(sc, insertPrivileges, in.Database, in.Table) {
		return "", false, nil
	}
	if err := cl.openTransaction(sc); err != nil {
		return "", true, err
	}
	sc.ClearWarnings()
	affected, insertID, ok, err := cl.session.InsertBulk(sc, in, cmd.multi)
	if !ok && err == nil {
		return "", false, nil
	}
	st.said = strings.TrimSuffix(cmd.text, in.Rest())
	at.stmt = &ast.Insert{Action: ast.InsertStr, Rows: &ast.AliasedValues{}}
	st.kind = kindOf(at.stmt)
	cl.counters.com[st.kind].Add(1)
	cl.server.bulkInserts.Add(1)
	if err == nil {
		err = st.why()
	}
	if err != nil {
		return "", true, err
	}
	rest = in.Rest()
	*out = newResult(cl, st, cmd, rest != "")
	(*out).whole = &mysqlResult{RowsAffected: affected, InsertID: insertID}
	return rest, true, cl.autocommit(sc)
}

// openTransaction begins one, if none is open. It does no I/O.
func (cl *client) openTransaction(sc *gms.Context) error {
	if err := cl.session.ValidateSession(sc); err != nil {
		return err
	}
	if sc.GetTransaction() != nil {
		return nil
	}
	tx, err := cl.session.StartTransaction(sc, gms.ReadWrite)
	if err != nil {
		return err
	}
	sc.SetTransaction(tx)
	return nil
}
