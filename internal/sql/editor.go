package sql

import (
	"bytes"
	"errors"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// editor changes the rows of one table in the session's transaction: the row and all its index entries together. GMS has done the
// rest before it calls: defaults, conversions, NOT NULL, CHECK, generated columns. What remains is here: keys, uniqueness, locks,
// and undo.
//
// It is every kind of editor that GMS knows. A statement may have several for one table (INSERT … ON DUPLICATE KEY UPDATE has
// two), and for several tables (foreign keys, triggers). Each is told of the begin and the end of the statement, or with IGNORE of
// each row, and takes it as where to go back to.
type editor struct {
	table   *table
	def     *definition
	session *Session

	tx      *hearth.Tx
	rows    *hearth.Tree // nil before the first row
	indexes []indexEditor
	guard   guard

	begun  bool
	undo   hearth.Savepoint // of StatementBegin
	failed error            // of StatementBegin, which cannot return it

	key, oldKey, value []byte // of the row at hand; used again for the next
}

// indexEditor is a secondary index of the table that is edited, with the entries of the row at hand.
type indexEditor struct {
	*Index
	tree               *hearth.Tree
	key, value         []byte
	oldKey, oldValue   []byte
	hasNull, oldIsNull bool
}

var (
	_ gms.TableEditor      = (*editor)(nil)
	_ gms.ForeignKeyEditor = (*editor)(nil)
)

func newEditor(ctx *gms.Context, t *table) *editor {
	return &editor{table: t, def: t.def, session: SessionOf(ctx)}
}

// Inserter implements gms.InsertableTable.
func (t *table) Inserter(ctx *gms.Context) gms.RowInserter { return editorOf(ctx, t) }

// Updater implements gms.UpdatableTable.
func (t *table) Updater(ctx *gms.Context) gms.RowUpdater { return editorOf(ctx, t) }

// Deleter implements gms.DeletableTable.
func (t *table) Deleter(ctx *gms.Context) gms.RowDeleter { return editorOf(ctx, t) }

// Replacer implements gms.ReplaceableTable.
func (t *table) Replacer(ctx *gms.Context) gms.RowReplacer { return editorOf(ctx, t) }

// writeTx is the session's transaction, to write in. A temporary table may be written in one that is READ ONLY.
func (e *editor) writeTx(ctx *gms.Context) (*hearth.Tx, error) {
	if e.def.rec.Temporary {
		return e.session.writeTx(ctx)
	}
	if err := e.session.mayChange(ctx); err != nil {
		return nil, err
	}
	tx, err := e.session.WriteTx(ctx)
	if err == nil {
		e.session.current().changes = true
	}
	return tx, err
}

// StatementBegin implements gms.EditOpenerCloser.
func (e *editor) StatementBegin(ctx *gms.Context) {
	tx, err := e.writeTx(ctx)
	if e.failed = err; err == nil {
		e.begun, e.tx, e.undo = true, tx, tx.Savepoint()
	}
}

// DiscardChanges implements gms.EditOpenerCloser. Of two editors that began one after the other the first takes back what the
// second did; then there is nothing left for the second.
func (e *editor) DiscardChanges(*gms.Context, error) error {
	if !e.begun {
		return nil
	}
	e.begun = false
	return sqlError(e.rollbackTo(e.undo))
}

// StatementComplete implements gms.EditOpenerCloser. GMS calls it for a statement that was killed, too.
func (e *editor) StatementComplete(ctx *gms.Context) error {
	if err := ctx.Err(); err != nil {
		if back := e.DiscardChanges(ctx, err); back != nil {
			return back
		}
		return err
	}
	e.begun = false
	return e.failed // of a statement that had no row to write
}

// Close implements gms.Closer. What was done belongs to the transaction.
func (e *editor) Close(*gms.Context) error {
	e.table.lock.scope.end()
	return nil
}

// open finds the trees. The statement's first use of the table does it.
func (e *editor) open(ctx *gms.Context) error {
	if e.failed != nil {
		return e.failed
	}
	if e.rows != nil {
		return nil
	}
	tx, err := e.writeTx(ctx)
	if err != nil {
		return err
	}
	e.tx = tx
	return e.openTrees(ctx)
}

func (e *editor) openTrees(ctx *gms.Context) error {
	rows, err := e.session.Tree(ctx, e.def.rec.RowTree())
	if err != nil {
		return err
	}
	for _, x := range e.def.indexes {
		if x.entries == nil {
			continue
		}
		tree, err := e.session.Tree(ctx, x.tree)
		if err != nil {
			return err
		}
		e.indexes = append(e.indexes, indexEditor{Index: x, tree: tree})
	}
	if e.guard, err = newGuard(ctx, e.def); err != nil {
		return err
	}
	e.rows = rows
	return nil
}

// Insert implements gms.RowInserter. A row that would be a duplicate leaves nothing behind; the error has the row it meets, locked.
func (e *editor) Insert(ctx *gms.Context, row gms.Row) (err error) {
	if err := e.open(ctx); err != nil {
		return err
	}
	if err := e.guard.pass(ctx, row); err != nil {
		return err
	}
	if e.key, err = e.newKey(e.key[:0], row); err != nil {
		return err
	}
	if e.value, err = e.def.codec.AppendRow(e.value[:0], row); err != nil {
		return err
	}
	sp := e.tx.Savepoint()
	return e.settle(sp, e.insert(ctx, row, sp))
}

// insert puts the row with key and value, and its index entries.
func (e *editor) insert(ctx *gms.Context, row gms.Row, sp hearth.Savepoint) (err error) {
	if err := e.insertRow(ctx, row); err != nil {
		return err
	}
	for i := range e.indexes {
		x := &e.indexes[i]
		if x.key, x.value, x.hasNull, err = x.entries.Append(x.key[:0], x.value[:0], row, e.key); err != nil {
			return err
		}
		if err := e.insertEntry(ctx, x, row, sp); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements gms.RowDeleter. A row that is not there (any more) is no error: a join may bring one several times, and an
// outer join brings rows of NULLs.
func (e *editor) Delete(ctx *gms.Context, row gms.Row) (err error) {
	if err := e.open(ctx); err != nil {
		return err
	}
	var known bool
	if e.oldKey, known, err = e.knownKey(e.oldKey[:0], row); err != nil || !known {
		return err
	}
	if e.def.hidesIndexed {
		if row, err = e.stored(e.oldKey); row == nil || err != nil {
			return err
		}
	}
	sp := e.tx.Savepoint()
	if err = e.remove(row); errors.Is(err, errStale) {
		if row, err = e.afresh(sp); row == nil || err != nil {
			return err
		}
		err = e.remove(row)
	}
	return e.settle(sp, err)
}

// errStale: the row's index entries are not those of the row that was given.
var errStale = errors.New("the row has other index entries than the one that was read")

// remove deletes the row with oldKey, of which row is the content, and its index entries.
func (e *editor) remove(row gms.Row) (err error) {
	found, err := e.rows.Delete(e.oldKey)
	if err != nil || !found {
		return err
	}
	for i := range e.indexes {
		x := &e.indexes[i]
		if x.oldKey, x.oldValue, _, err = x.entries.Append(x.oldKey[:0], x.oldValue[:0], row, e.oldKey); err != nil {
			return err
		}
		found, err := x.tree.Delete(x.oldKey)
		if err != nil {
			return err
		}
		if !found {
			return errStale
		}
	}
	return nil
}

// Update implements gms.RowUpdater.
func (e *editor) Update(ctx *gms.Context, old, row gms.Row) (err error) {
	if err := e.open(ctx); err != nil {
		return err
	}
	var known bool
	if e.oldKey, known, err = e.knownKey(e.oldKey[:0], old); err != nil || !known {
		return err
	}
	if e.def.hidesIndexed {
		stored, err := e.stored(e.oldKey)
		if stored == nil || err != nil {
			return err
		}
		row, old = e.withHidden(row, old, stored), stored
	}
	if err := e.guard.pass(ctx, row); err != nil {
		return err
	}
	if err := e.countUpdate(ctx, old, row); err != nil {
		return err
	}
	sp := e.tx.Savepoint()
	if err = e.change(ctx, old, row, sp); errors.Is(err, errStale) {
		if old, err = e.afresh(sp); old == nil || err != nil {
			return err
		}
		err = e.change(ctx, old, row, sp)
	}
	return e.settle(sp, err)
}

// change makes row of old, whose key is oldKey.
func (e *editor) change(ctx *gms.Context, old, row gms.Row, sp hearth.Savepoint) (err error) {
	if e.def.keyless() {
		e.key = append(e.key[:0], e.oldKey...)
	} else if e.key, err = e.def.codec.AppendKey(e.key[:0], row); err != nil {
		return err
	}
	if e.value, err = e.def.codec.AppendRow(e.value[:0], row); err != nil {
		return err
	}
	if moved := !bytes.Equal(e.key, e.oldKey); moved {
		if _, err := e.rows.Delete(e.oldKey); err != nil {
			return err
		}
		err = e.insertRow(ctx, row)
	} else {
		err = e.rows.Put(e.key, e.value)
	}
	if err != nil {
		return err
	}
	for i := range e.indexes {
		if err := e.changeEntry(ctx, &e.indexes[i], old, row, sp); err != nil {
			return err
		}
	}
	return nil
}

// changeEntry replaces the entry of old by that of row, where they differ.
func (e *editor) changeEntry(ctx *gms.Context, x *indexEditor, old, row gms.Row, sp hearth.Savepoint) (err error) {
	if x.oldKey, x.oldValue, _, err = x.entries.Append(x.oldKey[:0], x.oldValue[:0], old, e.oldKey); err != nil {
		return err
	}
	if x.key, x.value, x.hasNull, err = x.entries.Append(x.key[:0], x.value[:0], row, e.key); err != nil {
		return err
	}
	if bytes.Equal(x.key, x.oldKey) {
		if bytes.Equal(x.value, x.oldValue) {
			return nil
		}
		return x.tree.Put(x.key, x.value)
	}
	found, err := x.tree.Delete(x.oldKey)
	if err != nil {
		return err
	}
	if !found {
		return errStale
	}
	return e.insertEntry(ctx, x, row, sp)
}

// settle ends what was done for one row: with an error it is undone.
func (e *editor) settle(sp hearth.Savepoint, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errStale) {
		err = fmt.Errorf("table %s.%s: %w", e.def.rec.Database, e.def.rec.Name, err)
	}
	if back := e.rollbackTo(sp); back != nil {
		err = back
	}
	return sqlError(err)
}

// rollbackTo undoes what was done since sp. If the whole transaction was rolled back already there is nothing to do.
func (e *editor) rollbackTo(sp hearth.Savepoint) error {
	err := e.tx.RollbackTo(sp)
	if errors.Is(err, hearth.ErrNoSavepoint) || errors.Is(err, hearth.ErrTxDone) {
		return nil
	}
	return err
}

// afresh undoes what was done since sp, and reads the row with oldKey as it is now. Nil: there is none.
func (e *editor) afresh(sp hearth.Savepoint) (gms.Row, error) {
	if err := e.rollbackTo(sp); err != nil {
		return nil, sqlError(err)
	}
	return e.stored(e.oldKey)
}

// stored locks and decodes the row of that key as it is now, with the columns that scans hide. Nil: there is none.
func (e *editor) stored(key []byte) (gms.Row, error) {
	v, err := e.rows.GetForUpdate(key, hearth.LockOptions{})
	if errors.Is(err, hearth.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, sqlError(err)
	}
	row := make(gms.Row, len(e.def.rec.Columns))
	return row, e.def.codec.DecodeRow(v, row, nil)
}

// withHidden gives row the hidden values of the stored one where its writer knew neither the old nor the new: rows that foreign
// keys change come without them.
func (e *editor) withHidden(row, old, stored gms.Row) gms.Row {
	row = append(gms.Row(nil), row...)
	for i := range e.def.rec.Columns {
		if e.def.rec.Columns[i].Virtual && row[i] == nil && old[i] == nil {
			row[i] = stored[i]
		}
	}
	return row
}

// IndexedAccess implements gms.IndexAddressable for foreign keys: the lookups see the latest state, and lock what they find.
func (e *editor) IndexedAccess(_ *gms.Context, lookup gms.IndexLookup) gms.IndexedTable {
	return e.table.forLookups(lockShared)
}

// GetIndexes implements gms.IndexAddressable.
func (e *editor) GetIndexes(ctx *gms.Context) ([]gms.Index, error) { return e.table.GetIndexes(ctx) }

// PreciseMatch implements gms.IndexAddressable.
func (e *editor) PreciseMatch() bool { return e.table.PreciseMatch() }
