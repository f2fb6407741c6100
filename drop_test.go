package hearth

import (
	"context"
	"errors"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
)

// TestTreeGoneWhileOpen: opening a tree holds no snapshot, so it may be dropped, and its file be gone, before it is first read.
// Every use then says so, and the transaction goes on.
func TestTreeGoneWhileOpen(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.Update(ctx, func(tx *Tx) error {
		tree, err := tx.CreateTree("t")
		if err != nil {
			return err
		}
		for i := range 1000 {
			if err := tree.Put([]byte(mainKey(i)), make([]byte, 100)); err != nil {
				return err
			}
		}
		return nil
	}))
	uses := map[string]func(*Tree) error{
		"get":    func(tree *Tree) error { _, err := tree.Get([]byte("k")); return err },
		"put":    func(tree *Tree) error { return tree.Put([]byte("k"), nil) },
		"delete": func(tree *Tree) error { _, err := tree.Delete([]byte("k")); return err },
		"lock":   func(tree *Tree) error { _, err := tree.GetForUpdate([]byte("k"), LockOptions{}); return err },
		"cursor": func(tree *Tree) error {
			c := tree.Cursor()
			defer c.Close()
			if c.First() {
				return errors.New("it has a first key")
			}
			return c.Err()
		},
		"estimate": func(tree *Tree) error { _, err := tree.Estimate(nil, nil); return err },
		"value":    func(tree *Tree) error { _, err := tree.OpenValue([]byte("k")); return err },
	}
	txs := map[string]*Tx{}
	trees := map[string]*Tree{}
	for name := range uses {
		tx, err := db.Begin(ctx, TxOptions{})
		must(err)
		tree, err := tx.Tree("t")
		must(err)
		txs[name], trees[name] = tx, tree
	}
	must(db.Update(ctx, func(tx *Tx) error { return tx.DropTree("t") }))
	must(db.txns.WaitIdle(ctx))
	for name, use := range uses {
		if err := use(trees[name]); !errors.Is(err, ErrTreeNotFound) {
			t.Errorf("%s: error is %v, want %v", name, err, ErrTreeNotFound)
		}
		other, err := txs[name].CreateTree(name)
		must(err)
		must(other.Put([]byte("k"), nil))
		must(txs[name].Commit(ctx))
	}
	must(checkSound(ctx, db))
}
