package dict

// breakCycles makes one owner of every cycle through o give up: the first with a shared request, for a statement is repeated more
// cheaply than the change of a table; if there is none, o. The caller holds graph.
//
// The search looks into one shard after the other, and what it saw in one may be over when it looks at the next. That makes no false
// cycle: an edge A→B goes when B releases, and then B was not waiting; or when A gives up, and for that A needs graph.
func (l *Locks) breakCycles(o *Owner) {
	for {
		l.round++
		cycle := l.search(o, o)
		if cycle == nil {
			return
		}
		victim := o
		for _, member := range cycle {
			if r := member.waiting.Load(); r != nil && r.mode == Shared {
				victim = member
				break
			}
		}
		if r := victim.waiting.Load(); r != nil {
			l.withdraw(r, ErrDeadlock)
		}
		if victim == o {
			return
		}
	}
}

// search goes on from o along the edges. If it comes back to start it returns the owners of the way, o last.
func (l *Locks) search(start, o *Owner) []*Owner {
	r := o.waiting.Load()
	if r == nil {
		return nil
	}
	s := r.queue.shard
	s.mu.Lock()
	var next []*Owner
	if r.queued {
		next = r.queue.blockers(r)
	}
	s.mu.Unlock()
	for _, n := range next {
		if n == start {
			return []*Owner{o}
		}
		if n.round == l.round {
			continue
		}
		n.round = l.round
		if cycle := l.search(start, n); cycle != nil {
			return append(cycle, o)
		}
	}
	return nil
}
