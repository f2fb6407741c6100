package dict

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lockQueue is who has one name and who waits for it. All of it is guarded by the shard's mutex.
type lockQueue struct {
	name    LockName
	shard   *lockShard
	granted []*grant
	waiting []*lockRequest // upgrades first, otherwise in order of arrival

	forgotten bool // another queue has the name, or will have
}

// lockRequest is one wait. The owner's goroutine makes it and sleeps on done.
type lockRequest struct {
	owner *Owner
	queue *lockQueue
	mode  Mode
	has   *grant // what is to be made exclusive, nil for a new lock
	since time.Time

	queued bool       // guarded by the shard's mutex
	got    *grant     // set before done
	done   chan error // of room one
}

// allows: nobody else has what does not go with mode (rule 2).
func (q *lockQueue) allows(o *Owner, mode Mode) bool {
	if mode == Shared {
		return len(q.granted) == 0 || q.granted[0].mode == Shared // an exclusive grant is the only one of its queue
	}
	return len(q.granted) == 0 || len(q.granted) == 1 && q.granted[0].owner == o
}

// try grants without waiting, or returns nil.
func (q *lockQueue) try(o *Owner, has *grant, mode Mode) *grant {
	if has == nil && len(q.waiting) > 0 || !q.allows(o, mode) {
		return nil
	}
	return q.grant(o, has, mode)
}

func (q *lockQueue) grant(o *Owner, has *grant, mode Mode) *grant {
	if has != nil {
		has.mode = mode
		return has
	}
	var g *grant
	if n := len(o.free); n > 0 {
		g, o.free = o.free[n-1], o.free[:n-1]
	} else {
		g = new(grant)
	}
	*g = grant{o, q, mode, len(q.granted)}
	q.granted = append(q.granted, g)
	return g
}

// release removes a grant and lets those go on who waited for it.
func (q *lockQueue) release(g *grant) {
	last := len(q.granted) - 1
	if q.granted[g.at] != g {
		panic(fmt.Sprintf("BUG: release of a lock on %s: grant %d is another one", q.name, g.at))
	}
	q.granted[g.at] = q.granted[last]
	q.granted[g.at].at = g.at
	q.granted[last] = nil
	q.granted = q.granted[:last]
	q.advance()
	if len(q.granted) == 0 && len(q.waiting) == 0 && len(q.shard.queues) > queuesKept {
		delete(q.shard.queues, q.name)
		q.forgotten = true
	}
}

// advance grants from the head of the queue what can be granted.
func (q *lockQueue) advance() {
	for len(q.waiting) > 0 {
		r := q.waiting[0]
		if !q.allows(r.owner, r.mode) {
			return
		}
		q.waiting = slices.Delete(q.waiting, 0, 1)
		r.queued = false
		r.got = q.grant(r.owner, r.has, r.mode)
		r.done <- nil
	}
}

// enqueue puts a request in its place.
func (q *lockQueue) enqueue(r *lockRequest) {
	at := len(q.waiting)
	if r.has != nil {
		for at = 0; at < len(q.waiting) && q.waiting[at].has != nil; at++ {
		}
	}
	r.queued = true
	q.waiting = slices.Insert(q.waiting, at, r)
}

// wait is acquire where waiting is needed.
func (l *Locks) wait(ctx context.Context, o *Owner, name LockName, has *grant, mode Mode, wait time.Duration) (*grant, error) {
	if wait <= 0 {
		return nil, ErrLockWait
	}
	l.graph.Lock()
	q := l.lockQueue(o, name)
	if g := q.try(o, has, mode); g != nil { // meanwhile
		q.shard.mu.Unlock()
		l.graph.Unlock()
		return g, nil
	}
	r := &lockRequest{owner: o, queue: q, mode: mode, has: has, since: time.Now(), done: make(chan error, 1)}
	q.enqueue(r)
	o.waiting.Store(r)
	q.shard.mu.Unlock()
	l.breakCycles(o)
	l.graph.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	defer o.waiting.Store(nil)
	select {
	case err := <-r.done:
		return r.got, err
	case <-timer.C:
		l.giveUp(r, ErrLockWait)
	case <-ctx.Done():
		l.giveUp(r, ctx.Err())
	}
	err := <-r.done
	return r.got, err
}

// giveUp ends a wait, unless it has ended otherwise.
func (l *Locks) giveUp(r *lockRequest, err error) {
	l.graph.Lock()
	defer l.graph.Unlock()
	l.withdraw(r, err)
}

// withdraw takes a request out of its queue. The caller holds graph.
func (l *Locks) withdraw(r *lockRequest, err error) {
	s := r.queue.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.queued {
		return
	}
	q := r.queue
	q.waiting = slices.DeleteFunc(q.waiting, func(other *lockRequest) bool { return other == r })
	r.queued = false
	r.done <- err
	q.advance()
}

// blockers lists whom r waits for: the nearest exclusive request before it, which waits for all the rest itself; if there is none
// the conflicting grants. Shared requests before it are left out: what they wait for it waits for too, so no cycle is without a
// shorter one that avoids them. A thousand waiters make a chain, not a complete graph.
func (q *lockQueue) blockers(r *lockRequest) (list []*Owner) {
	for at := slices.Index(q.waiting, r) - 1; at >= 0; at-- {
		if q.waiting[at].mode == Exclusive {
			return []*Owner{q.waiting[at].owner}
		}
	}
	for _, g := range q.granted {
		if g.owner != r.owner && (g.mode == Exclusive || r.mode == Exclusive) {
			list = append(list, g.owner)
		}
	}
	return list
}

func (q *lockQueue) list(list []LockInfo) []LockInfo {
	for _, g := range q.granted {
		list = append(list, LockInfo{Name: q.name, Mode: g.mode, Connection: g.owner.connection})
	}
	for _, r := range q.waiting {
		i := LockInfo{Name: q.name, Mode: r.mode, Connection: r.owner.connection, Waiting: true, Since: r.since}
		for _, o := range q.blockers(r) {
			i.Blockers = append(i.Blockers, o.connection)
		}
		list = append(list, i)
	}
	return list
}
