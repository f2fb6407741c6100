package hearth

import (
	"context"
	"errors"
	"testing"
)

// TestSpent: what a statement costs is counted for its context, and for no other.
func TestSpent(t *testing.T) {
	s := newSite(t)
	s.opts.Memory = MemoryOff
	db := s.open(StartNew, "")
	s.fill(db, 300)
	s.close(db)
	db = mustOpen(t, s.dir, &s.opts)
	defer s.close(db)

	var cold, warm, waited Spent
	for _, spent := range []*Spent{&cold, &warm} {
		err := db.View(Counting(t.Context(), spent), func(tx *Tx) error {
			tree, err := tx.Tree("left")
			if err != nil {
				return err
			}
			c := tree.Cursor()
			defer c.Close()
			for ok := c.First(); ok; ok = c.Next() {
			}
			return c.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if cold.PagesRead() == 0 || warm.PagesRead() != 0 {
		t.Errorf("read %d pages from the disk, and %d when they were in memory", cold.PagesRead(), warm.PagesRead())
	}

	key := []byte("a key")
	holder, err := db.Begin(t.Context(), TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	lock := func(tx *Tx) error {
		tree, err := tx.Tree("left")
		if err == nil {
			_, err = tree.GetForUpdate(key, LockOptions{})
		}
		if errors.Is(err, ErrKeyNotFound) {
			err = nil
		}
		return err
	}
	if err := lock(holder); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(Counting(t.Context(), &waited))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- db.Update(ctx, lock) }()
	waitFor(t, db, 1)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("a wait that was to be cut short: %v", err)
	}
	if waited.LockWait() == 0 || warm.LockWait() != 0 {
		t.Errorf("waited %v, and %v without a lock in the way", waited.LockWait(), warm.LockWait())
	}
}
