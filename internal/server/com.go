package server

import (
	"strings"

	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// comKind is a kind of statement as MySQL counts them: Com_select and so on.
type comKind int

const (
	comOther comKind = iota
	comAdminCommands
	comAlterDb
	comAlterEvent
	comAlterTable
	comAlterUser
	comAnalyze
	comBegin
	comCallProcedure
	comChangeDb
	comCommit
	comCreateDb
	comCreateEvent
	comCreateIndex
	comCreateProcedure
	comCreateRole
	comCreateTable
	comCreateTrigger
	comCreateUser
	comCreateView
	comDeallocSQL
	comDelete
	comDeleteMulti
	comDropDb
	comDropEvent
	comDropIndex
	comDropProcedure
	comDropRole
	comDropTable
	comDropTrigger
	comDropUser
	comDropView
	comEmptyQuery
	comExecuteSQL
	comExplainOther
	comFlush
	comGrant
	comGrantRoles
	comInsert
	comInsertSelect
	comKill
	comLoad
	comLockTables
	comPrepareSQL
	comReleaseSavepoint
	comRenameTable
	comRenameUser
	comReplace
	comReplaceSelect
	comRevoke
	comRevokeAll
	comRevokeRoles
	comRollback
	comRollbackToSavepoint
	comSavepoint
	comSelect
	comSetOption
	comShowCharsets
	comShowCollations
	comShowCreateDb
	comShowCreateEvent
	comShowCreateProc
	comShowCreateTable
	comShowCreateTrigger
	comShowCreateUser
	comShowDatabases
	comShowEvents
	comShowFields
	comShowFunctionStatus
	comShowGrants
	comShowKeys
	comShowPlugins
	comShowPrivileges
	comShowProcedureStatus
	comShowProcesslist
	comShowStatus
	comShowStorageEngines
	comShowTableStatus
	comShowTables
	comShowTriggers
	comShowVariables
	comShowWarnings
	comSignal
	comStmtClosed
	comStmtExecuted
	comStmtPrepared
	comTruncate
	comUnlockTables
	comUpdate
	comUpdateMulti
	comKinds
)

// comNames are the names of the counters, without "Com_". The first one is none of MySQL's.
var comNames = [comKinds]string{
	"other", "admin_commands", "alter_db", "alter_event", "alter_table", "alter_user", "analyze", "begin", "call_procedure", "change_db",
	"commit", "create_db", "create_event", "create_index", "create_procedure", "create_role", "create_table", "create_trigger",
	"create_user", "create_view", "dealloc_sql", "delete", "delete_multi", "drop_db", "drop_event", "drop_index", "drop_procedure",
	"drop_role", "drop_table", "drop_trigger", "drop_user", "drop_view", "empty_query", "execute_sql", "explain_other", "flush", "grant",
	"grant_roles", "insert", "insert_select", "kill", "load", "lock_tables", "prepare_sql", "release_savepoint", "rename_table",
	"rename_user", "replace", "replace_select", "revoke", "revoke_all", "revoke_roles", "rollback", "rollback_to_savepoint", "savepoint",
	"select", "set_option", "show_charsets", "show_collations", "show_create_db", "show_create_event", "show_create_proc",
	"show_create_table", "show_create_trigger", "show_create_user", "show_databases", "show_events", "show_fields",
	"show_function_status", "show_grants", "show_keys", "show_plugins", "show_privileges", "show_procedure_status", "show_processlist",
	"show_status", "show_storage_engines", "show_table_status", "show_tables", "show_triggers", "show_variables", "show_warnings",
	"signal", "stmt_close", "stmt_execute", "stmt_prepare", "truncate", "unlock_tables", "update", "update_multi",
}

// showKinds by the type the parser gives a SHOW statement.
var showKinds = map[string]comKind{
	"character set": comShowCharsets, "charset": comShowCharsets, "collation": comShowCollations, "create database": comShowCreateDb,
	"create schema": comShowCreateDb, "create event": comShowCreateEvent, "create procedure": comShowCreateProc,
	"create table": comShowCreateTable, "create view": comShowCreateTable, "create trigger": comShowCreateTrigger,
	"create user": comShowCreateUser, "databases": comShowDatabases, "schemas": comShowDatabases, "events": comShowEvents,
	"columns": comShowFields, "fields": comShowFields, "function status": comShowFunctionStatus, "grants": comShowGrants,
	"index": comShowKeys, "indexes": comShowKeys, "keys": comShowKeys, "plugins": comShowPlugins, "privileges": comShowPrivileges,
	"procedure status": comShowProcedureStatus, "processlist": comShowProcesslist, "status": comShowStatus,
	"engines": comShowStorageEngines, "table status": comShowTableStatus, "tables": comShowTables, "full tables": comShowTables,
	"triggers": comShowTriggers, "variables": comShowVariables, "warnings": comShowWarnings,
}

// kindOf a statement.
func kindOf(stmt ast.Statement) comKind {
	switch s := stmt.(type) {
	case *ast.Select, *ast.SetOp, *ast.ParenSelect:
		return comSelect
	case *ast.Insert:
		values := false
		switch s.Rows.(type) {
		case ast.AliasedValues, *ast.AliasedValues, ast.Values:
			values = true
		}
		switch {
		case s.Action == ast.ReplaceStr && values:
			return comReplace
		case s.Action == ast.ReplaceStr:
			return comReplaceSelect
		case values:
			return comInsert
		}
		return comInsertSelect
	case *ast.Update:
		if len(s.TableExprs) > 1 || isJoin(s.TableExprs) {
			return comUpdateMulti
		}
		return comUpdate
	case *ast.Delete:
		if len(s.Targets) > 0 {
			return comDeleteMulti
		}
		return comDelete
	case *ast.Begin:
		return comBegin
	case *ast.Commit:
		return comCommit
	case *ast.Rollback:
		return comRollback
	case *ast.Savepoint:
		return comSavepoint
	case *ast.RollbackSavepoint:
		return comRollbackToSavepoint
	case *ast.ReleaseSavepoint:
		return comReleaseSavepoint
	case *ast.Set:
		return comSetOption
	case *ast.Use:
		return comChangeDb
	case *ast.Show:
		return showKinds[strings.ToLower(s.Type)]
	case *ast.ShowGrants:
		return comShowGrants
	case *ast.ShowPrivileges:
		return comShowPrivileges
	case *ast.Explain, *ast.OtherRead:
		return comExplainOther
	case *ast.Call:
		return comCallProcedure
	case *ast.Load:
		return comLoad
	case *ast.LockTables:
		return comLockTables
	case *ast.UnlockTables:
		return comUnlockTables
	case *ast.Kill:
		return comKill
	case *ast.Flush:
		return comFlush
	case *ast.Analyze:
		return comAnalyze
	case *ast.Prepare:
		return comPrepareSQL
	case *ast.Execute:
		return comExecuteSQL
	case *ast.Deallocate:
		return comDeallocSQL
	case *ast.Signal:
		return comSignal
	case *ast.CreateUser:
		return comCreateUser
	case *ast.RenameUser:
		return comRenameUser
	case *ast.DropUser:
		return comDropUser
	case *ast.CreateRole:
		return comCreateRole
	case *ast.DropRole:
		return comDropRole
	case *ast.GrantPrivilege, *ast.GrantProxy:
		return comGrant
	case *ast.GrantRole:
		return comGrantRoles
	case *ast.RevokePrivilege, *ast.RevokeProxy:
		return comRevoke
	case *ast.RevokeAllPrivileges:
		return comRevokeAll
	case *ast.RevokeRole:
		return comRevokeRoles
	case *ast.DBDDL, *ast.DDL, *ast.AlterTable:
		return kindOfDDL(stmt)
	}
	return comOther
}

func kindOfDDL(stmt ast.Statement) comKind {
	pick := func(action string, create, alter, drop comKind) comKind {
		switch strings.ToLower(action) {
		case ast.CreateStr:
			return create
		case ast.DropStr:
			return drop
		}
		return alter
	}
	switch s := stmt.(type) {
	case *ast.DBDDL:
		return pick(s.Action, comCreateDb, comAlterDb, comDropDb)
	case *ast.AlterTable:
		if len(s.Statements) == 1 && s.Statements[0].IndexSpec != nil {
			return pick(s.Statements[0].IndexSpec.Action, comCreateIndex, comAlterTable, comDropIndex)
		}
	case *ast.DDL:
		switch {
		case s.Action == ast.TruncateStr:
			return comTruncate
		case s.Action == ast.RenameStr:
			return comRenameTable
		case s.Authentication != nil:
			return comAlterUser
		case s.TriggerSpec != nil:
			return pick(s.Action, comCreateTrigger, comOther, comDropTrigger)
		case s.ProcedureSpec != nil:
			return pick(s.Action, comCreateProcedure, comOther, comDropProcedure)
		case s.EventSpec != nil:
			return pick(s.Action, comCreateEvent, comAlterEvent, comDropEvent)
		case s.ViewSpec != nil || len(s.FromViews) > 0:
			return pick(s.Action, comCreateView, comOther, comDropView)
		case s.IndexSpec != nil:
			return pick(s.IndexSpec.Action, comCreateIndex, comAlterTable, comDropIndex)
		}
		return pick(s.Action, comCreateTable, comAlterTable, comDropTable)
	}
	return comAlterTable
}

func isJoin(from ast.TableExprs) bool {
	for _, t := range from {
		if _, ok := t.(*ast.JoinTableExpr); ok {
			return true
		}
	}
	return false
}
