package hearth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/hearthdb/hearth"
)

// open is a database for an example, in a directory that goes when the example is done.
func open() (db *hearth.DB, done func()) {
	dir, err := os.MkdirTemp("", "hearth-example-")
	if err != nil {
		log.Fatal(err)
	}
	db, err = hearth.Open(context.Background(), dir, &hearth.Options{
		PoolSize: 16 << 20, SegmentSize: 4 << 20, LogSize: 16 << 20,
		Memory: hearth.MemoryOff, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "hearth-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	db, err := hearth.Open(ctx, dir, &hearth.Options{
		PoolSize: 64 << 20,         // of pages in memory that outlives the process
		Memory:   hearth.MemoryOff, // but not for an example
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = db.Update(ctx, func(tx *hearth.Tx) error {
		people, err := tx.CreateTree("people")
		if err != nil {
			return err
		}
		return people.Put([]byte("ada"), []byte("1815"))
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(ctx, func(tx *hearth.Tx) error {
		people, err := tx.Tree("people")
		if err != nil {
			return err
		}
		born, err := people.Get([]byte("ada"))
		if err != nil {
			return err
		}
		fmt.Printf("Ada was born in %s.\n", born)
		_, err = people.Get([]byte("bob"))
		fmt.Println("Bob:", err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// Ada was born in 1815.
	// Bob: no such key
}

func ExampleDB_Begin() {
	db, done := open()
	defer done()
	ctx := context.Background()

	tx, err := db.Begin(ctx, hearth.TxOptions{Isolation: hearth.ReadCommitted, LockWait: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // does nothing after a Commit
	t, err := tx.CreateTree("t")
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Insert([]byte("k"), []byte("1")); err != nil {
		log.Fatal(err)
	}
	err = t.Insert([]byte("k"), []byte("2"))
	fmt.Println("again:", errors.Is(err, hearth.ErrKeyExists))
	if err := tx.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("and rolled back:", tx.Rollback())
	// Output:
	// again: true
	// and rolled back: the transaction has ended
}

func ExampleCursor() {
	db, done := open()
	defer done()

	err := db.Update(context.Background(), func(tx *hearth.Tx) error {
		t, err := tx.CreateTree("planets")
		if err != nil {
			return err
		}
		for i, name := range strings.Fields("mercury venus earth mars jupiter saturn uranus neptune") {
			if err := t.Put([]byte(name), fmt.Append(nil, i+1)); err != nil {
				return err
			}
		}
		c := t.Cursor()
		defer c.Close()
		for ok := c.Seek([]byte("m")); ok && bytes.HasPrefix(c.Key(), []byte("m")); ok = c.Next() {
			fmt.Printf("%s is number %s\n", c.Key(), c.Value())
		}
		if c.Last() {
			fmt.Printf("the last is %s", c.Key())
		}
		if c.Prev() {
			fmt.Printf(", before it comes %s\n", c.Key())
		}
		return c.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// mars is number 4
	// mercury is number 1
	// the last is venus, before it comes uranus
}

func ExampleTx_RollbackTo() {
	db, done := open()
	defer done()

	err := db.Update(context.Background(), func(tx *hearth.Tx) error {
		t, err := tx.CreateTree("t")
		if err != nil {
			return err
		}
		if err := t.Put([]byte("a"), []byte("kept")); err != nil {
			return err
		}
		sp := tx.Savepoint()
		if err := t.Put([]byte("a"), []byte("changed")); err != nil {
			return err
		}
		if err := t.Put([]byte("b"), []byte("new")); err != nil {
			return err
		}
		if err := tx.RollbackTo(sp); err != nil { // as when a statement fails half way
			return err
		}
		a, err := t.Get([]byte("a"))
		if err != nil {
			return err
		}
		_, missing := t.Get([]byte("b"))
		fmt.Printf("a is %s, b: %v\n", a, missing)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: a is kept, b: no such key
}

// Values up to 4 GiB go in and come out piece by piece.
func ExampleTree_PutReader() {
	db, done := open()
	defer done()
	ctx := context.Background()

	const size = 3 << 20
	err := db.Update(ctx, func(tx *hearth.Tx) error {
		t, err := tx.CreateTree("files")
		if err != nil {
			return err
		}
		return t.PutReader([]byte("zeroes"), io.LimitReader(zeroes{}, size), size)
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(ctx, func(tx *hearth.Tx) error {
		t, err := tx.Tree("files")
		if err != nil {
			return err
		}
		r, err := t.OpenValue([]byte("zeroes"))
		if err != nil {
			return err
		}
		if _, err := r.Seek(-10, io.SeekEnd); err != nil {
			return err
		}
		tail, err := io.ReadAll(r)
		fmt.Println(r.Size(), "bytes, the last of them", tail)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 3145728 bytes, the last of them [0 0 0 0 0 0 0 0 0 0]
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A read that is to be the base of a write takes a lock. Without one, two transactions may both read 1 and both write 2.
func ExampleTree_GetForUpdate() {
	db, done := open()
	defer done()
	ctx := context.Background()

	increment := func(tx *hearth.Tx) error {
		t, err := tx.Tree("counters")
		if err != nil {
			return err
		}
		v, err := t.GetForUpdate([]byte("visits"), hearth.LockOptions{})
		if err != nil {
			return err
		}
		var n int
		if _, err := fmt.Sscan(string(v), &n); err != nil {
			return err
		}
		return t.Put([]byte("visits"), fmt.Append(nil, n+1))
	}

	err := db.Update(ctx, func(tx *hearth.Tx) error {
		t, err := tx.CreateTree("counters")
		if err != nil {
			return err
		}
		return t.Put([]byte("visits"), []byte("0"))
	})
	if err != nil {
		log.Fatal(err)
	}
	errs := make(chan error)
	for range 10 {
		go func() { errs <- db.Update(ctx, increment) }()
	}
	for range 10 {
		if err := <-errs; err != nil {
			log.Fatal(err)
		}
	}
	err = db.View(ctx, func(tx *hearth.Tx) error {
		t, err := tx.Tree("counters")
		if err != nil {
			return err
		}
		v, err := t.Get([]byte("visits"))
		fmt.Printf("%s visits\n", v)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 10 visits
}

// Many rows in key order go into a tree of one's own page by page.
func ExampleTree_Load() {
	db, done := open()
	defer done()

	err := db.Update(context.Background(), func(tx *hearth.Tx) error {
		t, err := tx.CreateTree("numbers")
		if err != nil {
			return err
		}
		err = t.Load(func(yield func(k, v []byte) bool) {
			for i := range 100000 {
				if !yield(fmt.Appendf(nil, "%06d", i), []byte("row")) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		n, err := t.Estimate([]byte("020000"), []byte("070000"))
		fmt.Println("about 50000:", n > 45000 && n < 55000)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: about 50000: true
}
