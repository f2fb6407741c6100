package txn

import (
	"bytes"
	"context"
	"iter"

	"github.com/hearthdb/hearth/internal/btree"
)

// Load fills a tree from pairs in key order. With fresh the tree was made by this transaction, no savepoint was taken since,
// and nobody else can see it: then it is filled page by page and its entries have no undo records, for a rollback drops
// the whole space. Otherwise, or when the tree is not empty, this is Put for each pair.
func (tx *Tx) Load(ctx context.Context, t *btree.Tree, fresh bool, pairs iter.Seq2[[]byte, []byte]) error {
	if err := tx.checkWrite(nil, 0); err != nil {
		return err
	}
	if fresh {
		empty, err := t.Empty(ctx)
		if err != nil {
			return err
		}
		fresh = empty
	}
	if !fresh {
		for key, value := range pairs {
			if err := tx.Put(ctx, t, key, value); err != nil {
				return err
			}
		}
		return nil
	}
	w, err := tx.writer(ctx)
	if err != nil {
		return err
	}
	l := t.NewLoader(ctx)
	var cell []byte
	for key, value := range pairs {
		if err := tx.checkWrite(key, int64(len(value))); err != nil {
			return err
		}
		if len(value) > maxInline(key) {
			first, err := tx.writeChain(ctx, t, bytes.NewReader(value), int64(len(value)))
			if err != nil {
				return err
			}
			cell = appendVersion(cell[:0], versionFirst|versionLarge, w.id, w.last, appendRef(nil, int64(len(value)), first))
		} else {
			cell = appendVersion(cell[:0], versionFirst, w.id, w.last, value)
		}
		if err := l.Add(key, cell); err != nil {
			return err
		}
	}
	tx.staleCursors()
	return l.Finish()
}
