package dict

import (
	"errors"
	"fmt"

	"github.com/dolthub/vitess/go/mysql"
)

// Errors as clients of MySQL know them, ready to be sent.
var (
	// ErrLockWait: a metadata lock was waited for in vain. The statement failed, the transaction goes on.
	ErrLockWait error = mysql.NewSQLError(mysql.ERLockWaitTimeout, "HY000", "Lock wait timeout exceeded; try restarting transaction")
	// ErrDeadlock: waiting for a metadata lock would have closed a cycle. The transaction has to be rolled back.
	ErrDeadlock error = mysql.NewSQLError(mysql.ERLockDeadlock, "40001", "Deadlock found when trying to get lock; try restarting transaction")
	// ErrAutoIncrement: the counter is at the end of its column's type.
	ErrAutoIncrement error = mysql.NewSQLError(1467, "HY000", "Failed to read auto-increment value from storage engine")
)

// Errors of changes that cannot be made.
var (
	// ErrConflict: the definition is not the one the change has seen. Somebody changed it without the metadata lock that keeps others
	// away, or looked at it before getting that lock (rule 4).
	ErrConflict = errors.New("the definition was changed meanwhile; get the exclusive metadata lock before reading it, and try again")
	// ErrExists: the name is taken. Wrapped, with the name.
	ErrExists = errors.New("exists already")
	// ErrNotFound: there is nothing of that name. Wrapped, with the name.
	ErrNotFound = errors.New("does not exist")
	// ErrNameTooLong: longer than MaxName. Wrapped, with the name.
	ErrNameTooLong error = mysql.NewSQLError(mysql.ERTooLongIdent, "42000", "Identifier name is too long")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the data dictionary is closed")
)

// RecordError reports a record of the dictionary that cannot be read.
type RecordError struct {
	Key string // in the tree it is in
	Err error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("data dictionary, record %q: %v", e.Key, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }
