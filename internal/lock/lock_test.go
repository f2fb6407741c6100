package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var bg = context.Background()

// stage runs Acquire of named owners and tells who waits.
type stage struct {
	t      *testing.T
	m      *Manager
	owners map[uint64]*Owner
	waits  map[uint64]chan error
}

func newStage(t *testing.T) *stage {
	return &stage{t, NewManager(), map[uint64]*Owner{}, map[uint64]chan error{}}
}

func (s *stage) owner(id uint64) *Owner {
	if s.owners[id] == nil {
		s.owners[id] = NewOwner(id, id*10)
	}
	return s.owners[id]
}

// has: owner gets the lock at once.
func (s *stage) has(id uint64, key string, mode Mode) {
	s.t.Helper()
	if err := s.m.Acquire(bg, s.owner(id), 1, []byte(key), mode, Options{NoWait: true}); err != nil {
		s.t.Fatalf("owner %d, key %s: %v, want the lock", id, key, err)
	}
}

// wants: owner begins to wait.
func (s *stage) wants(id uint64, key string, mode Mode, opts Options) {
	s.t.Helper()
	o := s.owner(id)
	before := s.request(o)
	c := make(chan error, 1)
	s.waits[id] = c
	go func() { c <- s.m.Acquire(bg, o, 1, []byte(key), mode, opts) }()
	for s.request(o) == before && len(c) == 0 {
		time.Sleep(50 * time.Microsecond)
	}
}

func (s *stage) request(o *Owner) *request {
	s.m.graph.Lock()
	defer s.m.graph.Unlock()
	return o.waiting
}

// ends: the wait of owner is over, with err.
func (s *stage) ends(id uint64, want error) {
	s.t.Helper()
	select {
	case err := <-s.waits[id]:
		if !errors.Is(err, want) {
			s.t.Fatalf("owner %d: wait ended with %v, want %v", id, err, want)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("owner %d still waits", id)
	}
	delete(s.waits, id)
}

func (s *stage) stillWaits(id uint64) {
	s.t.Helper()
	time.Sleep(2 * time.Millisecond)
	if len(s.waits[id]) != 0 {
		s.t.Fatalf("owner %d does not wait", id)
	}
}

func (s *stage) release(id uint64) { s.m.Release(s.owner(id)) }

// empty: nothing is left behind when all owners have ended.
func (s *stage) empty() {
	s.t.Helper()
	for id := range s.owners {
		if s.waits[id] == nil {
			s.release(id)
		}
	}
	if n := s.m.Len(); n != 0 {
		s.t.Fatalf("%d queues left", n)
	}
	for i := range s.m.shards {
		if n := len(s.m.shards[i].queues); n != 0 {
			s.t.Fatalf("shard %d has %d queues", i, n)
		}
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		a, b Mode
		ok   bool
	}{{Shared, Shared, true}, {Shared, Exclusive, false}, {Exclusive, Shared, false}, {Exclusive, Exclusive, false}} {
		s := newStage(t)
		s.has(1, "k", c.a)
		err := s.m.Acquire(bg, s.owner(2), 1, []byte("k"), c.b, Options{NoWait: true})
		if (err == nil) != c.ok || (err != nil && err != ErrLocked) {
			t.Errorf("%d beside %d: %v", c.b, c.a, err)
		}
		if err := s.m.Acquire(bg, s.owner(2), 2, []byte("k"), c.b, Options{NoWait: true}); err != nil {
			t.Errorf("same key in another space: %v", err)
		}
		s.empty()
	}
}

func TestAgain(t *testing.T) {
	s := newStage(t)
	s.has(1, "k", Shared)
	s.has(1, "k", Shared)
	s.has(1, "k", Exclusive)
	s.has(1, "k", Shared) // does not weaken
	if !s.m.Blocked(s.owner(2), 1, []byte("k")) || s.m.Blocked(s.owner(1), 1, []byte("k")) || s.m.Blocked(nil, 1, []byte("x")) {
		t.Error("Blocked is wrong")
	}
	if s.m.TryAcquire(s.owner(2), 1, []byte("k"), Shared) {
		t.Error("the exclusive lock became weaker")
	}
	s.empty()
}

// A shared request does not overtake an exclusive one, else writers starve.
func TestFIFO(t *testing.T) {
	s := newStage(t)
	s.has(1, "k", Shared)
	s.wants(2, "k", Exclusive, Options{})
	s.wants(3, "k", Shared, Options{})
	s.wants(4, "k", Shared, Options{})
	s.wants(5, "k", Exclusive, Options{})
	s.release(1)
	s.ends(2, nil)
	s.stillWaits(3)
	s.release(2)
	s.ends(3, nil)
	s.ends(4, nil)
	s.stillWaits(5)
	s.release(3)
	s.stillWaits(5)
	s.release(4)
	s.ends(5, nil)
	s.empty()
}

func TestUpgradeGoesFirst(t *testing.T) {
	s := newStage(t)
	s.has(1, "k", Shared)
	s.has(2, "k", Shared)
	s.wants(3, "k", Exclusive, Options{})
	s.wants(1, "k", Exclusive, Options{})
	s.release(2)
	s.ends(1, nil)
	s.stillWaits(3)
	s.release(1)
	s.ends(3, nil)
	s.empty()
}

// Both upgrade: a cycle within one key; the younger gives up, although the older closed the cycle.
func TestUpgradeDeadlock(t *testing.T) {
	s := newStage(t)
	s.has(1, "k", Shared)
	s.has(2, "k", Shared)
	s.wants(2, "k", Exclusive, Options{})
	s.wants(1, "k", Exclusive, Options{})
	s.ends(2, ErrDeadlock)
	s.stillWaits(1)
	s.release(2)
	s.ends(1, nil)
	s.empty()
}

func TestDeadlock(t *testing.T) {
	for _, closes := range []uint64{1, 2, 3} { // who closes the ring does not matter: 3 is the youngest
		s := newStage(t)
		for id := uint64(1); id <= 3; id++ {
			s.has(id, fmt.Sprint(id), Exclusive)
		}
		for i := uint64(1); i <= 3; i++ {
			id := (closes+i-1)%3 + 1
			s.wants(id, fmt.Sprint(id%3+1), Exclusive, Options{})
		}
		s.ends(3, ErrDeadlock)
		s.stillWaits(1)
		s.stillWaits(2)
		s.release(3)
		s.ends(2, nil)
		s.release(2)
		s.ends(1, nil)
		s.empty()
	}
}

// The cycle goes through a waiter ahead in the queue that holds nothing of this key: 3 waits behind 2, 2 behind 1.
func TestDeadlockThroughQueue(t *testing.T) {
	s := newStage(t)
	s.has(1, "a", Exclusive)
	s.has(3, "b", Exclusive)
	s.wants(2, "a", Exclusive, Options{})
	s.wants(3, "a", Exclusive, Options{})
	s.wants(1, "b", Exclusive, Options{})
	s.ends(3, ErrDeadlock)
	s.release(3)
	s.ends(1, nil)
	s.release(1)
	s.ends(2, nil)
	s.empty()
}

// 2 queues behind 9, which is the youngest. But without 9 it would have to wait for 1 all the same: 9 is spared.
func TestDeadlockSparesBystander(t *testing.T) {
	s := newStage(t)
	s.has(1, "a", Exclusive)
	s.has(2, "b", Exclusive)
	s.has(9, "c", Exclusive)
	s.wants(9, "a", Exclusive, Options{})
	s.wants(2, "a", Exclusive, Options{})
	s.wants(1, "b", Exclusive, Options{})
	s.ends(2, ErrDeadlock)
	s.stillWaits(9)
	s.release(2)
	s.ends(1, nil)
	s.stillWaits(9)
	s.release(1)
	s.ends(9, nil)
	s.empty()
	d, ok := s.m.LastDeadlock()
	got := ""
	for _, w := range d.Cycle {
		got += fmt.Sprintf("%d (%d) wants %d/%s %d; ", w.Owner.No, w.Owner.Tag, w.Space, w.Key, uint8(w.Mode))
	}
	if want := "2 (20) wants 1/a 2; 1 (10) wants 1/b 2; "; !ok || got != want || d.Victim != 0 || d.At.IsZero() {
		t.Errorf("the last deadlock is %q, victim %d, want %q, victim 0", got, d.Victim, want)
	}
	if st := s.m.Stats(); st.Deadlocks != 1 {
		t.Errorf("%+v, want 1 deadlock", st)
	}
}

// 2 could share the key with 1, but for the queue: the end of 9 is what helps.
func TestDeadlockMadeByQueue(t *testing.T) {
	s := newStage(t)
	s.has(1, "a", Shared)
	s.has(2, "b", Exclusive)
	s.has(9, "c", Exclusive)
	s.wants(9, "a", Exclusive, Options{})
	s.wants(2, "a", Shared, Options{})
	s.wants(1, "b", Exclusive, Options{})
	s.ends(9, ErrDeadlock)
	s.ends(2, nil)
	s.stillWaits(1)
	s.release(2)
	s.ends(1, nil)
	s.empty()
}

func TestListAndStats(t *testing.T) {
	s := newStage(t)
	s.has(1, "a", Exclusive)
	s.has(1, "b", Shared)
	s.has(2, "b", Shared)
	s.has(3, "c", Shared)
	s.owner(3).SetListed(33)
	s.wants(3, "b", Exclusive, Options{Timeout: time.Millisecond})
	s.ends(3, ErrTimeout)
	s.wants(3, "b", Exclusive, Options{})
	s.wants(4, "b", Shared, Options{})
	list := func(waited bool, most int) []string {
		var got []string
		for _, e := range s.m.List(waited, most) {
			row := fmt.Sprintf("%d/%s:", e.Space, e.Key)
			for _, g := range e.Granted {
				row += fmt.Sprintf(" %d has %d", g.Owner.No, uint8(g.Mode))
			}
			for _, w := range e.Waiting {
				row += fmt.Sprintf(" %d wants %d", w.Owner.No, uint8(w.Mode))
				if w.Since.IsZero() {
					t.Errorf("%d waits since ever", w.Owner.No)
				}
			}
			got = append(got, row)
		}
		slices.Sort(got)
		return got
	}
	a, b, c := "1/a: 1 has 2", "1/b: 1 has 1 2 has 1 33 wants 2 4 wants 1", "1/c: 33 has 1"
	if got, want := list(false, 10), []string{a, b, c}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := list(true, 10), []string{b}; !slices.Equal(got, want) {
		t.Errorf("waited for: got %q, want %q", got, want)
	}
	if got := list(false, 2); len(got) != 2 {
		t.Errorf("got %q, want 2 of them", got)
	}
	if w, ok := s.m.Waiting(s.owner(3)); !ok || w.Owner != (ID{33, 30}) || string(w.Key) != "b" || w.Mode != Exclusive {
		t.Errorf("owner 3 waits for %+v, %v", w, ok)
	}
	if _, ok := s.m.Waiting(s.owner(1)); ok {
		t.Error("owner 1 waits")
	}
	if n := s.owner(1).Held(); n != 2 {
		t.Errorf("owner 1 holds %d keys, want 2", n)
	}
	if st := s.m.Stats(); st.Keys != 3 || st.Waiting != 2 || st.Waits != 3 || st.Timeouts != 1 || st.WaitTime < time.Millisecond || st.LongestWait > st.WaitTime {
		t.Errorf("%+v", st)
	}
	s.release(2)
	s.release(1)
	s.ends(3, nil)
	s.release(3)
	s.ends(4, nil)
	if _, ok := s.m.Waiting(s.owner(3)); ok {
		t.Error("owner 3 still waits")
	}
	s.empty()
	if st := s.m.Stats(); st.Keys != 0 || st.Waiting != 0 || st.Waits != 3 {
		t.Errorf("%+v", st)
	}
	if _, ok := s.m.LastDeadlock(); ok {
		t.Error("there was a deadlock")
	}
}

// Two cycles are closed by one request.
func TestTwoCyclesAtOnce(t *testing.T) {
	s := newStage(t)
	s.has(1, "a", Exclusive)
	s.has(2, "b", Shared)
	s.has(3, "b", Shared)
	s.wants(2, "a", Shared, Options{})
	s.wants(3, "a", Shared, Options{})
	s.wants(1, "b", Exclusive, Options{})
	s.ends(2, ErrDeadlock)
	s.ends(3, ErrDeadlock)
	s.release(2)
	s.stillWaits(1)
	s.release(3)
	s.ends(1, nil)
	s.empty()
}

func TestTimeout(t *testing.T) {
	s := newStage(t)
	s.has(1, "k", Shared)
	s.wants(2, "k", Exclusive, Options{Timeout: 20 * time.Millisecond})
	s.wants(3, "k", Shared, Options{})
	s.ends(2, ErrTimeout)
	s.ends(3, nil) // nothing is ahead of it any more
	s.empty()
}

func TestCancel(t *testing.T) {
	s := newStage(t)
	s.has(1, "k", Exclusive)
	ctx, cancel := context.WithCancel(bg)
	time.AfterFunc(5*time.Millisecond, cancel)
	if err := s.m.Acquire(ctx, s.owner(2), 1, []byte("k"), Exclusive, Options{}); err != context.Canceled {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	if err := s.m.Acquire(ctx, s.owner(2), 1, []byte("k"), Exclusive, Options{}); err != context.Canceled {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	s.empty()
}

// The writer of an entry is made holder by the waiter, and its end lets the waiter in.
func TestGrant(t *testing.T) {
	s := newStage(t)
	if !s.m.Grant(s.owner(1), 1, []byte("k")) {
		t.Fatal("Grant to a living owner failed")
	}
	s.wants(2, "k", Exclusive, Options{})
	s.release(1)
	s.ends(2, nil)
	if s.m.Grant(s.owner(1), 1, []byte("k")) || s.m.Grant(s.owner(1), 1, []byte("other")) {
		t.Fatal("Grant to an ended owner succeeded")
	}
	s.empty()
}

// Rule 2: 2 got the key when it was free; then the writer turns up. 2 must wait for it, the writer need not wait for 2.
func TestGrantBesideGrant(t *testing.T) {
	s := newStage(t)
	s.has(2, "k", Exclusive)
	s.m.Grant(s.owner(1), 1, []byte("k"))
	if s.m.Blocked(s.owner(1), 1, []byte("k")) {
		t.Error("the writer waits for a lock that is not real")
	}
	if s.m.TryAcquire(s.owner(2), 1, []byte("k"), Exclusive) {
		t.Error("locked a key beside its writer")
	}
	s.wants(2, "k", Exclusive, Options{})
	s.release(1)
	s.ends(2, nil)
	s.empty()
}

// Grant adds edges to those who wait already: 3 waits for 2 on k, and the writer of k waits for 3.
func TestGrantClosesCycle(t *testing.T) {
	s := newStage(t)
	s.has(2, "k", Exclusive)
	s.has(3, "b", Exclusive)
	s.wants(3, "k", Exclusive, Options{})
	s.wants(1, "b", Exclusive, Options{})
	s.m.Grant(s.owner(1), 1, []byte("k"))
	s.ends(3, ErrDeadlock)
	s.release(3)
	s.ends(1, nil)
	s.empty()
}

// A thousand waiters of one key, each of which holds something: looking for cycles must stay a chain.
func TestHotKey(t *testing.T) {
	const waiters = 1000
	m := NewManager()
	first := NewOwner(1, 0)
	m.TryAcquire(first, 1, []byte("hot"), Exclusive)
	var wg sync.WaitGroup
	for i := range uint64(waiters) {
		wg.Go(func() {
			o := NewOwner(i+2, 0)
			m.TryAcquire(o, 1, fmt.Append(nil, i), Exclusive)
			if err := m.Acquire(bg, o, 1, []byte("hot"), Exclusive, Options{}); err != nil {
				t.Error(err)
			}
			m.Release(o)
		})
	}
	time.Sleep(10 * time.Millisecond)
	m.Release(first)
	wg.Wait()
	if m.Len() != 0 {
		t.Errorf("%d queues left", m.Len())
	}
}

// Random owners take random locks; a counter per key proves exclusion, and nobody waits forever.
func TestRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const keys, workers, rounds = 6, 8, 300
	m := NewManager()
	var readers, writers [keys]atomic.Int32
	var ids, deadlocks atomic.Uint64
	var wg sync.WaitGroup
	for w := range uint64(workers) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, w))
			for range rounds {
				o := NewOwner(ids.Add(1), 0)
				var held [keys]Mode
				for range 1 + r.IntN(4) {
					k, mode := r.IntN(keys), Mode(1+r.IntN(2))
					opts := Options{Timeout: 30 * time.Second}
					if r.IntN(8) == 0 {
						opts.Timeout = time.Duration(1 + r.IntN(100_000))
					}
					err := m.Acquire(bg, o, 1, []byte{byte(k)}, mode, opts)
					if err == ErrDeadlock {
						deadlocks.Add(1)
						break
					}
					if err == ErrTimeout {
						if opts.Timeout == 30*time.Second {
							t.Error("a deadlock was not found")
						}
						continue
					}
					if err != nil {
						t.Error(err)
						break
					}
					if mode <= held[k] {
						continue
					}
					if held[k] == Shared {
						readers[k].Add(-1)
					}
					held[k] = mode
					if mode == Shared {
						readers[k].Add(1)
					} else {
						writers[k].Add(1)
					}
					if wr, rd := writers[k].Load(), readers[k].Load(); mode == Exclusive && (wr != 1 || rd != 0) || mode == Shared && wr != 0 {
						t.Errorf("key %d: %d writers and %d readers", k, wr, rd)
					}
				}
				for k, mode := range held {
					switch mode {
					case Shared:
						readers[k].Add(-1)
					case Exclusive:
						writers[k].Add(-1)
					}
				}
				m.Release(o)
			}
		})
	}
	wg.Wait()
	t.Logf("%d deadlocks", deadlocks.Load())
	if m.Len() != 0 {
		t.Errorf("%d queues left", m.Len())
	}
}
