package sql

import (
	"sync"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

var _ gms.AutoIncrementTable = (*Table)(nil)

// PeekNextAutoIncrementValue implements gms.AutoIncrementTable.
func (t *table) PeekNextAutoIncrementValue(ctx *gms.Context) (uint64, error) {
	rec := t.current(ctx)
	switch {
	case rec.Counter == 0:
		return 0, nil
	case rec.Temporary:
		return SessionOf(ctx).temporary.peek(rec), nil
	}
	return t.def.backend.dict.PeekAuto(rec), nil
}

// GetNextAutoIncrementValue implements gms.AutoIncrementTable. GMS calls it for every row: with nil for a value to be made, or with the
// one the row brings along, which the counter must then be above.
func (t *table) GetNextAutoIncrementValue(ctx *gms.Context, given any) (uint64, error) {
	var value uint64
	if given != nil {
		v, inRange, err := types.Uint64.Convert(ctx, given)
		if err != nil || !bool(inRange) || v == nil {
			return 0, err // a negative one does not count
		}
		value = v.(uint64)
	}
	s := SessionOf(ctx)
	rec := t.current(ctx)
	if rec.Counter == 0 {
		return s.rewriteAuto(rec, value), nil
	}
	increment, offset := uint64(1), uint64(1)
	if value == 0 {
		increment, offset = s.settings.autoStep, s.settings.autoOffset
	}
	if s.faking {
		return s.fakeAuto(t.def.backend, rec, value, increment, offset), nil
	}
	if rec.Temporary {
		return s.temporary.next(rec, value, increment, offset), nil
	}
	n, err := t.def.backend.dict.NextAuto(ctx, rec, value, increment, offset)
	return n, sqlError(err)
}

// countUpdate keeps the counter above what an UPDATE writes into the column.
func (e *editor) countUpdate(ctx *gms.Context, old, row gms.Row) error {
	i := e.def.rec.AutoIncrement()
	if i < 0 || old[i] == row[i] || row[i] == nil {
		return nil
	}
	_, err := e.table.GetNextAutoIncrementValue(ctx, row[i])
	return err
}

// AutoIncrementSetter implements gms.AutoIncrementTable.
func (t *table) AutoIncrementSetter(*gms.Context) gms.AutoIncrementSetter { return &autoSetter{t} }

// autoSetter sets a table's next AUTO_INCREMENT value: ALTER TABLE … AUTO_INCREMENT, and TRUNCATE.
type autoSetter struct{ table *table }

// SetAutoIncrementValue implements gms.AutoIncrementSetter. The counter does not go below what is in the table.
func (a *autoSetter) SetAutoIncrementValue(ctx *gms.Context, value uint64) error {
	return a.table.alter(ctx, func(d *alteration) error {
		above, err := d.aboveAuto(ctx)
		if err != nil {
			return err
		}
		d.rec.CounterStart = max(value, above)
		if d.rec.Counter, err = d.backend.dict.NewID(); err != nil {
			return err
		}
		return d.put()
	})
}

// aboveAuto is the least value of the AUTO_INCREMENT column above those of all rows.
func (a *alteration) aboveAuto(ctx *gms.Context) (uint64, error) {
	column := a.rec.AutoIncrement()
	if column < 0 {
		return 1, nil
	}
	var most uint64
	err := a.eachRow(ctx, []int{column}, func(_ []byte, row gms.Row) error {
		if v, ok, err := types.Uint64.Convert(ctx, row[column]); err == nil && v != nil && bool(ok) {
			most = max(most, v.(uint64))
		}
		return nil
	})
	return most + 1, err
}

// Close implements gms.Closer.
func (*autoSetter) Close(*gms.Context) error { return nil }

// AcquireAutoIncrementLock implements gms.AutoIncrementSetter: with innodb_autoinc_lock_mode 0 or 1 a statement gets values that follow
// each other.
func (a *autoSetter) AcquireAutoIncrementLock(ctx *gms.Context) (func(), error) {
	if SessionOf(ctx).faking {
		return func() {}, nil
	}
	l, _ := a.table.def.backend.autoLocks.LoadOrStore(a.table.def.rec.ID, make(chan struct{}, 1))
	lock := l.(chan struct{})
	select {
	case lock <- struct{}{}:
		return sync.OnceFunc(func() { <-lock }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
