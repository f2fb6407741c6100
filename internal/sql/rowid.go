package sql

import (
	"bytes"
	"errors"
	"hash/maphash"
	"slices"
	"sync/atomic"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/rows"
)

// Rows of a table without a primary key have a hidden id for a key. GMS gives an editor the content of the row to change and nothing
// else, so the locking scan of the statement notes which id each content has.

// newRowID returns an id that no row of the table has. The counter goes on from the last row there is; it is only in memory: ids of
// rows that are gone may be used again after a restart.
func (b *Backend) newRowID(d *definition, t *hearth.Tree) (uint64, error) {
	c, err := b.rowIDCounter(d, t)
	if err != nil {
		return 0, err
	}
	return c.Add(1), nil
}

// rowIDCounter is the last row id given out for a table. It only grows, and never falls behind a tree of the table's that may come back
// by a rollback.
func (b *Backend) rowIDCounter(d *definition, t *hearth.Tree) (*atomic.Uint64, error) {
	if c, ok := b.rowIDs.Load(d.rec.ID); ok {
		return c.(*atomic.Uint64), nil
	}
	counter := new(atomic.Uint64)
	if d.keyless() {
		c := t.CursorWith(hearth.ReadOptions{Current: true})
		defer c.Close()
		if c.Last() {
			last, err := rows.RowID(c.Key())
			if err != nil {
				return nil, err
			}
			counter.Store(last)
		} else if err := c.Err(); err != nil {
			return nil, sqlError(err)
		}
	}
	// Two may have come here; they have seen the same rows, for nobody can have added one.
	first, _ := b.rowIDs.LoadOrStore(d.rec.ID, counter)
	return first.(*atomic.Uint64), nil
}

// keepRowIDs makes the counter of a table that is rewritten at least last. old is the table before.
func (b *Backend) keepRowIDs(old *definition, tx *hearth.Tx, last uint64) error {
	tree, err := tx.Tree(old.rec.RowTree())
	if err != nil {
		return err
	}
	c, err := b.rowIDCounter(old, tree)
	if err != nil {
		return err
	}
	for {
		n := c.Load()
		if n >= last || c.CompareAndSwap(n, last) {
			return nil
		}
	}
}

// newKey appends the key of a new row.
func (e *editor) newKey(dst []byte, row gms.Row) ([]byte, error) {
	if !e.def.keyless() {
		return e.def.codec.AppendKey(dst, row)
	}
	id, err := e.def.backend.newRowID(e.def, e.rows)
	if err != nil {
		return dst, err
	}
	return rows.AppendRowID(dst, id), nil
}

// knownKey appends the key of a row that the statement has read. Not known: there is no such row.
func (e *editor) knownKey(dst []byte, row gms.Row) (key []byte, known bool, err error) {
	if e.def.keyless() {
		return e.seenKey(dst, row)
	}
	for _, p := range e.def.rec.Primary {
		if row[p.Column] == nil {
			return dst, false, nil // an outer join's
		}
	}
	key, err = e.def.codec.AppendKey(dst, row)
	return key, true, err
}

// seenKey is knownKey for a table without a primary key. Of rows that are equal it takes one after the other.
func (e *editor) seenKey(dst []byte, row gms.Row) (key []byte, known bool, err error) {
	if e.value, err = e.def.content(e.value[:0], row); err != nil {
		return dst, false, err
	}
	for {
		id, ok := e.session.takeRow(e.def, e.value)
		if !ok {
			return e.search(dst, e.value)
		}
		key = rows.AppendRowID(dst, id)
		v, err := e.rows.GetWith(nil, key, hearth.ReadOptions{Current: true})
		if errors.Is(err, hearth.ErrKeyNotFound) {
			continue // deleted by the statement
		}
		if err != nil {
			return dst, false, sqlError(err)
		}
		if v, err = e.def.contentOf(v); err != nil {
			return dst, false, err
		}
		if bytes.Equal(v, e.value) {
			return key, true, nil
		}
	}
}

// search looks through the whole table for a row of that content.
func (e *editor) search(dst, content []byte) (key []byte, found bool, err error) {
	c := e.rows.CursorWith(hearth.ReadOptions{Current: true})
	defer c.Close()
	for ok := c.First(); ok; ok = c.Next() {
		have, err := e.def.contentOf(c.Value())
		if err != nil {
			return dst, false, err
		}
		if bytes.Equal(have, content) {
			return append(dst, c.Key()...), true, nil
		}
	}
	return dst, false, sqlError(c.Err())
}

// content is what tells rows of a table without a primary key apart: what is stored, without what scans hide.
func (d *definition) content(dst []byte, row gms.Row) ([]byte, error) {
	if d.hidesIndexed {
		row = slices.Clone(row)
		for i := range d.rec.Columns {
			if d.rec.Columns[i].Virtual {
				row[i] = nil
			}
		}
	}
	return d.codec.AppendRow(dst, row)
}

// contentOf is the content of a stored row.
func (d *definition) contentOf(value []byte) ([]byte, error) {
	if !d.hidesIndexed {
		return value, nil
	}
	row := make(gms.Row, len(d.rec.Columns))
	if err := d.codec.DecodeRow(value, row, nil); err != nil {
		return nil, err
	}
	return d.content(nil, row)
}

// seenLimit is how many rows of tables without a primary key a statement remembers for sure, in rows; up to twice as many it may.
// One takes about 50 bytes. A row that was forgotten is looked for in the whole table.
const seenLimit = 1 << 20

// seenRows are the hidden ids of rows that a statement has locked, by what is in the row. Editors mostly follow the scan closely, so
// when there are many the older half is forgotten.
type seenRows struct{ young, old map[seenRow]seenIDs }

// seenRow stands for the content of a row of a table: two independent hashes of it.
type seenRow struct{ table, a, b uint64 }

type seenIDs struct {
	first uint64
	more  []uint64
}

var seenSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func seenRowOf(table uint64, content []byte) seenRow {
	return seenRow{table, maphash.Bytes(seenSeeds[0], content), maphash.Bytes(seenSeeds[1], content)}
}

// note remembers an id, once: a join may come across the row many times.
func (s *seenRows) note(k seenRow, id uint64) {
	ids, ok := s.young[k]
	if ok && (ids.first == id || slices.Contains(ids.more, id)) {
		return
	}
	if ok {
		ids.more = append(ids.more, id)
		s.young[k] = ids
		return
	}
	if len(s.young) >= seenLimit {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[seenRow]seenIDs{}
	}
	s.young[k] = seenIDs{first: id}
}

// take returns the id that was noted first, and forgets it.
func (s *seenRows) take(k seenRow) (uint64, bool) {
	for _, m := range []map[seenRow]seenIDs{s.old, s.young} {
		ids, ok := m[k]
		if !ok {
			continue
		}
		if len(ids.more) == 0 {
			delete(m, k)
		} else {
			m[k] = seenIDs{first: ids.more[0], more: ids.more[1:]}
		}
		return ids.first, true
	}
	return 0, false
}

// rememberRow notes a row that a locking scan gives out: its key, and what is stored under it.
func (s *Session) rememberRow(d *definition, key, value []byte) error {
	if len(s.stmts) == 0 {
		return nil
	}
	id, err := rows.RowID(key)
	if err != nil {
		return err
	}
	if value, err = d.contentOf(value); err != nil {
		return err
	}
	s.stmts[len(s.stmts)-1].seen.note(seenRowOf(d.rec.ID, value), id)
	return nil
}

// takeRow gives out the hidden id of a row with this content that the statement has locked, each once.
func (s *Session) takeRow(d *definition, content []byte) (id uint64, ok bool) {
	if len(s.stmts) == 0 {
		return 0, false
	}
	return s.stmts[len(s.stmts)-1].seen.take(seenRowOf(d.rec.ID, content))
}
