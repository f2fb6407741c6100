package dict

import (
	"context"
	"strings"
	"time"
)

// Mode of a metadata lock.
type Mode uint8

const (
	// Shared keeps a definition as it is: for statements that use it.
	Shared Mode = iota + 1
	// Exclusive keeps everybody else away: for statements that change it.
	Exclusive
)

// LockName is what a metadata lock is on: a table, or with an empty table a database.
type LockName struct{ Database, Table string }

// TableLock names a table, or view; DatabaseLock a database. Case does not matter.
func TableLock(database, table string) LockName {
	return LockName{strings.ToLower(database), strings.ToLower(table)}
}

// DatabaseLock names a database.
func DatabaseLock(database string) LockName { return TableLock(database, "") }

// Locks is the table of metadata locks. It may be used by many goroutines.
type Locks struct{}

// Owner is who holds metadata locks: a session. Like it, it is for one goroutine at a time.
type Owner struct{ connection uint32 }

// NewOwner makes an owner that holds nothing. The connection is for LockInfo.
func NewOwner(connection uint32) *Owner { return &Owner{connection: connection} }

// Acquire gets a lock, or makes a shared one exclusive, and keeps it until ReleaseAll. A lock on a table brings a shared one on its
// database. What the owner has it gets again at once. It waits at most so long (0: not at all): ErrLockWait; or until ctx ends: its
// error. ErrDeadlock: it would wait for somebody who waits for it.
func (l *Locks) Acquire(ctx context.Context, o *Owner, name LockName, mode Mode, wait time.Duration) error {
	panic("BUG: not written yet")
}

// ReleaseAll lets go of everything.
func (o *Owner) ReleaseAll() { panic("BUG: not written yet") }

// LockMark is a place among the locks of an owner.
type LockMark struct{ locks int }

// Mark returns the present place, for savepoints.
func (o *Owner) Mark() LockMark { panic("BUG: not written yet") }

// ReleaseTo lets go of what was acquired since m. A lock that was made exclusive since then stays exclusive.
func (o *Owner) ReleaseTo(m LockMark) { panic("BUG: not written yet") }

// LockInfo is one line of what is held and waited for.
type LockInfo struct {
	Name       LockName
	Mode       Mode
	Connection uint32
	Waiting    bool
	Since      time.Time // of the waiting, zero for what is held
	Blockers   []uint32  // connections that are waited for
}

// List takes a look at all locks and waiters. It is not of one moment.
func (l *Locks) List() []LockInfo { panic("BUG: not written yet") }
