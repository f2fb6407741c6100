package sql

import (
	"errors"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/rows"
)

// rewriter fills the trees of a table's new definition, which has a storage of its own; the old trees stay as they are until all rows
// are there. GMS gives it the rows where it knows how they change (RewriteInserter), we do where it does not.
type rewriter struct {
	alteration *alteration
	def        *definition // of alteration.rec, not yet in the dictionary
	generate   generator   // of virtual columns that are in indexes
	rows       *loader
	indexes    []*loader // of the secondary indexes of def
	id         uint64    // last hidden row id
	auto       uint64    // largest AUTO_INCREMENT value

	key, value, entryKey, entryValue []byte
}

// rewrite begins to fill the trees of a.rec, which get a new storage.
func (a *alteration) rewrite(ctx *gms.Context) (*rewriter, error) {
	var err error
	if a.rec.Storage, err = a.backend.dict.NewID(); err != nil {
		return nil, err
	}
	r := &rewriter{alteration: a}
	if r.def, err = newDefinition(a.backend, a.rec); err != nil {
		return nil, err
	}
	if r.generate, err = newGenerator(ctx, r.def); err != nil {
		return nil, err
	}
	r.rows = &loader{tx: a.tx, name: a.rec.RowTree()}
	for i := range a.rec.Indexes {
		r.indexes = append(r.indexes, &loader{tx: a.tx, name: a.rec.IndexTree(a.rec.Indexes[i].ID)})
	}
	return r, nil
}

// secondary lists the secondary indexes of a definition.
func (d *definition) secondary() []*Index {
	if d.keyless() {
		return d.indexes
	}
	return d.indexes[1:]
}

// add takes one row of the new definition.
func (r *rewriter) add(ctx *gms.Context, row gms.Row) (err error) {
	if row, err = r.generate.fill(ctx, row); err != nil {
		return err
	}
	if r.def.keyless() {
		r.id++
		r.key = rows.AppendRowID(r.key[:0], r.id)
	} else if r.key, err = r.def.codec.AppendKey(r.key[:0], row); err != nil {
		return err
	}
	if r.value, err = r.def.codec.AppendRow(r.value[:0], row); err != nil {
		return err
	}
	if err := r.rows.add(r.key, r.value); err != nil {
		return r.duplicate(ctx, r.def.indexes, err)
	}
	for i, x := range r.def.secondary() {
		if r.entryKey, r.entryValue, _, err = x.entries.Append(r.entryKey[:0], r.entryValue[:0], row, r.key); err != nil {
			return err
		}
		if err := r.indexes[i].add(r.entryKey, r.entryValue); err != nil {
			return r.duplicate(ctx, r.def.secondary()[i:], err)
		}
	}
	if i := r.def.rec.AutoIncrement(); i >= 0 && row[i] != nil {
		if v, ok, err := types.Uint64.Convert(ctx, row[i]); err == nil && v != nil && bool(ok) {
			r.auto = max(r.auto, v.(uint64))
		}
	}
	return nil
}

// finish loads the trees, drops the old ones, and puts the definition.
func (r *rewriter) finish(ctx *gms.Context) error {
	a := r.alteration
	if err := r.rows.finish(); err != nil {
		return r.duplicate(ctx, r.def.indexes, err)
	}
	for i, l := range r.indexes {
		if err := l.finish(); err != nil {
			return r.duplicate(ctx, r.def.secondary()[i:], err)
		}
	}
	if r.def.keyless() {
		if err := a.backend.keepRowIDs(a.old, a.tx, r.id); err != nil {
			return err
		}
	}
	if err := dropTrees(a.tx, a.old.rec); err != nil {
		return err
	}
	switch {
	case a.rec.AutoIncrement() < 0:
		a.rec.Counter, a.rec.CounterStart = 0, 0
	case a.old.rec.Counter == 0:
		var err error
		if a.rec.Counter, err = a.backend.dict.NewID(); err != nil {
			return err
		}
		a.rec.CounterStart = r.auto + 1
	}
	if err := a.put(); err != nil {
		return err
	}
	return nil
}

// duplicate names the row that another one is equal to, where the key of the first of these indexes came twice.
func (r *rewriter) duplicate(ctx *gms.Context, of []*Index, err error) error {
	var twice *duplicateError
	if !errors.As(err, &twice) {
		return err
	}
	x, value := of[0], twice.value
	if x.entries != nil {
		key, err := x.entries.RowKey(twice.key, twice.value)
		if err != nil {
			return err
		}
		if value, err = r.rowOf(key); err != nil {
			return err
		}
	}
	row := make(gms.Row, len(r.def.rec.Columns))
	if err := r.def.codec.DecodeRow(value, row, nil); err != nil {
		return err
	}
	return gms.NewUniqueKeyErr(x.duplicate(ctx, row), x.entries == nil, row)
}

// rowOf finds a row that was added, wherever it is by now.
func (r *rewriter) rowOf(key []byte) ([]byte, error) {
	for _, e := range r.rows.entries {
		if string(r.rows.key(e)) == string(key) {
			return r.rows.value(e), nil
		}
	}
	if r.rows.tree == nil {
		return nil, fmt.Errorf("table %s: a row that is being rewritten is missing", r.def.rec.Name)
	}
	return r.rows.tree.Get(key)
}

// rewriteAll rewrites the table with every row as project makes it; the row it gets is good during the call.
func (a *alteration) rewriteAll(ctx *gms.Context, project func(gms.Row) (gms.Row, error)) error {
	r, err := a.rewrite(ctx)
	if err != nil {
		return err
	}
	err = a.eachRow(ctx, nil, func(_ []byte, row gms.Row) error {
		row, err := project(row)
		if err != nil {
			return err
		}
		return r.add(ctx, row)
	})
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// rewriting is a rewrite that GMS drives: it reads rows with an ordinary scan of the old definition and inserts what becomes of them.
// Until it is closed the session's scans of the table see the latest state, whatever snapshot the transaction has.
type rewriting struct {
	*rewriter
	undo hearth.Savepoint
	mark dict.Mark
	done bool
}

var _ gms.RowInserter = (*rewriting)(nil)

// rewrites: a rewrite of the table runs in the session.
func (s *Session) rewrites(table uint64) bool {
	return s.rewriting != nil && s.rewriting.alteration.rec.ID == table
}

// rewriteAuto is GetNextAutoIncrementValue of a table that has no counter, because its AUTO_INCREMENT column is only being made.
func (s *Session) rewriteAuto(rec *dict.Table, given uint64) uint64 {
	if !s.rewrites(rec.ID) {
		return max(given, 1)
	}
	if given == 0 {
		given = s.rewriting.auto + 1
	}
	s.rewriting.auto = max(s.rewriting.auto, given)
	return given
}

// startRewriting hands a rewrite over to GMS.
func (t *table) startRewriting(ctx *gms.Context, change func(*alteration) error) (gms.RowInserter, error) {
	var w *rewriting
	err := t.alter(ctx, func(a *alteration) error {
		if err := change(a); err != nil {
			return err
		}
		r, err := a.rewrite(ctx)
		if err != nil {
			return err
		}
		w = &rewriting{rewriter: r, undo: a.tx.Savepoint(), mark: a.change.Mark()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	SessionOf(ctx).rewriting = w
	return w, nil
}

// StatementBegin implements gms.EditOpenerCloser. GMS does not call it here.
func (w *rewriting) StatementBegin(*gms.Context) {}

// StatementComplete implements gms.EditOpenerCloser.
func (w *rewriting) StatementComplete(*gms.Context) error { return nil }

// Insert implements gms.RowInserter.
func (w *rewriting) Insert(ctx *gms.Context, row gms.Row) error { return sqlError(w.add(ctx, row)) }

// DiscardChanges implements gms.EditOpenerCloser: the table stays as it was.
func (w *rewriting) DiscardChanges(ctx *gms.Context, _ error) error {
	if !w.end() {
		return nil
	}
	return w.back()
}

// Close implements gms.Closer: now the new rows are the table.
func (w *rewriting) Close(ctx *gms.Context) error {
	if !w.end() {
		return nil
	}
	err := w.finish(ctx)
	if err != nil {
		if back := w.back(); back != nil {
			return back
		}
	}
	return sqlError(err)
}

func (w *rewriting) back() error {
	t := w.alteration.session.current()
	if t == nil || t.ended {
		return nil
	}
	return t.rollbackTo(w.undo, w.mark)
}

// end of the rewriting; false: it has ended before.
func (w *rewriting) end() bool {
	if w.done {
		return false
	}
	w.done = true
	if s := w.alteration.session; s.rewriting == w {
		s.rewriting = nil
	}
	return true
}
