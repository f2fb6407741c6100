package datafile

import "sync/atomic"

// table finds a space by number without a lock and without memory per lookup, which neither a sync.Map (it boxes the
// key) nor an RWMutex (a line that every miss writes) does. Numbers are given out one after the other, so a tree over their bits stays small.
type table struct {
	top [1 << topBits]atomic.Pointer[middle]
}

type (
	middle [1 << middleBits]atomic.Pointer[leaf]
	leaf   [1 << leafBits]atomic.Pointer[space]
)

const (
	topBits    = 12
	middleBits = 10
	leafBits   = 10
)

func (t *table) get(no uint32) *space {
	m := t.top[no>>(middleBits+leafBits)].Load()
	if m == nil {
		return nil
	}
	l := m[no>>leafBits%(1<<middleBits)].Load()
	if l == nil {
		return nil
	}
	return l[no%(1<<leafBits)].Load()
}

// set puts s, or nothing, at no. One caller at a time.
func (t *table) set(no uint32, s *space) {
	top := &t.top[no>>(middleBits+leafBits)]
	m := top.Load()
	if m == nil {
		m = new(middle)
		top.Store(m)
	}
	mid := &m[no>>leafBits%(1<<middleBits)]
	l := mid.Load()
	if l == nil {
		l = new(leaf)
		mid.Store(l)
	}
	l[no%(1<<leafBits)].Store(s)
}

// all visits every space by ascending number.
func (t *table) all(visit func(*space)) {
	for i := range t.top {
		m := t.top[i].Load()
		for j := 0; m != nil && j < len(m); j++ {
			l := m[j].Load()
			for k := 0; l != nil && k < len(l); k++ {
				if s := l[k].Load(); s != nil {
					visit(s)
				}
			}
		}
	}
}
