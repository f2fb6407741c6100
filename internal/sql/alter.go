package sql

import (
	"fmt"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/sqltypes"

	"github.com/hearthdb/hearth/internal/dict"
)

var (
	_ gms.AlterableTable          = (*Table)(nil)
	_ gms.RewritableTable         = (*Table)(nil)
	_ gms.CollationAlterableTable = (*Table)(nil)
)

// What an ALTER of columns does to the rows:
//
//	ADD COLUMN at the end, NULL by default   nothing: a row that was stored before ends earlier. Not without a primary key, where
//	                                         equal rows must be stored equally
//	ADD COLUMN otherwise                     rewritten
//	DROP COLUMN                              rewritten
//	MODIFY, CHANGE to another type or place  rewritten, except for what inPlace says
//	RENAME COLUMN, SET DEFAULT, comments     nothing

// ShouldRewriteTable implements gms.RewritableTable. With old nil a column is added, with column nil one is dropped.
func (t *table) ShouldRewriteTable(ctx *gms.Context, from, to gms.PrimaryKeySchema, old, column *gms.Column) bool {
	switch {
	case len(from.PkOrdinals) != len(to.PkOrdinals), column == nil:
		return true
	case old == nil:
		last := len(to.Schema) - 1
		return to.Schema.IndexOfColName(column.Name) != last || t.def.keyless() || column.Virtual
	}
	i := from.Schema.IndexOfColName(old.Name)
	return i != to.Schema.IndexOfColName(column.Name) || !inPlace(t.current(ctx), i, columnOf(column, old.PrimaryKey))
}

// inPlace: column i of the table may become c with all rows and keys left as they are stored.
func inPlace(rec *dict.Table, i int, c dict.Column) bool {
	old := &rec.Columns[i]
	key := indexed(rec, i) || slices.ContainsFunc(rec.Primary, func(p dict.Part) bool { return p.Column == i })
	switch {
	case old.AutoIncrement != c.AutoIncrement,
		old.Virtual != c.Virtual,
		(old.Generated == nil) != (c.Generated == nil),
		old.Generated != nil && old.Generated.Text != c.Generated.Text,
		old.Nullable && !c.Nullable,       // somebody has to look for NULLs
		old.Nullable != c.Nullable && key: // keys tell NULL only where it may be
		return false
	}
	return sameType(old.Type, c.Type) || longer(old.Type, c.Type)
}

// sameType: also the same SRID, which Equals does not look at.
func sameType(a, b gms.Type) bool {
	x, ok := a.(gms.SpatialColumnType)
	y, also := b.(gms.SpatialColumnType)
	if ok && also {
		srid, defined := x.GetSpatialTypeSRID()
		other, otherDefined := y.GetSpatialTypeSRID()
		if srid != other || defined != otherDefined {
			return false
		}
	}
	return a.Equals(b)
}

// longer: b is the string type a with more room.
func longer(a, b gms.Type) bool {
	x, ok := a.(gms.StringType)
	y, also := b.(gms.StringType)
	if !ok || !also || x.Type() != y.Type() || x.Collation() != y.Collation() {
		return false
	}
	switch x.Type() {
	case sqltypes.VarChar, sqltypes.VarBinary, sqltypes.Text, sqltypes.Blob:
		return x.MaxCharacterLength() <= y.MaxCharacterLength()
	}
	return false
}

// AddColumn implements gms.AlterableTable, for columns that need no change of rows.
func (t *table) AddColumn(ctx *gms.Context, column *gms.Column, order *gms.ColumnOrder) error {
	return t.alter(ctx, func(a *alteration) error {
		at := len(a.rec.Columns)
		if order != nil && order.First {
			at = 0
		} else if order != nil {
			if at = a.rec.Column(order.AfterColumn) + 1; at == 0 {
				return gms.ErrTableColumnNotFound.New(a.rec.Name, order.AfterColumn)
			}
		}
		if a.rec.Column(column.Name) >= 0 {
			return gms.ErrColumnExists.New(column.Name)
		}
		last := at == len(a.rec.Columns)
		a.insertColumn(at, columnOf(column, false))
		if last && !a.old.keyless() {
			return a.put()
		}
		return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) { return slices.Insert(slices.Clone(row), at, nil), nil })
	})
}

// insertColumn puts a column before the one at that place.
func (a *alteration) insertColumn(at int, c dict.Column) {
	a.rec.Columns = slices.Insert(a.rec.Columns, at, c)
	a.moveParts(func(i int) int {
		if i >= at {
			return i + 1
		}
		return i
	})
}

// removeColumn takes a column out, of keys too. A key that has no column left goes.
func (a *alteration) removeColumn(at int) {
	a.rec.Columns = slices.Delete(a.rec.Columns, at, at+1)
	a.moveParts(func(i int) int {
		switch {
		case i == at:
			return -1
		case i > at:
			return i - 1
		}
		return i
	})
}

// moveParts gives the parts of all keys their columns' new ordinals; -1 is none any more.
func (a *alteration) moveParts(to func(int) int) {
	move := func(parts []dict.Part) []dict.Part {
		for i := range parts {
			parts[i].Column = to(parts[i].Column)
		}
		return slices.DeleteFunc(parts, func(p dict.Part) bool { return p.Column < 0 })
	}
	a.rec.Primary = move(a.rec.Primary)
	for i := range a.rec.Indexes {
		a.rec.Indexes[i].Parts = move(a.rec.Indexes[i].Parts)
	}
	a.rec.Indexes = slices.DeleteFunc(a.rec.Indexes, func(x dict.Index) bool { return len(x.Parts) == 0 })
}

// DropColumn implements gms.AlterableTable. GMS prefers RewriteInserter.
func (t *table) DropColumn(ctx *gms.Context, name string) error {
	return t.alter(ctx, func(a *alteration) error {
		at := a.rec.Column(name)
		if at < 0 {
			return gms.ErrTableColumnNotFound.New(a.rec.Name, name)
		}
		a.removeColumn(at)
		return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) { return slices.Delete(slices.Clone(row), at, at+1), nil })
	})
}

// ModifyColumn implements gms.AlterableTable, for columns whose rows need no change. GMS does not say so of a changed default, whose
// column it has taken out of the table's schema and changed there; see rewriteDDL.
func (t *table) ModifyColumn(ctx *gms.Context, name string, column *gms.Column, order *gms.ColumnOrder) error {
	return t.alter(ctx, func(a *alteration) error {
		at := a.rec.Column(name)
		if at < 0 {
			return gms.ErrTableColumnNotFound.New(a.rec.Name, name)
		}
		c := columnOf(column, slices.ContainsFunc(a.rec.Primary, func(p dict.Part) bool { return p.Column == at }))
		if !inPlace(a.rec, at, c) {
			return fmt.Errorf("table %s: column %s cannot become %s without its rows being rewritten", a.rec.Name, name, c.Type)
		}
		if !strings.EqualFold(name, c.Name) && a.rec.Column(c.Name) >= 0 {
			return gms.ErrColumnExists.New(c.Name)
		}
		a.rec.Columns[at] = c
		return a.put()
	})
}

// RewriteInserter implements gms.RewritableTable.
func (t *table) RewriteInserter(ctx *gms.Context, from, to gms.PrimaryKeySchema, old, column *gms.Column, key []gms.IndexColumn) (gms.RowInserter, error) {
	if len(from.PkOrdinals) > 0 && len(to.PkOrdinals) == 0 {
		if err := gms.ValidatePrimaryKeyDrop(ctx, t.def.plain, from); err != nil {
			return nil, err
		}
	}
	return t.startRewriting(ctx, func(a *alteration) error { return a.become(to, old, column, key) })
}

// become makes a.rec what GMS says the table becomes: a schema, in which one column was added (old is nil), dropped (column is nil) or
// changed. key are the columns of a new primary key.
func (a *alteration) become(to gms.PrimaryKeySchema, old, column *gms.Column, key []gms.IndexColumn) error {
	was := a.rec.Columns
	before := func(name string) int { // ordinal in the old table of a column of the new one
		switch {
		case old != nil && column != nil && strings.EqualFold(name, column.Name):
			return a.old.rec.Column(old.Name)
		case old == nil && column != nil && strings.EqualFold(name, column.Name):
			return -1
		}
		return a.old.rec.Column(name)
	}
	renamed := old != nil && column != nil && !strings.EqualFold(old.Name, column.Name)
	a.rec.Columns = make([]dict.Column, len(to.Schema))
	moved := make(map[int]int, len(was)) // old ordinal → new one
	for i, c := range to.Schema {
		j := before(c.Name)
		if j >= 0 {
			moved[j] = i
		}
		changed := column != nil && strings.EqualFold(c.Name, column.Name)
		if j < 0 || changed || renamed {
			a.rec.Columns[i] = columnOf(c, c.PrimaryKey)
		} else {
			a.rec.Columns[i] = was[j] // its expressions as they were written
		}
	}
	a.moveParts(func(i int) int {
		if j, ok := moved[i]; ok {
			return j
		}
		return -1
	})
	prefixes := map[int]uint16{}
	for _, p := range a.rec.Primary {
		prefixes[p.Column] = p.Prefix
	}
	a.rec.Primary = nil
	for _, i := range to.PkOrdinals {
		a.rec.Primary = append(a.rec.Primary, dict.Part{Column: i, Prefix: prefixes[i]})
	}
	if len(key) > 0 && len(to.PkOrdinals) > 0 {
		return a.setPrimary(key)
	}
	for _, p := range a.rec.Primary {
		a.rec.Columns[p.Column].Nullable = false
	}
	return checkKey(a.rec, a.rec.Primary)
}

// ModifyDefaultCollation implements gms.CollationAlterableTable: of columns to come.
func (t *table) ModifyDefaultCollation(ctx *gms.Context, collation gms.CollationID) error {
	return t.alter(ctx, func(a *alteration) error {
		a.rec.Collation = collation
		return a.put()
	})
}

// ModifyStoredCollation implements gms.CollationAlterableTable: of the columns that are there, too. Rows hold strings as they are, so
// only keys change.
func (t *table) ModifyStoredCollation(ctx *gms.Context, collation gms.CollationID) error {
	return t.alter(ctx, func(a *alteration) error {
		a.rec.Collation = collation
		for i := range a.rec.Columns {
			c := &a.rec.Columns[i]
			typ, ok := c.Type.(gms.TypeWithCollation)
			if !ok || typ.Collation() == gms.Collation_binary {
				continue
			}
			var err error
			if c.Type, err = typ.WithNewCollation(collation); err != nil {
				return err
			}
		}
		return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) { return row, nil })
	})
}
