package hearth

import (
	"io"
	"iter"

	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/txn"
)

// Limits of keys and values, in bytes.
const (
	MaxKeySize   = 3072
	MaxValueSize = txn.MaxValue
)

// Tree is an ordered map from keys to values, as one transaction sees it. Keys are ordered byte by byte.
type Tree struct {
	tx    *Tx
	state *treeState
	name  string
	mine  bool // created by this transaction, so nobody else can see it

	savepoints int // the transaction had taken when it created the tree
}

// Name of the tree.
func (t *Tree) Name() string { return t.name }

// ReadOptions say what a read sees. The zero value: the transaction's snapshot and all its own writes, as Get and Cursor do.
type ReadOptions struct {
	// Current: what is committed when GetWith or CursorWith is called, instead of the transaction's snapshot.
	Current bool
	// Before, when it was taken: of the transaction's own writes only those made before that savepoint, so that a statement does
	// not meet the rows it has just written. A later RollbackTo or Statement does not matter to it.
	Before Savepoint
}

func (o ReadOptions) txn() txn.ReadOptions {
	return txn.ReadOptions{Current: o.Current, Before: o.Before.sp}
}

// Get returns the value of key in the transaction's snapshot, or ErrKeyNotFound. The slice is the caller's for good.
func (t *Tree) Get(key []byte) ([]byte, error) { return t.GetTo(nil, key) }

// GetTo is Get that appends the value to dst.
func (t *Tree) GetTo(dst, key []byte) ([]byte, error) {
	if err := t.tx.usable(); err != nil {
		return dst, err
	}
	v, err := t.tx.tx.Get(t.tx.ctx, t.state.tree, key, dst)
	if err != nil {
		return dst, t.tx.fail(err)
	}
	return v, nil
}

// GetWith is GetTo that sees what o says.
func (t *Tree) GetWith(dst, key []byte, o ReadOptions) ([]byte, error) {
	if err := t.tx.usable(); err != nil {
		return dst, err
	}
	v, err := t.tx.tx.GetWith(t.tx.ctx, t.state.tree, key, dst, o.txn())
	if err != nil {
		return dst, t.tx.fail(err)
	}
	return v, nil
}

// Put sets the value of key.
func (t *Tree) Put(key, value []byte) error {
	if err := t.enter(); err != nil {
		return err
	}
	return t.tx.fail(t.tx.tx.Put(t.tx.ctx, t.state.tree, key, value))
}

// Insert sets the value of a key that must not be there: ErrKeyExists.
func (t *Tree) Insert(key, value []byte) error {
	if err := t.enter(); err != nil {
		return err
	}
	return t.tx.fail(t.tx.tx.Insert(t.tx.ctx, t.state.tree, key, value))
}

// Delete removes key and says whether it was there. If not, nothing is changed and that is no error.
func (t *Tree) Delete(key []byte) (found bool, err error) {
	if err := t.enter(); err != nil {
		return false, err
	}
	found, err = t.tx.tx.Delete(t.tx.ctx, t.state.tree, key)
	return found, t.tx.fail(err)
}

// LockOptions say how a locking read waits.
type LockOptions struct {
	NoWait bool // ErrLocked instead of waiting
	// Before, when it was taken: the value is the one before the transaction's own writes at or after that savepoint, or
	// ErrKeyNotFound if there was none. The zero value: its latest own value. The lock is the same.
	Before Savepoint
}

// GetForUpdate locks key exclusively until the transaction ends, whether it is there or not, and returns its latest
// committed value, or the transaction's own (see LockOptions.Before). ErrKeyNotFound: it is not there, and locked.
func (t *Tree) GetForUpdate(key []byte, opts LockOptions) ([]byte, error) {
	return t.lock(key, lock.Exclusive, opts)
}

// GetForShare is GetForUpdate with a shared lock.
func (t *Tree) GetForShare(key []byte, opts LockOptions) ([]byte, error) {
	return t.lock(key, lock.Shared, opts)
}

func (t *Tree) lock(key []byte, mode lock.Mode, opts LockOptions) ([]byte, error) {
	if err := t.tx.usable(); err != nil {
		return nil, err
	}
	v, err := t.tx.tx.Lock(t.tx.ctx, t.state.tree, key, mode, txn.LockOptions{NoWait: opts.NoWait, Before: opts.Before.sp}, nil)
	if err != nil {
		return nil, t.tx.fail(err)
	}
	return v, nil
}

// PutReader sets the value of key to the next size bytes of r, without holding them in memory.
func (t *Tree) PutReader(key []byte, r io.Reader, size int64) error {
	if err := t.enter(); err != nil {
		return err
	}
	return t.tx.fail(t.tx.tx.PutStream(t.tx.ctx, t.state.tree, key, r, size))
}

// ValueReader reads a value piece by piece. It is good until its transaction ends, or takes another snapshot.
type ValueReader interface {
	io.ReadSeeker
	Size() int64
}

// OpenValue opens the value of key in the transaction's snapshot for reading, or says ErrKeyNotFound.
func (t *Tree) OpenValue(key []byte) (ValueReader, error) {
	if err := t.tx.usable(); err != nil {
		return nil, err
	}
	r, err := t.tx.tx.OpenValue(t.tx.ctx, t.state.tree, key)
	if err != nil {
		return nil, t.tx.fail(err)
	}
	return r, nil
}

// TreeSize is what a tree takes of the disk.
type TreeSize struct {
	Pages     int64 // in use, PageSize bytes each
	FileBytes int64 // length of its file: with free pages and room ahead, and without pages that are not yet written
}

// Size counts the pages of the tree, by its bitmaps: one page read for every 2 GiB of file.
func (t *Tree) Size() (TreeSize, error) {
	if err := t.tx.usable(); err != nil {
		return TreeSize{}, err
	}
	space := t.state.tree.Space()
	inFile, err := t.tx.db.files.Pages(space.No())
	if err != nil {
		return TreeSize{}, mapError(err)
	}
	pages, err := space.Used(t.tx.ctx, inFile)
	return TreeSize{Pages: pages, FileBytes: inFile * PageSize}, mapError(err)
}

// Estimate guesses how many keys lie in [lo, hi), from the pages on the way to the two; nil bounds are infinite. Keys that
// other transactions have inserted or deleted lately may count.
func (t *Tree) Estimate(lo, hi []byte) (uint64, error) {
	if err := t.tx.usable(); err != nil {
		return 0, err
	}
	n, err := t.state.tree.Estimate(t.tx.ctx, lo, hi)
	return n, mapError(err)
}

// Load puts the pairs of seq into the tree; keys must ascend. A tree that this transaction created, without a savepoint or
// statement since, and has not put anything into yet is filled page by page, many times faster than by Put; any other tree by Put.
func (t *Tree) Load(seq iter.Seq2[[]byte, []byte]) error {
	if err := t.enter(); err != nil {
		return err
	}
	return t.tx.fail(t.tx.tx.Load(t.tx.ctx, t.state.tree, t.mine && t.savepoints == t.tx.savepoints, seq))
}
