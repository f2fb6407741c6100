package dict

import (
	"context"
	"fmt"
	"sync"

	"github.com/hearthdb/hearth"
)

// idBatch is how many ids are reserved at a time: one log write for as many, and so many are lost by a stop. There are 2^64.
const idBatch = 1024

// ids gives out numbers. Those up to limit are reserved in the tree.
type ids struct {
	mu          sync.Mutex
	next, limit uint64 // next is the last one given out
	reserve     func(limit uint64) error
}

// NewID returns a number that nobody had before and nobody will get again (rule 7). It is above 0. It fails when the log cannot be
// written, or when hearth.ErrTooManyWriters.
func (d *Dict) NewID() (uint64, error) {
	i := &d.ids
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next == i.limit {
		if err := i.reserve(i.limit + idBatch); err != nil {
			return 0, fmt.Errorf("reserve ids: %w", err)
		}
		i.limit += idBatch
	}
	i.next++
	return i.next, nil
}

// reserveIDs writes the limit, durably: an id that was seen anywhere must not come again, even if the transaction it was for is lost.
func (d *Dict) reserveIDs(limit uint64) error {
	return d.update(context.Background(), hearth.DurabilityCommit, dictionaryTree, func(tree *hearth.Tree) error {
		return tree.Put([]byte(idKey), encode(recordOfID(limit)))
	})
}

// update runs a small transaction of the dictionary's own on one tree.
func (d *Dict) update(ctx context.Context, durability hearth.Durability, name string, fn func(*hearth.Tree) error) error {
	if d.closed.Load() {
		return ErrClosed
	}
	return d.updateTree(ctx, durability, name, fn)
}

func (d *Dict) updateTree(ctx context.Context, durability hearth.Durability, name string, fn func(*hearth.Tree) error) error {
	tx, err := d.db.Begin(ctx, hearth.TxOptions{Durability: durability})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	tree, err := tx.Tree(name)
	if err != nil {
		return err
	}
	if err := fn(tree); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
