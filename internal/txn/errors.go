package txn

import (
	"errors"
	"fmt"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/page"
)

var (
	ErrLockWaitTimeout = lock.ErrTimeout
	ErrDeadlock        = lock.ErrDeadlock
	ErrLocked          = lock.ErrLocked

	ErrKeyExists      = errors.New("the key exists")
	ErrKeyNotFound    = errors.New("no such key")
	ErrTreeNotFound   = errors.New("no such tree")
	ErrReadOnly       = errors.New("the transaction is read-only")
	ErrTxDone         = errors.New("the transaction has ended")
	ErrKeyTooLarge    = fmt.Errorf("the key is longer than %d bytes", btree.MaxKey)
	ErrValueTooLarge  = fmt.Errorf("the value is longer than %d bytes", int64(MaxValue))
	ErrTooManyWriters = errors.New("no room for another write transaction within the lock wait timeout (limit max-writers)")
	ErrNoSavepoint    = errors.New("the savepoint does not exist any more")
)

const (
	// MaxValue is the longest value in bytes: lengths in other formats are 32-bit.
	MaxValue = 1<<32 - 1
	// MaxInline is the longest value in bytes kept in the leaf: a quarter page, so that a leaf has a few entries.
	MaxInline = page.Size / 4
	// DefaultMaxWriters is the number of write transactions open at once.
	DefaultMaxWriters = 1000
	// MaxWritersLimit is how many slots the undo directory has room for.
	MaxWritersLimit = (page.Size - page.HeaderSize) / slotBytes
	// idBlock is how many ids one write of the undo directory reserves; a crash skips as many at most. 2^64 last long.
	idBlock = 1 << 16
	// piecesPerGroup bounds the overflow or undo pages that one group makes or frees: 12 pages are 200 KiB of log, which fits
	// a quarter of a ring of 1 MiB, and with as many bitmaps they are far below pool.MaxGroupPages.
	piecesPerGroup = 12
	// historySoft is how many undo records may wait for purge before new writers are slowed down: some 100 MB of undo.
	historySoft = 1 << 20
)
