package hearth

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
)

// What a layer of SQL statements over the transactions needs.

// TestSetContext: the end of a statement's context ends its wait for a lock, and not its transaction.
func TestSetContext(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	must := mustOf(t)
	must(db.Update(ctx, func(tx *Tx) error { return put(tx, "t", "k", "0") }))
	holder, err := db.Begin(ctx, TxOptions{})
	must(err)
	must(put(holder, "t", "k", "1"))

	tx, err := db.Begin(ctx, TxOptions{})
	must(err)
	must(put(tx, "t", "other", "2"))
	statement, kill := context.WithCancel(ctx)
	tx.SetContext(statement)
	ends := make(chan error, 1)
	go func() { ends <- put(tx, "t", "k", "2") }()
	waitFor(t, db, 1)
	kill()
	if err := <-ends; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	tx.SetContext(ctx)
	must(put(tx, "t", "another", "2"))
	must(holder.Rollback())
	must(put(tx, "t", "k", "2"))
	must(tx.Commit(ctx))
	must(db.View(ctx, func(tx *Tx) error {
		for _, k := range []string{"k", "other", "another"} {
			tree, err := tx.Tree("t")
			if err != nil {
				return err
			}
			if v, err := tree.Get([]byte(k)); err != nil || string(v) != "2" {
				return fmt.Errorf("%s is %q: %v", k, v, err)
			}
		}
		return nil
	}))
}

// TestTreesAndSavepoints: trees made and dropped since a savepoint are gone, or back, after a rollback to it.
func TestTreesAndSavepoints(t *testing.T) {
	ctx := context.Background()
	disk := file.NewMem(1)
	db := openMem(t, disk)
	must := mustOf(t)
	must(db.Update(ctx, func(tx *Tx) error { return put(tx, "old", "k", "0") }))
	sees := func(tx *Tx, want ...string) {
		t.Helper()
		got, err := tx.Trees()
		must(err)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("trees are %v, want %v", got, want)
		}
	}
	tx, err := db.Begin(ctx, TxOptions{})
	must(err)
	must(put(tx, "a", "k", "1"))
	sp := tx.Savepoint()
	for range 3 {
		must(put(tx, "b", "k", "1"))
		must(put(tx, "a", "k", "2"))
		must(tx.DropTree("old"))
		must(put(tx, "old", "k", "2")) // another one of that name
		must(tx.DropTree("a"))
		sees(tx, "b", "old")
		must(tx.RollbackTo(sp))
		sees(tx, "a", "old")
		if _, err := tx.Tree("b"); !errors.Is(err, ErrTreeNotFound) {
			t.Fatalf("after the rollback: %v, want %v", err, ErrTreeNotFound)
		}
		for name, want := range map[string]string{"a": "1", "old": "0"} {
			tree, err := tx.Tree(name)
			must(err)
			if v, err := tree.Get([]byte("k")); err != nil || string(v) != want {
				t.Fatalf("%s: k is %q (%v), want %q", name, v, err, want)
			}
		}
	}
	must(put(tx, "old", "k", "3"))
	must(tx.Commit(ctx))
	must(db.Update(ctx, func(tx *Tx) error {
		sees(tx, "a", "old")
		return put(tx, "b", "k", "4") // the name is free
	}))
	must(db.txns.WaitIdle(ctx))
	if n := len(db.files.Spaces()); n != 2+3 {
		t.Fatalf("%d files, want those of undo, catalog, a, b and old", n)
	}
	must(checkSound(ctx, db))
}

// put sets a key of a tree, which it makes when it is not there.
func put(tx *Tx, name, key, value string) error {
	tree, err := tx.Tree(name)
	if errors.Is(err, ErrTreeNotFound) {
		tree, err = tx.CreateTree(name)
	}
	if err != nil {
		return err
	}
	return tree.Put([]byte(key), []byte(value))
}

func mustOf(t testing.TB) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}
