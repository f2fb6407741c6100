package sql

import (
	"errors"
	"fmt"
	"math"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// A statement of DDL is one or more steps: GMS calls CreateTable, then CreateIndex for each index, then AddForeignKey, and so on. Every
// step gets the exclusive metadata lock, reads the definition as the session sees it now, changes a copy, makes and drops trees, and
// puts the copy into the dictionary, all in the session's engine transaction. A step that fails leaves nothing; the statement's earlier
// steps are undone with the statement.

// ddl runs one step. If it fails, what it did to the trees and to the picture is undone.
func (s *Session) ddl(ctx *gms.Context, step func(*dict.Change, *hearth.Tx) error) error {
	change, err := s.Change(ctx)
	if err != nil {
		return err
	}
	t := s.current()
	sp, mark, temporary := t.tx.Savepoint(), change.Mark(), s.temporary.tables
	err = step(change, t.tx)
	if err == nil && change.Mark() != mark { // it was not about a temporary table
		t.changes, err = true, s.mayChange(ctx)
	}
	if err == nil {
		return nil
	}
	s.temporary.tables = temporary
	if back := t.rollbackTo(sp, mark); back != nil && !errors.Is(back, hearth.ErrTxDone) {
		return back
	}
	return sqlError(err)
}

// alteration is one step that changes a table. old is its definition as the session sees it, rec the copy that becomes the new one.
type alteration struct {
	session *Session
	backend *Backend
	change  *dict.Change
	tx      *hearth.Tx
	old     *definition
	rec     *dict.Table
}

// alter runs a step on the table. The step changes rec and calls put.
func (t *table) alter(ctx *gms.Context, step func(*alteration) error) error {
	s := SessionOf(ctx)
	if err := s.lockForDDL(ctx, t.def.rec); err != nil {
		return err
	}
	rec := t.current(ctx)
	old, err := t.def.backend.definition(rec)
	if err != nil {
		return err
	}
	return s.ddl(ctx, func(c *dict.Change, tx *hearth.Tx) error {
		return step(&alteration{session: s, backend: t.def.backend, change: c, tx: tx, old: old, rec: rec.Clone()})
	})
}

// lockForDDL gets the exclusive metadata lock of a table that is to be changed. Nobody else knows a temporary one.
func (s *Session) lockForDDL(ctx *gms.Context, rec *dict.Table) error {
	if s.temporary.has(rec.ID) {
		return nil
	}
	return s.LockTables(ctx, dict.Exclusive, dict.TableLock(rec.Database, rec.Name))
}

// put makes rec the table's definition.
func (a *alteration) put() error {
	if a.session.temporary.has(a.rec.ID) {
		return a.session.temporary.put(a.backend, a.rec)
	}
	_, err := a.change.PutTable(a.rec)
	return ddlError(err)
}

// current is the table's definition as the session sees it: its own DDL included, which GMS does not bring into table values that it
// holds already.
func (t *table) current(ctx *gms.Context) *dict.Table {
	s := SessionOf(ctx)
	if s == nil {
		return t.def.rec
	}
	if rec := s.temporary.byID(t.def.rec.ID); rec != nil {
		return rec
	}
	if tx := s.current(); tx != nil && tx.change != nil {
		if rec := tx.change.Schema().Table(t.def.rec.Database, t.def.rec.Name); rec != nil && rec.ID == t.def.rec.ID {
			return rec
		}
	}
	return t.def.rec
}

// createTrees makes the trees of a definition.
func createTrees(tx *hearth.Tx, rec *dict.Table) error {
	for _, name := range rec.Trees() {
		if _, err := tx.CreateTree(name); err != nil {
			return err
		}
	}
	return nil
}

// dropTrees drops the trees of a definition. They stay readable for those who read an older snapshot.
func dropTrees(tx *hearth.Tx, rec *dict.Table) error {
	for _, name := range rec.Trees() {
		if err := tx.DropTree(name); err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls f for every row of the table as it was before the step, in the order of the row keys: the latest state, whatever
// snapshot the transaction has, for nobody else can have changes of the table that are not committed. Row and key are good during the
// call; the wanted columns are filled, nil: all that is stored.
func (a *alteration) eachRow(ctx *gms.Context, want []int, f func(key []byte, row gms.Row) error) error {
	tree, err := a.tx.Tree(a.old.rec.RowTree())
	if err != nil {
		return err
	}
	c := tree.CursorWith(hearth.ReadOptions{Current: true})
	defer c.Close()
	row := make(gms.Row, len(a.old.rec.Columns))
	for ok := c.First(); ok; ok = c.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.old.codec.DecodeRow(c.Value(), row, want); err != nil {
			return fmt.Errorf("table %s.%s: %w", a.old.rec.Database, a.old.rec.Name, err)
		}
		if err := f(c.Key(), row); err != nil {
			return err
		}
	}
	return c.Err()
}

// ddlError makes an error of the dictionary one of GMS.
func ddlError(err error) error {
	if errors.Is(err, dict.ErrConflict) {
		return mysql.NewSQLError(erTableDefChanged, "HY000", "%s", "Table definition has changed, please retry transaction")
	}
	return err
}

// columnOf is a column of GMS as the dictionary keeps it.
func columnOf(c *gms.Column, primary bool) dict.Column {
	return dict.Column{
		Name:          c.Name,
		Type:          c.Type,
		Nullable:      c.Nullable && !primary,
		AutoIncrement: c.AutoIncrement,
		Default:       expressionOf(c.Default),
		Generated:     expressionOf(c.Generated),
		Virtual:       c.Virtual,
		OnUpdate:      expressionOf(c.OnUpdate),
		Comment:       c.Comment,
		Extra:         c.Extra,
	}
}

// expressionOf is the text of an expression, without names of tables: tables are renamed.
func expressionOf(v *gms.ColumnDefaultValue) *dict.Expression {
	if v == nil || v.Expr == nil {
		return nil
	}
	if u, ok := v.Expr.(*gms.UnresolvedColumnDefault); ok { // as it came from the dictionary
		return &dict.Expression{Text: u.ExprString, Literal: v.Literal, Parenthesized: v.Parenthesized, ReturnNil: v.ReturnNil}
	}
	text := v.String()
	bare, _, err := transform.Expr(v, func(e gms.Expression) (gms.Expression, transform.TreeIdentity, error) {
		if f, ok := e.(*expression.GetField); ok {
			n := expression.NewGetField(f.Index(), f.Type(), f.Name(), f.IsNullable())
			return n.WithQuotedNames(gms.GlobalSchemaFormatter, f.IsQuotedIdentifier()), transform.NewTree, nil
		}
		return e, transform.SameTree, nil
	})
	if err == nil {
		text = bare.String()
	}
	return &dict.Expression{Text: text, Literal: v.Literal, Parenthesized: v.Parenthesized, ReturnNil: v.ReturnNil}
}

// partsOf are the parts of a key over columns named by GMS. A prefix as long as its column is none.
func partsOf(rec *dict.Table, columns []gms.IndexColumn) ([]dict.Part, error) {
	parts := make([]dict.Part, len(columns))
	for i, c := range columns {
		ordinal := rec.Column(c.Name)
		if ordinal < 0 {
			return nil, gms.ErrKeyColumnDoesNotExist.New(c.Name)
		}
		prefix := c.Length
		if s, ok := rec.Columns[ordinal].Type.(gms.StringType); ok && prefix >= s.MaxCharacterLength() {
			prefix = 0
		}
		if prefix < 0 || prefix > math.MaxUint16 {
			return nil, mysql.NewSQLError(erKeyTooLong, "42000", "%s", "Specified key was too long; max key length is 3072 bytes")
		}
		parts[i] = dict.Part{Column: ordinal, Prefix: uint16(prefix)}
	}
	return parts, nil
}
