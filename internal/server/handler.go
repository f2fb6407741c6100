package server

import (
	"context"
	"strings"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// handler is what the protocol library calls. For one connection it does so one call at a time.
type handler struct{ *Server }

var _ mysql.Handler = handler{}

// NewConnection implements mysql.Handler. The client is not known yet.
func (h handler) NewConnection(c *mysql.Conn) {
	w := c.Conn.(*wire)
	cl := &client{server: h.Server, conn: c, wire: w, id: c.ConnectionID, opened: time.Now(), prepared: map[uint32]*prepared{}}
	cl.spare = int64(h.open.Load()) > globalInt("max_connections")
	cl.mu.since = cl.opened
	cl.processes = processList{h.clients, cl}
	w.dropped = cl.drop
	w.statistics = h.oneLine
	w.admin = cl.logCommand
	w.changeUser = cl.changeUser
	c.ClientData = cl
	c.StatusFlags |= mysql.ServerStatusAutocommit
	h.clients.add(cl)
}

// ConnectionClosed implements mysql.Handler.
func (h handler) ConnectionClosed(c *mysql.Conn) {
	cl := clientOf(c)
	defer h.open.Add(-1)
	defer h.clients.remove(cl)
	defer h.preparedCount.Add(-int64(len(cl.prepared)))
	if !cl.wire.trusted {
		return
	}
	if !cl.wire.quit {
		cl.counters.abortedClient.Add(1)
	}
	cl.endSession()
}

// ConnectionAborted implements mysql.Handler: a client could not log in.
func (h handler) ConnectionAborted(*mysql.Conn, string) error {
	h.abortedConnects.Add(1)
	return nil
}

// endSession rolls back and lets go of what the session holds.
func (cl *client) endSession() {
	ctx := cl.context(context.Background(), "")
	e := cl.server.engine
	if _, err := e.LS.ReleaseAll(ctx); err != nil {
		cl.server.log.Error("release the user-level locks of a connection", "connection", cl.id, "err", err)
	}
	if err := e.Analyzer.Catalog.UnlockTables(ctx, cl.id); err != nil {
		cl.server.log.Error("unlock the tables of a connection", "connection", cl.id, "err", err)
	}
	gms.SessionEnd(cl.session)
	e.CloseSession(cl.id)
}

// ComInitDB implements mysql.Handler.
func (h handler) ComInitDB(c *mysql.Conn, db string) error {
	_, err := clientOf(c).run(context.Background(), command{text: useText(db), admin: "Init DB", send: func(*sqltypes.Result, bool) error { return nil }})
	return err
}

func useText(db string) string { return "USE `" + strings.ReplaceAll(db, "`", "``") + "`" }

// ComQuery implements mysql.Handler.
func (h handler) ComQuery(ctx context.Context, c *mysql.Conn, text string, send mysql.ResultSpoolFn) error {
	_, err := clientOf(c).run(ctx, command{text: text, send: send})
	return err
}

// ComMultiQuery implements mysql.Handler.
func (h handler) ComMultiQuery(ctx context.Context, c *mysql.Conn, text string, send mysql.ResultSpoolFn) (string, error) {
	return clientOf(c).run(ctx, command{text: text, multi: true, send: send})
}

// ComPrepare implements mysql.Handler. The text it is given is one that wire has put in place of the client's.
func (h handler) ComPrepare(ctx context.Context, c *mysql.Conn, _ string, p *mysql.PrepareData) ([]*querypb.Field, error) {
	cl := clientOf(c)
	text := cl.wire.text
	cl.wire.text = ""
	fields, err := cl.prepare(ctx, text, p)
	if err != nil {
		delete(c.PrepareData, p.StatementID)
	}
	return fields, err
}

// ComStmtExecute implements mysql.Handler. With a cursor the library keeps the rows for as long as the client likes, and calls
// from a goroutine of its own; so the statement ends before the first row is handed over (result.go).
func (h handler) ComStmtExecute(ctx context.Context, c *mysql.Conn, p *mysql.PrepareData, send func(*sqltypes.Result) error) error {
	cl := clientOf(c)
	known := cl.prepared[p.StatementID]
	if known == nil {
		return sqlError(1243, stateUnknown, "Unknown prepared statement handler given to mysqld_stmt_execute")
	}
	_, err := cl.run(ctx, command{
		text:     known.text,
		prepared: known,
		values:   p.BindVars,
		cursor:   cl.wire.cursor,
		send:     func(r *sqltypes.Result, _ bool) error { return send(r) },
	})
	if err != nil && cl.wire.cursor {
		// The library would say "missing result set".
		cl.wire.tell(err.(*mysql.SQLError))
	}
	return err
}

// WarningCount implements mysql.Handler.
func (h handler) WarningCount(c *mysql.Conn) uint16 {
	if s := clientOf(c).session; s != nil {
		return s.WarningCount()
	}
	return 0
}

// ComResetConnection implements mysql.Handler: a new session, in the same database.
func (h handler) ComResetConnection(c *mysql.Conn) error {
	cl := clientOf(c)
	db := cl.session.GetCurrentDatabase()
	cl.leave()
	cl.newSession()
	cl.session.SetCurrentDatabase(db)
	cl.setStatusFlags()
	return nil
}

// leave ends the session, and what was prepared in it.
func (cl *client) leave() {
	cl.endSession()
	for id := range cl.prepared {
		cl.drop(id)
	}
}

// ParserOptionsForConnection implements mysql.Handler. It is asked about statements to prepare, which the library parses in vain.
func (h handler) ParserOptionsForConnection(c *mysql.Conn) (ast.ParserOptions, error) {
	return clientOf(c).vars.parser, nil
}

// setStatusFlags tells the client, with each answer, whether it is in a transaction.
func (cl *client) setStatusFlags() {
	flags := cl.conn.StatusFlags &^ (mysql.ServerStatusAutocommit | mysql.ServerInTransaction)
	if cl.vars.autocommit {
		flags |= mysql.ServerStatusAutocommit
	}
	if cl.session.InTransaction() {
		flags |= mysql.ServerInTransaction
	}
	cl.conn.StatusFlags = flags
}
