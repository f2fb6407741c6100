package txn

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/page"
)

// all lists what a cursor shows.
func (w *world) all(tx *Tx, o ReadOptions) string {
	w.Helper()
	var b bytes.Buffer
	c := tx.CursorWith(w.tree, o)
	defer c.Close()
	for ok := c.First(bg); ok; ok = c.Next(bg) {
		fmt.Fprintf(&b, "%s=%.10s ", c.Key(), c.Value(bg))
	}
	w.must(c.Err())
	return b.String()
}

// shows: a cursor and reads one by one agree on what there is.
func (w *world) shows(tx *Tx, o ReadOptions, want string) {
	w.Helper()
	if got := w.all(tx, o); got != want {
		w.Fatalf("%+v: got %q, want %q", o, got, want)
	}
	var b bytes.Buffer
	for _, k := range []string{"a", "b", "c", "d", "e"} {
		v, err := tx.GetWith(bg, w.tree, []byte(k), nil, o)
		if err == nil {
			fmt.Fprintf(&b, "%s=%.10s ", k, v)
		} else if err != ErrKeyNotFound {
			w.Fatal(err)
		}
	}
	if b.String() != want {
		w.Fatalf("%+v: got %q one by one, want %q", o, b.String(), want)
	}
}

func TestBefore(t *testing.T) {
	w := newWorld(t, 512)
	w.set("a", "0")
	w.set("b", "0")
	w.set("c", "0")
	tx := w.begin()
	none := tx.Savepoint() // before its first write, and not the zero value
	w.put(tx, "a", "1")
	w.must(del(w, "b")(tx))
	w.put(tx, "d", string(large(20_000, '1')))
	w.shows(tx, ReadOptions{}, "a=1 c=0 d=\x00111111111 ")
	w.shows(tx, ReadOptions{Before: none}, "a=0 b=0 c=0 ")
	one := tx.Savepoint()
	w.put(tx, "a", "2")
	w.put(tx, "b", "2")
	w.must(del(w, "c")(tx))
	w.must(del(w, "d")(tx))
	w.put(tx, "e", "2")
	w.shows(tx, ReadOptions{}, "a=2 b=2 e=2 ")
	w.shows(tx, ReadOptions{Before: one}, "a=1 c=0 d=\x00111111111 ")
	w.shows(tx, ReadOptions{Before: none}, "a=0 b=0 c=0 ")
	two := tx.Savepoint()
	w.put(tx, "c", "3")
	w.must(tx.RollbackTo(bg, two))
	w.shows(tx, ReadOptions{Before: two}, "a=2 b=2 e=2 ")
	w.must(tx.RollbackTo(bg, one))
	w.shows(tx, ReadOptions{Before: one}, "a=1 c=0 d=\x00111111111 ")
	w.put(tx, "a", "4") // in the undo log this comes behind what was undone
	w.shows(tx, ReadOptions{}, "a=4 c=0 d=\x00111111111 ")
	w.shows(tx, ReadOptions{Before: one}, "a=1 c=0 d=\x00111111111 ")
	w.shows(tx, ReadOptions{Before: none}, "a=0 b=0 c=0 ")
	w.must(tx.RollbackTo(bg, none))
	w.shows(tx, ReadOptions{}, "a=0 b=0 c=0 ")
	w.must(tx.Commit(bg))
	w.clean()
}

func TestCurrent(t *testing.T) {
	w := newWorld(t, 512)
	w.m.Start()
	w.set("a", "0")
	tx := w.begin()
	w.has(tx, "a", "0")
	w.set("a", string(large(20_000, '1')))
	w.set("b", "1")
	c := tx.CursorWith(w.tree, ReadOptions{Current: true})
	w.set("b", "2")
	w.must(func() error { x := w.begin(); defer x.Commit(bg); return del(w, "a")(x) }())
	w.set("d", "2")
	sp := tx.Savepoint()
	w.put(tx, "c", "own")
	w.shows(tx, ReadOptions{}, "a=0 c=own ")
	w.shows(tx, ReadOptions{Current: true}, "b=2 c=own d=2 ")
	w.shows(tx, ReadOptions{Current: true, Before: sp}, "b=2 d=2 ")
	w.shows(tx, ReadOptions{Before: sp}, "a=0 ")
	// A cursor keeps to the moment it was made at, however much is purged meanwhile.
	if !c.First(bg) || string(c.Value(bg)) != string(large(20_000, '1')) || !c.Next(bg) || string(c.Value(bg)) != "1" ||
		!c.Next(bg) || string(c.Value(bg)) != "own" || c.Next(bg) || c.Err() != nil {
		t.Fatalf("at %q: %.20q, %v", c.Key(), c.Value(bg), c.Err())
	}
	w.must(tx.Commit(bg)) // closes c
	if c.Close(); c.Next(bg) || c.Err() != ErrTxDone {
		t.Fatal(c.Err())
	}
	w.clean() // nothing holds purge up any more
}

// A row that a statement has changed itself is locked and read in both ways.
func TestLockBefore(t *testing.T) {
	w := newWorld(t, 512)
	w.set("a", "0")
	w.set("b", "0")
	tx := w.begin()
	w.has(tx, "a", "0")
	w.set("a", "1") // the snapshot is older than this
	w.set("b", "1")
	sp := tx.Savepoint()
	w.put(tx, "a", "2")
	w.put(tx, "a", "3")
	w.must(del(w, "b")(tx))
	w.put(tx, "c", "3")
	for _, c := range []struct{ key, latest, before string }{{"a", "3", "1"}, {"b", "", "1"}, {"c", "3", ""}, {"d", "", ""}} {
		for _, o := range []LockOptions{{}, {Before: sp}} {
			want := c.latest
			if o.Before == sp {
				want = c.before
			}
			got, err := tx.Lock(bg, w.tree, []byte(c.key), lock.Exclusive, o, nil)
			if string(got) != want || (err == ErrKeyNotFound) != (want == "") {
				t.Fatalf("%s %+v: %q %v, want %q", c.key, o, got, err, want)
			}
		}
	}
	w.must(tx.Rollback(bg))
}

// An update that moves rows ahead of its scan meets none of them again.
func TestBeforeScanOfOwnUpdates(t *testing.T) {
	w := newWorld(t, 512)
	const rows = 2000
	key := func(i int) []byte { return fmt.Appendf(nil, "%08d", i) }
	tx := w.begin()
	for i := range rows {
		w.must(tx.Insert(bg, w.tree, key(i), []byte("0")))
	}
	for round := range 3 { // the first one in the transaction that inserted
		c := tx.CursorWith(w.tree, ReadOptions{Current: true, Before: tx.Statement()})
		n := 0
		for ok := c.First(bg); ok; ok = c.Next(bg) {
			old := bytes.Clone(c.Key())
			if want := key(round*rows + n); !bytes.Equal(old, want) {
				t.Fatalf("round %d: row %d is %s, want %s", round, n, old, want)
			}
			w.must(tx.Put(bg, w.tree, old, []byte("gone soon")))
			if _, err := tx.Delete(bg, w.tree, old); err != nil {
				t.Fatal(err)
			}
			w.must(tx.Put(bg, w.tree, key((round+1)*rows+n), []byte("moved")))
			n++
		}
		if c.Err() != nil || n != rows {
			t.Fatalf("round %d: %d rows, want %d: %v", round, n, rows, c.Err())
		}
		c.Close()
		if round > 0 {
			w.must(tx.Commit(bg))
			tx = w.begin()
		}
	}
	w.must(tx.Commit(bg))
	w.clean()
}

// Bulk-loaded rows have no undo records of their own, and are as old as their load.
func TestBeforeLoad(t *testing.T) {
	w := newWorld(t, 512)
	tx := w.begin()
	sp := tx.Savepoint()
	w.put(tx, "a", "1") // as the creation of a tree would
	loaded := w.makeTree(FirstUserSpace)
	w.must(tx.Load(bg, loaded, true, func(yield func(k, v []byte) bool) {
		_ = yield([]byte("b"), []byte("1")) && yield([]byte("c"), large(20_000, '1'))
	}))
	count := func(o ReadOptions) (n int) {
		c := tx.CursorWith(loaded, o)
		defer c.Close()
		for ok := c.First(bg); ok; ok = c.Next(bg) {
			n++
		}
		w.must(c.Err())
		return n
	}
	if n := count(ReadOptions{Before: sp}); n != 0 {
		t.Fatalf("%d rows were there before they were loaded", n)
	}
	if n := count(ReadOptions{Before: tx.Savepoint()}); n != 2 {
		t.Fatalf("%d rows are there after the load, want 2", n)
	}
	w.must(tx.Commit(bg))
}

// The pages of an undo log are in no order.
func TestWrote(t *testing.T) {
	w := writer{turned: map[uint32]int{9: 1, 3: 2, 7: 3}} // it began in page 5
	order := []uint64{page.UndoPtr(5, 200), page.UndoPtr(5, 300), page.UndoPtr(9, 64), page.UndoPtr(3, 64), page.UndoPtr(3, 900), page.UndoPtr(7, 64)}
	for i, a := range order {
		for j, b := range order {
			if got := w.wrote(a, b); got != (i <= j) {
				t.Errorf("record %d before or at %d: got %v", i, j, got)
			}
		}
		if w.wrote(a, 0) {
			t.Errorf("record %d was written before the first", i)
		}
	}
}
