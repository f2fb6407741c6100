package sql_test

import (
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/dolthub/go-mysql-server/enginetest"
	"github.com/dolthub/go-mysql-server/enginetest/queries"
	gms "github.com/dolthub/go-mysql-server/sql"
)

// suite is one test function of enginetest.
type suite struct {
	name string
	run  func(*testing.T, *harness)
}

// shortly lists the suites that run under -short too.
var shortly = []string{"insert", "update", "delete", "replace", "transactions", "alter-table", "generated-columns"}

// of makes a suite of a function that takes any harness.
func of(name string, run func(*testing.T, enginetest.Harness)) suite {
	return suite{name: name, run: func(t *testing.T, h *harness) { run(t, h) }}
}

// lenient is of, without a strict SQL mode: with one, LOAD DATA takes files that MySQL refuses.
func lenient(name string, run func(*testing.T, enginetest.Harness)) suite {
	return suite{name: name, run: func(t *testing.T, h *harness) {
		h.lenient = true
		run(t, h)
	}}
}

// scripts makes a suite of scripts that no function of enginetest runs.
func scripts(name string, list []queries.ScriptTest) suite {
	return suite{name: name, run: func(t *testing.T, h *harness) {
		for _, s := range list {
			enginetest.TestScript(t, h, s)
		}
	}}
}

// suites are those that say something about a backend. Left out: plans (they pin another backend's costs), history
// (AS OF), full text, spatial and vector indexes, which hearth refuses.
var suites = []suite{
	of("queries", enginetest.TestQueries),
	of("queries-prepared", enginetest.TestQueriesPrepared),
	of("query-errors", enginetest.TestQueryErrors),
	of("scripts", enginetest.TestScripts),
	of("scripts-prepared", enginetest.TestScriptsPrepared),
	of("prepared", enginetest.TestPrepared),
	of("prepared-statements", enginetest.TestPreparedStatements),

	of("insert", enginetest.TestInsertInto),
	of("insert-prepared", enginetest.TestInsertQueriesPrepared),
	of("insert-scripts-prepared", enginetest.TestInsertScriptsPrepared),
	of("insert-ignore", enginetest.TestInsertIgnoreInto),
	of("insert-ignore-prepared", enginetest.TestInsertIgnoreScriptsPrepared),
	of("insert-errors", enginetest.TestInsertIntoErrors),
	of("insert-errors-prepared", enginetest.TestInsertErrorScriptsPrepared),
	of("insert-broken", enginetest.TestBrokenInsertScripts),
	of("insert-keyless-duplicate", enginetest.TestInsertDuplicateKeyKeyless),
	of("insert-keyless-duplicate-prepared", enginetest.TestInsertDuplicateKeyKeylessPrepared),
	of("insert-keyless-ignore", enginetest.TestIgnoreIntoWithDuplicateUniqueKeyKeyless),
	of("insert-keyless-ignore-prepared", enginetest.TestIgnoreIntoWithDuplicateUniqueKeyKeylessPrepared),
	of("prepared-insert", enginetest.TestPreparedInsert),
	of("replace", enginetest.TestReplaceInto),
	of("replace-errors", enginetest.TestReplaceIntoErrors),
	of("replace-prepared", enginetest.TestReplaceQueriesPrepared),
	of("update", enginetest.TestUpdate),
	of("update-ignore", enginetest.TestUpdateIgnore),
	of("update-errors", enginetest.TestUpdateErrors),
	of("update-prepared", enginetest.TestUpdateQueriesPrepared),
	of("on-update", enginetest.TestOnUpdateExprScripts),
	of("delete", enginetest.TestDelete),
	of("delete-errors", enginetest.TestDeleteErrors),
	of("delete-prepared", enginetest.TestDeleteQueriesPrepared),
	of("truncate", enginetest.TestTruncate),
	lenient("load-data", enginetest.TestLoadData),
	of("load-data-errors", enginetest.TestLoadDataErrors),
	of("load-data-failing", enginetest.TestLoadDataFailing),
	lenient("load-data-prepared", enginetest.TestLoadDataPrepared),
	of("select-into-file", enginetest.TestSelectIntoFile),

	of("complex-index", enginetest.TestComplexIndexQueries),
	of("complex-index-prepared", enginetest.TestComplexIndexQueriesPrepared),
	of("indexes", enginetest.TestIndexes),
	of("index-prefix", enginetest.TestIndexPrefix),
	of("null-ranges", enginetest.TestNullRanges),
	of("order-by-group-by", enginetest.TestOrderByGroupBy),
	of("row-limit", enginetest.TestRowLimit),
	of("statistics", enginetest.TestStatistics),
	of("statistics-prepared", enginetest.TestStatisticsPrepared),
	of("statistics-filters", enginetest.TestStatisticIndexFilters),

	of("join-queries", enginetest.TestJoinQueries),
	of("join-queries-prepared", enginetest.TestJoinQueriesPrepared),
	{name: "join-ops", run: func(t *testing.T, h *harness) { enginetest.TestJoinOps(t, h, enginetest.DefaultJoinOpTests) }},
	of("join-lateral", enginetest.TestLateralJoinQueries),
	of("join-natural", enginetest.TestNaturalJoin),
	of("join-natural-equal", enginetest.TestNaturalJoinEqual),
	of("join-natural-disjoint", enginetest.TestNaturalJoinDisjoint),
	of("join-natural-nested", enginetest.TestInnerNestedInNaturalJoins),
	of("column-aliases", enginetest.TestColumnAliases),
	of("derived-table-scope", enginetest.TestDerivedTableOuterScopeVisibility),
	of("ambiguous-columns", enginetest.TestAmbiguousColumnResolution),
	of("window-functions", enginetest.TestWindowFunctions),
	of("window-row-frames", enginetest.TestWindowRowFrames),
	of("window-range-frames", enginetest.TestWindowRangeFrames),
	of("window-named", enginetest.TestNamedWindows),

	of("transactions", enginetest.TestTransactionScripts),
	of("transactions-concurrent", enginetest.TestConcurrentTransactions),
	of("triggers-rollback", enginetest.TestRollbackTriggers),

	of("foreign-keys", enginetest.TestForeignKeys),
	of("foreign-keys-create", enginetest.TestCreateForeignKeys),
	of("foreign-keys-drop", enginetest.TestDropForeignKeys),
	of("triggers", enginetest.TestTriggers),
	of("triggers-show", enginetest.TestShowTriggers),
	of("triggers-errors", enginetest.TestTriggerErrors),
	of("procedures", enginetest.TestStoredProcedures),
	of("events", enginetest.TestEvents),
	of("views", enginetest.TestViews),
	of("views-prepared", enginetest.TestViewsPrepared),
	of("views-recursive", enginetest.TestRecursiveViewDefinition),
	of("checks-create", enginetest.TestCreateCheckConstraints),
	of("checks-create-prepared", enginetest.TestCreateCheckConstraintsScriptsPrepared),
	of("checks-insert", enginetest.TestChecksOnInsert),
	of("checks-update", enginetest.TestChecksOnUpdate),
	of("checks-disallowed", enginetest.TestDisallowedCheckConstraints),
	of("checks-drop", enginetest.TestDropCheckConstraints),
	of("generated-columns", enginetest.TestGeneratedColumns),
	of("column-defaults", enginetest.TestColumnDefaults),

	of("create-table", enginetest.TestCreateTable),
	of("drop-table", enginetest.TestDropTable),
	of("rename-table", enginetest.TestRenameTable),
	of("rename-column", enginetest.TestRenameColumn),
	of("add-column", enginetest.TestAddColumn),
	of("modify-column", enginetest.TestModifyColumn),
	of("drop-column", enginetest.TestDropColumn),
	of("drop-column-keyless", enginetest.TestDropColumnKeylessTables),
	of("alter-table", enginetest.TestAlterTable),
	of("create-database", enginetest.TestCreateDatabase),
	of("drop-database", enginetest.TestDropDatabase),
	of("primary-keys-add-drop", enginetest.TestAddDropPks),
	of("primary-keys-ddl", enginetest.TestPkOrdinalsDDL),
	of("primary-keys-dml", enginetest.TestPkOrdinalsDML),
	scripts("add-auto-increment", queries.AlterTableAddAutoIncrementScripts),

	of("information-schema", enginetest.TestInfoSchema),
	of("information-schema-prepared", enginetest.TestInfoSchemaPrepared),
	of("show-table-status", enginetest.TestShowTableStatus),
	of("show-table-status-prepared", enginetest.TestShowTableStatusPrepared),
	of("variables", enginetest.TestVariables),
	of("variable-errors", enginetest.TestVariableErrors),
	of("warnings", enginetest.TestWarnings),
	of("clear-warnings", enginetest.TestClearWarnings),
	of("use", enginetest.TestUse),
	of("no-database-selected", enginetest.TestNoDatabaseSelected),
	of("select-limit", enginetest.TestSessionSelectLimit),
	of("current-timestamp", enginetest.TestCurrentTimestamp),
	of("tracing", enginetest.TestTracing),
	{name: "read-only", run: func(t *testing.T, h *harness) { enginetest.TestReadOnly(t, h, true) }},
	{name: "persist", run: persist},

	of("mysql-db", enginetest.TestMySqlDb),
	of("mysql-db-prepared", enginetest.TestMySqlDbPrepared),
	{name: "privileges", run: func(t *testing.T, h *harness) { enginetest.TestUserPrivileges(t, h) }},
	of("authentication", enginetest.TestUserAuthentication),
	of("privilege-persistence", enginetest.TestPrivilegePersistence),

	of("charset-collation", enginetest.TestCharsetCollationEngine),
	{name: "charset-collation-wire", run: func(t *testing.T, h *harness) {
		enginetest.TestCharsetCollationWire(t, h, h.SessionBuilder())
	}},
	{name: "database-collation-wire", run: func(t *testing.T, h *harness) {
		enginetest.TestDatabaseCollationWire(t, h, h.SessionBuilder())
	}},
	{name: "types-wire", run: func(t *testing.T, h *harness) { enginetest.TestTypesOverWire(t, h, h.SessionBuilder()) }},
	of("blobs", enginetest.TestBlobs),
	of("numeric-errors", enginetest.TestNumericErrorScripts),
	of("convert", enginetest.TestConvert),
	of("convert-prepared", enginetest.TestConvertPrepared),
	of("date-parse", enginetest.TestDateParse),
	of("ansi-quotes", enginetest.TestAnsiQuotesSqlMode),
	of("ansi-quotes-prepared", enginetest.TestAnsiQuotesSqlModePrepared),
	{name: "json", run: func(t *testing.T, h *harness) { enginetest.TestJsonScripts(t, h, nil) }},
	{name: "json-prepared", run: func(t *testing.T, h *harness) { enginetest.TestJsonScriptsPrepared(t, h, nil) }},
	of("json-table", enginetest.TestJSONTableQueries),
	of("json-table-prepared", enginetest.TestJSONTableQueriesPrepared),
	of("json-table-scripts", enginetest.TestJSONTableScripts),
	of("json-table-scripts-prepared", enginetest.TestJSONTableScriptsPrepared),
	of("spatial-queries", enginetest.TestSpatialQueries),
	of("spatial-queries-prepared", enginetest.TestSpatialQueriesPrepared),
	of("spatial-insert", enginetest.TestSpatialInsertInto),
	of("spatial-update", enginetest.TestSpatialUpdate),
	of("spatial-delete", enginetest.TestSpatialDelete),
	of("spatial-scripts", enginetest.TestSpatialScripts),
	of("spatial-scripts-prepared", enginetest.TestSpatialScriptsPrepared),
	of("sql-logic", enginetest.TestSQLLogicTests),
}

func persist(t *testing.T, h *harness) {
	enginetest.TestPersist(t, h, func(*gms.Context) gms.PersistableSession {
		return h.NewSession().Session.(gms.PersistableSession)
	})
}

// enginetestDir is the source directory of enginetest.
func enginetestDir() string {
	f := runtime.FuncForPC(reflect.ValueOf(enginetest.TestQueries).Pointer())
	file, _ := f.FileLine(f.Entry())
	return filepath.Dir(file)
}
