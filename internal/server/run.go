package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/rowexec"
	"github.com/dolthub/vitess/go/mysql"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// command is what a client asks for: a statement in text or prepared, or several in one text.
type command struct {
	text     string
	multi    bool // text may hold more than one statement; the first is meant
	prepared *prepared
	values   map[string]*querypb.BindVariable // of the prepared statement's parameters
	admin    string                           // the command of the protocol that text stands for
	cursor   bool                             // the rows are kept after the statement's end
	send     mysql.ResultSpoolFn
}

// run executes one statement and sends its result. All statements of clients come through here, in whatever form. It returns what
// is left of the text, and as an error what the client is to be told, a *mysql.SQLError.
//
// Ways past GMS branch off in execute: all around it (bookkeeping, undo, errors, status flags) holds for any way of executing.
func (cl *client) run(ctx context.Context, cmd command) (rest string, err error) {
	st := cl.begin(ctx, cmd.text)
	defer cl.finish(st)
	cl.counters.questions.Add(1)
	cl.counters.queries.Add(1)
	if cmd.prepared != nil {
		cl.counters.com[comStmtExecuted].Add(1)
	}

	sc := cl.context(st, cmd.text)
	at := place{text: cmd.text, db: cl.session.GetCurrentDatabase()}
	gms.SessionCommandBegin(cl.session)
	var out *result
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = cl.panicked(p, cmd.text)
			}
		}()
		rest, err = cl.execute(sc, st, cmd, &at, &out)
	}()
	if err != nil {
		if undo := cl.session.UndoStatement(sc, cl.cause(st, err)); undo != nil {
			cl.server.log.Error("undo a statement", "connection", cl.id, "err", undo)
		}
	}
	gms.SessionCommandEnd(cl.session)
	var told *mysql.SQLError
	if err != nil {
		told = toClient(cl.cause(st, err), at)
	}
	cl.afterwards(st, at)
	cl.logStatement(st, &cmd, &at, out, told)
	if err != nil {
		cl.counters.errors.Add(1)
		if out != nil && out.began && !cmd.cursor {
			// Fields and rows are on their way: the library could now only drop the connection.
			cl.conn.FlushBuffer()
			cl.wire.tell(told)
			return "", nil
		}
		return "", told
	}
	if cmd.cursor {
		cl.finish(st) // from now on the connection has other statements, while the rows wait to be fetched
	}
	if out != nil {
		if err := out.finish(); err != nil {
			return "", toClient(err, at)
		}
	}
	return rest, nil
}

// execute is run's body. What it leaves in at and out is of use also if it fails, or panics.
func (cl *client) execute(sc *gms.Context, st *statement, cmd command, at *place, out **result) (rest string, err error) {
	if rest, done, err := cl.insertBulk(sc, st, cmd, at, out); done {
		return rest, err
	}
	if rest, done, err := cl.runPlain(sc, st, cmd, at, out); done {
		return rest, err
	}
	text := cmd.text
	var stmt ast.Statement
	if cmd.prepared != nil {
		stmt = cmd.prepared.stmt
	} else if stmt = transactionStatement(cmd.text); stmt == nil {
		stmt, text, rest, err = cl.parse(sc, cmd)
	}
	if err != nil {
		return "", err
	}
	st.said = strings.TrimSuffix(cmd.text, rest)
	at.stmt = stmt
	st.kind = kindOf(stmt)
	if flushesLogs(stmt) {
		st.kind = comFlush
	}
	cl.counters.com[st.kind].Add(1)
	*out = newResult(cl, st, cmd, rest != "")
	if stmt == nil { // nothing but a comment
		return rest, (*out).ok(0)
	}
	if err := checkJoins(text, stmt); err != nil {
		return "", err
	}
	if err := cl.session.RefuseFake(stmt); err != nil {
		return "", err
	}
	if err := cl.session.RefuseReadOnly(sc, stmt); err != nil {
		return "", err
	}
	forAll(stmt)
	if kill, ok := stmt.(*ast.Kill); ok {
		if err := cl.kill(sc, kill); err != nil {
			return "", err
		}
		return rest, (*out).ok(0)
	}
	if st.kind == comFlush && flushesLogs(stmt) {
		if err := cl.flushLogs(sc); err != nil {
			return "", err
		}
		return rest, (*out).ok(0)
	}
	if next, ok := nextTransaction(stmt); ok {
		if err := cl.setNextTransaction(next); err != nil {
			return "", err
		}
		return rest, (*out).ok(0)
	}
	if commitsBefore(stmt) {
		if err := cl.session.CommitImplicit(sc); err != nil {
			return "", err
		}
	}
	defer cl.limitTime(st, stmt)()
	schema, rows, err := cl.build(sc, text, stmt, cmd, at)
	if err != nil {
		return "", err
	}
	err = (*out).send(sc, schema, rows)
	if err == nil && !ends(stmt) {
		err = st.why() // it may have been killed where GMS did not notice
	}
	// In autocommit it is Close that commits, unless the statement was killed before. Whoever kills it later comes too late: what is
	// committed must not be told as interrupted.
	if closed := rows.Close(sc); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	if _, begins := stmt.(*ast.Begin); begins && wantsSnapshot(text) {
		if err := cl.session.BeginSnapshot(sc); err != nil {
			return "", err
		}
	}
	if commitsAfter(stmt) {
		if err := cl.session.CommitImplicit(sc); err != nil {
			return "", err
		}
	}
	return rest, nil
}

// ends: when its rows have been read, the statement has ended a transaction.
func ends(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Commit, *ast.Rollback:
		return true
	}
	return false
}

// parse the first statement of the command. A nil one is no statement, but a comment.
func (cl *client) parse(sc *gms.Context, cmd command) (stmt ast.Statement, text, rest string, err error) {
	stmt, text, rest, err = cl.server.engine.Parser.ParseWithOptions(sc, cmd.text, ';', cmd.multi, cl.vars.parser)
	if text == "" {
		text = cmd.text
	}
	if errors.Is(err, ast.ErrEmpty) {
		if strings.Trim(text, "; \t\r\n") == "" {
			return nil, "", "", errEmptyQuery
		}
		return nil, text, rest, nil
	}
	return stmt, text, rest, err
}

// build binds, analyses and opens the statement. It is Engine.QueryWithBindings in its parts: the parsed statement of a prepared
// one comes from us, the plan is seen before it runs, and nothing is counted twice. The text is the parser's: the statement has
// positions in it.
func (cl *client) build(sc *gms.Context, text string, stmt ast.Statement, cmd command, at *place) (gms.Schema, gms.RowIter, error) {
	e := cl.server.engine
	switch stmt.(type) {
	case *ast.Prepare, *ast.Execute, *ast.Deallocate:
		// Statements prepared in SQL have a home in the engine, which procedures share.
		cl.session.SetStatement(stmt)
		schema, rows, _, err := e.QueryWithBindings(sc, text, stmt, nil, &gms.QueryFlags{})
		return schema, rows, err
	}
	if err := cl.openTransaction(sc); err != nil {
		return nil, nil, err
	}
	if node := transactionNode(stmt); node != nil {
		cl.keepWarnings(sc, node, len(sc.Session.Warnings()))
		return cl.iterate(sc, node, nil)
	}
	binder := planbuilder.New(sc, e.Analyzer.Catalog, e.EventScheduler, e.Parser)
	if cmd.prepared != nil {
		values, err := bindings(cmd.values)
		if err != nil {
			return nil, nil, err
		}
		binder.SetBindings(values)
	}
	cl.session.SetStatement(stmt)
	warned := len(sc.Session.Warnings())
	if insert, ok := stmt.(*ast.Insert); ok {
		cl.session.AdaptInsert(sc, insert)
	}
	stmt = cl.session.AdaptKeys(stmt)
	bound, flags, err := binder.BindOnly(stmt, text, &gms.QueryFlags{})
	if err != nil {
		return nil, nil, err
	}
	cl.keepWarnings(sc, bound, warned)
	analyzed, err := e.Analyzer.Analyze(sc, bound, nil, flags)
	if err != nil {
		return nil, nil, err
	}
	if b := binder.BindCtx(); b != nil && len(b.UnusedBindings()) > 0 {
		return nil, nil, sqlError(mysql.ERWrongArguments, stateUnknown, "Incorrect arguments to EXECUTE")
	}
	if e.IsReadOnly() && !plan.IsReadOnly(analyzed) {
		return nil, nil, gms.ErrReadOnly.New()
	}
	at.columns = written(analyzed)
	if _, ok := stmt.(*ast.Show); ok {
		if analyzed, err = cl.session.AdaptShow(sc, analyzed); err != nil {
			return nil, nil, err
		}
	}
	return cl.iterate(sc, analyzed, flags)
}

// iterate opens a plan.
func (cl *client) iterate(sc *gms.Context, analyzed gms.Node, flags *gms.QueryFlags) (gms.Schema, gms.RowIter, error) {
	rows, err := cl.server.engine.Analyzer.ExecBuilder.Build(sc, analyzed, nil)
	if err != nil {
		return nil, nil, err
	}
	rows, schema, err := rowexec.FinalizeIters(sc, analyzed, flags, rows)
	if err != nil {
		return nil, nil, err
	}
	if schema == nil {
		schema = analyzed.Schema()
	}
	return schema, rows, nil
}

// keepWarnings clears the warnings of statements before this one, but for SHOW WARNINGS, and keeps those that planning made.
func (cl *client) keepWarnings(sc *gms.Context, bound gms.Node, before int) {
	now := sc.Session.Warnings()
	fresh := now[:max(0, len(now)-before)]
	switch n := bound.(type) {
	case *plan.Offset, *plan.Limit:
		cl.keepWarnings(sc, n.Children()[0], before)
		return
	case plan.ShowWarnings:
		sc.ClearWarningCount()
	default:
		cl.warned = min(before, len(now))
		sc.ClearWarnings()
	}
	for i := len(fresh) - 1; i >= 0; i-- { // the most recent comes first
		sc.Session.Warn(fresh[i])
	}
}

// written is the schema of the table that a plan writes, nil if there is none.
func written(n gms.Node) gms.Schema {
	for n != nil {
		switch n := n.(type) {
		case *plan.InsertInto:
			return n.Destination.Schema()
		case *plan.Update:
			return n.Child.Schema()
		}
		children := n.Children()
		if len(children) != 1 {
			return nil
		}
		n = children[0]
	}
	return nil
}

// cause of a failure: what stopped the statement, if something did, and else the error itself.
func (cl *client) cause(st *statement, err error) error {
	var known *mysql.SQLError
	if errors.As(err, &known) && known.Num == mysql.ERLockDeadlock {
		return err // the transaction is gone, which the client must learn
	}
	if why := st.why(); why != nil && !errors.Is(why, context.Canceled) {
		return why
	}
	return err
}

// panicked makes a panic of GMS, or of ours, the failure of one statement.
func (cl *client) panicked(p any, text string) error {
	const logged = 2000 // bytes of a statement that may be long
	if len(text) > logged {
		text = text[:logged] + "..."
	}
	cl.server.log.Error("panic in a statement", "connection", cl.id, "panic", p, "statement", text, "stack", string(debug.Stack()))
	cl.server.panics.Add(1)
	return sqlError(erUnknown, stateUnknown, fmt.Sprintf("Internal error: %v", p))
}

// afterwards keeps the client's books after a statement.
func (cl *client) afterwards(st *statement, at place) {
	switch at.stmt.(type) {
	case *ast.Set, *ast.Call, *ast.Execute:
		cl.readVars()
	}
	cl.setStatusFlags()
	cl.counters.rowsSent.Add(st.sent)
	cl.counters.rowsExamined.Add(cl.session.RowsExamined())
}

// limitTime ends the statement after max_execution_time, if that is set. Only reading statements have such a limit.
func (cl *client) limitTime(st *statement, stmt ast.Statement) (stop func()) {
	if cl.vars.maxExecution <= 0 || kindOf(stmt) != comSelect {
		return func() {}
	}
	t := time.AfterFunc(cl.vars.maxExecution, func() { st.end(errTimeout) })
	return func() { t.Stop() }
}
