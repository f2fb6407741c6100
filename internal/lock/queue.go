package lock

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ID names an owner in lists: a number that may change while it lives, and a tag of the caller's.
type ID struct{ No, Tag uint64 }

// Owner is who holds locks: one transaction, from its first lock or write to its end.
type Owner struct {
	id     uint64 // age: the larger, the younger
	tag    uint64
	listed atomic.Uint64

	mu    sync.Mutex
	ended bool     // guarded by mu
	held  []*queue // guarded by mu: every queue with a grant of this owner, once

	waiting *request // guarded by Manager.graph; may be decided already (request.queued tells)
	mark    uint64   // guarded by Manager.graph
}

// NewOwner is one of age id: the larger, the younger. It is listed as id, with tag.
func NewOwner(id, tag uint64) *Owner {
	o := &Owner{id: id, tag: tag}
	o.listed.Store(id)
	return o
}

// SetListed makes o listed as no from now on; its age stays.
func (o *Owner) SetListed(no uint64) { o.listed.Store(no) }

// Listed is how o is listed.
func (o *Owner) Listed() ID { return ID{o.listed.Load(), o.tag} }

// Held is how many keys o has explicit locks of.
func (o *Owner) Held() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.held)
}

// queue is one key: who has it and who wants it. Everything in it is guarded by its shard.
type queue struct {
	shard   *shard
	name    name
	granted []grant
	first   [1]grant // usual storage of granted
	waiters []*request
}

type grant struct {
	owner *Owner
	mode  Mode
}

// request is one wait. queued is guarded by the shard; err may be read once done is closed.
type request struct {
	owner  *Owner
	mode   Mode
	queue  *queue
	holds  bool // its owner holds a grant of the key already
	since  time.Time
	queued bool
	err    error
	done   chan struct{}
}

func (r *request) finish(err error) {
	r.queued, r.err = false, err
	close(r.done)
}

func (q *queue) grantOf(o *Owner) *grant {
	for i := range q.granted {
		if q.granted[i].owner == o {
			return &q.granted[i]
		}
	}
	return nil
}

// compatible: no grant of another owner conflicts.
func (q *queue) compatible(o *Owner, mode Mode) bool {
	for _, g := range q.granted {
		if g.owner != o && Conflict(g.mode, mode) {
			return false
		}
	}
	return true
}

// grantable is rule 1 for somebody who is not in the queue.
func (q *queue) grantable(o *Owner, mode Mode) bool {
	return q.compatible(o, mode) && (len(q.waiters) == 0 || q.grantOf(o) != nil)
}

// grant gives o the lock; false when o has ended.
func (q *queue) grant(o *Owner, mode Mode) bool {
	if g := q.grantOf(o); g != nil {
		g.mode = max(g.mode, mode)
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	o.held = append(o.held, q)
	q.granted = append(q.granted, grant{o, mode})
	return true
}

// mustGrant is grant to an owner that asked for it, so it cannot have ended.
func (q *queue) mustGrant(o *Owner, mode Mode) {
	if !q.grant(o, mode) {
		panic(fmt.Sprintf("BUG: lock of space %d key %x for owner %d, which has ended", q.name.space, q.name.key, o.id))
	}
}

func (q *queue) release(o *Owner) {
	i := slices.IndexFunc(q.granted, func(g grant) bool { return g.owner == o })
	if i < 0 {
		panic(fmt.Sprintf("BUG: lock of space %d key %x: owner %d does not hold it", q.name.space, q.name.key, o.id))
	}
	q.granted = slices.Delete(q.granted, i, i+1)
}

// insert puts r at the end, or behind the other upgrades at the front.
func (q *queue) insert(r *request) {
	at := len(q.waiters)
	if r.holds {
		at = 0
		for at < len(q.waiters) && q.waiters[at].holds {
			at++
		}
	}
	q.waiters = slices.Insert(q.waiters, at, r)
}

func (q *queue) remove(r *request) {
	i := slices.Index(q.waiters, r)
	q.waiters = slices.Delete(q.waiters, i, i+1)
}

// advance grants to the front of the queue what has become possible.
func (q *queue) advance() {
	for len(q.waiters) > 0 {
		r := q.waiters[0]
		if !q.compatible(r.owner, r.mode) {
			return
		}
		q.remove(r)
		q.mustGrant(r.owner, r.mode)
		r.finish(nil)
	}
}
