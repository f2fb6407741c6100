package sql

import (
	"io"
	"math"
	"slices"
	"strconv"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/bulk"
)

// PlainWrite runs a plain UPDATE or DELETE, as PlainSelect does a SELECT. ok: it did, or it failed at it; else nothing was done, but rows
// may be locked that GMS is about to lock too.
func (s *Session) PlainWrite(ctx *gms.Context, p *bulk.Plain) (matched, changed int, ok bool, err error) {
	t, err := s.plainTable(ctx, p.Database, p.Table)
	if t == nil || err != nil || !s.writesPlainly(t) || s.current().readOnly {
		return 0, 0, false, err
	}
	w := &plainWrite{def: t.def}
	if p.Action == bulk.Update {
		if ok := w.prepare(ctx, p.Sets); !ok {
			return 0, 0, false, nil
		}
	}
	part, ok, err := t.def.plainPart(p)
	if !ok || err != nil || len(part.filters) > 0 { // GMS may find a way that locks less
		return 0, 0, false, err
	}
	from := t.table
	from.lock = rowLock{mode: lockExclusive, scope: new(editScope)}
	rows := &scan{table: from, index: part.index, intervals: part.intervals}
	e := newEditor(ctx, &from)
	defer e.Close(ctx)
	e.StatementBegin(ctx)
	if err := rows.open(ctx); err != nil {
		return 0, 0, true, err
	}
	defer rows.Close(ctx)
	ok, err = w.run(ctx, rows, e)
	if ok && err == nil {
		return w.matched, w.changed, true, e.StatementComplete(ctx)
	}
	if back := e.DiscardChanges(ctx, err); back != nil {
		return 0, 0, true, back
	}
	return 0, 0, ok, err
}

// writesPlainly: a change of a row is the editor's alone.
func (s *Session) writesPlainly(t *Table) bool {
	rec := t.def.rec
	if len(rec.Checks) > 0 || len(rec.ForeignKeys) > 0 || t.def.keyless() {
		return false
	}
	for i := range rec.Columns {
		if rec.Columns[i].Generated != nil || rec.Columns[i].OnUpdate != nil {
			return false
		}
	}
	schema := s.Schema()
	return len(schema.ReferencedBy(rec.Database, rec.Name)) == 0 && !triggered(schema.Database(rec.Database), rec.Name)
}

// plainWrite is one UPDATE, or a DELETE, which sets nothing.
type plainWrite struct {
	def              *definition
	columns          []int
	values           []gms.Expression
	matched, changed int
}

// prepare the expressions. No: some of them is none that GMS computes without warnings.
func (w *plainWrite) prepare(ctx *gms.Context, sets []bulk.Set) bool {
	for _, set := range sets {
		c := w.def.column(set.Column)
		if c < 0 || w.def.inUnique(c) || !setsPlainly(w.def.rec.Columns[c].Type) {
			return false
		}
		value, ok := plainLiteral(ctx, set.Value)
		if !ok {
			return false
		}
		if set.Operator != 0 {
			f := w.def.column(set.From)
			if f < 0 || set.Value.Kind != bulk.Int && set.Value.Kind != bulk.Decimal || !isExactNumber(w.def.rec.Columns[f].Type) {
				return false
			}
			from := w.def.schema.Schema[f]
			field := expression.NewGetFieldWithTable(f, 0, from.Type, from.DatabaseSource, from.Source, from.Name, from.Nullable)
			switch set.Operator {
			case '+':
				value = expression.NewPlus(field, value)
			case '-':
				value = expression.NewMinus(field, value)
			default:
				value = expression.NewMult(field, value)
			}
		}
		w.columns, w.values = append(w.columns, c), append(w.values, value)
	}
	return true
}

// inUnique: two rows may not have the same value of the column, alone or with others.
func (d *definition) inUnique(column int) bool {
	for _, x := range d.indexes {
		if !x.unique {
			continue
		}
		for _, p := range x.parts {
			if p.Column == column {
				return true
			}
		}
	}
	return false
}

func isExactNumber(t gms.Type) bool {
	_, integer := integers[t.Type()]
	return integer && types.IsNumber(t) || types.IsDecimal(t)
}

// setsPlainly: what a value becomes in a column of the type is a matter of its Convert alone.
func setsPlainly(t gms.Type) bool {
	switch t.(type) {
	case gms.StringType:
		return !types.IsBinaryType(t)
	case gms.DatetimeType:
		return true
	}
	return isExactNumber(t)
}

// plainLiteral is the expression that GMS makes of a literal.
func plainLiteral(ctx *gms.Context, v bulk.Value) (gms.Expression, bool) {
	switch v.Kind {
	case bulk.Null:
		return expression.NewLiteral(nil, types.Null), true
	case bulk.String:
		return expression.NewLiteral(v.Text, types.CreateLongText(ctx.GetCollation())), true
	case bulk.Int:
		return integerLiteral(v.Text)
	case bulk.Decimal:
		if v.Text[0] == '-' {
			return nil, false
		}
		precision, scale := expression.GetDecimalPrecisionAndScale(v.Text)
		t, err := types.CreateDecimalType(precision, scale)
		if err != nil {
			return nil, false
		}
		d, _, err := t.Convert(ctx, v.Text)
		return expression.NewLiteral(d, t), err == nil
	}
	return nil, false
}

// integerLiteral has the smallest type that holds the number, signed if there is one: the type of a sum depends on it.
func integerLiteral(text string) (gms.Expression, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, false
	}
	switch {
	case n >= math.MinInt8 && n <= math.MaxInt8:
		return expression.NewLiteral(int8(n), types.Int8), true
	case n >= 0 && n <= math.MaxUint8:
		return expression.NewLiteral(uint8(n), types.Uint8), true
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return expression.NewLiteral(int16(n), types.Int16), true
	case n >= 0 && n <= math.MaxUint16:
		return expression.NewLiteral(uint16(n), types.Uint16), true
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return expression.NewLiteral(int32(n), types.Int32), true
	case n >= 0 && n <= math.MaxUint32:
		return expression.NewLiteral(uint32(n), types.Uint32), true
	}
	return expression.NewLiteral(n, types.Int64), true
}

// run the statement over the rows. Not ok: it is for GMS, and what was done is to be undone.
func (w *plainWrite) run(ctx *gms.Context, rows *scan, e *editor) (ok bool, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		row, err := rows.Next(ctx)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		w.matched++
		if w.columns == nil {
			w.changed++
			if err := e.Delete(ctx, row); err != nil {
				return true, err
			}
			continue
		}
		changed, ok := w.apply(ctx, row)
		if !ok {
			return false, nil
		}
		same, err := row.Equals(ctx, changed, w.def.bytes)
		if err != nil {
			return false, nil
		}
		if same {
			continue
		}
		w.changed++
		if err := e.Update(ctx, row, changed); err != nil {
			return true, err
		}
	}
}

// apply makes the new row. No: some value does not fit into its column.
func (w *plainWrite) apply(ctx *gms.Context, row gms.Row) (gms.Row, bool) {
	row = slices.Clone(row)
	for i, c := range w.columns {
		v, err := w.values[i].Eval(ctx, row)
		if err != nil {
			return nil, false
		}
		column := &w.def.rec.Columns[c]
		if v == nil {
			if !column.Nullable {
				return nil, false
			}
			row[c] = nil
			continue
		}
		fits := gms.InRange
		if row[c], fits, err = column.Type.Convert(ctx, v); err != nil || fits != gms.InRange || row[c] == nil {
			return nil, false
		}
	}
	return row, true
}
