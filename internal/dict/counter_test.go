package dict

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// counting makes a table d.a that counts, with the first value given.
func (w *world) counting(typ gms.Type, start uint64) *Table {
	w.t.Helper()
	if w.Schema().Database("d") == nil {
		w.with("d")
	}
	w.ok(w.change(func(c *Change) error {
		t := w.table("d", "a")
		t.Columns[0] = Column{Name: "id", Type: typ, AutoIncrement: true}
		t.Counter, t.CounterStart = t.ID, start
		_, err := create1(c, t)
		return err
	}))
	return w.Schema().Table("d", "a")
}

func (w *world) next(given uint64) uint64 {
	w.t.Helper()
	v, err := w.NextAuto(context.Background(), w.Schema().Table("d", "a"), given, 1, 1)
	w.ok(err)
	return v
}

func (w *world) expectNext(given, want uint64) {
	w.t.Helper()
	if got := w.next(given); got != want {
		w.t.Errorf("next value, given %d, is %d, want %d", given, got, want)
	}
}

func TestCounterCounts(t *testing.T) {
	w := newWorld(t)
	a := w.counting(types.Int32, 0)
	if p := w.PeekAuto(a); p != 1 {
		t.Errorf("a new counter is at %d", p)
	}
	w.expectNext(0, 1)
	w.expectNext(0, 2)
	w.expectNext(2, 2)
	w.expectNext(1000, 1000)
	w.expectNext(5, 5)
	w.expectNext(0, 1001)
	if p := w.PeekAuto(a); p != 1002 {
		t.Errorf("peek is %d, want 1002", p)
	}
	w.reopen(true) // exact
	w.expectNext(0, 1002)
	w.sound()
	w.reopen(false) // not exact, but above
	if v := w.next(0); v <= 1002 || v > 1003+counterBatch {
		t.Errorf("after a crash the next value is %d", v)
	}
	w.sound()
	if _, err := w.NextAuto(context.Background(), w.table("d", "plain"), 0, 1, 1); err == nil {
		t.Error("a table without a counter has a next value")
	}
}

func TestCounterStarts(t *testing.T) {
	w := newWorld(t)
	w.counting(types.Uint64, 500)
	w.expectNext(0, 500)
	w.ok(w.change(func(c *Change) error { // as TRUNCATE: another counter
		a := c.Schema().Table("d", "a").Clone()
		a.Counter, a.CounterStart = w.id(), 0
		_, err := c.PutTable(a)
		return err
	}))
	w.expectNext(0, 1)
	w.sound()
	c, tx := w.begin()
	a := c.Schema().Table("d", "a").Clone()
	a.Counter, a.CounterStart = w.id(), 77
	a, err := c.PutTable(a)
	w.ok(err)
	if v, err := w.NextAuto(context.Background(), a, 0, 1, 1); v != 77 || err != nil {
		t.Errorf("the change's own counter says %d, %v", v, err)
	}
	w.rollback(c, tx)
	w.sound() // its reservation is gone
	w.expectNext(0, 2)
	w.ok(w.change(func(c *Change) error { return remove(c, "d", "a") }))
	w.sound()
}

func TestCounterEnds(t *testing.T) {
	for typ, most := range map[gms.Type]uint64{
		types.Int8: 127, types.Uint8: 255, types.Int16: 32767, types.Uint16: 65535, types.Int24: 8388607, types.Uint24: 16777215,
		types.Int32: math.MaxInt32, types.Uint32: math.MaxUint32, types.Int64: math.MaxInt64, types.Uint64: math.MaxUint64,
		types.Float32: 1 << 24, types.Float64: 1 << 53,
	} {
		w := newWorld(t)
		a := w.counting(typ, 0)
		w.expectNext(most-1, most-1)
		if p := w.PeekAuto(a); p != most {
			t.Errorf("%v: peek is %d, want %d", typ, p, most)
		}
		if _, err := w.NextAuto(context.Background(), a, 0, 10, 11); !errors.Is(err, ErrAutoIncrement) && most%10 != 0 {
			t.Errorf("%v: a step beyond the end gives %v", typ, err)
		}
		w.expectNext(0, most)
		for range 3 {
			if v, err := w.NextAuto(context.Background(), a, 0, 1, 1); !errors.Is(err, ErrAutoIncrement) {
				t.Errorf("%v: after the last value comes %d, %v", typ, v, err)
			}
		}
		w.expectNext(most, most)
		if p := w.PeekAuto(a); p != 0 {
			t.Errorf("%v: peek at the end is %d", typ, p)
		}
		w.reopen(true)
		if v, err := w.NextAuto(context.Background(), w.Schema().Table("d", "a"), 0, 1, 1); !errors.Is(err, ErrAutoIncrement) {
			t.Errorf("%v: after a stop comes %d, %v", typ, v, err)
		}
	}
}

// nextValue against its definition.
func TestCounterSteps(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		last, increment, offset := rng.Uint64N(100), 1+rng.Uint64N(12), 1+rng.Uint64N(12)
		want := last + 1
		start := offset
		if offset > increment {
			start = 0
		}
		for want < start || (want-start)%increment != 0 {
			want++
		}
		if got, ok := nextValue(last, increment, offset); !ok || got != want {
			t.Fatalf("seed %d: after %d by %d from %d comes %d, want %d", seed, last, increment, offset, got, want)
		}
		// Near the end of 64 bits it never wraps.
		last = math.MaxUint64 - rng.Uint64N(30)
		if got, ok := nextValue(last, increment, offset); ok && (got <= last || got-last > increment) {
			t.Fatalf("seed %d: after %d by %d from %d comes %d", seed, last, increment, offset, got)
		}
	}
}

// Many at a time: no value twice, and none above the reserved ones.
func TestCounterConcurrent(t *testing.T) {
	w := newWorld(t)
	a := w.counting(types.Uint64, 0)
	const workers, each = 8, 2000
	var got [workers][]uint64
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for n := range each {
				given := uint64(0)
				if n%100 == 99 {
					given = got[i][n-1] + 50
				}
				v, err := w.NextAuto(context.Background(), a, given, 1, 1)
				if err != nil {
					t.Error(err)
					return
				}
				got[i] = append(got[i], v)
			}
		})
	}
	wg.Wait()
	made := map[uint64]bool{}
	for i := range workers {
		last := uint64(0)
		for n, v := range got[i] {
			if n%100 == 99 {
				continue // given
			}
			if made[v] || v <= last {
				t.Fatalf("value %d after %d, again: %t", v, last, made[v])
			}
			made[v], last = true, v
		}
	}
	w.sound()
	c, _, err := w.counterOf(a)
	w.ok(err)
	if c.last.Load() > c.reserved.Load() {
		t.Errorf("%d was handed out, %d is reserved", c.last.Load(), c.reserved.Load())
	}
}

func TestCounterInTheEnd(t *testing.T) {
	w := newWorld(t)
	a := w.counting(types.Uint64, 0)
	w.next(0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c, _, _ := w.counterOf(a)
	c.turn <- struct{}{} // somebody reserves, for ever
	if _, err := w.NextAuto(ctx, a, 1<<40, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a killed wait gives %v", err)
	}
	<-c.turn
	w.ok(w.Dict.Close(context.Background()))
	if _, err := w.NextAuto(context.Background(), a, 0, 1, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := w.Dict.Close(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("the second Close: %v", err)
	}
	w.ok(w.db.Close())
	w.open()
	w.expectNext(0, 2)
}
