package txn

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/space"
	"github.com/hearthdb/hearth/internal/wal"
)

// The spaces every database has. Space 0 is never used.
const (
	UndoSpace      = 1
	CatalogSpace   = 2
	FirstUserSpace = 16
)

// Config says what a Manager works on.
type Config struct {
	Pool *pool.Pool
	Log  *wal.Log
	// Trees finds the tree in a space; an error that is ErrTreeNotFound when the space was dropped.
	Trees func(space uint32) (*btree.Tree, error)
	// OnDropSpace removes a space for good; nobody uses it any more. No error when it is gone already.
	OnDropSpace func(ctx context.Context, space uint32) error

	LockWaitTimeout time.Duration // 0: without end
	MaxWriters      int           // 0: DefaultMaxWriters
	Survives        bool          // what is in the log ring survives the death of the process
	Logger          *slog.Logger
}

// Manager makes transactions over one database.
type Manager struct {
	cfg      Config
	pool     *pool.Pool
	log      *wal.Log
	undo     *space.Space
	locks    *lock.Manager
	sessions sessions
	view     atomic.Pointer[view] // the current one, nil when it has to be made
	born     uint64               // the first id of this life
	lowest   atomic.Uint64        // every transaction with a lower id has ended; may lag
	dead     atomic.Bool          // the log failed while somebody committed

	mu struct { // taken after latches, never while waiting
		sync.Mutex
		next, high uint64    // next id or number; no id from high on is reserved
		active     []*writer // sorted by id
		losers     int
		views      uint64 // made so far
	}
	reserving sync.Mutex // one goroutine reserves ids

	slots   slots
	losers  chan struct{} // capacity 1: there is a new loser
	purge   purge
	history atomic.Int64 // undo records of ended transactions, not yet purged; of this life only

	background struct {
		stop context.CancelFunc
		done sync.WaitGroup
	}
	beforeGroup func() error // tests die here, at a group boundary
}

// Format makes the undo space of a new database; its file exists.
func Format(ctx context.Context, p *pool.Pool) error {
	_, err := space.Create(ctx, p, UndoSpace, space.OwnerUndo, func(g *pool.Group, h *pool.Held) {
		g.Edit(h, page.AppendFormat(g.Scratch(), page.KindUndoDir))
		var b []byte
		b = binary.LittleEndian.AppendUint64(b, 1)
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint32(b, FirstUserSpace)
		g.Edit(h, page.AppendWrite(g.Scratch(), dirIDs, b))
	})
	return err
}

// Open reads the undo directory and the tail page of every slot: the transactions open at a crash become losers. Nothing is
// written and nothing runs in the background before Start.
func Open(ctx context.Context, cfg Config) (*Manager, error) {
	if cfg.MaxWriters == 0 {
		cfg.MaxWriters = DefaultMaxWriters
	}
	if cfg.MaxWriters < 1 || cfg.MaxWriters > MaxWritersLimit {
		return nil, fmt.Errorf("max-writers is %d, want 1 to %d", cfg.MaxWriters, MaxWritersLimit)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	m := &Manager{cfg: cfg, pool: cfg.Pool, log: cfg.Log, undo: space.Open(cfg.Pool, UndoSpace), locks: lock.NewManager(),
		losers: make(chan struct{}, 1)}
	m.purge.wake = make(chan struct{}, 1)
	m.slots.tokens = make(chan struct{}, cfg.MaxWriters)
	if err := m.load(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Manager) load(ctx context.Context) error {
	g := m.pool.BeginRead(ctx)
	dir, err := g.Fetch(undoDir, pool.Shared)
	if err != nil {
		g.Abort()
		return fmt.Errorf("read the undo directory: %w", err)
	}
	d, err := parseDir(dir.Page)
	g.Abort()
	if err != nil {
		return err
	}
	m.born, m.mu.next, m.mu.high = d.ids, d.ids, d.ids
	for i := len(d.slots) - 1; i >= 0; i-- {
		s := d.slots[i]
		m.slots.all = append(m.slots.all, s)
		g := m.pool.BeginRead(ctx)
		h, err := g.Fetch(undoID(s.tail), pool.Shared)
		if err == nil && h.Page.Kind() != page.KindUndo {
			err = &page.CorruptError{Page: h.ID, What: fmt.Sprintf("it is a %v page, want the last undo page of slot %d", h.Page.Kind(), i)}
		}
		if err != nil {
			g.Abort()
			return fmt.Errorf("read undo slot %d: %w", i, err)
		}
		head := h.Page.UndoHeader()
		g.Abort()
		if head.OpenTx == 0 {
			m.slots.free = append(m.slots.free, s)
			continue
		}
		if head.OpenTx >= d.ids {
			return &page.CorruptError{Page: undoID(s.tail), What: fmt.Sprintf("transaction %d is open, ids end at %d", head.OpenTx, d.ids)}
		}
		w := &writer{id: head.OpenTx, slot: s, opened: true, last: head.Last, owner: lock.NewOwner(head.OpenTx, 0)}
		w.loser.Store(true)
		m.locks.Release(w.owner)
		select {
		case m.slots.tokens <- struct{}{}: // a loser counts as a writer until it is undone
			w.token = true
		default:
		}
		m.mu.active = append(m.mu.active, w)
		m.mu.losers++
	}
	slices.Reverse(m.slots.all)
	slices.SortFunc(m.mu.active, func(a, b *writer) int { return cmp.Compare(a.id, b.id) })
	m.setLowest()
	return nil
}

// Start begins to roll back losers and to purge.
func (m *Manager) Start() {
	if m.background.stop != nil {
		panic("BUG: the manager is started twice")
	}
	ctx, stop := context.WithCancel(context.Background())
	m.background.stop = stop
	m.background.done.Go(func() { m.loserLoop(ctx) })
	m.background.done.Go(func() { m.purgeLoop(ctx) })
}

// Close ends what Start began. Transactions still open are not touched: they are losers of the next start.
func (m *Manager) Close(ctx context.Context) error {
	if m.background.stop == nil {
		return nil
	}
	m.background.stop()
	ended := make(chan struct{})
	go func() {
		m.background.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Losers is how many transactions are still to be rolled back.
func (m *Manager) Losers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.losers
}

// Stats are figures for the operator.
type Stats struct {
	NextID       uint64 // next transaction id or commit number
	Writers      int    // write transactions open, losers included
	Losers       int
	Slots        int   // undo slots ever in use
	History      int64 // undo records waiting for purge
	Purged       uint64
	PurgeLag     uint64 // ids between the next and the oldest that a snapshot still needs
	Locks        lock.Stats
	PurgeBlocked bool // what waits for purge is needed by snapshots
}

// Stats are approximate: they are not read at one moment.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	s := Stats{NextID: m.mu.next, Writers: len(m.mu.active), Losers: m.mu.losers}
	v := m.currentView()
	m.mu.Unlock()
	m.slots.mu.Lock()
	s.Slots = len(m.slots.all)
	m.slots.mu.Unlock()
	s.History, s.Purged = m.history.Load(), m.purge.purged.Load()
	s.PurgeLag = s.NextID - m.sessions.oldest(v).commitLimit
	s.Locks, s.PurgeBlocked = m.locks.Stats(), m.purge.blocked.Load()
	return s
}

// AllocSpace gives out the number of a new space. It is logged before anything is made with it, and never given out again.
func (m *Manager) AllocSpace(ctx context.Context) (uint32, error) {
	g, err := m.begin(ctx)
	if err != nil {
		return 0, err
	}
	h, err := g.Fetch(undoDir, pool.Exclusive)
	if err != nil {
		g.Abort()
		return 0, err
	}
	no := binary.LittleEndian.Uint32(h.Page[dirNextSpace:])
	if no < FirstUserSpace || no == 1<<32-1 {
		g.Abort()
		return 0, &page.CorruptError{Page: undoDir, What: fmt.Sprintf("the next space is %d", no)}
	}
	g.Edit(h, page.AppendWrite(g.Scratch(), dirNextSpace, binary.LittleEndian.AppendUint32(nil, no+1)))
	_, err = g.Commit()
	return no, err
}

// begin starts a group that changes pages.
func (m *Manager) begin(ctx context.Context) (*pool.Group, error) {
	if m.beforeGroup != nil {
		if err := m.beforeGroup(); err != nil {
			return nil, err
		}
	}
	if m.dead.Load() {
		return nil, wal.ErrDead
	}
	return m.pool.Begin(ctx), nil
}

// lockWithID locks mu with at least one id reserved.
func (m *Manager) lockWithID(ctx context.Context) error {
	for {
		m.mu.Lock()
		if m.mu.next < m.mu.high {
			return nil
		}
		m.mu.Unlock()
		if err := m.reserveIDs(ctx); err != nil {
			return err
		}
	}
}

// reserveIDs moves idHigh. That is in the log before any id below it is used, so no start gives an id out twice.
func (m *Manager) reserveIDs(ctx context.Context) error {
	m.reserving.Lock()
	defer m.reserving.Unlock()
	m.mu.Lock()
	high, done := m.mu.high, m.mu.next < m.mu.high
	m.mu.Unlock()
	if done {
		return nil
	}
	g, err := m.begin(ctx)
	if err != nil {
		return err
	}
	h, err := g.Fetch(undoDir, pool.Exclusive)
	if err != nil {
		g.Abort()
		return err
	}
	high += idBlock
	g.Edit(h, page.AppendWrite(g.Scratch(), dirIDs, binary.LittleEndian.AppendUint64(nil, high)))
	if _, err := g.Commit(); err != nil {
		return err
	}
	m.mu.Lock()
	m.mu.high = high
	m.mu.Unlock()
	return nil
}

// activeWriter finds a transaction that has not ended; nil when it has.
func (m *Manager) activeWriter(id uint64) *writer {
	if id < m.lowest.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.findActive(id)
	if !ok {
		return nil
	}
	return m.mu.active[i]
}

// findActive is called with mu held.
func (m *Manager) findActive(id uint64) (int, bool) {
	return slices.BinarySearchFunc(m.mu.active, id, func(w *writer, id uint64) int { return cmp.Compare(w.id, id) })
}

// setLowest is called with mu held, or before anybody else has m.
func (m *Manager) setLowest() {
	if len(m.mu.active) == 0 {
		m.lowest.Store(m.mu.next)
		return
	}
	m.lowest.Store(m.mu.active[0].id)
}

// isCorrupt: damage of one page or tree, which must not stop work on others.
func isCorrupt(err error) bool {
	var c *page.CorruptError
	return errors.As(err, &c)
}
