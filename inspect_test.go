package hearth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// eventually waits for what another goroutine is about to do.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(watchdogAfter); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// waitFor is until n transactions wait for locks.
func waitFor(t testing.TB, db *DB, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " waits"), func() bool { return db.txns.Stats().Locks.Waiting == n })
}

func (w LockWait) String() string {
	s := fmt.Sprintf("%d wants %v of %s/%s", w.Waiter.Tag, w.Mode, w.Tree, w.Key)
	for _, b := range w.Blockers {
		s += fmt.Sprintf(", %d %v %v", b.Tag, b.Mode, b.Granted)
	}
	return s
}

func TestTransactionsAndLocks(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	must := mustOf(t)
	must(db.Update(ctx, func(tx *Tx) error { return errors.Join(put(tx, "t", "a", "0"), put(tx, "t", "b", "0")) }))
	if list := db.Transactions(); len(list) != 0 {
		t.Fatalf("open transactions: %+v", list)
	}
	begin := func(o TxOptions) *Tx {
		tx, err := db.Begin(ctx, o)
		must(err)
		return tx
	}
	before := time.Now()
	reader := begin(TxOptions{ReadOnly: true, Tag: 1})
	writer := begin(TxOptions{Tag: 2, Isolation: ReadCommitted})
	locker := begin(TxOptions{Tag: 3})
	tree, err := reader.Tree("t")
	must(err)
	_, err = tree.Get([]byte("a"))
	must(err)
	must(put(writer, "t", "a", "2"))
	must(put(writer, "t", "c", "2"))
	tree, err = locker.Tree("t")
	must(err)
	_, err = tree.GetForShare([]byte("b"), LockOptions{})
	must(err)
	locked := db.Transactions()[2].ID
	ends := make(chan error, 1)
	go func() {
		_, err := tree.GetForUpdate([]byte("a"), LockOptions{})
		ends <- err
	}()
	waitFor(t, db, 1)

	got := ""
	for _, i := range db.Transactions() {
		got += fmt.Sprintf("%d %v readonly=%v isolation=%d snapshot=%v changes=%d locks=%d wait=%v\n",
			i.Tag, i.State, i.ReadOnly, i.Isolation, i.Snapshot, i.Changes, i.Locks, i.Wait)
		if i.Began.Before(before.Add(-time.Millisecond)) || i.Began.After(time.Now()) {
			t.Errorf("transaction %d began at %v, want between %v and now", i.Tag, i.Began, before)
		}
	}
	want := "1 running readonly=true isolation=0 snapshot=true changes=0 locks=0 wait=<nil>\n" +
		"2 running readonly=false isolation=1 snapshot=false changes=2 locks=1 wait=<nil>\n" +
		"3 lock wait readonly=false isolation=0 snapshot=false changes=0 locks=1 wait=3 wants exclusive of t/a\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if id := db.Transactions()[1].ID; id != writer.ID() || id == 0 || locked == 0 || db.Transactions()[0].ID != 0 {
		t.Errorf("the writer is listed as %d, want %d; the locker as %d", id, writer.ID(), locked)
	}
	if got := fmt.Sprint(db.LockWaits()); got != "[3 wants exclusive of t/a, 2 exclusive true]" {
		t.Errorf("waits: %s", got)
	}
	locks := db.Locks(10)
	if len(locks) != 2 || len(db.Locks(1)) != 1 {
		t.Errorf("locks: %+v", locks)
	}
	for _, l := range locks {
		switch string(l.Key) {
		case "a":
			if len(l.Holders) != 2 || l.Holders[0].Tag != 2 || !l.Holders[0].Granted || l.Holders[1].Tag != 3 || l.Holders[1].Granted {
				t.Errorf("a: %+v", l)
			}
		case "b":
			if len(l.Holders) != 1 || l.Holders[0].TxID != (TxID{locked, 3}) || l.Holders[0].Mode != LockShared || l.Tree != "t" {
				t.Errorf("b: %+v", l)
			}
		}
	}
	must(writer.Commit(ctx))
	must(<-ends)
	must(locker.Rollback())
	must(reader.Rollback())
	if list := db.Transactions(); len(list) != 0 || len(db.LockWaits()) != 0 || len(db.Locks(10)) != 0 {
		t.Errorf("left in the lists: %+v", list)
	}
	if st := db.Stats().Txn.Locks; st.Waits != 1 || st.Waiting != 0 || st.WaitTime <= 0 || st.LongestWait != st.WaitTime {
		t.Errorf("%+v", st)
	}
}

func TestLastDeadlock(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	must := mustOf(t)
	must(db.Update(ctx, func(tx *Tx) error { return errors.Join(put(tx, "t", "a", "0"), put(tx, "u", "b", "0")) }))
	if d, ok := db.LastDeadlock(); ok {
		t.Fatalf("there was none: %+v", d)
	}
	one, err := db.Begin(ctx, TxOptions{Tag: 1})
	must(err)
	must(put(one, "t", "a", "1"))
	two, err := db.Begin(ctx, TxOptions{Tag: 2})
	must(err)
	must(put(two, "u", "b", "2"))
	ends := make(chan error, 1)
	go func() { ends <- put(one, "u", "b", "1") }()
	waitFor(t, db, 1)
	if err := put(two, "t", "a", "2"); !errors.Is(err, ErrDeadlock) {
		t.Fatal(err)
	}
	must(<-ends)
	must(one.Commit(ctx))
	d, ok := db.LastDeadlock()
	if !ok || len(d.Waits) != 2 || d.At.IsZero() || d.Waits[d.Victim].Waiter.Tag != 2 {
		t.Fatalf("%+v", d)
	}
	if got := fmt.Sprint(d.Waits[d.Victim], "; ", d.Waits[1-d.Victim]); got != "2 wants exclusive of t/a; 1 wants exclusive of u/b" {
		t.Errorf("got %s", got)
	}
	if n := db.Stats().Txn.Locks.Deadlocks; n != 1 {
		t.Errorf("%d deadlocks, want 1", n)
	}
}

// TestLeftOver: what was open at the death is listed until it is undone.
func TestLeftOver(t *testing.T) {
	ctx := context.Background()
	disk := file.NewMem(1)
	db := openMem(t, disk)
	must := mustOf(t)
	tx, err := db.Begin(ctx, TxOptions{})
	must(err)
	must(put(tx, "t", "a", "0"))
	must(db.Checkpoint(ctx))
	again, err := Open(ctx, memDir, smallOptions(disk.Clone(file.KeepAll)))
	must(err)
	defer again.Close()
	// It may be undone by now; if not, then it is listed so.
	for _, i := range again.Transactions() {
		if i.State != TxLeftOver || i.ID != tx.ID() || !i.Began.IsZero() {
			t.Errorf("%+v", i)
		}
	}
	must(again.txns.WaitLosers(ctx))
	if list := again.Transactions(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	must(tx.Rollback())
}

// TestListsUnderLoad: lists may be asked for at any time.
func TestListsUnderLoad(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	must := mustOf(t)
	must(db.Update(ctx, func(tx *Tx) error { return put(tx, "t", "k0", "0") }))
	seed := seedOf(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for n := range uint64(4) {
		wg.Go(func() {
			rng := rngOf(seed + n)
			for range 100 {
				err := db.run(ctx, TxOptions{Tag: n + 1, Durability: DurabilityProcess}, func(tx *Tx) error { return changeSome(tx, rng) })
				if err != nil && !errors.Is(err, ErrDeadlock) {
					t.Error(err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(stop) }()
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		default:
		}
		for _, i := range db.Transactions() {
			if i.Tag < 1 || i.Tag > 4 || (i.State == TxLockWait) != (i.Wait != nil) || i.Wait != nil && i.Wait.Tree != "t" {
				t.Errorf("%+v", i)
			}
		}
		for _, w := range db.LockWaits() {
			if len(w.Blockers) == 0 || w.Tree != "t" || w.Key[0] != 'k' {
				t.Errorf("%v", w)
			}
		}
		for _, l := range db.Locks(5) {
			if len(l.Holders) == 0 {
				t.Errorf("%+v", l)
			}
		}
		if d, ok := db.LastDeadlock(); ok && (len(d.Waits) < 2 || d.Victim >= len(d.Waits)) {
			t.Errorf("%+v", d)
		}
		db.PoolByTree()
		db.Stats()
	}
	t.Logf("%+v", db.Stats().Txn.Locks)
}

// changeSome writes and locks a few of a few keys.
func changeSome(tx *Tx, rng *rand.Rand) error {
	tree, err := tx.Tree("t")
	if err != nil {
		return err
	}
	for range 1 + rng.IntN(4) {
		key := fmt.Appendf(nil, "k%d", rng.IntN(6))
		sp := tx.Savepoint()
		if rng.IntN(2) == 0 {
			err = tree.Put(key, key)
		} else if _, err = tree.GetForShare(key, LockOptions{}); errors.Is(err, ErrKeyNotFound) {
			err = nil
		}
		if err == nil && rng.IntN(3) == 0 {
			err = tx.RollbackTo(sp)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSizeAndPoolByTree(t *testing.T) {
	ctx := context.Background()
	o := smallOptions(file.NewMem(1))
	o.PoolSize = 16 << 20
	db := mustOpen(t, memDir, o)
	defer db.Close()
	must := mustOf(t)
	must(db.Update(ctx, func(tx *Tx) error { return errors.Join(put(tx, "small", "k", "v"), put(tx, "large", "k", "v")) }))
	size := func(name string) (s TreeSize) {
		must(db.View(ctx, func(tx *Tx) error {
			tree, err := tx.Tree(name)
			if err != nil {
				return err
			}
			s, err = tree.Size()
			return err
		}))
		return s
	}
	const own = 3 // header, bitmap and the first page of the tree
	if s := size("small"); s.Pages != own {
		t.Errorf("a tree of one row: %+v", s)
	}
	const rows = 100
	must(db.Update(ctx, func(tx *Tx) error {
		for i := range rows {
			if err := put(tx, "large", mainKey(i), string(make([]byte, 3*PageSize))); err != nil {
				return err
			}
		}
		return nil
	}))
	grown := size("large")
	if grown.Pages < own+3*rows || grown.Pages > own+5*rows {
		t.Errorf("a tree of %d values of 3 pages: %+v", rows, grown)
	}
	must(db.Checkpoint(ctx))
	if s := size("large"); s.Pages != grown.Pages || s.FileBytes < s.Pages*PageSize {
		t.Errorf("after a checkpoint: %+v, before %+v", s, grown)
	}
	for range 10_000 { // so often that the sample cannot miss it
		size("small")
	}
	seen := map[string]TreePages{}
	pages := 0
	for _, p := range db.PoolByTree() {
		seen[p.Tree] = p
		pages += p.Pages
		if p.Dirty > p.Pages || p.Pages == 0 {
			t.Errorf("%+v", p)
		}
	}
	if len(seen) != 4 || seen["large"].Pages == 0 || seen["small"].Pages != own || seen[undoName].Pages == 0 || seen[catalogName].Pages == 0 {
		t.Errorf("%+v", seen)
	}
	if st := db.Stats(); pages > st.Pool.Frames || seen["small"].Hits == 0 {
		t.Errorf("%d pages in a pool of %d: %+v", pages, st.Pool.Frames, seen)
	}
	must(db.Update(ctx, func(tx *Tx) error {
		tree, err := tx.Tree("large")
		if err != nil {
			return err
		}
		for i := range rows {
			if found, err := tree.Delete([]byte(mainKey(i))); err != nil || !found {
				return fmt.Errorf("delete %d: %v %w", i, found, err)
			}
		}
		return nil
	}))
	must(db.txns.WaitIdle(ctx))
	if s := size("large"); s.Pages != own {
		t.Errorf("emptied again: %+v", s)
	}
}

func TestLogStats(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	must := mustOf(t)
	for i := range 100 {
		must(db.Update(ctx, func(tx *Tx) error { return put(tx, "t", mainKey(i), string(make([]byte, 1000))) }))
	}
	st := db.Stats()
	if st.Log.Durable > st.Log.Written || st.Log.Written > st.Log.Tail || st.Log.Syncs == 0 || st.LogCapacity != 4<<20 ||
		st.CheckpointLSN == 0 || st.CheckpointAge < 100_000 || st.CheckpointAge+int64(st.CheckpointLSN) != int64(st.Log.Tail) {
		t.Errorf("%+v", st)
	}
	must(db.Checkpoint(ctx))
	if now := db.Stats(); now.CheckpointLSN <= st.CheckpointLSN || now.Syncs.Files == 0 || now.Syncs.Doublewrite == 0 || now.Syncs.Time <= 0 {
		t.Errorf("after a checkpoint: %+v", now)
	}
}
