package hearth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/recovery"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/txn"
	"github.com/hearthdb/hearth/internal/wal"
)

// DB is an open database. It may be used by many goroutines.
type DB struct {
	dir  string
	opts Options

	lock         io.Closer
	files        *datafile.Set
	region       *region.Region
	log          *wal.Log
	source       *recovery.Source
	pool         *pool.Pool
	checkpointer *recovery.Checkpointer
	txns         *txn.Manager
	catalog      *btree.Tree
	warmer       *heat.Warmer
	trees        sync.Map // space uint32 → *treeState
	names        nameCache
	report       StartReport

	ctx  context.Context // of what runs behind the first answer
	stop context.CancelFunc
	wg   sync.WaitGroup

	redone   chan struct{} // closed when there is nothing left to redo, or redo failed
	started  chan struct{} // closed when nothing is left to do of the start
	logRead  chan struct{} // closed when what there is to redo is in memory
	warming  chan struct{} // closed when the load of the start has begun, or is not going to
	startErr error         // set before that
	ddlOpen  chan struct{} // closed when trees may be created and dropped

	closed    atomic.Bool
	open      [openStripes]openCount // transactions begun and not ended
	fatalOnce sync.Once
	dead      atomic.Pointer[error]
}

// openStripes spread the count of open transactions, so that those on different cores do not write to one cache line.
const openStripes = 16

type openCount struct {
	n atomic.Int64
	_ [56]byte
}

func (db *DB) openTransactions() int64 {
	var n int64
	for i := range db.open {
		n += db.open[i].n.Load()
	}
	return n
}

// StartReport tells what the start of this DB found and did.
func (db *DB) StartReport() StartReport {
	r := db.report
	r.TornPages = db.files.Mended()
	if err := db.pool.Short(); err != nil {
		r.PoolFrames, r.PoolShort = db.pool.Frames(), err.Error()
	}
	return r
}

// Update runs fn in a transaction and commits it. If fn returns an error or panics, the transaction is rolled back. A
// deadlock rolls it back too: the error is then ErrDeadlock, and Update may be called again.
func (db *DB) Update(ctx context.Context, fn func(*Tx) error) error {
	return db.run(ctx, TxOptions{}, fn)
}

// View runs fn in a read-only transaction.
func (db *DB) View(ctx context.Context, fn func(*Tx) error) error {
	return db.run(ctx, TxOptions{ReadOnly: true}, fn)
}

func (db *DB) run(ctx context.Context, opts TxOptions, fn func(*Tx) error) error {
	tx, err := db.Begin(ctx, opts)
	if err != nil {
		return err
	}
	defer func() {
		if !tx.done { // fn panicked, or returned an error
			tx.Rollback()
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if tx.done {
		return ErrTxDone
	}
	return tx.Commit(ctx)
}

// Checkpoint writes back all pages changed so far, so that a start without the region would have no log to read.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.closed.Load() {
		return ErrClosed
	}
	return mapError(db.checkpointer.Now(ctx))
}

// Close stops the database and leaves its pages, changed ones too, in the memory that survives: the next start takes
// them over. Without such memory it writes all changed pages first. Transactions that are still open are not committed.
func (db *DB) Close() error {
	return db.close(context.Background(), !db.region.Survives())
}

// CloseFlush stops the database with every page written to its file, and gives the memory back: for a stop after which
// the machine goes down, or the files are copied.
func (db *DB) CloseFlush(ctx context.Context) error { return db.close(ctx, true) }

func (db *DB) close(ctx context.Context, flush bool) error {
	if db.closed.Swap(true) {
		return ErrClosed
	}
	left := db.awaitTransactions()
	if flush { // what is left to redo is written too, or the next start would have it to do
		db.warmer.Cancel()
		// Not for orphans: those wait for losers, and a loser whose page cannot be read is tried for ever. Both are the next start's, too.
		select {
		case <-db.redone:
		case <-ctx.Done():
		}
	}
	db.stop()
	db.wg.Wait()
	db.warmer.Close(ctx, db.dead.Load() == nil)
	var errs []error
	keep := func(what string, err error) bool {
		if err != nil {
			errs = append(errs, fmt.Errorf("close: %s: %w", what, err))
		}
		return err == nil
	}
	healthy := db.dead.Load() == nil
	keep("transactions", db.txns.Close(ctx))
	flushed := flush && healthy && keep("write changed pages", db.checkpointer.Now(ctx))
	keep("checkpoint", db.checkpointer.Close(flushed))
	db.pool.Close()
	logged := keep("log", db.log.Close())
	switch {
	case flushed && logged:
		keep("memory", db.region.Remove())
	case logged && healthy:
		db.region.SetClean()
	}
	keep("log files", db.source.Close())
	keep("files", db.files.Close())
	if left == 0 {
		keep("memory", db.region.Close())
	} else { // somebody may still be reading a page
		db.opts.Logger.Warn("transactions were still open at Close; the memory stays mapped until the process ends", "open", left)
	}
	keep("lock", db.lock.Close())
	return errors.Join(errs...)
}

// closeWait is how long Close waits for open transactions to notice that the database is closed.
const closeWait = 5 * time.Second

// awaitTransactions waits for the open transactions, and returns how many were still open at last.
func (db *DB) awaitTransactions() int64 {
	deadline := time.Now().Add(closeWait)
	for {
		n := db.openTransactions()
		if n == 0 || time.Now().After(deadline) {
			return n
		}
		time.Sleep(time.Millisecond)
	}
}
