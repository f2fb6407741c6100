package sqltorture

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/peer"
)

// world is what all who use a server in one life share.
type world struct {
	server   *peer.Server
	clock    *clock
	found    *findings
	ledger   *ledger
	families *families
	targets  targets
	over     atomic.Bool // the server is dead, or is to be left alone
}

// targets are the connections that a nuisance may kill, by who uses them.
type targets struct {
	mu    sync.Mutex
	links map[string]*link
}

func (t *targets) set(name string, l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.links == nil {
		t.links = map[string]*link{}
	}
	t.links[name] = l
}

// pick returns one of them, nil if there is none yet.
func (t *targets) pick(n int) *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	n %= max(len(t.links), 1)
	for _, l := range t.links { // in random order, so that n only makes it more so
		if n == 0 {
			return l
		}
		n--
	}
	return nil
}

// families are the parents that clients know of, to have children and to delete them.
type families struct {
	mu   sync.Mutex
	list []uint64
}

// parentsKnown bounds the list, and so how many parents are about.
const parentsKnown = 60

// born adds a parent, and returns one that is to go, 0 for none.
func (f *families) born(id uint64) (old uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, id)
	if len(f.list) > parentsKnown {
		old, f.list = f.list[0], f.list[1:]
	}
	return old
}

// pick returns the parent in place n, counted round and round, 0 if there is none.
func (f *families) pick(n int) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) == 0 {
		return 0
	}
	return f.list[n%len(f.list)]
}

// ledger is where ids are written down that AUTO_INCREMENT gave.
type ledger struct {
	mu    sync.Mutex
	given map[uint64]issue
}

// issue says who was given an id, in the attempt that began when.
type issue struct {
	by author
	at uint64
}

// issue notes an id, and returns who else has been given it before.
func (l *ledger) issue(id uint64, to issue) (before issue, twice bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, twice = l.given[id]
	if !twice {
		l.given[id] = to
	}
	return before, twice && before != to
}

// forget lets go of ids given since then that keep does not hold: the memory in which that was noted is gone.
func (l *ledger) forget(since uint64, keep map[uint64]row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, i := range l.given {
		if _, there := keep[id]; i.at >= since && !there {
			delete(l.given, id)
		}
	}
}

// statement returns the context of one statement: it ends when the torture ends, or after a time that means the server hangs.
func statement(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, statementLimit)
}
