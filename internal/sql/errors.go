package sql

import (
	"context"
	"errors"
	"syscall"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// Numbers of MySQL's errors that package mysql has no name for.
const (
	erTableDefChanged = 1412
	erTooManyWriters  = 1637
	erLockNoWait      = 3572
	erKeyTooLong      = 1071
	erRowTooBig       = 1118
	erDiskFull        = 1021
	erServerShutdown  = 1053
	erStorageEngine   = 1030
)

// sqlErrors says what an error of the engine or of the dictionary is to a client. The first line that matches counts.
var sqlErrors = []struct {
	is     error
	number int
	state  string
	text   string // empty: the error's own
}{
	{hearth.ErrDeadlock, mysql.ERLockDeadlock, "40001", "Deadlock found when trying to get lock; try restarting transaction"},
	{dict.ErrDeadlock, mysql.ERLockDeadlock, "40001", "Deadlock found when trying to get lock; try restarting transaction"},
	{hearth.ErrLockWaitTimeout, mysql.ERLockWaitTimeout, "HY000", "Lock wait timeout exceeded; try restarting transaction"},
	{dict.ErrLockWait, mysql.ERLockWaitTimeout, "HY000", "Lock wait timeout exceeded; try restarting transaction"},
	{hearth.ErrLocked, erLockNoWait, "HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."},
	{hearth.ErrTreeNotFound, erTableDefChanged, "HY000", "Table definition has changed, please retry transaction"},
	{hearth.ErrTooManyWriters, erTooManyWriters, "HY000", "Too many active concurrent transactions"},
	{hearth.ErrKeyTooLarge, erKeyTooLong, "42000", "Specified key was too long; max key length is 3072 bytes"},
	{hearth.ErrValueTooLarge, erRowTooBig, "42000", "Row size too large"},
	{syscall.ENOSPC, erDiskFull, "HY000", "Disk full; waiting for someone to free some space..."},
	{hearth.ErrClosed, erServerShutdown, "08S01", "Server shutdown in progress"},
	{hearth.ErrDead, erStorageEngine, "HY000", ""},
}

// sqlError makes an error of the engine or of the dictionary one that a client of MySQL knows. Others it leaves as they are:
// those of GMS have their kinds, and a context's error is the server's to name.
func sqlError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, hearth.ErrReadOnly) {
		return gms.ErrReadOnlyTransaction.New()
	}
	for _, e := range sqlErrors {
		if errors.Is(err, e.is) {
			text := e.text
			if text == "" {
				text = err.Error()
			}
			return mysql.NewSQLError(e.number, e.state, "%s", text)
		}
	}
	return err
}

// isDeadlock: the error ended the whole transaction.
func isDeadlock(err error) bool {
	err = gms.UnwrapError(err)
	var e *mysql.SQLError
	return errors.As(err, &e) && e.Num == mysql.ERLockDeadlock ||
		errors.Is(err, hearth.ErrDeadlock) || errors.Is(err, dict.ErrDeadlock)
}
