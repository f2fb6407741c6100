package dict

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Metadata locks. Their rules:
//
//  1. A lock on a table is held together with a shared one on its database. So who has the database exclusively has it alone.
//  2. Shared goes with shared; nothing else goes together.
//  3. First come, first served: a request waits behind those before it, so a statement that changes a table is not starved by those
//     that use it. There are two exceptions, both for owners who hold the name already, whom everybody would wait for otherwise:
//     what they hold they get again at once, and making it exclusive goes to the front.
//  4. Locks are held until the owner releases them, which is the end of its transaction.
//  5. An owner waits for at most one request.
//  6. Whoever adds an edge to the graph of waiting looks for the cycles through it at once, under one mutex. Row locks are not in this
//     graph: a cycle of both kinds ends by a timeout.
//
// Lock order: Locks.graph, then one shard.

// Mode of a metadata lock.
type Mode uint8

const (
	// Shared keeps a definition as it is: for statements that use it.
	Shared Mode = iota + 1
	// Exclusive keeps everybody else away: for statements that change it.
	Exclusive
)

func (m Mode) String() string {
	if m == Exclusive {
		return "exclusive"
	}
	return "shared"
}

// LockName is what a metadata lock is on, in lower case: a table, or with an empty table a database.
type LockName struct{ Database, Table string }

// TableLock names a table or view. Its triggers belong to it. Case does not matter.
func TableLock(database, table string) LockName {
	return LockName{strings.ToLower(database), strings.ToLower(table)}
}

// DatabaseLock names a database.
func DatabaseLock(database string) LockName { return TableLock(database, "") }

// RoutineLock names a procedure or an event.
func RoutineLock(database, name string) LockName { return TableLock(database, "routine/"+name) }

// SettingsLock is on all persisted variables, and the users.
var SettingsLock = LockName{}

// String is the name as an operator would write it.
func (n LockName) String() string {
	if n.Table == "" {
		return n.Database
	}
	return n.Database + "." + n.Table
}

const (
	lockShards = 64
	// queuesKept is how many names nobody uses a shard remembers, so that the usual ones need no allocation.
	queuesKept = 64
	// heldListed is how many locks of an owner are looked through one by one. A dump of a whole server holds one for each table.
	heldListed = 16
	// recentQueues: a statement's tables and their database.
	recentQueues = 4
)

// Locks is the table of metadata locks. It may be used by many goroutines.
type Locks struct {
	seed   maphash.Seed
	shards [lockShards]lockShard

	graph sync.Mutex // held by who begins or gives up waiting
	round uint64     // of the search for cycles; guarded by graph
}

type lockShard struct {
	mu     sync.Mutex
	queues map[LockName]*lockQueue
	_      [48]byte // a cache line of its own
}

// Owner is who holds metadata locks: a session. Like it, it is for one goroutine at a time.
type Owner struct {
	connection uint32
	grants     []*grant            // held, in the order in which they came
	held       map[LockName]*grant // the same, while they are more than heldListed
	free       []*grant

	// recent are the queues used last, held or not. Statements use the same few tables again and again, and this way find them
	// without a hash.
	recent    [recentQueues]*lockQueue
	oldRecent int // index of the next to be replaced

	waiting atomic.Pointer[lockRequest]
	round   uint64 // in which the search has been here; guarded by Locks.graph
}

// grant is one held lock. What is in it changes under its shard's mutex; mode only when it is made exclusive, by whoever lets its
// waiting owner go on.
type grant struct {
	owner *Owner
	queue *lockQueue
	mode  Mode
	at    int // index in queue.granted
}

func newLocks() *Locks {
	l := &Locks{seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].queues = map[LockName]*lockQueue{}
	}
	return l
}

// NewOwner makes an owner that holds nothing. The connection is for LockInfo.
func NewOwner(connection uint32) *Owner {
	return &Owner{connection: connection}
}

// Acquire gets a lock, or makes a shared one exclusive, and keeps it until ReleaseAll. A lock on a table brings a shared one on its
// database. What the owner has it gets again at once. It waits at most so long for each (0: not at all): ErrLockWait; or until ctx
// ends: its error. ErrDeadlock: it would wait for somebody who waits for it, and the transaction has to end. After an error the owner
// holds what it held before, and perhaps the database.
func (l *Locks) Acquire(ctx context.Context, o *Owner, name LockName, mode Mode, wait time.Duration) error {
	if name.Table != "" {
		if err := l.acquire(ctx, o, LockName{Database: name.Database}, Shared, wait); err != nil {
			return err
		}
	}
	return l.acquire(ctx, o, name, mode, wait)
}

func (l *Locks) acquire(ctx context.Context, o *Owner, name LockName, mode Mode, wait time.Duration) error {
	has := o.find(name)
	if has != nil && has.mode >= mode {
		return nil
	}
	q := l.lockQueue(o, name)
	g := q.try(o, has, mode)
	q.shard.mu.Unlock()
	if g == nil {
		var err error
		if g, err = l.wait(ctx, o, name, has, mode, wait); err != nil {
			return err
		}
	}
	if has == nil {
		o.keep(g)
	}
	return nil
}

// lockQueue finds the queue of a name and locks its shard.
func (l *Locks) lockQueue(o *Owner, name LockName) *lockQueue {
	for _, q := range o.recent {
		if q != nil && q.name == name {
			q.shard.mu.Lock()
			if !q.forgotten {
				return q
			}
			q.shard.mu.Unlock()
		}
	}
	s := &l.shards[maphash.Comparable(l.seed, name)%lockShards]
	s.mu.Lock()
	q := s.queues[name]
	if q == nil {
		q = &lockQueue{name: name, shard: s}
		s.queues[name] = q
	}
	o.recent[o.oldRecent] = q
	o.oldRecent = (o.oldRecent + 1) % recentQueues
	return q
}

// find returns the grant that the owner has of a name, nil if it has none.
func (o *Owner) find(name LockName) *grant {
	if len(o.grants) > heldListed {
		return o.held[name]
	}
	for _, g := range o.grants {
		if g.queue.name == name {
			return g
		}
	}
	return nil
}

// keep adds a grant to those of the owner.
func (o *Owner) keep(g *grant) {
	o.grants = append(o.grants, g)
	switch n := len(o.grants); {
	case n == heldListed+1:
		o.held = map[LockName]*grant{}
		for _, g := range o.grants {
			o.held[g.queue.name] = g
		}
	case n > heldListed:
		o.held[g.queue.name] = g
	}
}

// Holds says whether the owner has the lock, in this mode or a stronger one.
func (o *Owner) Holds(name LockName, mode Mode) bool {
	g := o.find(name)
	return g != nil && g.mode >= mode
}

// ReleaseAll lets go of everything.
func (o *Owner) ReleaseAll() { o.ReleaseTo(LockMark{}) }

// LockMark is a place among the locks of an owner.
type LockMark struct{ locks int }

// Mark returns the present place, for savepoints.
func (o *Owner) Mark() LockMark { return LockMark{len(o.grants)} }

// ReleaseTo lets go of what was acquired since m. A lock that was made exclusive since then stays exclusive.
func (o *Owner) ReleaseTo(m LockMark) {
	for i := len(o.grants) - 1; i >= m.locks; i-- {
		g := o.grants[i]
		if o.held != nil {
			delete(o.held, g.queue.name)
		}
		s := g.queue.shard
		s.mu.Lock()
		g.queue.release(g)
		s.mu.Unlock()
		if len(o.free) < 8 {
			o.free = append(o.free, g)
		}
		o.grants[i] = nil
	}
	if o.grants = o.grants[:m.locks]; m.locks <= heldListed {
		o.held = nil
	}
}

// LockInfo is one line of what is held and waited for.
type LockInfo struct {
	Name       LockName
	Mode       Mode
	Connection uint32
	Waiting    bool
	Since      time.Time // of the waiting; zero for what is held
	Blockers   []uint32  // connections that are waited for directly
}

// List takes a look at all locks and waiters. It is not of one moment.
func (l *Locks) List() []LockInfo {
	var list []LockInfo
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for _, q := range s.queues {
			list = q.list(list)
		}
		s.mu.Unlock()
	}
	return list
}
