package lock

import (
	"sync"
	"time"
)

// Stats are figures of waiting, counted since the Manager was made.
type Stats struct {
	Keys        int    // with explicit locks now
	Waiting     int    // owners that wait now
	Waits       uint64 // that have begun
	Timeouts    uint64
	Deadlocks   uint64
	WaitTime    time.Duration // of waits that have ended, summed
	LongestWait time.Duration
}

type counters struct {
	sync.Mutex    // taken last
	waiting       int
	waits         uint64
	timeouts      uint64
	deadlocks     uint64
	time, longest time.Duration
	last          Deadlock
}

func (c *counters) begin() {
	c.Lock()
	c.waiting++
	c.waits++
	c.Unlock()
}

func (c *counters) end(took time.Duration, err error) {
	c.Lock()
	c.waiting--
	c.time += took
	c.longest = max(c.longest, took)
	if err == ErrTimeout {
		c.timeouts++
	}
	c.Unlock()
}

// Stats of waiting.
func (m *Manager) Stats() Stats {
	m.stats.Lock()
	defer m.stats.Unlock()
	c := &m.stats
	return Stats{Keys: m.Len(), Waiting: c.waiting, Waits: c.waits, Timeouts: c.timeouts, Deadlocks: c.deadlocks, WaitTime: c.time, LongestWait: c.longest}
}

// LastDeadlock is the one found last; false: none was.
func (m *Manager) LastDeadlock() (Deadlock, bool) {
	m.stats.Lock()
	defer m.stats.Unlock()
	return m.stats.last, m.stats.deadlocks > 0
}

// Entry is one key with explicit locks: who has it and who waits for it, first come first.
type Entry struct {
	Space   uint32
	Key     []byte
	Granted []Grant
	Waiting []Wait
}

// Grant is a lock somebody has.
type Grant struct {
	Owner ID
	Mode  Mode
}

// List lists keys with explicit locks, at most so many, in no order; with waited only those that somebody waits for. Each key is
// told as it was at one moment, all of them are not.
func (m *Manager) List(waited bool, most int) []Entry {
	var list []Entry
	for i := range m.shards {
		s := &m.shards[i]
		s.Lock()
		for _, q := range s.queues {
			if len(list) >= most {
				break
			}
			if waited && len(q.waiters) == 0 {
				continue
			}
			e := Entry{Space: q.name.space, Key: []byte(q.name.key)}
			for _, g := range q.granted {
				e.Granted = append(e.Granted, Grant{g.owner.Listed(), g.mode})
			}
			for _, r := range q.waiters {
				e.Waiting = append(e.Waiting, r.describe())
			}
			list = append(list, e)
		}
		s.Unlock()
	}
	return list
}

// Waiting is what o waits for now; false: for nothing.
func (m *Manager) Waiting(o *Owner) (Wait, bool) {
	m.graph.Lock()
	defer m.graph.Unlock()
	r := o.waiting
	if r == nil {
		return Wait{}, false
	}
	r.queue.shard.Lock()
	defer r.queue.shard.Unlock()
	return r.describe(), r.queued
}

func (r *request) describe() Wait {
	return Wait{r.owner.Listed(), r.queue.name.space, []byte(r.queue.name.key), r.mode, r.since}
}
