package file

import (
	"errors"
	"io/fs"
)

// OpKind says what a call does.
type OpKind uint8

const (
	OpOpen OpKind = iota
	OpRead
	OpWrite
	OpSync
	OpTruncate
	OpAllocate
	OpPunch
	OpRemove
	OpRename
	OpMkdir
	OpSyncDir
	OpReadDir
	OpStat // Stat, Size and Free
)

var opNames = [...]string{"open", "read", "write", "sync", "truncate", "allocate", "punch", "remove", "rename", "mkdir", "syncdir", "readdir", "stat"}

func (k OpKind) String() string { return opNames[k] }

// Changes says whether a crash before such a call may leave another disk than a crash after it.
func (k OpKind) Changes() bool { return k != OpRead && k != OpReadDir && k != OpStat }

// Op is a call that is about to happen on a Mem.
type Op struct {
	N       int // which call on this disk it is, from 1
	Kind    OpKind
	Name    string
	NewName string // of OpRename
	Off     int64
	Len     int64
}

// ShortError, returned by a hook before a read or a write, lets the first Done bytes happen and then fails with Err.
type ShortError struct {
	Done int
	Err  error
}

func (e *ShortError) Error() string { return "cut short: " + e.Err.Error() }
func (e *ShortError) Unwrap() error { return e.Err }

// OnOp sets the function called before every call, outside of all locks, so it may Clone. When it returns an error,
// the call does nothing (but see ShortError) and fails with that. nil takes the hook away. Clones have none.
func (m *Mem) OnOp(hook func(op Op) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = hook
}

func (m *Mem) before(op Op) error {
	m.mu.Lock()
	m.ops++
	op.N = m.ops
	hook := m.hook
	m.mu.Unlock()
	if hook == nil {
		return nil
	}
	if err := hook(op); err != nil {
		return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err}
	}
	return nil
}

// short is how many of n bytes still happen when the hook said err.
func short(err error, n int64) int64 {
	var s *ShortError
	if errors.As(err, &s) {
		return min(int64(s.Done), n)
	}
	return 0
}
