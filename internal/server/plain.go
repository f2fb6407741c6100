package server

import (
	"strconv"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/bulk"
)

// plainStatements stand for the syntax trees of plain statements, which have none.
var plainStatements = map[bulk.Action]ast.Statement{
	bulk.Select: &ast.Select{},
	bulk.Update: &ast.Update{},
	bulk.Delete: &ast.Delete{},
}

// plainPrivileges are those that GMS asks for at most.
var plainPrivileges = map[bulk.Action][]string{
	bulk.Select: {ast.AuthType_SELECT},
	bulk.Update: {ast.AuthType_SELECT, ast.AuthType_UPDATE},
	bulk.Delete: {ast.AuthType_SELECT, ast.AuthType_DELETE},
}

// runPlain runs a SELECT, UPDATE or DELETE past GMS, if it is a plain one (sql.PlainSelect). Not done: nothing has happened.
func (cl *client) runPlain(sc *gms.Context, st *statement, cmd command, at *place, out **result) (rest string, done bool, err error) {
	if !cl.vars.plain {
		return "", false, nil
	}
	p, ok := plainOf(cmd)
	if !ok || p.Action != bulk.Select && cl.server.engine.IsReadOnly() || p.Rest() != "" && !cmd.multi ||
		!cl.may(sc, plainPrivileges[p.Action], p.Database, p.Table) {
		return "", false, nil
	}
	if err := cl.openTransaction(sc); err != nil {
		return "", true, err
	}
	sc.ClearWarnings()
	*out = newResult(cl, st, cmd, p.Rest() != "")
	if p.Action == bulk.Select {
		done, err = cl.selectPlain(sc, p, *out)
	} else {
		done, err = cl.writePlain(sc, p, *out)
	}
	if !done && err == nil {
		return "", false, nil
	}
	st.said = strings.TrimSuffix(cmd.text, p.Rest())
	at.stmt = plainStatements[p.Action]
	st.kind = kindOf(at.stmt)
	cl.counters.com[st.kind].Add(1)
	cl.server.plainStatements.Add(1)
	if err == nil {
		err = st.why()
	}
	if err == nil {
		err = cl.autocommit(sc)
	}
	return p.Rest(), true, err
}

func (cl *client) selectPlain(sc *gms.Context, p *bulk.Plain, out *result) (done bool, err error) {
	schema, rows, ok, err := cl.session.PlainSelect(sc, p)
	if !ok || err != nil {
		return ok, err
	}
	err = out.send(sc, schema, rows)
	if closed := rows.Close(sc); err == nil {
		err = closed
	}
	cl.session.SetLastQueryInfoInt(gms.RowCount, -1)
	cl.session.SetLastQueryInfoInt(gms.FoundRows, int64(out.st.sent))
	return true, err
}

func (cl *client) writePlain(sc *gms.Context, p *bulk.Plain, out *result) (done bool, err error) {
	matched, changed, ok, err := cl.session.PlainWrite(sc, p)
	if !ok || err != nil {
		return ok, err
	}
	affected := changed
	out.whole = &mysqlResult{}
	if p.Action == bulk.Update {
		cl.session.SetLastQueryInfoInt(gms.FoundRows, int64(matched))
		out.whole.Info = plan.UpdateInfo{Matched: matched, Updated: changed}.String()
		if cl.session.Client().Capabilities&mysql.CapabilityClientFoundRows > 0 {
			affected = matched
		}
	}
	out.whole.RowsAffected = uint64(affected)
	cl.session.SetLastQueryInfoInt(gms.RowCount, int64(affected))
	return true, nil
}

// plainOf the command. Of a prepared one the text was read when it was prepared.
func plainOf(cmd command) (*bulk.Plain, bool) {
	if cmd.prepared == nil {
		return bulk.ParsePlain(cmd.text)
	}
	p := cmd.prepared.plain
	if p == nil {
		return nil, false
	}
	values := make([]bulk.Value, p.Parameters())
	for i := range values {
		var ok bool
		if values[i], ok = plainValue(cmd.values["v"+strconv.Itoa(i+1)]); !ok {
			return nil, false
		}
	}
	return p.With(values), true
}

// plainValue is a parameter as the literal that GMS would make of it.
func plainValue(v *querypb.BindVariable) (bulk.Value, bool) {
	switch {
	case v == nil:
		return bulk.Value{}, false
	case v.Type == sqltypes.Null:
		return bulk.Value{Kind: bulk.Null}, true
	case sqltypes.IsIntegral(v.Type):
		return bulk.Value{Kind: bulk.Int, Text: string(v.Value)}, true
	case v.Type == sqltypes.VarChar, v.Type == sqltypes.VarBinary, v.Type == sqltypes.Char, v.Type == sqltypes.Text:
		return bulk.Value{Kind: bulk.String, Text: string(v.Value)}, true
	}
	return bulk.Value{}, false
}

// may: the user has all these privileges for the table. If not, GMS tells what is missing.
func (cl *client) may(sc *gms.Context, privileges []string, database, table string) bool {
	if database == "" {
		database = cl.session.GetCurrentDatabase()
	}
	if database == "" {
		return false
	}
	h := cl.server.engine.Analyzer.Catalog.AuthorizationHandler()
	state := h.NewQueryState(sc)
	names := []string{database, table}
	for _, p := range privileges {
		if h.HandleAuth(sc, state, ast.AuthInformation{AuthType: p, TargetType: ast.AuthTargetType_SingleTableIdentifier, TargetNames: names}) != nil {
			return false
		}
	}
	return true
}

// autocommit ends the transaction of a statement that is one of its own.
func (cl *client) autocommit(sc *gms.Context) error {
	tx := sc.GetTransaction()
	if tx == nil || !cl.vars.autocommit || sc.GetIgnoreAutoCommit() {
		return nil
	}
	if err := cl.session.CommitTransaction(sc, tx); err != nil {
		return err
	}
	sc.SetTransaction(nil)
	return nil
}

// readsPlainly: no variable of the session changes what a plain statement means.
func (cl *client) readsPlainly(ctx *gms.Context) bool {
	mode := gms.LoadSqlMode(ctx)
	if mode.ModeEnabled("NO_BACKSLASH_ESCAPES") || mode.ModeEnabled("PAD_CHAR_TO_FULL_LENGTH") || mode.AnsiQuotes() || cl.vars.maxExecution > 0 {
		return false
	}
	for _, name := range []string{"character_set_client", "character_set_connection"} {
		v, err := cl.session.GetSessionVariable(ctx, name)
		if text, ok := v.(string); err != nil || !ok || !strings.HasPrefix(text, "utf8") {
			return false
		}
	}
	all, _ := gms.HasDefaultValue(ctx, cl.session, "sql_select_limit")
	return all
}
