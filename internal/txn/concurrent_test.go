package txn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/lock"
)

const (
	accounts = 12
	initial  = 1000
)

func account(i int) []byte { return fmt.Appendf(nil, "account%03d", i) }

// balance is a value of some size: some are large, so that purge frees chains under the readers.
func balance(n int64, r *rand.Rand) []byte {
	size := 8 + r.IntN(200)
	if r.IntN(8) == 0 {
		size = 4000 + r.IntN(40_000)
	}
	v := make([]byte, size)
	binary.LittleEndian.PutUint64(v, uint64(n))
	for i := 8; i < size; i++ {
		v[i] = byte(n)
	}
	return v
}

func parseBalance(v []byte) (int64, error) {
	if len(v) < 8 {
		return 0, fmt.Errorf("a balance of %d bytes", len(v))
	}
	n := int64(binary.LittleEndian.Uint64(v))
	if len(v) > 8 && (v[8] != byte(n) || v[len(v)-1] != byte(n)) {
		return 0, fmt.Errorf("balance %d is torn", n)
	}
	return n, nil
}

type bank struct {
	*world
	transfers, deadlocks, sums atomic.Int64
}

func (b *bank) open(r *rand.Rand) {
	tx := b.begin()
	for i := range accounts {
		b.must(tx.Put(bg, b.tree, account(i), balance(initial, r)))
	}
	b.must(tx.Commit(bg))
}

// transfer moves money in one of several ways; it may end in a rollback.
func (b *bank) transfer(r *rand.Rand) (err error) {
	o := Options{}
	if r.IntN(2) == 0 {
		o.Isolation = ReadCommitted
	}
	tx := b.begin(o)
	defer func() {
		if !tx.done {
			if rerr := tx.Rollback(bg); rerr != nil && !errors.Is(rerr, errCrash) {
				err = rerr
			}
		}
		if errors.Is(err, ErrDeadlock) {
			b.deadlocks.Add(1)
			err = nil
		}
	}()
	begin := tx.Savepoint()
	for range 1 + r.IntN(2) {
		from, to := r.IntN(accounts), r.IntN(accounts)
		if from == to {
			continue
		}
		if r.IntN(4) == 0 {
			if _, err := tx.Lock(bg, b.tree, account(to), lock.Shared, LockOptions{}, nil); err != nil {
				return err
			}
		}
		amount := int64(r.IntN(100))
		for _, x := range []struct {
			no  int
			add int64
		}{{from, -amount}, {to, amount}} {
			v, err := tx.Lock(bg, b.tree, account(x.no), lock.Exclusive, LockOptions{}, nil)
			if err != nil {
				return err
			}
			n, err := parseBalance(v)
			if err != nil {
				return err
			}
			sp := tx.Savepoint()
			switch r.IntN(6) {
			case 0:
				if err := tx.Put(bg, b.tree, account(x.no), balance(-7, r)); err != nil {
					return err
				}
				if err := tx.RollbackTo(bg, sp); err != nil {
					return err
				}
			case 1:
				if found, err := tx.Delete(bg, b.tree, account(x.no)); err != nil || !found {
					return fmt.Errorf("delete of a locked row: %v %w", found, err)
				}
				if err := tx.Insert(bg, b.tree, account(x.no), balance(n+x.add, r)); err != nil {
					return err
				}
				continue
			}
			if err := tx.Put(bg, b.tree, account(x.no), balance(n+x.add, r)); err != nil {
				return err
			}
		}
	}
	if r.IntN(3) == 0 { // whatever it has done, without that everything is as it should be
		if err := b.total(tx, ReadOptions{Current: r.IntN(2) == 0, Before: begin}); err != nil {
			return err
		}
	}
	if r.IntN(5) == 0 {
		return tx.Rollback(bg)
	}
	if err := tx.Commit(bg); err != nil {
		return err
	}
	b.transfers.Add(1)
	return nil
}

// total walks several cursors over everything at the same time.
func (b *bank) total(tx *Tx, o ReadOptions) error {
	var cursors [3]*Cursor
	var sums [len(cursors)]int64
	for i := range cursors {
		cursors[i] = tx.CursorWith(b.tree, o)
		if i > 0 { // one is left to the end of the transaction
			defer cursors[i].Close()
		}
	}
	for n := range accounts + 1 {
		for i, c := range cursors {
			if ok := c.Next(bg) || n == 0 && c.First(bg); ok != (n < accounts) || c.Err() != nil {
				return fmt.Errorf("cursor %d %+v: account %d: %v %w", i, o, n, ok, c.Err())
			}
			if n == accounts {
				break
			}
			x, err := parseBalance(c.Value(bg))
			if err != nil {
				return fmt.Errorf("cursor %d %+v: account %d: %w", i, o, n, err)
			}
			sums[i] += x
		}
	}
	for i, sum := range sums {
		if sum != accounts*initial {
			return fmt.Errorf("cursor %d %+v: %d in all, want %d", i, o, sum, accounts*initial)
		}
	}
	return nil
}

// sum reads everything in one of several ways: nothing is ever lost or seen half.
func (b *bank) sum(r *rand.Rand) error {
	o := Options{ReadOnly: true}
	if r.IntN(2) == 0 {
		o.Isolation = ReadCommitted
	}
	tx := b.begin(o)
	defer tx.Rollback(bg)
	for range 1 + r.IntN(3) {
		tx.Statement()
		total, n := int64(0), 0
		add := func(v []byte) error {
			x, err := parseBalance(v)
			total += x
			n++
			return err
		}
		if r.IntN(3) == 0 {
			if err := b.total(tx, ReadOptions{Current: true}); err != nil {
				return err
			}
		}
		if r.IntN(2) == 0 {
			c := tx.Cursor(b.tree)
			for ok := c.First(bg); ok; ok = c.Next(bg) {
				if err := add(c.Value(bg)); err != nil {
					return err
				}
			}
			if c.Err() != nil {
				return c.Err()
			}
			c.Close()
		} else {
			for i := range accounts {
				v, err := tx.Get(bg, b.tree, account(i), nil)
				if err != nil {
					return fmt.Errorf("account %d: %w", i, err)
				}
				if err := add(v); err != nil {
					return err
				}
			}
		}
		if total != accounts*initial || n != accounts {
			return fmt.Errorf("%d accounts with %d in all, want %d with %d", n, total, accounts, accounts*initial)
		}
		b.sums.Add(1)
	}
	return nil
}

// run lets writers and readers work; with crash they end with the first error that is errCrash.
func (b *bank) run(seed uint64, writers, readers, rounds int) {
	b.Helper()
	var ww, rr sync.WaitGroup
	var stop atomic.Bool
	work := func(f func(*rand.Rand) error, r *rand.Rand) bool {
		err := f(r)
		if err != nil && !errors.Is(err, errCrash) {
			b.Error(err)
		}
		return err == nil
	}
	for i := range writers {
		ww.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range rounds {
				if !work(b.transfer, r) {
					return
				}
			}
		})
	}
	for i := range readers {
		rr.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(100+i)))
			for !stop.Load() && work(b.sum, r) {
			}
		})
	}
	ww.Wait()
	stop.Store(true)
	rr.Wait()
}

func TestBank(t *testing.T) {
	b := &bank{world: newWorld(t, 2048)}
	r := seeded(t)
	b.m.Start()
	b.open(r)
	rounds := 250
	if raceEnabled {
		rounds = 60
	}
	b.run(r.Uint64(), 6, 3, rounds)
	b.must(b.sum(r))
	b.clean()
	t.Logf("%d transfers, %d deadlocks, %d sums, %+v", b.transfers.Load(), b.deadlocks.Load(), b.sums.Load(), b.m.Stats())
}

// Everybody dies at a random group; the next life begins while the losers of the last are still being rolled back.
func TestBankCrash(t *testing.T) {
	b := &bank{world: newWorld(t, 2048)}
	r := seeded(t)
	b.open(r)
	lives := 8
	if raceEnabled {
		lives = 3
	}
	for range lives {
		var left atomic.Int64
		left.Store(int64(200 + r.IntN(1000)))
		b.m.beforeGroup = func() error {
			if left.Add(-1) < 0 {
				return errCrash
			}
			return nil
		}
		b.m.Start()
		b.run(r.Uint64(), 5, 2, 1<<30)
		b.crash()
		b.must(b.sum(r))
	}
	b.m.Start()
	b.must(b.sum(r))
	b.clean()
	b.must(b.sum(r))
	t.Logf("%d transfers, %d deadlocks, %d sums, %+v", b.transfers.Load(), b.deadlocks.Load(), b.sums.Load(), b.m.Stats())
}

// Lost updates: many increments of few counters.
func TestCounters(t *testing.T) {
	w := newWorld(t, 512)
	w.m.Start()
	const workers, rounds = 8, 150
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for n := range rounds {
				k := fmt.Appendf(nil, "c%d", (i+n)%2)
				tx := w.begin()
				v, err := tx.Lock(bg, w.tree, k, lock.Exclusive, LockOptions{}, nil)
				if err != nil && err != ErrKeyNotFound {
					t.Error(err)
				}
				var b [8]byte
				copy(b[:], v)
				binary.LittleEndian.PutUint64(b[:], binary.LittleEndian.Uint64(b[:])+1)
				if err := errors.Join(tx.Put(bg, w.tree, k, b[:]), tx.Commit(bg)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sum := uint64(0)
	tx := w.begin()
	for _, k := range []string{"c0", "c1"} {
		v, err := tx.Get(bg, w.tree, []byte(k), nil)
		w.must(err)
		sum += binary.LittleEndian.Uint64(v)
	}
	w.must(tx.Commit(bg))
	if sum != workers*rounds {
		t.Fatalf("%d increments, want %d", sum, workers*rounds)
	}
	w.clean()
}

// Inserts and deletes of few keys by many: waits for entries that vanish, marks that are written over, savepoints that
// give implicit locks back.
func TestChurn(t *testing.T) {
	w := newWorld(t, 1024)
	seed := seeded(t).Uint64()
	w.m.Start()
	var wg sync.WaitGroup
	var deadlocks atomic.Int64
	for i := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 250 {
				tx := w.begin()
				var err error
				for range 1 + r.IntN(5) {
					k := fmt.Appendf(nil, "k%d", r.IntN(5))
					sp := tx.Savepoint()
					switch r.IntN(4) {
					case 0:
						_, err = tx.Delete(bg, w.tree, k)
					case 1:
						if err = tx.Insert(bg, w.tree, k, k); err == ErrKeyExists {
							err = nil
						}
					case 2:
						if _, err = tx.Lock(bg, w.tree, k, lock.Mode(1+r.IntN(2)), LockOptions{}, nil); err == ErrKeyNotFound {
							err = nil
						}
					default:
						err = tx.Put(bg, w.tree, k, k)
					}
					if err == nil && r.IntN(3) == 0 {
						err = tx.RollbackTo(bg, sp)
					}
					if err != nil {
						break
					}
				}
				if err == nil && r.IntN(3) > 0 {
					err = tx.Commit(bg)
				} else {
					if err == ErrDeadlock {
						deadlocks.Add(1)
						err = nil
					}
					err = errors.Join(err, tx.Rollback(bg))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	w.clean()
	t.Logf("%d deadlocks", deadlocks.Load())
}
