package hearth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// Power cuts: the whole engine over a disk that forgets what was not synced and tears sectors. While clients work, the disk is
// cloned as a crash would leave it; every clone is opened, compared with the oracle, checked, written to, and of some a second
// crash is made out of the middle of their recovery.

// crash is a disk as a power cut left it, and what it must hold.
type crash struct {
	disk  *file.Mem
	after bounds
	what  string
	seed  uint64
	set   func(*Options) // on top of smallOptions; may be nil
}

func (c *crash) options() *Options {
	o := smallOptions(c.disk)
	if c.set != nil {
		c.set(o)
	}
	return o
}

var crashModes = []struct {
	name string
	mode file.CrashMode
}{{"keep all", file.KeepAll}, {"drop unsynced", file.DropUnsynced}, {"random", file.Random}, {"random", file.Random}}

// sampler says which calls of the disk become crashes.
type sampler struct {
	mu   sync.Mutex
	rng  *rand.Rand
	left int // crashes to be taken
	next int // at this call
	gap  int // mean number of calls between two
}

func (s *sampler) take(n int) (bool, *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || n < s.next {
		return false, nil
	}
	s.left--
	s.next = n + 1 + s.rng.IntN(2*s.gap-1)
	return true, rngOf(s.rng.Uint64())
}

// stop ends the taking, also by calls that are on their way here.
func (s *sampler) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
}

// TestPowerCut cuts the power under a running workload.
func TestPowerCut(t *testing.T) {
	seed := seedOf(t)
	for i, v := range []powerCuts{
		{name: "doublewrite", crashes: 90},
		{name: "atomic writes", crashes: 25, atomicUnit: PageSize},
		{name: "large pool", crashes: 20, set: func(o *Options) { o.PoolSize, o.RingSize = 32<<20, 4<<20 }},
		{name: "process", crashes: 25, set: func(o *Options) { o.Durability = DurabilityProcess }},
	} {
		t.Run(v.name, func(t *testing.T) { v.run(t, seed+uint64(i)) })
	}
}

// powerCuts is one workload, and how many crashes are made of it.
type powerCuts struct {
	name       string
	crashes    int
	atomicUnit int // bytes the disk writes at once, so that pages need no doublewrite
	set        func(*Options)
}

// leastCrashes are made however slow the machine is.
const leastCrashes = 5

func (v *powerCuts) run(t *testing.T, seed uint64) {
	ctx := context.Background()
	disk := file.NewMem(seed)
	disk.SetAtomicUnit(v.atomicUnit)
	w := newWorkload(seed, 3)
	db, err := Open(ctx, memDir, (&crash{disk: disk, set: v.set}).options())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	if err := w.setUp(ctx, db); err != nil {
		t.Fatal(err)
	}
	// The trees must be there whatever comes, also of a commit that need not survive a power cut.
	if err := db.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	budget := time.Now().Add(time.Duration(v.crashes) * 150 * time.Millisecond)
	s := &sampler{rng: rngOf(seed), left: v.crashes, gap: 12}
	transactions := 200
	if testing.Short() {
		s.left, s.gap, transactions = v.crashes/3, 25, 120
	}
	if long {
		budget = time.Now().Add(20 * time.Minute)
		s.left, s.gap, transactions = 1<<30, 1, 400
	}
	var failed atomic.Bool
	var done atomic.Int64
	stop := func() bool { return failed.Load() || time.Now().After(budget) && done.Load() >= leastCrashes }

	crashes := make(chan crash)
	var verifiers sync.WaitGroup
	for range 2 {
		verifiers.Go(func() {
			for c := range crashes {
				done.Add(1)
				if failed.Load() {
					continue
				}
				kept := c.disk.Clone(file.KeepAll)
				if err := surviveTwice(ctx, w, c); err != nil {
					failed.Store(true)
					t.Errorf("%s: %v", c.what, err)
					keepDisk(t, kept, t.Name())
				}
			}
		})
	}
	var calls sync.RWMutex // held shared by calls that are being looked at
	disk.OnOp(func(op file.Op) error {
		if !op.Kind.Changes() {
			return nil
		}
		calls.RLock()
		defer calls.RUnlock()
		take, rng := s.take(op.N)
		if !take || stop() {
			return nil
		}
		m := crashModes[rng.IntN(len(crashModes))]
		c := crash{after: w.least(), seed: rng.Uint64(), set: v.set}
		c.disk = disk.Clone(m.mode)
		w.most(c.after)
		if db.opts.Durability == DurabilityProcess && m.mode != file.KeepAll {
			c.after.keepNothing() // only the death of the process must be survived
		}
		c.what = fmt.Sprintf("crash (%s) before call %d: %s %s at %d, %d bytes", m.name, op.N, op.Kind, op.Name, op.Off, op.Len)
		crashes <- c
		return nil
	})
	err = w.run(ctx, db, transactions, stop)
	disk.OnOp(nil)
	s.stop()
	calls.Lock()
	close(crashes)
	calls.Unlock()
	verifiers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d crashes", done.Load())
	if done.Load() < leastCrashes {
		t.Error("that is hardly any")
	}
	if !failed.Load() {
		live(ctx, t, w, db)
	}
}

// live verifies a database that did not crash.
func live(ctx context.Context, t *testing.T, w *workload, db *DB) {
	if _, err := w.verify(ctx, db, w.most(w.least())); err != nil {
		t.Errorf("the database that lives on: %v", err)
	}
	if err := checkSound(ctx, db); err != nil {
		t.Errorf("the database that lives on: %v", err)
	}
}

// surviveTwice is survive, and for one crash in three a second one in the middle of the first's recovery.
func surviveTwice(ctx context.Context, w *workload, c crash) error {
	rng := rngOf(c.seed)
	if rng.IntN(3) > 0 {
		return survive(ctx, w, c)
	}
	// Recoveries differ in length by far; the distribution favours their beginnings.
	at := 1 + rng.IntN(1+rng.IntN(1+rng.IntN(2000)))
	m := crashModes[rng.IntN(len(crashModes))]
	var once sync.Once
	second := crash{after: slices.Clone(c.after), seed: rng.Uint64(), set: c.set}
	if c.options().Durability == DurabilityProcess && m.mode != file.KeepAll {
		second.after.keepNothing() // the first crash may have been one of the process
	}
	c.disk.OnOp(func(op file.Op) error {
		if op.N >= at && op.Kind.Changes() {
			once.Do(func() {
				second.disk = c.disk.Clone(m.mode)
				second.what = fmt.Sprintf("then crash (%s) before call %d: %s %s at %d, %d bytes", m.name, op.N, op.Kind, op.Name, op.Off, op.Len)
			})
		}
		return nil
	})
	if err := survive(ctx, w, c); err != nil {
		return err
	}
	if second.disk == nil {
		return nil
	}
	if err := survive(ctx, w, second); err != nil {
		return fmt.Errorf("%s: %w", second.what, err)
	}
	return nil
}

// survive opens what a crash left and does with it what an operator would be glad to see work.
func survive(ctx context.Context, w *workload, c crash) (err error) {
	watch(c.what, func() { err = surviveStart(ctx, w, c) })
	return err
}

func surviveStart(ctx context.Context, w *workload, c crash) error {
	var fatal atomic.Pointer[error]
	opts := c.options()
	opts.OnFatal = func(err error) { fatal.Store(&err) }
	db, err := Open(ctx, memDir, opts)
	if err != nil {
		return err
	}
	kept, err := w.verify(ctx, db, c.after)
	c.disk.OnOp(nil) // a second crash would no longer be of what the oracle knows
	if err == nil {
		err = checkSound(ctx, db)
	}
	if err == nil {
		err = goOn(ctx, w, db, kept, c.seed)
	}
	if cerr := db.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close: %w", cerr)
	}
	if f := fatal.Load(); f != nil {
		err = fmt.Errorf("fatal: %w", *f)
	}
	return err
}

// goOn lets the clients go on from what was kept, then verifies again.
func goOn(ctx context.Context, w *workload, db *DB, kept []int, seed uint64) error {
	next := w.clone(seed)
	next.settle(kept)
	never := func() bool { return false }
	if err := next.run(ctx, db, 4, never); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	if _, err := next.verify(ctx, db, next.most(next.least())); err != nil {
		return fmt.Errorf("after going on: %w", err)
	}
	if err := checkSound(ctx, db); err != nil {
		return fmt.Errorf("after going on: %w", err)
	}
	return nil
}

// TestPowerCutNew cuts the power at every call that makes a new database and its first trees.
func TestPowerCutNew(t *testing.T) {
	seed := seedOf(t)
	ctx := context.Background()
	rng := rngOf(seed)
	type young struct {
		disk  *file.Mem
		setUp bool // was acknowledged
		what  string
	}
	var crashes []young
	var setUp atomic.Bool
	var mu sync.Mutex
	disk := file.NewMem(seed)
	disk.OnOp(func(op file.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if !op.Kind.Changes() {
			return nil
		}
		for _, m := range crashModes[:3] {
			if !long && rng.IntN(4) > 0 {
				continue
			}
			y := young{setUp: setUp.Load(), what: fmt.Sprintf("crash (%s) before call %d: %s %s", m.name, op.N, op.Kind, op.Name)}
			y.disk = disk.Clone(m.mode)
			crashes = append(crashes, y)
		}
		return nil
	})
	db := openMem(t, disk)
	w := newWorkload(seed, 1)
	if err := w.setUp(ctx, db); err != nil {
		t.Fatal(err)
	}
	setUp.Store(true)
	if err := db.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	disk.OnOp(nil)
	t.Logf("%d crashes", len(crashes))
	for _, c := range crashes {
		err := func() error {
			db, err := Open(ctx, memDir, smallOptions(c.disk))
			if err != nil {
				return err
			}
			defer db.Close()
			var names []string
			err = db.View(ctx, func(tx *Tx) (err error) { names, err = tx.Trees(); return err })
			if err != nil {
				return err
			}
			if len(names) == 0 && !c.setUp {
				if err := w.setUp(ctx, db); err != nil {
					return err
				}
			}
			if _, err := w.verify(ctx, db, make(bounds, 1)); err != nil {
				return err
			}
			return checkSound(ctx, db)
		}()
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
	}
}

// TestPowerCutCanary proves that the tests above can fail: a log that lost acknowledged commits is not taken for a good one.
func TestPowerCutCanary(t *testing.T) {
	ctx := context.Background()
	disk := file.NewMem(1)
	w := newWorkload(1, 1)
	db := openMem(t, disk)
	if err := w.setUp(ctx, db); err != nil {
		t.Fatal(err)
	}
	never := func() bool { return false }
	if err := w.run(ctx, db, 5, never); err != nil {
		t.Fatal(err)
	}
	lost := int64(db.log.Durable())
	if err := w.run(ctx, db, 5, never); err != nil {
		t.Fatal(err)
	}
	c := crash{disk: disk.Clone(file.DropUnsynced), after: w.most(w.least()), what: "a hole in the log"}
	const payload = 1<<20 - 4096 // of a segment, see package wal
	f, err := c.disk.OpenFile(fmt.Sprintf("%s/log/%016x.log", memDir, lost/payload), file.ReadWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 32), 4096+lost%payload); err != nil {
		t.Fatal(err)
	}
	if err := survive(ctx, w, c); !errors.As(err, new(*wrong)) {
		t.Errorf("of a log that lost five commits the verdict is %v", err)
	}
}
