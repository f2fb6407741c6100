package replay

import (
	"hash/maphash"
	"sync"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// lanes keep the state of the log's sessions, as far as it is not that of a fresh one.
type lanes struct {
	mu     sync.Mutex
	states map[uint64]State
}

// maxLanes bounds the sessions whose state is kept; beyond, all are taken for fresh, which is safe (rule 2).
const maxLanes = 1 << 16

func newLanes() *lanes { return &lanes{states: map[uint64]State{}} }

func (l *lanes) of(id uint64) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.states[id]
}

func (l *lanes) put(id uint64, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == (State{}) {
		delete(l.states, id)
		return
	}
	if len(l.states) >= maxLanes {
		clear(l.states)
	}
	l.states[id] = s
}

func (l *lanes) drop(id uint64) {
	l.mu.Lock()
	delete(l.states, id)
	l.mu.Unlock()
}

// laneOf an entry: its session, or its user where the log has no numbers.
func laneOf(e *slowlog.Entry) uint64 {
	if e.HasThreadID {
		return e.ThreadID
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.Write(e.User)
	h.WriteByte('@')
	h.Write(e.Host)
	h.Write(e.IP)
	return h.Sum64()
}
