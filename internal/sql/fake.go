package sql

import (
	"bytes"
	"errors"
	"slices"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/rows"
)

// Fake changes (innodb_fake_changes, as Percona had it) let a standby that replays its primary's statements fetch the pages that they
// change, and change nothing:
//
//  1. A session that fakes gets no transaction to write in: WriteTx refuses. So whatever does not know of this mode fails in it, and
//     nothing is logged, and there is nothing to commit.
//  2. Editors are fakeEditors: they read every key that a real one would change or test, of the row and of its index entries, in the
//     latest committed state, and find the errors that it would find.
//  3. Scans lock nothing: what would be locked is read in the transaction's snapshot.
//  4. The mode is that of the begin of the client's statement, and of the begin of its transaction.
//
// A statement sees what it has faked itself only where that decides about duplicates; later ones see nothing of it.

// fakeVariable switches the mode.
const fakeVariable = "innodb_fake_changes"

// erOptionPrevents is ER_OPTION_PREVENTS_STATEMENT.
const erOptionPrevents = 1290

// Fakes: the session only fakes changes.
func (s *Session) Fakes() bool { return s.settings.fake }

// errFakes refuses what is not faked.
func errFakes() error {
	return mysql.NewSQLError(erOptionPrevents, "HY000", "%s",
		"The session is running with the innodb_fake_changes option so it cannot execute this statement; SET SESSION innodb_fake_changes = 0")
}

// RefuseFake says of a statement that cannot be faked that it is refused: before it commits what is open, and before it changes what
// no transaction undoes.
func (s *Session) RefuseFake(stmt sqlparser.Statement) error {
	if !s.settings.fake {
		return nil
	}
	switch n := stmt.(type) {
	case *sqlparser.DDL, *sqlparser.DBDDL, *sqlparser.AlterTable, *sqlparser.Analyze, *sqlparser.LockTables,
		*sqlparser.CreateUser, *sqlparser.RenameUser, *sqlparser.DropUser, *sqlparser.CreateRole, *sqlparser.DropRole,
		*sqlparser.GrantPrivilege, *sqlparser.GrantRole, *sqlparser.GrantProxy,
		*sqlparser.RevokePrivilege, *sqlparser.RevokeAllPrivileges, *sqlparser.RevokeRole, *sqlparser.RevokeProxy,
		*sqlparser.Prepare, *sqlparser.Execute: // these hide a statement
		return errFakes()
	case *sqlparser.Select:
		if n.Into != nil && (n.Into.Outfile != "" || n.Into.Dumpfile != "") {
			return errFakes()
		}
	}
	return nil
}

// mayToggle: not within a transaction, which would be half a fake.
func (s *Session) mayToggle() error {
	if s.InTransaction() {
		return mysql.NewSQLError(erCantChangeTx, "25001", "%s", fakeVariable+" can't be changed while a transaction is in progress")
	}
	return nil
}

// erCantChangeTx is ER_CANT_CHANGE_TX_CHARACTERISTICS.
const erCantChangeTx = 1568

// fake makes a scan that would lock one that does not. The rows of a table without a primary key are remembered as a locking scan does.
func (s *scan) fake() {
	if s.lock.mode == lockNone || !s.session.faking {
		return
	}
	s.faked, s.lock.mode = true, lockNone
	if !s.latest {
		s.opts.Current = false
	}
}

// editorOf the table, for the session as it is.
func editorOf(ctx *gms.Context, t *table) gms.ForeignKeyEditor {
	if s := SessionOf(ctx); s != nil && s.faking {
		return &fakeEditor{editor: *newEditor(ctx, t)}
	}
	return newEditor(ctx, t)
}

// fakeEditor is an editor that changes nothing.
type fakeEditor struct{ editor }

var (
	_ gms.TableEditor      = (*fakeEditor)(nil)
	_ gms.ForeignKeyEditor = (*fakeEditor)(nil)
)

// StatementBegin implements gms.EditOpenerCloser: there will be nothing to undo.
func (e *fakeEditor) StatementBegin(*gms.Context) {}

// DiscardChanges implements gms.EditOpenerCloser.
func (e *fakeEditor) DiscardChanges(*gms.Context, error) error { return nil }

// StatementComplete implements gms.EditOpenerCloser.
func (e *fakeEditor) StatementComplete(ctx *gms.Context) error { return ctx.Err() }

func (e *fakeEditor) open(ctx *gms.Context) error {
	if e.rows != nil {
		return nil
	}
	if t := e.session.current(); t != nil && t.readOnly && !e.def.rec.Temporary {
		return gms.ErrReadOnlyTransaction.New()
	}
	if err := e.openTrees(ctx); err != nil {
		return err
	}
	return e.touchFree()
}

// touchFree fetches the pages that say which pages of the trees are free: a page that splits takes one, one that is merged gives one back.
func (e *fakeEditor) touchFree() error {
	if _, err := e.rows.Size(); err != nil {
		return sqlError(err)
	}
	for i := range e.indexes {
		if _, err := e.indexes[i].tree.Size(); err != nil {
			return sqlError(err)
		}
	}
	return nil
}

// Insert implements gms.RowInserter.
func (e *fakeEditor) Insert(ctx *gms.Context, row gms.Row) (err error) {
	if err := e.open(ctx); err != nil {
		return err
	}
	if err := e.guard.pass(ctx, row); err != nil {
		return err
	}
	fakes := e.session.fakes()
	if e.def.keyless() {
		e.key, err = e.nextKey(e.key[:0], fakes)
	} else {
		e.key, err = e.def.codec.AppendKey(e.key[:0], row)
	}
	if err != nil {
		return err
	}
	if e.value, err = e.def.codec.AppendRow(e.value[:0], row); err != nil {
		return err
	}
	return sqlError(e.insert(ctx, row, fakes))
}

func (e *fakeEditor) insert(ctx *gms.Context, row gms.Row, fakes *fakes) error {
	met, err := e.at(fakes, e.key)
	if err != nil {
		return err
	}
	if met != nil {
		return gms.NewUniqueKeyErr(e.def.indexes[0].duplicate(ctx, row), true, met)
	}
	for i := range e.indexes {
		x := &e.indexes[i]
		if x.key, x.value, x.hasNull, err = x.entries.Append(x.key[:0], x.value[:0], row, e.key); err != nil {
			return err
		}
		if err := e.insertEntry(ctx, x, row, fakes); err != nil {
			return err
		}
	}
	fakes.put(e.rows, e.key, row)
	for i := range e.indexes {
		if x := &e.indexes[i]; x.unique && !x.hasNull {
			fakes.put(x.tree, x.key, row)
		}
	}
	return nil
}

func (e *fakeEditor) insertEntry(ctx *gms.Context, x *indexEditor, row gms.Row, fakes *fakes) error {
	met, err := e.entryAt(fakes, x, x.key)
	if err != nil {
		return err
	}
	if met != nil && x.unique && !x.hasNull {
		return gms.NewUniqueKeyErr(x.duplicate(ctx, row), false, met)
	}
	return nil
}

// Delete implements gms.RowDeleter.
func (e *fakeEditor) Delete(ctx *gms.Context, row gms.Row) (err error) {
	if err := e.open(ctx); err != nil {
		return err
	}
	var known bool
	if e.oldKey, known, err = e.knownKey(e.oldKey[:0], row); err != nil || !known {
		return err
	}
	fakes := e.session.fakes()
	stored, err := e.at(fakes, e.oldKey)
	if stored == nil || err != nil {
		return sqlError(err)
	}
	if e.def.hidesIndexed {
		row = stored
	}
	fakes.put(e.rows, e.oldKey, nil)
	for i := range e.indexes {
		if err := e.removeEntry(&e.indexes[i], row, fakes); err != nil {
			return sqlError(err)
		}
	}
	return nil
}

func (e *fakeEditor) removeEntry(x *indexEditor, row gms.Row, fakes *fakes) (err error) {
	if x.oldKey, x.oldValue, x.oldIsNull, err = x.entries.Append(x.oldKey[:0], x.oldValue[:0], row, e.oldKey); err != nil {
		return err
	}
	if err := touch(x.tree, x.oldKey); err != nil {
		return err
	}
	if x.unique && !x.oldIsNull {
		fakes.put(x.tree, x.oldKey, nil)
	}
	return nil
}

// Update implements gms.RowUpdater.
func (e *fakeEditor) Update(ctx *gms.Context, old, row gms.Row) (err error) {
	if err := e.open(ctx); err != nil {
		return err
	}
	var known bool
	if e.oldKey, known, err = e.knownKey(e.oldKey[:0], old); err != nil || !known {
		return err
	}
	fakes := e.session.fakes()
	stored, err := e.at(fakes, e.oldKey)
	if stored == nil || err != nil {
		return sqlError(err)
	}
	if e.def.hidesIndexed {
		row, old = e.withHidden(row, old, stored), stored
	}
	if err := e.guard.pass(ctx, row); err != nil {
		return err
	}
	if e.def.keyless() {
		e.key = append(e.key[:0], e.oldKey...)
	} else if e.key, err = e.def.codec.AppendKey(e.key[:0], row); err != nil {
		return err
	}
	if e.value, err = e.def.codec.AppendRow(e.value[:0], row); err != nil {
		return err
	}
	return sqlError(e.change(ctx, old, row, fakes))
}

func (e *fakeEditor) change(ctx *gms.Context, old, row gms.Row, fakes *fakes) error {
	if moved := !bytes.Equal(e.key, e.oldKey); moved {
		fakes.put(e.rows, e.oldKey, nil)
		met, err := e.at(fakes, e.key)
		if err != nil {
			return err
		}
		if met != nil {
			fakes.put(e.rows, e.oldKey, old)
			return gms.NewUniqueKeyErr(e.def.indexes[0].duplicate(ctx, row), true, met)
		}
	}
	for i := range e.indexes {
		if err := e.changeEntry(ctx, &e.indexes[i], old, row, fakes); err != nil {
			return err
		}
	}
	fakes.put(e.rows, e.key, row)
	return nil
}

func (e *fakeEditor) changeEntry(ctx *gms.Context, x *indexEditor, old, row gms.Row, fakes *fakes) (err error) {
	if x.oldKey, x.oldValue, x.oldIsNull, err = x.entries.Append(x.oldKey[:0], x.oldValue[:0], old, e.oldKey); err != nil {
		return err
	}
	if x.key, x.value, x.hasNull, err = x.entries.Append(x.key[:0], x.value[:0], row, e.key); err != nil {
		return err
	}
	if bytes.Equal(x.key, x.oldKey) {
		if bytes.Equal(x.value, x.oldValue) {
			return nil
		}
		return touch(x.tree, x.key)
	}
	if err := e.removeEntry(x, old, fakes); err != nil {
		return err
	}
	if err := e.insertEntry(ctx, x, row, fakes); err != nil {
		if x.unique && !x.oldIsNull {
			fakes.put(x.tree, x.oldKey, old)
		}
		return err
	}
	if x.unique && !x.hasNull {
		fakes.put(x.tree, x.key, row)
	}
	return nil
}

// at reads the row of a key: as the statement has faked it, nil if there is none. The page where it is, or would be, is fetched in
// any case.
func (e *fakeEditor) at(fakes *fakes, key []byte) (gms.Row, error) {
	v, err := e.rows.GetWith(nil, key, hearth.ReadOptions{Current: true})
	if err != nil && !errors.Is(err, hearth.ErrKeyNotFound) {
		return nil, err
	}
	if row, known := fakes.get(e.rows, key); known {
		return row, nil
	}
	if err != nil {
		return nil, nil
	}
	row := make(gms.Row, len(e.def.rec.Columns))
	return row, e.def.codec.DecodeRow(v, row, nil)
}

// entryAt reads the row of an index entry, as at does.
func (e *fakeEditor) entryAt(fakes *fakes, x *indexEditor, key []byte) (gms.Row, error) {
	v, err := x.tree.GetWith(nil, key, hearth.ReadOptions{Current: true})
	if err != nil && !errors.Is(err, hearth.ErrKeyNotFound) {
		return nil, err
	}
	if row, known := fakes.get(x.tree, key); known {
		return row, nil
	}
	if err != nil || !x.unique || x.hasNull {
		return nil, nil
	}
	rowKey, err := x.entries.RowKey(key, v)
	if err != nil {
		return nil, err
	}
	return e.at(fakes, rowKey)
}

// touch fetches the page where key is, or would be.
func touch(tree *hearth.Tree, key []byte) error {
	_, err := tree.GetWith(nil, key, hearth.ReadOptions{Current: true})
	if errors.Is(err, hearth.ErrKeyNotFound) {
		return nil
	}
	return err
}

// nextKey is a hidden row id as the next row would get it. The counter stays where it is.
func (e *fakeEditor) nextKey(dst []byte, fakes *fakes) ([]byte, error) {
	c, err := e.def.backend.rowIDCounter(e.def, e.rows)
	if err != nil {
		return dst, err
	}
	fakes.made++
	return rows.AppendRowID(dst, c.Load()+fakes.made), nil
}

// fakes are what a statement has faked so far, as far as it has to know.
type fakes struct {
	young, old map[fakeKey]gms.Row // nil: deleted
	made       uint64              // hidden row ids
	auto       map[uint64]uint64   // the next AUTO_INCREMENT value, by counter
}

type fakeKey struct{ tree, key string }

// fakesLimit is how many keys a statement remembers for sure; up to twice as many it may. What was forgotten is as it is stored: a
// duplicate among so many rows of one statement is not found.
const fakesLimit = 1 << 17

// fakes of the running statement.
func (s *Session) fakes() *fakes {
	if len(s.stmts) == 0 {
		s.stmts = append(s.stmts, statement{})
	}
	st := &s.stmts[len(s.stmts)-1]
	if st.fakes == nil {
		st.fakes = &fakes{}
	}
	return st.fakes
}

func (f *fakes) put(tree *hearth.Tree, key []byte, row gms.Row) {
	if len(f.young) >= fakesLimit {
		f.old, f.young = f.young, nil
	}
	if f.young == nil {
		f.young = map[fakeKey]gms.Row{}
	}
	f.young[fakeKey{tree.Name(), string(key)}] = row
}

// get returns the row under key, nil if it was deleted. Not known: the statement has not been there.
func (f *fakes) get(tree *hearth.Tree, key []byte) (row gms.Row, known bool) {
	for _, m := range []map[fakeKey]gms.Row{f.young, f.old} {
		if row, known = m[fakeKey{tree.Name(), string(key)}]; known {
			return slices.Clip(slices.Clone(row)), true // GMS appends to rows that it is told of
		}
	}
	return nil, false
}

// fakeAuto is the AUTO_INCREMENT value that a row would get, or the one that it brings along. The counter stays where it is.
func (s *Session) fakeAuto(b *Backend, rec *dict.Table, given, increment, offset uint64) uint64 {
	f := s.fakes()
	next, known := f.auto[rec.Counter]
	switch {
	case known:
	case rec.Temporary:
		next = s.temporary.peek(rec)
	default:
		next = b.dict.PeekAuto(rec)
	}
	if given == 0 {
		if given = max(next, 1); increment > 1 {
			given = offset
			if next > offset {
				given += (next - offset + increment - 1) / increment * increment
			}
		}
	}
	if f.auto == nil {
		f.auto = map[uint64]uint64{}
	}
	f.auto[rec.Counter] = max(next, given+1)
	return given
}
