package hearth

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkBegin is what a statement pays for its transaction alone.
func BenchmarkBegin(b *testing.B) {
	db := mustOpen(b, b.TempDir(), testOptions(b))
	defer db.CloseFlush(context.Background())
	ctx := context.Background()
	b.Run("empty", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := db.View(ctx, func(*Tx) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := db.Update(ctx, func(tx *Tx) error { return put(tx, "t", "k", "v") }); err != nil {
		b.Fatal(err)
	}
	b.Run("tree and get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			err := db.View(ctx, func(tx *Tx) error {
				t, err := tx.Tree("t")
				if err != nil {
					return err
				}
				_, err = t.Get([]byte("k"))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTree opens trees by name: in a usual transaction, in one that has seen the catalog change since it began, and in one
// that has changed it itself.
func BenchmarkTree(b *testing.B) {
	db := mustOpen(b, b.TempDir(), testOptions(b))
	defer db.CloseFlush(context.Background())
	ctx := context.Background()
	const trees = 100
	var names [trees]string
	err := db.Update(ctx, func(tx *Tx) error {
		for i := range names {
			names[i] = fmt.Sprintf("t/%08x/1", i)
			if _, err := tx.CreateTree(names[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	open := func(b *testing.B, tx *Tx) {
		defer tx.Rollback()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := tx.Tree(names[i%trees]); err != nil {
				b.Fatal(err)
			}
		}
	}
	begin := func() *Tx {
		tx, err := db.Begin(ctx, TxOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return tx
	}
	b.Run("usual", func(b *testing.B) { open(b, begin()) })
	b.Run("catalog changed since", func(b *testing.B) {
		tx := begin()
		if err := db.Update(ctx, func(tx *Tx) error { return put(tx, b.Name()+fmt.Sprint(b.N), "k", "v") }); err != nil {
			b.Fatal(err)
		}
		open(b, tx)
	})
	b.Run("catalog changed itself", func(b *testing.B) {
		tx := begin()
		if err := put(tx, "mine", "k", "v"); err != nil {
			b.Fatal(err)
		}
		open(b, tx)
	})
}

// BenchmarkCreateDrop makes and drops small trees, each in a transaction of its own, on a real disk.
func BenchmarkCreateDrop(b *testing.B) {
	db := mustOpen(b, b.TempDir(), testOptions(b))
	defer db.CloseFlush(context.Background())
	ctx := context.Background()
	for b.Loop() {
		if err := db.Update(ctx, func(tx *Tx) error { return put(tx, "t", "k", "v") }); err != nil {
			b.Fatal(err)
		}
		if err := db.Update(ctx, func(tx *Tx) error { return tx.DropTree("t") }); err != nil {
			b.Fatal(err)
		}
	}
}
