package txn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/lock"
)

func TestVisibility(t *testing.T) {
	w := newWorld(t, 512)
	w.m.Start()
	a := w.begin()
	w.put(a, "k", "1")
	w.has(a, "k", "1")
	w.committed("k", "")
	before := w.begin()
	w.has(before, "k", "") // the snapshot is taken here
	late := w.begin()      // and here not yet
	rc := w.begin(Options{Isolation: ReadCommitted})
	w.has(rc, "k", "")
	w.must(a.Commit(bg))
	w.committed("k", "1")
	w.has(before, "k", "")
	w.has(late, "k", "1")
	w.has(rc, "k", "")
	rc.Statement()
	w.has(rc, "k", "1")

	b := w.begin()
	if found, err := b.Delete(bg, w.tree, []byte("k")); !found || err != nil {
		t.Fatal(found, err)
	}
	if found, err := b.Delete(bg, w.tree, []byte("k")); found || err != nil {
		t.Fatal(found, err)
	}
	w.has(b, "k", "")
	w.committed("k", "1")
	w.must(b.Commit(bg))
	w.committed("k", "")
	w.has(late, "k", "1")
	w.has(before, "k", "")
	w.has(rc, "k", "1")
	for _, tx := range []*Tx{before, late, rc} {
		w.must(tx.Rollback(bg))
	}
	w.clean()
}

func TestErrors(t *testing.T) {
	w := newWorld(t, 512)
	ro := w.begin(Options{ReadOnly: true})
	if err := ro.Put(bg, w.tree, []byte("k"), nil); err != ErrReadOnly {
		t.Error(err)
	}
	w.must(ro.Commit(bg))
	if err := ro.Commit(bg); err != ErrTxDone {
		t.Error(err)
	}
	if _, err := ro.Get(bg, w.tree, []byte("k"), nil); err != ErrTxDone {
		t.Error(err)
	}
	tx := w.begin()
	if err := tx.Put(bg, w.tree, make([]byte, btree.MaxKey+1), nil); err != ErrKeyTooLarge {
		t.Error(err)
	}
	if err := tx.PutStream(bg, w.tree, []byte("k"), nil, MaxValue+1); err != ErrValueTooLarge {
		t.Error(err)
	}
	w.must(tx.Insert(bg, w.tree, []byte("k"), []byte("1")))
	if err := tx.Insert(bg, w.tree, []byte("k"), []byte("2")); err != ErrKeyExists {
		t.Error(err)
	}
	w.must(tx.Put(bg, w.tree, nil, nil)) // the empty key with an empty value
	if v, err := tx.Get(bg, w.tree, nil, nil); v == nil || len(v) != 0 || err != nil {
		t.Error(v, err)
	}
	w.must(tx.Rollback(bg))
	if err := tx.Rollback(bg); err != ErrTxDone {
		t.Error(err)
	}
	w.clean()
}

// The later writer waits and then works on what the earlier one committed, under repeatable read too.
func TestWriterWaits(t *testing.T) {
	w := newWorld(t, 512)
	w.m.Start()
	w.set("k", "0")
	for _, c := range []struct {
		name         string
		first        func(*Tx) error
		commit       bool
		second       func(*Tx) error
		want         error
		result, over string
	}{
		{"put put", put(w, "k", "a"), true, put(w, "k", "b"), nil, "b", "0"},
		{"put put, rolled back", put(w, "k", "a"), false, put(w, "k", "b"), nil, "b", "0"},
		{"insert insert", put(w, "n", "a"), true, insert(w, "n", "b"), ErrKeyExists, "a", ""},
		{"insert insert, rolled back", put(w, "n", "a"), false, insert(w, "n", "b"), nil, "b", ""},
		{"delete insert", del(w, "k"), true, insert(w, "k", "b"), nil, "b", "0"},
		{"delete insert, rolled back", del(w, "k"), false, insert(w, "k", "b"), ErrKeyExists, "0", "0"},
		{"delete delete", del(w, "k"), true, del(w, "k"), nil, "", "0"},
		{"lock put", locked(w, "k", lock.Exclusive), true, put(w, "k", "b"), nil, "b", "0"},
		{"share put", locked(w, "k", lock.Shared), true, put(w, "k", "b"), nil, "b", "0"},
		{"put share", put(w, "k", "a"), true, locked(w, "k", lock.Shared), nil, "a", "0"},
		{"put lock, rolled back", put(w, "k", "a"), false, locked(w, "k", lock.Exclusive), nil, "0", "0"},
		{"lock of nothing, insert", locked(w, "n", lock.Exclusive), true, insert(w, "n", "b"), nil, "b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := "k"
			if c.over == "" {
				key = "n"
			}
			a, b := w.begin(), w.begin()
			w.has(b, key, c.over)
			w.must(c.first(a))
			done := w.waiting(func() error { return c.second(b) })
			if c.commit {
				w.must(a.Commit(bg))
			} else {
				w.must(a.Rollback(bg))
			}
			w.ends(done, c.want)
			w.must(b.Commit(bg))
			w.committed(key, c.result)
			tx := w.begin()
			w.must(put(w, "k", "0")(tx))
			w.must(del(w, "n")(tx))
			w.must(tx.Commit(bg))
			w.clean()
		})
	}
}

func put(w *world, k, v string) func(*Tx) error {
	return func(tx *Tx) error { return tx.Put(bg, w.tree, []byte(k), []byte(v)) }
}

func insert(w *world, k, v string) func(*Tx) error {
	return func(tx *Tx) error { return tx.Insert(bg, w.tree, []byte(k), []byte(v)) }
}

func del(w *world, k string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Delete(bg, w.tree, []byte(k))
		return err
	}
}

func locked(w *world, k string, mode lock.Mode) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Lock(bg, w.tree, []byte(k), mode, LockOptions{}, nil)
		if err == ErrKeyNotFound {
			return nil
		}
		return err
	}
}

func TestTimeoutDeadlockNoWait(t *testing.T) {
	w := newWorld(t, 512)
	w.set("a", "0")
	w.set("b", "0")
	x, y := w.begin(), w.begin(Options{LockWaitTimeout: 5 * time.Millisecond})
	w.put(x, "a", "x")
	if err := put(w, "a", "y")(y); err != ErrLockWaitTimeout {
		t.Fatal(err)
	}
	if _, err := y.Lock(bg, w.tree, []byte("a"), lock.Shared, LockOptions{NoWait: true}, nil); err != ErrLocked {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bg)
	time.AfterFunc(2*time.Millisecond, cancel)
	z := w.begin()
	if err := z.Put(ctx, w.tree, []byte("a"), nil); err != context.Canceled {
		t.Fatal(err)
	}
	w.must(z.Rollback(bg))
	w.put(y, "b", "y") // a timeout fails the statement only
	w.must(y.Commit(bg))
	w.committed("b", "y")

	v := w.begin()
	w.put(v, "b", "v")
	done := w.waiting(func() error { return put(w, "b", "x")(x) })
	if err := put(w, "a", "v")(v); err != ErrDeadlock { // v is younger
		t.Fatal(err)
	}
	if err := v.Commit(bg); err != ErrDeadlock {
		t.Fatal(err)
	}
	w.must(v.Rollback(bg))
	w.ends(done, nil)
	w.must(x.Commit(bg))
	w.committed("b", "x")
	w.clean()
}

func TestSavepoints(t *testing.T) {
	w := newWorld(t, 512)
	w.set("k", "0")
	w.set("d", "0")
	tx := w.begin()
	start := tx.Savepoint()
	w.put(tx, "k", "1")
	s1 := tx.Savepoint()
	w.put(tx, "k", "2")
	w.put(tx, "n", "2")
	w.must(tx.Put(bg, w.tree, []byte("big"), large(100_000, 'b')))
	w.must(del(w, "d")(tx))
	s2 := tx.Savepoint()
	w.put(tx, "d", "3")
	w.must(tx.RollbackTo(bg, s2))
	w.has(tx, "d", "")
	w.must(tx.RollbackTo(bg, s1))
	w.has(tx, "k", "1")
	w.has(tx, "n", "")
	w.has(tx, "big", "")
	w.has(tx, "d", "0")
	if err := tx.RollbackTo(bg, s2); err != ErrNoSavepoint {
		t.Fatal(err)
	}
	w.put(tx, "n", "4")
	w.must(tx.RollbackTo(bg, s1))
	w.put(tx, "n", "5")
	w.must(tx.Commit(bg))
	w.committed("k", "1")
	w.committed("n", "5")
	w.clean()

	tx = w.begin()
	w.must(tx.RollbackTo(bg, start))
	w.put(tx, "k", "9")
	w.must(tx.RollbackTo(bg, start))
	w.must(tx.Commit(bg)) // a transaction without changes, but with an end
	w.committed("k", "1")
	w.clean()
}

// A popped record replaced a large value; the transaction commits. Purge must not free what the rollback put back.
func TestPurgeLeavesPoppedRecords(t *testing.T) {
	w := newWorld(t, 512)
	big := large(50_000, 'x')
	w.set("k", string(big))
	tx := w.begin()
	sp := tx.Savepoint()
	w.put(tx, "k", "small")
	w.must(tx.RollbackTo(bg, sp))
	w.put(tx, "other", "1")
	w.must(tx.Commit(bg))
	w.clean()
	w.committed("k", string(big))
}

// W puts a value over the delete mark of T; purge of T leaves the entry to W; W rolls back. The mark must not stay.
func TestRollbackOverPurgedDelete(t *testing.T) {
	for _, reader := range []bool{false, true} {
		w := newWorld(t, 512)
		w.set("k", "0")
		r := w.begin()
		if reader {
			w.has(r, "k", "0")
		}
		tx := w.begin()
		w.must(del(w, "k")(tx))
		w.must(tx.Commit(bg))
		x := w.begin()
		w.put(x, "k", "x")
		w.m.purgeRound(bg)
		w.must(x.Rollback(bg))
		if reader {
			w.has(r, "k", "0")
		}
		w.must(r.Commit(bg))
		w.clean()
	}
}

func TestLargeValues(t *testing.T) {
	w := newWorld(t, 1024)
	w.m.Start()
	for _, n := range []int{MaxInline, MaxInline + 1, 16 << 10, 300_000, 3 << 20} {
		v := large(n, byte(n))
		old := w.begin()
		w.committedBytes("k", nil, old)
		tx := w.begin()
		w.must(tx.PutStream(bg, w.tree, []byte("k"), bytes.NewReader(v), int64(n)))
		w.committedBytes("k", v, tx)
		w.must(tx.Commit(bg))

		tx = w.begin()
		r, err := tx.OpenValue(bg, w.tree, []byte("k"))
		w.must(err)
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, v) || r.Size() != int64(n) {
			t.Fatalf("%d bytes: got %d, %v", n, len(got), err)
		}
		for _, at := range []int{n - 10, 0, n / 2, n / 3} {
			b := make([]byte, 10)
			if _, err := r.Seek(int64(at), io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, b); err != nil || !bytes.Equal(b, v[at:at+10]) {
				t.Fatalf("%d bytes: at %d got %q, %v", n, at, b, err)
			}
		}
		w.committedBytes("k", v, tx)
		w.must(tx.Put(bg, w.tree, []byte("k"), v[:n/2]))
		w.must(tx.Rollback(bg))
		w.committed("k", string(v))
		tx = w.begin()
		w.must(del(w, "k")(tx))
		w.must(tx.Commit(bg))
		w.committedBytes("k", nil, old)
		w.must(old.Rollback(bg))
		w.clean()
	}
	tx := w.begin()
	if err := tx.PutStream(bg, w.tree, []byte("k"), io.LimitReader(zeroes{}, 400_000), 500_000); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	w.has(tx, "k", "")
	w.must(tx.Commit(bg))
	w.clean()
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// committedBytes: through the cursor of a transaction, too.
func (w *world) committedBytes(key string, want []byte, tx *Tx) {
	w.Helper()
	w.has(tx, key, string(want))
	c := tx.Cursor(w.tree)
	defer c.Close()
	if found := c.Seek(bg, []byte(key)); found != (want != nil) || found && !bytes.Equal(c.Value(bg), want) || c.Err() != nil {
		w.Fatalf("the cursor sees %s: %v %v", key, found, c.Err())
	}
}

// A scan that changes what it passes, and what lies ahead of it.
func TestCursorSeesOwnWrites(t *testing.T) {
	w := newWorld(t, 512)
	key := func(i int) []byte { return fmt.Appendf(nil, "%05d", i) }
	tx := w.begin()
	for i := range 2000 {
		w.must(tx.Put(bg, w.tree, key(i), []byte("0")))
	}
	w.must(tx.Commit(bg))
	tx = w.begin()
	c := tx.Cursor(w.tree)
	n := 0
	for ok := c.First(bg); ok; ok = c.Next(bg) {
		i := n
		n++
		if string(c.Key()) != string(key(i)) {
			t.Fatalf("at %q, want %q", c.Key(), key(i))
		}
		want := "0"
		if i%10 == 5 {
			want = "ahead"
		}
		if string(c.Value(bg)) != want {
			t.Fatalf("%d is %q, want %q", i, c.Value(bg), want)
		}
		w.must(tx.Put(bg, w.tree, key(i), []byte("seen")))
		if i%10 == 0 {
			w.must(tx.Put(bg, w.tree, key(i+5), []byte("ahead")))
		}
		if i%100 == 50 { // there and back: the copy must not show what was
			for range 3 {
				if !c.Prev(bg) || string(c.Value(bg)) != "seen" {
					t.Fatalf("back from %d: %q is %q", i, c.Key(), c.Value(bg))
				}
			}
			for range 3 {
				c.Next(bg)
			}
		}
	}
	if n != 2000 || c.Err() != nil {
		t.Fatal(n, c.Err())
	}
	sp := tx.Savepoint()
	c.First(bg)
	for i := 1; i < 100; i++ {
		w.must(del(w, string(key(i)))(tx))
	}
	if !c.Next(bg) || string(c.Key()) != string(key(100)) {
		t.Fatalf("at %q", c.Key())
	}
	w.must(tx.RollbackTo(bg, sp))
	if !c.Prev(bg) || string(c.Key()) != string(key(99)) {
		t.Fatalf("at %q", c.Key())
	}
	w.must(tx.Commit(bg))
	if c.Next(bg) || c.Err() != ErrTxDone {
		t.Fatal(c.Err())
	}
	w.clean()
}

// A read-committed cursor goes on over a new snapshot; the copy of the leaf holds a version that was rolled back since.
func TestStatementDropsCopies(t *testing.T) {
	w := newWorld(t, 512)
	w.set("a", "1")
	w.set("b", "1")
	dirty := w.begin()
	w.put(dirty, "b", "dirty")
	tx := w.begin(Options{Isolation: ReadCommitted})
	c := tx.Cursor(w.tree)
	if !c.First(bg) {
		t.Fatal(c.Err())
	}
	w.must(dirty.Rollback(bg))
	tx.Statement()
	if !c.Next(bg) || string(c.Value(bg)) != "1" {
		t.Fatalf("it reads %q", c.Value(bg))
	}
	w.must(tx.Commit(bg))
	w.clean()
}

func TestTooManyWriters(t *testing.T) {
	w := newWorld(t, 512)
	w.timeout, w.writers = 5*time.Millisecond, 2
	w.crash()
	a, b, c := w.begin(), w.begin(), w.begin()
	w.put(a, "a", "1")
	w.put(b, "b", "1")
	if err := put(w, "c", "1")(c); err != ErrTooManyWriters {
		t.Fatal(err)
	}
	w.crash() // both are losers now, and count
	c = w.begin()
	if err := put(w, "c", "1")(c); err != ErrTooManyWriters {
		t.Fatal(err)
	}
	w.m.Start()
	for w.m.Losers() > 0 {
		time.Sleep(time.Millisecond)
	}
	w.put(c, "a", "2")
	w.must(c.Commit(bg))
	w.committed("a", "2")
	w.clean()
}

func TestSpaces(t *testing.T) {
	w := newWorld(t, 512)
	tx := w.begin()
	no, err := tx.MakeSpace(bg)
	w.must(err)
	other := w.makeTree(no)
	w.must(tx.Put(bg, other, []byte("k"), large(100_000, 1)))
	w.must(tx.Rollback(bg))
	if w.dropped[no] != 1 || w.trees[no] != nil {
		t.Fatalf("the space of a rolled back transaction was dropped %d times", w.dropped[no])
	}

	tx = w.begin()
	no2, err := tx.MakeSpace(bg)
	w.must(err)
	if no2 == no {
		t.Fatal("a space number was used twice")
	}
	other = w.makeTree(no2)
	w.must(tx.Put(bg, other, []byte("k"), large(100_000, 1)))
	w.must(tx.Commit(bg))
	old := w.begin() // may hold the tree open
	w.put(old, "k", "1")
	tx = w.begin()
	w.must(tx.Put(bg, other, []byte("k"), large(200_000, 2)))
	w.must(tx.DropSpace(bg, no2))
	w.must(tx.Commit(bg))
	for range 3 {
		if r := w.m.purgeRound(bg); !r.blocked || w.dropped[no2] != 0 {
			t.Fatal("a space was dropped while an older writer may use it")
		}
	}
	w.must(old.Commit(bg))
	w.clean()
	if w.dropped[no2] != 1 {
		t.Fatalf("dropped %d times", w.dropped[no2])
	}
}

// After a crash with an open transaction readers see what was, writers restore what they meet, and the walk does the rest.
func TestLosers(t *testing.T) {
	w := newWorld(t, 1024)
	for i := range 10 {
		w.set(fmt.Sprint("old", i), strings.Repeat("v", i*400))
	}
	tx := w.begin()
	for i := range 10 {
		k := fmt.Sprint("old", i)
		w.put(tx, k, "short")
		if i%2 == 0 {
			w.must(del(w, k)(tx))
		}
		if i%3 == 0 {
			w.put(tx, k, string(large(50_000, 1)))
		}
		w.put(tx, fmt.Sprint("new", i), "n")
		w.put(tx, fmt.Sprint("new", i), string(large(30_000, 2)))
	}
	w.crash()
	if w.m.Losers() != 1 {
		t.Fatalf("%d losers", w.m.Losers())
	}
	check := func() {
		t.Helper()
		r := w.begin()
		for i := 1; i < 10; i++ {
			w.has(r, fmt.Sprint("old", i), strings.Repeat("v", i*400))
			w.has(r, fmt.Sprint("new", i), "")
		}
		w.must(r.Commit(bg))
	}
	check()
	x := w.begin()
	for _, k := range []string{"old2", "old3", "new4", "old9"} {
		w.put(x, k, "x")
	}
	if err := x.Insert(bg, w.tree, []byte("old5"), nil); err != ErrKeyExists {
		t.Fatal(err)
	}
	w.must(x.Rollback(bg))
	check()
	w.crash() // once more before the walk
	check()
	w.m.Start()
	check()
	w.clean()
	check()
}

// A rollback that cannot go on leaves a loser, and others do not wait for it.
func TestFailedRollback(t *testing.T) {
	w := newWorld(t, 512)
	w.set("k", "0")
	broken := errors.New("broken")
	var left atomic.Int32 // groups until one fails
	w.m.beforeGroup = func() error {
		if left.Add(-1) == 0 {
			return broken
		}
		return nil
	}
	tx, other := w.begin(), w.begin()
	for i := range 10 {
		w.put(tx, fmt.Sprint("k", i), "1")
	}
	w.put(tx, "k", "1")
	done := w.waiting(func() error { return put(w, "k", "2")(other) })
	left.Store(3)
	if err := tx.Rollback(bg); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	w.ends(done, nil)
	w.must(other.Commit(bg))
	w.committed("k", "2")
	w.m.Start()
	w.clean()
	w.committed("k", "2")
	w.committed("k3", "")
}

// The undo log of one transaction spans many pages; purge frees them all.
func TestLongTransaction(t *testing.T) {
	w := newWorld(t, 1024)
	w.m.Start()
	for _, commit := range []bool{true, false} {
		tx := w.begin()
		for i := range 3000 {
			w.put(tx, fmt.Sprintf("%05d", i%1000), strings.Repeat("v", 100))
		}
		if commit {
			w.must(tx.Commit(bg))
		} else {
			w.must(tx.Rollback(bg))
		}
		w.clean()
		w.committed("00500", strings.Repeat("v", 100))
	}
}
