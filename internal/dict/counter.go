package dict

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/sqltypes"

	"github.com/hearthdb/hearth"
)

// counterTree holds a counterRecord under each counter's id, 16 hexadecimal digits. A counter that was never asked has none.
const counterTree = "sql.auto"

// counterBatch is how many values of a counter are reserved at a time: one small transaction for as many rows, and a hole of at
// most as many behind a crash.
const counterBatch = 256

type counterRecord struct {
	versioned
	Last uint64 `json:"last"` // no value above has been handed out
}

// counter hands out the values of one AUTO_INCREMENT column. Invariant: last ≤ reserved, and reserved is in the log, for every
// value handed out.
//
// Why a row that survives a death never meets its number again: the reservation commits before its values are handed out, so in the
// log it comes before the row. The log is one stream, and what survives, of a kill or of a power cut, is a beginning of it. Whoever
// finds the row finds the reservation, and goes on above it. Hence the reservation need not wait for the disk
// (DurabilityProcess): the commit of the row does, for both.
type counter struct {
	last     atomic.Uint64
	reserved atomic.Uint64
	turn     chan struct{} // held by who reserves
}

func newCounter(last, reserved uint64) *counter {
	c := &counter{turn: make(chan struct{}, 1)}
	c.last.Store(last)
	c.reserved.Store(reserved)
	return c
}

// NextAuto returns the next value of the AUTO_INCREMENT counter of t: the smallest above all so far that is offset plus a multiple
// of increment (auto_increment_increment, auto_increment_offset, both from 1; an offset above the increment is ignored). If given is
// not 0 it is the value that a row brings along: the counter goes there if it was below, and given is returned. What was handed out
// does not come back with a rollback.
//
// ErrAutoIncrement: the type of the column has no such value any more.
func (d *Dict) NextAuto(ctx context.Context, t *Table, given, increment, offset uint64) (uint64, error) {
	c, most, err := d.counterOf(t)
	if err != nil {
		return 0, err
	}
	for {
		last := c.last.Load()
		v, ok := min(given, most), true
		if given == 0 {
			if v, ok = nextValue(last, increment, offset); !ok || v > most {
				return 0, ErrAutoIncrement
			}
		} else if v <= last {
			return given, nil
		}
		if v > c.reserved.Load() {
			if err := d.extend(ctx, c, t, v, increment); err != nil {
				return 0, err
			}
		}
		if c.last.CompareAndSwap(last, v) {
			return max(v, given), nil
		}
	}
}

// PeekAuto returns what NextAuto would return with increment and offset 1, without taking it; 0 if there is none any more.
func (d *Dict) PeekAuto(t *Table) uint64 {
	c, most, err := d.counterOf(t)
	if err != nil {
		return 0
	}
	if v, ok := nextValue(c.last.Load(), 1, 1); ok && v <= most {
		return v
	}
	return 0
}

// counterOf finds the counter of t, and the last value of its column.
func (d *Dict) counterOf(t *Table) (c *counter, most uint64, err error) {
	i := t.AutoIncrement()
	if i < 0 || t.Counter == 0 {
		return nil, 0, fmt.Errorf("table %s.%s has no AUTO_INCREMENT column", t.Database, t.Name)
	}
	if most, err = counterMax(t.Columns[i].Type); err != nil {
		return nil, 0, err
	}
	found, ok := d.counters.Load(t.Counter)
	if !ok {
		found, _ = d.counters.LoadOrStore(t.Counter, newCounter(max(t.CounterStart, 1)-1, 0))
	}
	return found.(*counter), most, nil
}

// extend makes v a reserved value, and some more with it.
func (d *Dict) extend(ctx context.Context, c *counter, t *Table, v, increment uint64) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if v <= c.reserved.Load() {
		return nil // somebody else did
	}
	limit := v + counterBatch*min(max(increment, 1), math.MaxUint32)
	if limit < v {
		limit = math.MaxUint64
	}
	record := encode(counterRecord{versioned{format}, limit})
	err := d.update(ctx, hearth.DurabilityProcess, counterTree, func(tree *hearth.Tree) error {
		return tree.Put(counterKey(t.Counter), record)
	})
	if err != nil {
		return fmt.Errorf("reserve values of AUTO_INCREMENT of %s.%s: %w", t.Database, t.Name, err)
	}
	c.reserved.Store(limit)
	return nil
}

// nextValue is the smallest offset + n*increment above last. Not ok: there is none in 64 bits.
func nextValue(last, increment, offset uint64) (v uint64, ok bool) {
	increment = max(increment, 1)
	if offset > increment {
		offset = 0 // as InnoDB ignores it
	}
	if last < offset {
		return offset, true
	}
	n := (last - offset) / increment
	if n == (math.MaxUint64-offset)/increment {
		return 0, false
	}
	return offset + (n+1)*increment, true
}

// counterMax is the largest value of an AUTO_INCREMENT column of this type; of the floating ones, up to which they count exactly.
func counterMax(t gms.Type) (uint64, error) {
	switch t.Type() {
	case sqltypes.Int8:
		return math.MaxInt8, nil
	case sqltypes.Uint8:
		return math.MaxUint8, nil
	case sqltypes.Int16:
		return math.MaxInt16, nil
	case sqltypes.Uint16:
		return math.MaxUint16, nil
	case sqltypes.Int24:
		return 1<<23 - 1, nil
	case sqltypes.Uint24:
		return 1<<24 - 1, nil
	case sqltypes.Int32:
		return math.MaxInt32, nil
	case sqltypes.Uint32:
		return math.MaxUint32, nil
	case sqltypes.Int64:
		return math.MaxInt64, nil
	case sqltypes.Uint64:
		return math.MaxUint64, nil
	case sqltypes.Float32:
		return 1 << 24, nil
	case sqltypes.Float64:
		return 1 << 53, nil
	}
	return 0, fmt.Errorf("type %v cannot be AUTO_INCREMENT", t)
}

func counterKey(id uint64) []byte { return fmt.Appendf(nil, "%016x", id) }

// loadCounters reads all counters. It removes those that no table has: a change that made a table may have died, or been rolled
// back, after it had taken values.
func (d *Dict) loadCounters(tx *hearth.Tx) error {
	live := map[string]uint64{}
	for _, db := range d.Schema().databases {
		for _, t := range db.tables {
			if t.Counter != 0 {
				live[string(counterKey(t.Counter))] = t.Counter
			}
		}
	}
	tree, err := tx.Tree(counterTree)
	if err != nil {
		return err
	}
	var dead [][]byte
	c := tree.Cursor()
	defer c.Close()
	for ok := c.First(); ok; ok = c.Next() {
		id, ok := live[string(c.Key())]
		if !ok {
			dead = append(dead, append([]byte(nil), c.Key()...))
			continue
		}
		var r counterRecord
		if err := decode(string(c.Key()), c.Value(), &r); err != nil {
			return fmt.Errorf("AUTO_INCREMENT: %w", err)
		}
		d.counters.Store(id, newCounter(r.Last, r.Last))
	}
	for _, key := range dead {
		if _, err := tree.Delete(key); err != nil {
			return err
		}
	}
	return c.Err()
}

// forgetCounters ends a change as far as counters go: those of ids that no table of that name has any more are gone. Their records are
// deleted after the commit, not with it; what a death leaves of them the next Open removes.
func (d *Dict) forgetCounters(ids map[uint64]bool, names map[tableName]bool) {
	dead := map[uint64]bool{}
	for id := range ids {
		dead[id] = id != 0
	}
	for name := range names {
		if t := d.Schema().Table(name.database, name.table); t != nil {
			dead[t.Counter] = false
		}
	}
	var keys [][]byte
	for id := range dead {
		if !dead[id] {
			continue
		}
		if c, ok := d.counters.LoadAndDelete(id); ok && c.(*counter).reserved.Load() > 0 {
			keys = append(keys, counterKey(id))
		}
	}
	if len(keys) == 0 {
		return
	}
	_ = d.update(context.Background(), hearth.DurabilityProcess, counterTree, func(tree *hearth.Tree) error {
		for _, key := range keys {
			if _, err := tree.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeCounters replaces what was reserved by what was handed out: a stop in order leaves no hole.
func (d *Dict) writeCounters(ctx context.Context) error {
	return d.updateTree(ctx, hearth.DurabilityDefault, counterTree, func(tree *hearth.Tree) (err error) {
		d.counters.Range(func(id, value any) bool {
			c := value.(*counter)
			if last := c.last.Load(); c.reserved.Swap(0) != last {
				err = tree.Put(counterKey(id.(uint64)), encode(counterRecord{versioned{format}, last}))
			}
			return err == nil
		})
		return err
	})
}
