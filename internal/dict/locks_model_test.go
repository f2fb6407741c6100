package dict

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// lockModel is the lock table as its rules say, slow and plain: one list of grants and one of requests a name.
type lockModel struct {
	granted map[string]map[int]Mode
	waiting map[string][]modelRequest
}

type modelRequest struct {
	owner   int
	mode    Mode
	upgrade bool
}

func (m *lockModel) allows(name string, owner int, mode Mode) bool {
	for other, has := range m.granted[name] {
		if other != owner && (has == Exclusive || mode == Exclusive) {
			return false
		}
	}
	return true
}

// acquire returns whether the lock was granted at once.
func (m *lockModel) acquire(name string, owner int, mode Mode) bool {
	has := m.granted[name][owner]
	if has >= mode {
		return true
	}
	if (has != 0 || len(m.waiting[name]) == 0) && m.allows(name, owner, mode) {
		m.granted[name][owner] = mode
		return true
	}
	at := len(m.waiting[name])
	if has != 0 {
		at = 0
		for at < len(m.waiting[name]) && m.waiting[name][at].upgrade {
			at++
		}
	}
	m.waiting[name] = slices.Insert(m.waiting[name], at, modelRequest{owner, mode, has != 0})
	return false
}

// advance grants what can be, and returns to whom.
func (m *lockModel) advance() (to []int) {
	for name := range m.waiting {
		for len(m.waiting[name]) > 0 && m.allows(name, m.waiting[name][0].owner, m.waiting[name][0].mode) {
			r := m.waiting[name][0]
			m.waiting[name] = slices.Delete(m.waiting[name], 0, 1)
			m.granted[name][r.owner] = r.mode
			to = append(to, r.owner)
		}
	}
	return to
}

func (m *lockModel) withdraw(owner int) {
	for name := range m.waiting {
		m.waiting[name] = slices.DeleteFunc(m.waiting[name], func(r modelRequest) bool { return r.owner == owner })
	}
}

// inCycle lists the owners that wait for themselves.
func (m *lockModel) inCycle() (list []int) {
	edges := map[int][]int{}
	for name, queue := range m.waiting {
		for i, r := range queue {
			for other, mode := range m.granted[name] {
				if other != r.owner && (mode == Exclusive || r.mode == Exclusive) {
					edges[r.owner] = append(edges[r.owner], other)
				}
			}
			for _, before := range queue[:i] {
				if before.mode == Exclusive || r.mode == Exclusive {
					edges[r.owner] = append(edges[r.owner], before.owner)
				}
			}
		}
	}
	for owner := range edges {
		seen := map[int]bool{}
		var reach func(int)
		reach = func(o int) {
			for _, next := range edges[o] {
				if !seen[next] {
					seen[next] = true
					reach(next)
				}
			}
		}
		if reach(owner); seen[owner] {
			list = append(list, owner)
		}
	}
	return list
}

// TestLocksModel runs random operations on the lock table and on the model. After each, who got what and who waits is the same.
func TestLocksModel(t *testing.T) {
	seed := rand.Uint64()
	deadlocks := 0
	for round := range 60 {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		w := newLockWorld(t, fmt.Sprintf("seed %d, round %d", seed, round), rng)
		for range 150 {
			w.step()
		}
		deadlocks += w.deadlocks
		w.end()
	}
	if deadlocks == 0 {
		t.Errorf("seed %d: no deadlock was tried", seed)
	}
	t.Logf("%d deadlocks", deadlocks)
}

type lockWorld struct {
	t         *testing.T
	where     string
	rng       *rand.Rand
	locks     *Locks
	owners    []*Owner
	result    []chan error // of who waits, nil for the others
	cancel    []context.CancelFunc
	model     lockModel
	deadlocks int
}

var modelNames = []string{"a", "b", "c"}

func newLockWorld(t *testing.T, where string, rng *rand.Rand) *lockWorld {
	w := &lockWorld{t: t, where: where, rng: rng, locks: newLocks(), owners: owners(2 + rng.IntN(6))}
	w.model = lockModel{granted: map[string]map[int]Mode{}, waiting: map[string][]modelRequest{}}
	for _, name := range modelNames {
		w.model.granted[name] = map[int]Mode{}
	}
	w.result = make([]chan error, len(w.owners))
	w.cancel = make([]context.CancelFunc, len(w.owners))
	return w
}

func (w *lockWorld) step() {
	w.t.Helper()
	o := w.rng.IntN(len(w.owners))
	switch {
	case w.result[o] != nil && w.rng.IntN(3) == 0: // kill it
		w.cancel[o]()
		if err := w.receive(o); !errors.Is(err, context.Canceled) {
			w.t.Fatalf("%s: killed owner %d got %v", w.where, o, err)
		}
		w.model.withdraw(o)
	case w.result[o] != nil:
		return
	case w.rng.IntN(4) == 0:
		w.owners[o].ReleaseAll()
		for _, granted := range w.model.granted {
			delete(granted, o)
		}
	default:
		w.acquire(o)
	}
	w.settle()
}

func (w *lockWorld) acquire(o int) {
	name, mode := modelNames[w.rng.IntN(len(modelNames))], Mode(1+w.rng.IntN(2))
	ctx, cancel := context.WithCancel(context.Background())
	if w.model.acquire(name, o, mode) {
		cancel()
		if err := w.locks.acquire(context.Background(), w.owners[o], LockName{Table: name}, mode, 0); err != nil {
			w.t.Fatalf("%s: owner %d, %v of %s: %v, want it at once", w.where, o, mode, name, err)
		}
		return
	}
	result := make(chan error, 1)
	w.result[o], w.cancel[o] = result, cancel
	go func() { result <- w.locks.acquire(ctx, w.owners[o], LockName{Table: name}, mode, time.Hour) }()
	for w.owners[o].waiting.Load() == nil && len(result) == 0 {
		runtime.Gosched()
	}
	w.locks.graph.Lock() // the search for cycles is over
	w.locks.graph.Unlock()
}

// settle holds what happened against the model: who gave up was in a cycle, and no cycle is left; who went on may go on.
func (w *lockWorld) settle() {
	w.t.Helper()
	cycle := w.model.inCycle()
	var went []int
	for o := range w.owners {
		if w.result[o] == nil || w.queued(o) {
			continue
		}
		switch err := w.receive(o); {
		case err == nil:
			went = append(went, o)
		case errors.Is(err, ErrDeadlock) && slices.Contains(cycle, o):
			w.deadlocks++
			w.model.withdraw(o)
		default:
			w.t.Fatalf("%s: owner %d got %v; in a cycle are %v", w.where, o, err, cycle)
		}
	}
	should := w.model.advance()
	slices.Sort(should)
	if !slices.Equal(went, should) {
		w.t.Fatalf("%s: %v went on, want %v", w.where, went, should)
	}
	if left := w.model.inCycle(); len(left) > 0 {
		w.t.Fatalf("%s: of the cycle %v is left %v", w.where, cycle, left)
	}
	w.compare()
}

// queued: the owner goes on waiting. Otherwise its result comes.
func (w *lockWorld) queued(o int) bool {
	r := w.owners[o].waiting.Load()
	if r == nil {
		return false
	}
	r.queue.shard.mu.Lock()
	defer r.queue.shard.mu.Unlock()
	return r.queued
}

func (w *lockWorld) receive(o int) error {
	w.t.Helper()
	select {
	case err := <-w.result[o]:
		w.result[o] = nil
		w.cancel[o]()
		return err
	case <-time.After(time.Minute):
		w.t.Fatalf("%s: owner %d goes on waiting", w.where, o)
		return nil
	}
}

// compare holds the list of locks against the model.
func (w *lockWorld) compare() {
	w.t.Helper()
	var got, want []string
	for _, i := range w.locks.List() {
		got = append(got, fmt.Sprint(i.Name.Table, i.Connection, i.Mode, i.Waiting))
	}
	for name, granted := range w.model.granted {
		for o, mode := range granted {
			want = append(want, fmt.Sprint(name, o, mode, false))
		}
		for _, r := range w.model.waiting[name] {
			want = append(want, fmt.Sprint(name, r.owner, r.mode, true))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s: the locks are\n%q, want\n%q", w.where, got, want)
	}
}

func (w *lockWorld) end() {
	for o := range w.owners {
		if w.result[o] != nil {
			w.cancel[o]()
			w.receive(o)
		}
	}
	for _, o := range w.owners {
		o.ReleaseAll()
	}
	if list := w.locks.List(); len(list) != 0 {
		w.t.Errorf("%s: left %v", w.where, list)
	}
}
