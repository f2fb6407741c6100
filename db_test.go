package hearth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/hearthdb/hearth/internal/testbed"
)

// testOptions put a database into memory of the test's own.
func testOptions(tb testing.TB) *Options {
	return optionsIn(testbed.MemoryDir(tb))
}

// optionsIn are small, so that everything that can fill up does.
func optionsIn(memory string) *Options {
	return &Options{
		PoolSize: 16 << 20, RingSize: 4 << 20, SegmentSize: 4 << 20, LogSize: 16 << 20, MemoryDir: memory,
		Logger: slog.New(slog.DiscardHandler),
	}
}

func mustOpen(tb testing.TB, dir string, o *Options) *DB {
	tb.Helper()
	db, err := Open(context.Background(), dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

func mustSound(tb testing.TB, db *DB) {
	tb.Helper()
	problems, err := db.Check(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range problems {
		tb.Error(p)
	}
}

func TestLifeOfADatabase(t *testing.T) {
	ctx := context.Background()
	dir, o := t.TempDir(), testOptions(t)
	db := mustOpen(t, dir, o)
	if k := db.StartReport().Kind; k != StartNew {
		t.Errorf("first start: %q", k)
	}
	large := bytes.Repeat([]byte("large "), 100000)
	err := db.Update(ctx, func(tx *Tx) error {
		tree, err := tx.CreateTree("t")
		if err != nil {
			return err
		}
		for i := range 5000 {
			if err := tree.Put(fmt.Appendf(nil, "key%06d", i), fmt.Appendf(nil, "value %d", i)); err != nil {
				return err
			}
		}
		return tree.Put([]byte("large"), large)
	})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if round > 0 {
			db = mustOpen(t, dir, o)
		}
		err := db.View(ctx, func(tx *Tx) error {
			tree, err := tx.Tree("t")
			if err != nil {
				return err
			}
			n := 0
			c := tree.Cursor()
			for ok := c.Seek([]byte("key")); ok && bytes.HasPrefix(c.Key(), []byte("key")); ok = c.Next() {
				if want := fmt.Sprintf("key%06d", n); string(c.Key()) != want {
					return fmt.Errorf("key %d is %q", n, c.Key())
				}
				n++
			}
			if v, err := tree.Get([]byte("large")); err != nil || !bytes.Equal(v, large) {
				t.Errorf("large value: %d bytes, %v", len(v), err)
			}
			if _, err := tree.Get([]byte("none")); !errors.Is(err, ErrKeyNotFound) {
				t.Errorf("missing key: %v", err)
			}
			if n != 5000 {
				t.Errorf("%d keys, want 5000", n)
			}
			return c.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		mustSound(t, db)
		stop := db.Close
		if round == 1 {
			stop = func() error { return db.CloseFlush(ctx) }
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	db = mustOpen(t, dir, o)
	if k := db.StartReport().Kind; k != StartCleanRegion {
		t.Errorf("start after a clean stop: %q (%s)", k, db.StartReport().Why)
	}
	err = db.Update(ctx, func(tx *Tx) error { return tx.DropTree("t") })
	if err != nil {
		t.Fatal(err)
	}
	mustSound(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
