package lock

// breakCycles makes the youngest of every cycle through o give up. The caller holds graph.
//
// Rejected: holding all shards for the search. The search takes them one by one, and what it saw in one may be over when
// it looks at the next; that makes no false cycle. Waiters that time out need graph to leave. So an edge A→B goes only when B
// releases, which is its end; B was not waiting then, and does not wait again. Going round the cycle, every edge would have to
// go before the one behind it.
func (m *Manager) breakCycles(o *Owner) {
	if !o.holdsAny() {
		return // o is last in its queue and nobody can wait for it: the usual fate of a hot key's writers
	}
	for {
		m.mark++
		youngest := m.search(o, o)
		if youngest == nil {
			return
		}
		m.withdraw(youngest.waiting, ErrDeadlock)
		if youngest == o {
			return
		}
	}
}

// search goes on from o along the edges; if it comes back to start it returns the youngest owner of the way.
func (m *Manager) search(start, o *Owner) *Owner {
	for _, next := range m.blockers(o) {
		if next == start {
			return o
		}
		if next.mark == m.mark {
			continue
		}
		next.mark = m.mark
		if found := m.search(start, next); found != nil {
			if found.id > o.id {
				return found
			}
			return o
		}
	}
	return nil
}

// blockers lists whom o waits for: conflicting grants and conflicting requests before its own. Behind the nearest exclusive
// request the list stops, for that one waits for all the rest itself; a thousand waiters of one key make a chain, not a
// complete graph.
func (m *Manager) blockers(o *Owner) []*Owner {
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
	at := 0
	for q.waiters[at] != r {
		at++
	}
	var list []*Owner
	for i := at - 1; i >= 0; i-- {
		before := q.waiters[i]
		if !conflict(before.mode, r.mode) {
			continue
		}
		list = append(list, before.owner)
		if before.mode == Exclusive {
			// before waits for all grants but its owner's, and its owner is in the list.
			return list
		}
	}
	for _, g := range q.granted {
		if g.owner != o && conflict(g.mode, r.mode) {
			list = append(list, g.owner)
		}
	}
	return list
}
