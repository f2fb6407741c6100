package txn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

var errCrash = errors.New("crash")

// dieAt makes the Manager die before its nth group from now on; 0: never.
func (w *world) dieAt(n int) (groups *int) {
	groups = new(int)
	w.m.beforeGroup = func() error {
		if *groups++; n != 0 && *groups >= n {
			return errCrash
		}
		return nil
	}
	return groups
}

// script is a life with everything in it; it stops at the first error. The result is what was committed.
func (w *world) script() (state map[string]string, err error) {
	state = map[string]string{}
	next := map[string]string{}
	var tx *Tx
	set := func(k, v string) func() error {
		return func() error {
			next[k] = v
			return tx.Put(bg, w.tree, []byte(k), []byte(v))
		}
	}
	remove := func(k string) func() error {
		return func() error {
			delete(next, k)
			_, err := tx.Delete(bg, w.tree, []byte(k))
			return err
		}
	}
	commit := func() error {
		err := tx.Commit(bg)
		if err == nil {
			state = maps.Clone(next)
			tx = w.begin()
		}
		return err
	}
	rollback := func() error {
		next = maps.Clone(state)
		err := tx.Rollback(bg)
		tx = w.begin()
		return err
	}
	var sp Savepoint
	var saved map[string]string
	save := func() error { sp, saved = tx.Savepoint(), maps.Clone(next); return nil }
	back := func() error { next = maps.Clone(saved); return tx.RollbackTo(bg, sp) }
	purge := func() error { return w.m.purgeRound(bg).err }
	var space uint32
	many := func() error {
		for i := range 60 {
			if err := set(fmt.Sprint("many", i%20), strings.Repeat("m", 900))(); err != nil {
				return err
			}
		}
		return nil
	}
	bigA, bigB := string(large(20*16<<10, 'a')), string(large(40_000, 'b'))
	tx = w.begin()
	for _, f := range []func() error{
		set("a", "1"), set("b", "1"), set("c", bigA), commit,
		set("a", "2"), remove("b"), save, set("c", "small"), set("d", bigB), set("b", "again"), back, set("e", "1"), commit,
		set("c", bigB), remove("a"), remove("e"), set("d", bigA), rollback,
		purge,
		set("b", "over the mark"), rollback,
		set("c", bigB), remove("a"), commit,
		set("a", "over the mark"), remove("c"), purge, rollback,
		many, rollback, many, commit, purge,
		func() (err error) {
			space, err = tx.MakeSpace(bg)
			if err == nil {
				w.makeTree(space)
			}
			return err
		},
		func() error { return tx.Put(bg, w.trees[space], []byte("k"), large(50_000, 1)) }, rollback,
		func() (err error) {
			space, err = tx.MakeSpace(bg)
			if err == nil {
				w.makeTree(space)
			}
			return err
		},
		func() error { return tx.Put(bg, w.trees[space], []byte("k"), large(50_000, 1)) }, commit,
		func() error { return tx.Put(bg, w.trees[space], []byte("k"), []byte("2")) },
		func() error { return tx.DropSpace(bg, space) }, commit,
		purge, remove("c"), commit, purge,
	} {
		if err := f(); err != nil {
			return state, err
		}
	}
	return state, nil
}

func (w *world) holds(state map[string]string) {
	w.Helper()
	tx := w.begin()
	defer func() { w.must(tx.Rollback(bg)) }()
	c := tx.Cursor(w.tree)
	n := 0
	for ok := c.First(bg); ok; ok = c.Next(bg) {
		if string(c.Value(bg)) != state[string(c.Key())] {
			w.Fatalf("%s is %.30q, want %.30q", c.Key(), c.Value(bg), state[string(c.Key())])
		}
		n++
	}
	if c.Err() != nil || n != len(state) {
		w.Fatalf("%d entries of %v: %v", n, slices.Sorted(maps.Keys(state)), c.Err())
	}
}

// The Manager dies before every group of the script in turn. The next one finds what was committed, dies during its own
// recovery too, and the third leaves nothing behind.
func TestCrashAtEveryGroup(t *testing.T) {
	w := newWorld(t, 512)
	groups := w.dieAt(0)
	state, err := w.script()
	w.must(err)
	w.holds(state)
	w.clean()
	t.Logf("%d groups", *groups)
	r := seeded(t)
	step := 8 // every group in eight runs
	if raceEnabled {
		step = 24
	}
	for n := 1 + r.IntN(step); n <= *groups; n += step {
		w := newWorld(t, 512)
		w.dieAt(n)
		state, err := w.script()
		if !errors.Is(err, errCrash) && err != nil {
			t.Fatalf("group %d: %v", n, err)
		}
		w.crash()
		w.holds(state)
		w.dieAt(1 + r.IntN(12))
		for range 3 {
			for _, l := range w.m.takeLosers() {
				if w.m.rollback(bg, l) == nil {
					w.m.retire(l)
				}
			}
			w.m.purgeRound(bg)
		}
		w.holds(state)
		w.crash()
		w.holds(state)
		w.m.Start()
		w.clean()
		w.holds(state)
		if t.Failed() {
			t.Fatalf("group %d", n)
		}
	}
}

// The Manager dies between the groups that free the undo pages of one large transaction. The next one goes on freeing,
// and does not purge that transaction again, half of whose records are gone.
func TestCrashWhileUndoIsFreed(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorld(t, 1024)
		tx := w.begin()
		for i := range 900 { // of some 1000 bytes: four groups
			w.put(tx, fmt.Sprint("key", i%20), strings.Repeat("m", 900)+fmt.Sprint(i))
		}
		w.must(tx.Commit(bg))
		w.set("another", "1") // ends on the page where the large one ends
		w.dieAt(n)
		if err := w.m.purgeRound(bg).err; err == nil {
			if n < 4 {
				t.Fatalf("%d groups freed everything, want 4 and more", n-1)
			}
			return
		} else if !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		w.crash()
		// Others take the pages that were freed.
		tx = w.begin()
		for i := range 200 {
			w.put(tx, fmt.Sprint("key", i%20), strings.Repeat("n", 900))
		}
		w.must(w.m.purgeRound(bg).err)
		w.must(tx.Rollback(bg))
		w.clean()
	}
}
