package server

import (
	"regexp"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/sql"
)

// transactionStatement reads what begins and ends transactions, in the words that drivers send. Nil: it is none of these.
func transactionStatement(text string) ast.Statement {
	const longest = len("START TRANSACTION")
	if len(text) > longest {
		return nil
	}
	switch strings.ToUpper(text) {
	case "BEGIN", "START TRANSACTION":
		return &ast.Begin{}
	case "COMMIT":
		return &ast.Commit{}
	case "ROLLBACK":
		return &ast.Rollback{}
	}
	return nil
}

// transactionNode is the plan of such a statement, in which there is nothing to be bound or analysed. Nil: the statement is another.
func transactionNode(stmt ast.Statement) gms.Node {
	switch s := stmt.(type) {
	case *ast.Begin:
		if s.TransactionCharacteristic == ast.TxReadOnly {
			return plan.NewStartTransaction(gms.ReadOnly)
		}
		return plan.NewStartTransaction(gms.ReadWrite)
	case *ast.Commit:
		return plan.NewCommit()
	case *ast.Rollback:
		return plan.NewRollback()
	}
	return nil
}

// commitsBefore: MySQL commits the open transaction before the statement. GMS would do it after, and for some not at all.
func commitsBefore(stmt ast.Statement) bool {
	switch s := stmt.(type) {
	case *ast.DDL:
		return !s.Temporary
	case *ast.DBDDL, *ast.AlterTable, *ast.LockTables, *ast.Analyze, *ast.Flush:
		return true
	case *ast.CreateUser, *ast.RenameUser, *ast.DropUser, *ast.CreateRole, *ast.DropRole,
		*ast.GrantPrivilege, *ast.GrantRole, *ast.GrantProxy,
		*ast.RevokePrivilege, *ast.RevokeAllPrivileges, *ast.RevokeRole, *ast.RevokeProxy:
		return true
	}
	return false
}

// commitsAfter: what the statement itself did is committed, in whatever mode. GMS does it for definitions.
func commitsAfter(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.DDL, *ast.DBDDL, *ast.AlterTable:
		return false
	}
	return commitsBefore(stmt)
}

// snapshot is the clause of START TRANSACTION that the grammar reads and forgets.
var snapshot = regexp.MustCompile(`(?is)^\W*start\s+transaction\b.*\bwith\s+consistent\s+snapshot\b`)

func wantsSnapshot(text string) bool { return snapshot.MatchString(text) }

// nextTransaction reads SET TRANSACTION without SESSION or GLOBAL, which is about the next transaction only.
func nextTransaction(stmt ast.Statement) (sql.Characteristics, bool) {
	set, ok := stmt.(*ast.Set)
	if !ok || len(set.Exprs) == 0 {
		return sql.Characteristics{}, false
	}
	var next sql.Characteristics
	for _, e := range set.Exprs {
		v, isValue := e.Expr.(*ast.SQLVal)
		if !e.Name.EqualString(ast.TransactionStr) || e.Scope != ast.SetScope_None || !isValue {
			return sql.Characteristics{}, false
		}
		switch text := strings.ToLower(string(v.Val)); {
		case strings.HasPrefix(text, isolationLevel):
			next.Isolation = strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(text, isolationLevel), " ", "-"))
		case text == ast.TxReadOnly:
			next.ReadOnly = true
		}
	}
	return next, true
}

const isolationLevel = "isolation level "

func (cl *client) setNextTransaction(next sql.Characteristics) error {
	if cl.session.InTransaction() {
		return sqlError(1568, "25001", "Transaction characteristics can't be changed while a transaction is in progress")
	}
	cl.session.SetNextTransaction(next)
	return nil
}
