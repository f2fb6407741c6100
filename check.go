package hearth

import (
	"context"
	"fmt"

	"github.com/hearthdb/hearth/internal/check"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/txn"
)

// Check proves the database sound: it waits until everything that is left over from ended transactions is rolled back and
// purged, then reads every page of every file and holds them against each other. It returns what is wrong, one finding a
// line; none means sound. Nobody else may use the database meanwhile.
func (db *DB) Check(ctx context.Context) ([]string, error) {
	if db.closed.Load() {
		return nil, ErrClosed
	}
	if n := db.openTransactions(); n > 0 {
		return nil, fmt.Errorf("check: %d transactions are open", n)
	}
	if err := db.txns.WaitIdle(ctx); err != nil {
		return nil, fmt.Errorf("check: wait for rollback and purge: %w", err)
	}
	if err := db.awaitStart(ctx); err != nil {
		return nil, fmt.Errorf("check: wait for the rest of the start: %w", err)
	}
	named, err := db.namedTrees(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: read the catalog: %w", err)
	}
	problems, err := check.Run(ctx, check.Input{Pool: db.pool, Files: db.files, Trees: named})
	return problems, mapError(err)
}

// awaitStart waits for what the start left to do behind the first answer.
func (db *DB) awaitStart(ctx context.Context) error {
	select {
	case <-db.started:
		return db.startErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// namedTrees are the spaces in the newest version of each catalog entry, whoever wrote it, with the tree's name.
func (db *DB) namedTrees(ctx context.Context) (map[uint32]string, error) {
	named := map[uint32]string{}
	it := db.catalog.NewIter()
	for ok := it.First(ctx); ok; ok = it.Next(ctx) {
		c, ok := txn.ParseCell(it.Value())
		if !ok {
			return nil, &page.CorruptError{Page: page.MakeID(txn.CatalogSpace, 0), What: fmt.Sprintf("the catalog entry of tree %q is no version", it.Key())}
		}
		if c.Deleted {
			continue // its space goes when the deletion is purged; a rollback names it again
		}
		space, err := decodeCatalog(it.Key(), c.Value)
		if err != nil {
			return nil, err
		}
		named[space] = string(it.Key())
	}
	return named, it.Err()
}
