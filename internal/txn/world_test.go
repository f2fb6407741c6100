package txn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/testbed"
)

var bg = context.Background()

const treeSpace = CatalogSpace

// world is a Manager on a testbed, with one tree; it can lose its Manager as a crash would.
type world struct {
	testing.TB
	bed  *testbed.Bed
	m    *Manager
	tree *btree.Tree

	mu      sync.Mutex
	trees   map[uint32]*btree.Tree
	dropped map[uint32]int // times OnDropSpace was called
	timeout time.Duration
	writers int
}

func newWorld(tb testing.TB, frames int) *world {
	tb.Helper()
	w := &world{TB: tb, bed: testbed.New(tb, frames), trees: map[uint32]*btree.Tree{}, dropped: map[uint32]int{}, timeout: 20 * time.Second}
	w.must(w.bed.Files.Create(UndoSpace))
	w.must(Format(bg, w.bed.Pool))
	w.tree = w.makeTree(treeSpace)
	w.open()
	tb.Cleanup(func() { w.must(w.m.Close(bg)) })
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) makeTree(no uint32) *btree.Tree {
	w.must(w.bed.Files.Create(no))
	t, err := btree.Create(bg, w.bed.Pool, no)
	w.must(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trees[no] = t
	return t
}

func (w *world) open() {
	m, err := Open(bg, Config{Pool: w.bed.Pool, Log: w.bed.Log, LockWaitTimeout: w.timeout, Survives: true, MaxWriters: w.writers,
		Logger: slog.New(slog.DiscardHandler),
		Trees: func(no uint32) (*btree.Tree, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if t := w.trees[no]; t != nil {
				return t, nil
			}
			return nil, fmt.Errorf("space %d: %w", no, ErrTreeNotFound)
		},
		OnDropSpace: func(_ context.Context, no uint32) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dropped[no]++
			if w.trees[no] != nil {
				delete(w.trees, no)
				w.bed.Pool.DiscardSpace(no)
				return w.bed.Files.Remove(no)
			}
			return nil
		}})
	w.must(err)
	w.m = m
}

// crash loses everything in memory but the pages: open transactions become losers. The background is not started.
func (w *world) crash() {
	w.must(w.m.Close(bg))
	w.open()
}

func (w *world) begin(o ...Options) *Tx {
	if o == nil {
		o = []Options{{}}
	}
	o[0].Durability = DurabilityProcess
	return w.m.Begin(o[0])
}

func (w *world) put(tx *Tx, key, value string) {
	w.Helper()
	w.must(tx.Put(bg, w.tree, []byte(key), []byte(value)))
}

// has: the transaction sees value under key; "" = no such key.
func (w *world) has(tx *Tx, key, value string) {
	w.Helper()
	got, err := tx.Get(bg, w.tree, []byte(key), nil)
	if value == "" {
		if err != ErrKeyNotFound {
			w.Fatalf("%s is %.40q (%v), want none", key, got, err)
		}
		return
	}
	if err != nil || string(got) != value {
		w.Fatalf("%s is %.40q (%v), want %.40q", key, got, err, value)
	}
}

// committed: a new transaction sees it.
func (w *world) committed(key, value string) {
	w.Helper()
	tx := w.begin()
	w.has(tx, key, value)
	w.must(tx.Commit(bg))
}

func (w *world) set(key, value string) {
	w.Helper()
	tx := w.begin()
	w.put(tx, key, value)
	w.must(tx.Commit(bg))
}

// clean waits for purge and proves that it left nothing: no delete marks, no undo but a page for each slot, no overflow
// page without a value, no locks.
func (w *world) clean() {
	w.Helper()
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	if err := w.m.WaitIdle(ctx); err != nil {
		w.Fatalf("%v: %+v", err, w.m.Stats())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for no, t := range w.trees {
		pieces := 0
		it := t.NewIter()
		for ok := it.First(bg); ok; ok = it.Next(bg) {
			v, ok := parseVersion(it.Value())
			if !ok || !v.live() {
				w.Fatalf("entry %.40q is left over: %+v", it.Key(), v)
			}
			if v.large() {
				size, _ := parseRef(v.value)
				pieces += int((size + page.OverflowBytes - 1) / page.OverflowBytes)
			}
		}
		w.must(it.Err())
		if _, got := w.used(no); got != pieces {
			w.Fatalf("space %d has %d overflow pages, its values have %d", no, got, pieces)
		}
	}
	st := w.m.Stats()
	if n, _ := w.used(UndoSpace); n != 3+st.Slots {
		w.Fatalf("the undo space has %d pages for %d slots: %+v", n, st.Slots, st)
	}
	if st.Writers != 0 || st.Losers != 0 || st.Locks.Keys != 0 || st.History != 0 || len(w.m.slots.tokens) != 0 || len(w.m.slots.free) != st.Slots {
		w.Fatalf("something is left over: %+v, %d tokens, %d free slots", st, len(w.m.slots.tokens), len(w.m.slots.free))
	}
}

// used counts the pages in use in a space, and the overflow pages among them.
func (w *world) used(no uint32) (all, overflow int) {
	g := w.bed.Pool.BeginRead(bg)
	b, err := g.Fetch(page.MakeID(no, 1), pool.Shared)
	w.must(err)
	bitmap := *b.Page
	g.Abort()
	for i := range page.BitmapBits {
		if !bitmap.Bit(i) {
			continue
		}
		all++
		g := w.bed.Pool.BeginRead(bg)
		h, err := g.Fetch(page.MakeID(no, uint32(i)), pool.Shared)
		w.must(err)
		if h.Page.Kind() == page.KindOverflow {
			overflow++
		}
		g.Abort()
	}
	return all, overflow
}

// waiting lets f wait for a lock in the background and gives the channel of its end.
func (w *world) waiting(f func() error) chan error {
	w.Helper()
	c := make(chan error, 1)
	before := w.m.Stats().Locks.Waiting
	go func() { c <- f() }()
	for w.m.Stats().Locks.Waiting == before {
		select {
		case err := <-c:
			w.Fatalf("it ended with %v, want it to wait", err)
		case <-time.After(50 * time.Microsecond):
		}
	}
	return c
}

func (w *world) ends(c chan error, want error) {
	w.Helper()
	select {
	case err := <-c:
		if !errors.Is(err, want) {
			w.Fatalf("ended with %v, want %v", err, want)
		}
	case <-time.After(time.Minute):
		w.Fatal("it waits for ever")
	}
}

// seeded prints the seed of a random test.
func seeded(tb testing.TB) *rand.Rand {
	s := rand.Uint64()
	tb.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

func large(n int, b byte) []byte {
	v := bytes.Repeat([]byte{b}, n)
	for i := 0; i < n; i += 1000 {
		v[i] = byte(i / 1000)
	}
	return v
}
