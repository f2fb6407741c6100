package lock

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

var (
	ErrDeadlock = errors.New("deadlock: this transaction was chosen to give up, roll it back and try again")
	ErrTimeout  = errors.New("lock wait timeout exceeded, try the statement again")
	ErrLocked   = errors.New("the key is locked by another transaction")
)

// Mode is the strength of a lock.
type Mode uint8

const (
	Shared    Mode = 1
	Exclusive Mode = 2
)

func (m Mode) String() string {
	if m == Shared {
		return "shared"
	}
	return "exclusive"
}

// Conflict: two owners cannot have a and b of one key.
func Conflict(a, b Mode) bool { return a == Exclusive || b == Exclusive }

// Options tells how long Acquire waits.
type Options struct {
	Timeout time.Duration // 0: as long as the context lets it
	NoWait  bool          // ErrLocked instead of waiting
}

// shardCount bounds the contention of explicit locks: 16 times the writers that run at once on a machine of four cores.
const shardCount = 64

// Manager holds all explicit locks.
type Manager struct {
	seed   maphash.Seed
	queues atomic.Int64 // number of queues in all shards; 0 spares every writer the look

	graph sync.Mutex // held to begin and to give up waiting, and to look for cycles
	mark  uint64     // guarded by graph: the search that visited an owner last
	cycle []edge     // guarded by graph: what the search found

	stats counters

	shards [shardCount]shard
}

type shard struct {
	sync.Mutex
	queues map[name]*queue
	_      [40]byte // one cache line each
}

type name struct {
	space uint32
	key   string
}

func NewManager() *Manager {
	m := &Manager{seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].queues = map[name]*queue{}
	}
	return m
}

func (m *Manager) shard(space uint32, key []byte) *shard {
	h := maphash.Bytes(m.seed, key) + uint64(space)*0x9E3779B97F4A7C15
	return &m.shards[h>>58]
}

// Blocked tells whether a write of key by o must wait for explicit locks. The caller holds the latch of the entry's leaf, and
// the entry has no other active writer. o may be nil: it owns nothing yet.
func (m *Manager) Blocked(o *Owner, space uint32, key []byte) bool {
	if m.queues.Load() == 0 {
		return false
	}
	s := m.shard(space, key)
	s.Lock()
	defer s.Unlock()
	q := s.queues[name{space, string(key)}]
	if q == nil {
		return false
	}
	// By rule 2 a conflicting grant beside our exclusive one is not a real one.
	if g := q.grantOf(o); g != nil && g.mode == Exclusive {
		return false
	}
	return !q.grantable(o, Exclusive)
}

// TryAcquire takes the lock if that is possible without waiting.
func (m *Manager) TryAcquire(o *Owner, space uint32, key []byte, mode Mode) bool {
	s := m.shard(space, key)
	s.Lock()
	defer s.Unlock()
	q := m.queue(s, space, key)
	if !q.grantable(o, mode) {
		return false
	}
	q.mustGrant(o, mode)
	return true
}

// Grant makes the implicit lock of an entry's writer explicit. The caller holds the latch of the entry's leaf. false: holder
// has ended, look at the entry again.
func (m *Manager) Grant(holder *Owner, space uint32, key []byte) bool {
	s := m.shard(space, key)
	s.Lock()
	q := m.queue(s, space, key)
	granted := q.grant(holder, Exclusive)
	others := len(q.waiters) > 0
	m.dropIfEmpty(q)
	s.Unlock()
	if granted && others {
		// Those who wait here wait for holder from now on (rule 5).
		m.graph.Lock()
		m.breakCycles(holder)
		m.graph.Unlock()
	}
	return granted
}

// WaitsKey is under what a context has an *atomic.Int64 to which the nanoseconds of its waits are added.
type WaitsKey struct{}

// Acquire takes the lock, waiting for it if need be. No latch may be held.
func (m *Manager) Acquire(ctx context.Context, o *Owner, space uint32, key []byte, mode Mode, opts Options) error {
	if m.TryAcquire(o, space, key, mode) {
		return nil
	}
	if opts.NoWait {
		return ErrLocked
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r := m.enqueue(o, space, key, mode)
	if r == nil {
		return nil
	}
	defer func() {
		took := time.Since(r.since)
		m.stats.end(took, r.err)
		if n, ok := ctx.Value(WaitsKey{}).(*atomic.Int64); ok {
			n.Add(int64(took))
		}
	}()
	var late <-chan time.Time
	if opts.Timeout > 0 {
		timer := time.NewTimer(opts.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		m.giveUp(r, ctx.Err())
	case <-late:
		m.giveUp(r, ErrTimeout)
	}
	return r.err
}

// enqueue begins to wait; nil when the lock could be had after all.
func (m *Manager) enqueue(o *Owner, space uint32, key []byte, mode Mode) *request {
	m.graph.Lock()
	defer m.graph.Unlock()
	s := m.shard(space, key)
	s.Lock()
	q := m.queue(s, space, key)
	if q.grantable(o, mode) {
		q.mustGrant(o, mode)
		s.Unlock()
		return nil
	}
	r := &request{owner: o, mode: mode, queue: q, holds: q.grantOf(o) != nil, since: time.Now(), queued: true, done: make(chan struct{})}
	q.insert(r)
	s.Unlock()
	m.stats.begin()
	o.waiting = r
	m.breakCycles(o)
	return r
}

// giveUp ends r with err unless it was decided before. r.done is closed on return.
func (m *Manager) giveUp(r *request, err error) {
	m.graph.Lock()
	m.withdraw(r, err)
	m.graph.Unlock()
	<-r.done
}

// withdraw takes r out of its queue. The caller holds graph: while a search runs, waiters leave by grants only.
func (m *Manager) withdraw(r *request, err error) {
	q := r.queue
	q.shard.Lock()
	defer q.shard.Unlock()
	if !r.queued {
		return
	}
	q.remove(r)
	r.finish(err)
	q.advance()
	m.dropIfEmpty(q)
}

// Release ends o: all its locks go, and Grant to it fails from now on.
func (m *Manager) Release(o *Owner) {
	o.mu.Lock()
	held := o.held
	o.held, o.ended = nil, true
	o.mu.Unlock()
	for _, q := range held {
		q.shard.Lock()
		q.release(o)
		q.advance()
		m.dropIfEmpty(q)
		q.shard.Unlock()
	}
}

// Len is the number of keys with explicit locks.
func (m *Manager) Len() int { return int(m.queues.Load()) }

// queue finds or makes the queue of a key. The caller holds s.
func (m *Manager) queue(s *shard, space uint32, key []byte) *queue {
	if q := s.queues[name{space, string(key)}]; q != nil {
		return q
	}
	q := &queue{shard: s, name: name{space, string(key)}}
	q.granted = q.first[:0]
	s.queues[q.name] = q
	m.queues.Add(1)
	return q
}

func (m *Manager) dropIfEmpty(q *queue) {
	if len(q.granted) == 0 && len(q.waiters) == 0 {
		delete(q.shard.queues, q.name)
		m.queues.Add(-1)
	}
}
