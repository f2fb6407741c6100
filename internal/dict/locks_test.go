package dict

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const long = time.Hour // a wait that ends otherwise

// waits starts an Acquire that has to wait, and returns when it does.
func waits(t *testing.T, l *Locks, o *Owner, name LockName, mode Mode) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- l.Acquire(context.Background(), o, name, mode, long) }()
	for o.waiting.Load() == nil {
		select {
		case err := <-done:
			t.Fatalf("%v of %v did not wait: %v", mode, name, err)
		default:
			runtime.Gosched()
		}
	}
	l.graph.Lock() // the search for cycles is over
	l.graph.Unlock()
	return done
}

func get(t *testing.T, l *Locks, o *Owner, name LockName, mode Mode) {
	t.Helper()
	if err := l.Acquire(context.Background(), o, name, mode, 0); err != nil {
		t.Fatalf("%v of %v: %v", mode, name, err)
	}
}

func refused(t *testing.T, l *Locks, o *Owner, name LockName, mode Mode) {
	t.Helper()
	if err := l.Acquire(context.Background(), o, name, mode, 0); !errors.Is(err, ErrLockWait) {
		t.Fatalf("%v of %v: %v, want a refusal", mode, name, err)
	}
}

func owners(n int) (list []*Owner) {
	for i := range n {
		list = append(list, NewOwner(uint32(i)))
	}
	return list
}

func TestLockModes(t *testing.T) {
	l, o := newLocks(), owners(3)
	a := TableLock("D", "A")
	get(t, l, o[0], a, Shared)
	get(t, l, o[1], a, Shared)
	refused(t, l, o[2], a, Exclusive)
	refused(t, l, o[2], DatabaseLock("d"), Exclusive)
	get(t, l, o[2], TableLock("d", "b"), Exclusive)
	get(t, l, o[2], TableLock("e", "a"), Exclusive)
	get(t, l, o[2], DatabaseLock("e"), Exclusive) // with its own shared one
	refused(t, l, o[0], TableLock("e", "z"), Shared)
	refused(t, l, o[0], a, Exclusive)
	o[1].ReleaseAll()
	get(t, l, o[0], a, Exclusive)
	get(t, l, o[0], a, Shared)
	if !o[0].Holds(TableLock("d", "a"), Exclusive) || o[0].Holds(DatabaseLock("d"), Exclusive) || !o[0].Holds(DatabaseLock("d"), Shared) {
		t.Error("the owner does not hold what it got")
	}
	refused(t, l, o[1], a, Shared)
	get(t, l, o[1], SettingsLock, Exclusive)
	get(t, l, o[1], RoutineLock("d", "a"), Exclusive)
	for _, owner := range o {
		owner.ReleaseAll()
		owner.ReleaseAll()
	}
	if list := l.List(); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}

// A waiting exclusive request is not overtaken, but by owners who hold the name.
func TestLockFairness(t *testing.T) {
	l, o := newLocks(), owners(4)
	a := TableLock("d", "a")
	get(t, l, o[0], a, Shared)
	ddl := waits(t, l, o[1], a, Exclusive)
	get(t, l, o[0], a, Shared)
	refused(t, l, o[2], a, Shared)
	reader1 := waits(t, l, o[2], a, Shared)
	reader2 := waits(t, l, o[3], a, Shared)
	list := l.List()
	slices.SortFunc(list, func(x, y LockInfo) int { return int(x.Connection) - int(y.Connection) })
	for _, i := range list {
		if i.Name != a {
			continue
		}
		want := map[uint32]string{0: "shared false []", 1: "exclusive true [0]", 2: "shared true [1]", 3: "shared true [1]"}[i.Connection]
		if got := fmt.Sprint(i.Mode, i.Waiting, i.Blockers); got != want || i.Waiting == i.Since.IsZero() {
			t.Errorf("list: connection %d: %s since %v, want %s", i.Connection, got, i.Since, want)
		}
	}
	o[0].ReleaseAll()
	if err := <-ddl; err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-reader1:
		t.Fatalf("a reader came beside the exclusive lock: %v", err)
	default:
	}
	o[1].ReleaseAll()
	if err := errors.Join(<-reader1, <-reader2); err != nil {
		t.Fatal(err)
	}
}

// Making a lock exclusive goes before those who wait for it.
func TestLockUpgrade(t *testing.T) {
	l, o := newLocks(), owners(3)
	a := TableLock("d", "a")
	get(t, l, o[0], a, Shared)
	get(t, l, o[1], a, Shared)
	stranger := waits(t, l, o[2], a, Exclusive)
	upgrade := waits(t, l, o[0], a, Exclusive)
	o[1].ReleaseAll()
	if err := <-upgrade; err != nil {
		t.Fatal(err)
	}
	if !o[0].Holds(a, Exclusive) {
		t.Error("not exclusive after the upgrade")
	}
	o[0].ReleaseAll()
	if err := <-stranger; err != nil {
		t.Fatal(err)
	}
}

func TestLockWaitEnds(t *testing.T) {
	l, o := newLocks(), owners(3)
	a := TableLock("d", "a")
	get(t, l, o[0], a, Shared)
	if err := l.Acquire(context.Background(), o[1], a, Exclusive, time.Millisecond); !errors.Is(err, ErrLockWait) {
		t.Errorf("timeout: %v", err)
	}
	get(t, l, o[2], a, Shared) // nobody waits any more
	o[2].ReleaseAll()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- l.Acquire(ctx, o[1], a, Exclusive, long) }()
	for o[1].waiting.Load() == nil {
		runtime.Gosched()
	}
	reader := waits(t, l, o[2], a, Shared)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("kill: %v", err)
	}
	if err := <-reader; err != nil { // who waited behind the one that left goes on
		t.Error(err)
	}
}

func TestLockMarks(t *testing.T) {
	l, o := newLocks(), owners(2)
	a, b := TableLock("d", "a"), TableLock("d", "b")
	get(t, l, o[0], a, Shared)
	m := o[0].Mark()
	get(t, l, o[0], a, Exclusive)
	get(t, l, o[0], b, Exclusive)
	o[0].ReleaseTo(m)
	get(t, l, o[1], b, Exclusive)
	refused(t, l, o[1], a, Shared)
	if o[0].Holds(b, Shared) || !o[0].Holds(a, Exclusive) {
		t.Error("the return to the mark let go of the wrong locks")
	}
}

// Few locks are listed, many are in a map; nobody can tell.
func TestLockManyOfOneOwner(t *testing.T) {
	l, o := newLocks(), owners(2)
	name := func(i int) LockName { return TableLock("d", fmt.Sprint(i)) }
	for round := range 2 {
		var marks []LockMark
		for i := range 4 * heldListed {
			marks = append(marks, o[0].Mark())
			get(t, l, o[0], name(i), Exclusive)
			get(t, l, o[0], name(i/2), Exclusive)
		}
		for _, keep := range []int{3 * heldListed, heldListed + 1, heldListed, heldListed - 1, 1} {
			o[0].ReleaseTo(marks[keep])
			for i := range 4 * heldListed {
				if o[0].Holds(name(i), Shared) != (i < keep) {
					t.Fatalf("round %d, kept %d: lock %d is held: %t", round, keep, i, i >= keep)
				}
			}
			get(t, l, o[1], name(keep), Shared)
			refused(t, l, o[1], name(keep-1), Shared)
			o[1].ReleaseAll()
		}
		o[0].ReleaseAll()
	}
}

func TestLockDeadlocks(t *testing.T) {
	a, b := TableLock("d", "a"), TableLock("d", "b")
	t.Run("two exclusive", func(t *testing.T) { // who closes the cycle gives up
		l, o := newLocks(), owners(2)
		get(t, l, o[0], a, Exclusive)
		get(t, l, o[1], b, Exclusive)
		first := waits(t, l, o[0], b, Exclusive)
		if err := l.Acquire(context.Background(), o[1], a, Exclusive, long); !errors.Is(err, ErrDeadlock) {
			t.Errorf("the second got %v", err)
		}
		o[1].ReleaseAll()
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
	t.Run("the statement before the change of a table", func(t *testing.T) {
		l, o := newLocks(), owners(2)
		get(t, l, o[0], a, Shared)
		get(t, l, o[1], b, Exclusive)
		statement := waits(t, l, o[0], b, Shared)
		ddl := waits(t, l, o[1], a, Exclusive)
		if err := <-statement; !errors.Is(err, ErrDeadlock) {
			t.Errorf("the statement got %v", err)
		}
		o[0].ReleaseAll()
		if err := <-ddl; err != nil {
			t.Error(err)
		}
	})
	t.Run("two upgrades", func(t *testing.T) {
		l, o := newLocks(), owners(2)
		get(t, l, o[0], a, Shared)
		get(t, l, o[1], a, Shared)
		first := waits(t, l, o[0], a, Exclusive)
		if err := l.Acquire(context.Background(), o[1], a, Exclusive, long); !errors.Is(err, ErrDeadlock) {
			t.Errorf("the second got %v", err)
		}
		o[1].ReleaseAll()
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
	t.Run("three, through a queue", func(t *testing.T) {
		// o2 waits behind the request of o1, not for a lock that anybody has.
		l, o := newLocks(), owners(3)
		get(t, l, o[0], b, Shared)
		get(t, l, o[2], a, Exclusive)
		ddl := waits(t, l, o[1], b, Exclusive)
		behind := waits(t, l, o[2], b, Shared)
		last := waits(t, l, o[0], a, Shared)
		if err := <-behind; !errors.Is(err, ErrDeadlock) {
			t.Errorf("o2 got %v", err)
		}
		o[2].ReleaseAll()
		if err := <-last; err != nil {
			t.Error(err)
		}
		o[0].ReleaseAll()
		if err := <-ddl; err != nil {
			t.Error(err)
		}
	})
}

// Many goroutines: nobody is ever beside an exclusive holder, and everybody comes to an end.
func TestLocksConcurrent(t *testing.T) {
	l := newLocks()
	seed := rand.Uint64()
	type place struct{ readers, writers atomic.Int32 }
	var places [4]place
	var deadlocks, timeouts atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rng, o := rand.New(rand.NewPCG(seed, uint64(i))), NewOwner(uint32(i))
			for range 400 {
				var modes [len(places)]Mode
				for range 1 + rng.IntN(3) {
					n, mode := rng.IntN(len(places)), Shared
					if rng.IntN(4) == 0 {
						mode = Exclusive
					}
					wait := long
					if rng.IntN(4) == 0 {
						wait = time.Duration(rng.IntN(50)) * time.Microsecond
					}
					err := l.Acquire(context.Background(), o, TableLock("d", fmt.Sprint(n)), mode, wait)
					if errors.Is(err, ErrDeadlock) {
						deadlocks.Add(1)
						break
					} else if err != nil {
						timeouts.Add(1)
						continue
					}
					modes[n] = max(modes[n], mode)
				}
				for n, mode := range modes {
					p := &places[n]
					if mode == Exclusive {
						if p.writers.Add(1) != 1 || p.readers.Load() != 0 {
							t.Errorf("seed %d: somebody is beside the exclusive lock on %d", seed, n)
						}
					} else if mode == Shared {
						p.readers.Add(1)
						if p.writers.Load() != 0 {
							t.Errorf("seed %d: a shared lock beside an exclusive one on %d", seed, n)
						}
					}
				}
				runtime.Gosched()
				for n, mode := range modes {
					if mode == Exclusive {
						places[n].writers.Add(-1)
					} else if mode == Shared {
						places[n].readers.Add(-1)
					}
				}
				o.ReleaseAll()
			}
		})
	}
	wg.Wait()
	if list := l.List(); len(list) != 0 {
		t.Errorf("seed %d: left %v", seed, list)
	}
	t.Logf("%d deadlocks, %d timeouts", deadlocks.Load(), timeouts.Load())
}

// A shard remembers some names nobody uses, not all that ever were.
func TestLockNamesAreForgotten(t *testing.T) {
	l, o, first := newLocks(), NewOwner(1), NewOwner(2)
	for i := range 4 * lockShards * queuesKept {
		get(t, l, o, TableLock("d", fmt.Sprint(i)), Shared)
		o.ReleaseAll()
	}
	a := TableLock("d", "a")
	get(t, l, first, a, Shared) // and remembers the queue, which is forgotten now
	first.ReleaseAll()
	get(t, l, o, a, Exclusive)
	refused(t, l, first, a, Shared) // in the queue that counts
	o.ReleaseAll()
	for i := range l.shards {
		if n := len(l.shards[i].queues); n > queuesKept {
			t.Errorf("shard %d remembers %d names", i, n)
		}
	}
}
