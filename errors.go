package hearth

import (
	"errors"
	"fmt"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/recovery"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/txn"
	"github.com/hearthdb/hearth/internal/wal"
)

// Errors that a caller may want to tell apart with errors.Is.
var (
	ErrKeyNotFound     = txn.ErrKeyNotFound
	ErrKeyExists       = txn.ErrKeyExists
	ErrKeyTooLarge     = txn.ErrKeyTooLarge
	ErrValueTooLarge   = txn.ErrValueTooLarge
	ErrTreeNotFound    = txn.ErrTreeNotFound
	ErrTreeExists      = errors.New("a tree of that name exists")
	ErrTreeName        = errors.New("a tree name must have 1 to 255 bytes")
	ErrReadOnly        = txn.ErrReadOnly
	ErrTxDone          = txn.ErrTxDone
	ErrNoSavepoint     = txn.ErrNoSavepoint
	ErrLockWaitTimeout = txn.ErrLockWaitTimeout // the statement failed, the transaction goes on
	ErrDeadlock        = txn.ErrDeadlock        // the transaction was rolled back; try it again
	ErrLocked          = txn.ErrLocked          // LockOptions.NoWait, and somebody has the lock
	ErrTooManyWriters  = txn.ErrTooManyWriters  // Options.MaxWriters
	ErrClosed          = errors.New("the database is closed")
	ErrInUse           = errors.New("the database is in use")
	ErrMemoryInUse     = region.ErrInUse // and an ErrInUse: by a copy of this database that runs on this machine
	ErrDead            = wal.ErrDead     // the disk failed; reopen the database
	ErrNoDatabase      = recovery.ErrNoControl
	ErrForeignDump     = heat.ErrForeign // a heat dump of other data
	ErrNoDump          = heat.ErrNoDump  // no heat dump is there
	ErrNotDump         = heat.ErrNotDump // a file that is no heat dump
)

// CorruptError reports bytes on the disk or in memory that contradict themselves.
type CorruptError = page.CorruptError

// DamagedDumpError reports a heat dump whose bytes contradict themselves. Nothing else is lost with it.
type DamagedDumpError = heat.DamagedError

// mapError gives errors of the rooms below their public name.
func mapError(err error) error {
	if errors.Is(err, pool.ErrClosed) {
		return ErrClosed
	}
	if errors.As(err, new(datafile.ErrNoSpace)) {
		return fmt.Errorf("%w: it was dropped, or its file is missing: %w", ErrTreeNotFound, err)
	}
	return err
}
