package lock

import (
	"slices"
	"time"
)

// Deadlock is a cycle that was broken: every member waits for the next, and the last for the first.
type Deadlock struct {
	At     time.Time
	Cycle  []Wait
	Victim int // its index in Cycle
}

// Wait is what one owner waits for.
type Wait struct {
	Owner ID
	Space uint32
	Key   []byte
	Mode  Mode
	Since time.Time
}

// edge says that somebody waits for an owner: because of its grant, or because its request comes first.
type edge struct {
	to     *Owner
	mode   Mode
	queued bool
}

// breakCycles makes the youngest of every cycle through o give up. The caller holds graph.
//
// Rejected: holding all shards for the search. The search takes them one by one, and what it saw in one may be over when
// it looks at the next; that makes no false cycle. Waiters that time out need graph to leave. So an edge A→B goes only when B
// releases, which is its end; B was not waiting then, and does not wait again. Going round the cycle, every edge would have to
// go before the one behind it.
func (m *Manager) breakCycles(o *Owner) {
	if o.Held() == 0 {
		return // o is last in its queue and nobody can wait for it: the usual fate of a hot key's writers
	}
	for {
		m.mark++
		m.cycle = m.cycle[:0]
		if !m.search(o, o) {
			return
		}
		slices.Reverse(m.cycle)
		youngest := m.victim(m.cycle)
		clear(m.cycle) // keeps nobody
		m.withdraw(youngest.waiting, ErrDeadlock)
		if youngest == o {
			return
		}
	}
}

// search goes on from o along the edges; if it comes back to start it leaves the way in m.cycle, last edge first.
func (m *Manager) search(start, o *Owner) bool {
	for _, e := range m.blockers(o) {
		if e.to != start {
			if e.to.mark == m.mark {
				continue
			}
			e.to.mark = m.mark
			if !m.search(start, e.to) {
				continue
			}
		}
		m.cycle = append(m.cycle, e)
		return true
	}
	return false
}

// victim chooses who of a cycle gives up, and notes it. cycle[i] leads to the owner whose own edge is cycle[i+1].
//
// A member that the one before only queues behind is left out when that one would have to wait for the next member anyway, whose
// grant or request lies in the same queue: without it the cycle would be as closed, and need another victim.
func (m *Manager) victim(cycle []edge) *Owner {
	for i := 0; i < len(cycle) && len(cycle) > 2; {
		in, out := cycle[i], cycle[(i+1)%len(cycle)]
		before := cycle[(i+len(cycle)-1)%len(cycle)].to
		if in.queued && Conflict(before.waiting.mode, out.mode) {
			cycle = slices.Delete(cycle, i, i+1)
		} else {
			i++
		}
	}
	d := Deadlock{At: time.Now()}
	for i, e := range cycle {
		d.Cycle = append(d.Cycle, e.to.waiting.describe())
		if e.to.id > cycle[d.Victim].to.id {
			d.Victim = i
		}
	}
	m.stats.Lock()
	m.stats.deadlocks++
	m.stats.last = d
	m.stats.Unlock()
	return cycle[d.Victim].to
}

// blockers lists whom o waits for: conflicting grants and conflicting requests before its own. Behind the nearest exclusive
// request the list stops, for that one waits for all the rest itself; a thousand waiters of one key make a chain, not a
// complete graph.
func (m *Manager) blockers(o *Owner) []edge {
	r := o.waiting
	if r == nil {
		return nil
	}
	q := r.queue
	q.shard.Lock()
	defer q.shard.Unlock()
	if !r.queued {
		return nil
	}
	var list []edge
	for i := slices.Index(q.waiters, r) - 1; i >= 0; i-- {
		before := q.waiters[i]
		if !Conflict(before.mode, r.mode) {
			continue
		}
		list = append(list, edge{before.owner, before.mode, true})
		if before.mode == Exclusive {
			// before waits for all grants but its owner's, and its owner is in the list.
			return list
		}
	}
	for _, g := range q.granted {
		if g.owner != o && Conflict(g.mode, r.mode) {
			list = append(list, edge{g.owner, g.mode, false})
		}
	}
	return list
}
