package sql

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/bulk"
	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/rows"
)

// Most statements of applications find rows of one table by an index, and go-mysql-server spends ten times as long on their plan as the
// engine on their rows. So plain ones (bulk.Plain) go from the text to the scan and the editor that GMS would have come to.
//
//  1. What comes of a plain statement is what GMS makes of it: rows, types, locks, counts, errors. There is one scan, one editor, one
//     set of expressions; only the way to them is shorter. One thing is better: columns say whether they are of the primary key, and
//     whether they are AUTO_INCREMENT, which GMS forgets where it projects.
//  2. Whatever else there is to be done, warned about or refused is left to GMS before anything is written, or with all undone: there is
//     one place for each error.
//  3. The conditions make ranges of an index, in the order of its entries. Comparisons of integers may also be looked at for each row;
//     any other condition left is for GMS, and so is one whose literal is not of the column's own kind, for then there are rules how
//     to compare.

// PlainSelect opens a plain SELECT. No: it is for GMS. It needs a transaction that GMS would have begun, and who calls it has looked at
// the user's privileges.
func (s *Session) PlainSelect(ctx *gms.Context, p *bulk.Plain) (_ gms.Schema, _ gms.RowIter, ok bool, err error) {
	t, err := s.plainTable(ctx, p.Database, p.Table)
	if t == nil || err != nil {
		return nil, nil, false, err
	}
	wanted := t.table
	if p.Columns != nil || p.Aggregate == bulk.Count {
		wanted.columns = make([]int, len(p.Columns))
		for i, name := range p.Columns {
			if wanted.columns[i] = t.def.column(name); wanted.columns[i] < 0 || slices.Contains(wanted.columns[:i], wanted.columns[i]) {
				return nil, nil, false, nil
			}
		}
	}
	wanted.lock = plainLocks[p.Lock]
	shape, ok := plainShapeOf(&wanted, p)
	if !ok {
		return nil, nil, false, nil
	}
	part, ok, err := t.def.plainPart(p)
	if !ok || err != nil || len(part.filters) > 0 && wanted.lock.mode != lockNone { // GMS may find a way that locks less
		return nil, nil, false, err
	}
	rows := &plainRows{scan: scan{table: wanted, index: part.index, intervals: part.intervals, reverse: part.reverse}, filters: part.filters, left: p.Limit}
	for _, f := range part.filters {
		if rows.columns != nil && !slices.Contains(rows.columns, f.column) {
			rows.columns = append(rows.columns, f.column) // decoded, and cut off again
		}
	}
	if rows.left == 0 {
		rows.left = math.MaxInt
	}
	if err := rows.open(ctx); err != nil {
		return nil, nil, true, err
	}
	schema, iter := shape(&wanted, rows)
	return schema, iter, true, nil
}

var plainLocks = map[bulk.RowLock]rowLock{
	bulk.ForShare:            {mode: lockShared},
	bulk.ForUpdate:           {mode: lockExclusive},
	bulk.ForUpdateNoWait:     {mode: lockExclusive, wait: noWait},
	bulk.ForUpdateSkipLocked: {mode: lockExclusive, wait: skipLocked},
}

// plainRows are the rows of a scan that pass the filters, as many as are wanted. The one behind them is not looked at: it would be locked.
type plainRows struct {
	scan
	filters []plainFilter
	left    int
}

// Next implements gms.RowIter.
func (r *plainRows) Next(ctx *gms.Context) (gms.Row, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	for n := 1; ; n++ {
		if n%pollEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		row, err := r.scan.Next(ctx)
		if err != nil {
			return nil, err
		}
		ok, err := r.pass(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			r.left--
			return row, nil
		}
	}
}

// pass holds the row at hand against the filters.
func (r *plainRows) pass(ctx *gms.Context) (bool, error) {
	for i := range r.filters {
		f := &r.filters[i]
		v := r.decoded[f.column]
		if v == nil {
			return false, nil
		}
		c, err := r.def.rec.Columns[f.column].Type.Compare(ctx, v, f.value)
		if err != nil || !f.how.holds(c) {
			return false, err
		}
	}
	return true, nil
}

// plainTable is a table of ours whose rows are what scans say they are. Nil: it is not, or there is none, which GMS tells.
func (s *Session) plainTable(ctx *gms.Context, database, name string) (*Table, error) {
	if s.rewriting != nil || s.faking {
		return nil, nil
	}
	if t := s.current(); t != nil && t.serializable {
		return nil, nil
	}
	if database == "" {
		database = s.BaseSession.GetCurrentDatabase()
	}
	rec := s.Schema().Database(database)
	if rec == nil {
		return nil, nil
	}
	found, ok, err := (&Database{backend: s.backend, name: rec.Name}).GetTableInsensitive(ctx, name)
	if err != nil || !ok {
		return nil, err
	}
	t, ok := found.(*Table)
	if !ok || t.def.rec.Temporary || len(t.def.stored) < len(t.def.rec.Columns) {
		return nil, nil
	}
	return t, nil
}

// plainPart is the part of a table that the conditions of a plain statement leave, in the order it asks for.
type plainPart struct {
	onePartition
	filters []plainFilter
}

// plainFilter is a condition that is looked at for each row.
type plainFilter struct {
	column int
	how    comparison
	value  any
}

type comparison bulk.Compare

// holds says whether a value that compares so with the literal is meant.
func (c comparison) holds(order int) bool {
	switch bulk.Compare(c) {
	case bulk.Equal:
		return order == 0
	case bulk.Less:
		return order < 0
	case bulk.LessOrEqual:
		return order <= 0
	case bulk.Greater:
		return order > 0
	default:
		return order >= 0
	}
}

// plainPart finds it. No: the conditions make no ranges of an index.
func (d *definition) plainPart(p *bulk.Plain) (part plainPart, ok bool, err error) {
	told := make([]plainBounds, 0, 4)
	for i := range p.Conditions {
		c := &p.Conditions[i]
		column := d.column(c.Column)
		if column < 0 {
			return part, false, nil
		}
		at := slices.IndexFunc(told, func(b plainBounds) bool { return b.column == column })
		if at < 0 {
			at = len(told)
			told = append(told, plainBounds{column: column})
		}
		if !told[at].add(c, &d.rec.Columns[column]) {
			return part, false, nil
		}
	}
	var best *Index
	var ranges gms.MySQLRange
	var last *plainBounds
	one := false // entry, at most
	for _, x := range d.indexes {
		r, end, point := x.plainRange(told)
		if r == nil {
			continue
		}
		if len(r) < len(told) && !d.filtersPlainly(told, x, len(r)) || len(p.Order) > 0 && (end.list != nil || !x.ordered(p.Order, r)) {
			continue
		}
		if best == nil || len(r) > len(ranges) || point {
			best, ranges, last = x, r, end
		}
		if one = point; one {
			break
		}
	}
	used := len(ranges)
	if best == nil || used < len(told) && !one && d.hasOtherWay(told, best, used) {
		return part, false, nil
	}
	for i := range told {
		if !best.leads(told[i].column, used) {
			part.filters = append(part.filters, told[i].filters()...)
		}
	}
	part.index, part.reverse = best, p.Descending
	if last.list == nil {
		part.intervals, err = best.intervals(gms.MySQLRangeCollection{ranges})
	} else {
		part.intervals, err = best.listed(ranges, last.list)
	}
	return part, len(part.intervals) > 0, err // GMS opens no table for what cannot be
}

// filtersPlainly: what is told of columns behind the index's first ones is about integers.
func (d *definition) filtersPlainly(told []plainBounds, x *Index, first int) bool {
	for i := range told {
		_, number := d.rec.Columns[told[i].column].Type.(gms.NumberType)
		if !x.leads(told[i].column, first) && (!number || told[i].list != nil) {
			return false
		}
	}
	return true
}

// hasOtherWay: some index is about a column that the best one's first ones are not. Which way is better is a matter of statistics.
func (d *definition) hasOtherWay(told []plainBounds, best *Index, used int) bool {
	for _, x := range d.indexes {
		r, _, _ := x.plainRange(told)
		for i := range r {
			if !best.leads(x.parts[i].Column, used) {
				return true
			}
		}
	}
	return false
}

// leads: the column is among the first of the index, so many.
func (x *Index) leads(column, first int) bool {
	return slices.ContainsFunc(x.parts[:first], func(p rows.Part) bool { return p.Column == column })
}

// listed are the intervals of a list of values for the last column of the range, each once and in their order.
func (x *Index) listed(r gms.MySQLRange, list []any) ([]interval, error) {
	all := make(gms.MySQLRangeCollection, len(list))
	for i, v := range list {
		one := slices.Clone(r)
		one[len(r)-1].LowerBound, one[len(r)-1].UpperBound = gms.Below{Key: v}, gms.Above{Key: v}
		all[i] = one
	}
	in, err := x.intervals(all)
	slices.SortFunc(in, func(a, b interval) int { return bytes.Compare(a.lo, b.lo) })
	return slices.CompactFunc(in, func(a, b interval) bool { return bytes.Equal(a.lo, b.lo) }), err
}

// plainBounds of a column, as conditions tell them.
type plainBounds struct {
	column       int
	equal        bool
	lower, upper gms.MySQLRangeCut
	list         []any // nil: none
	conditions   [2]plainFilter
	conditionsN  int
}

// add takes a condition. No: there is one already that says something of the same kind, or its literal is of another kind.
func (b *plainBounds) add(c *bulk.Condition, column *dict.Column) bool {
	if c.Compare == bulk.In {
		if b.lower != nil || b.upper != nil || b.list != nil {
			return false
		}
		for _, literal := range c.List {
			v, ok := comparableValue(column, literal)
			if !ok {
				return false
			}
			b.list = append(b.list, v)
		}
		return true
	}
	v, ok := comparableValue(column, c.Value)
	if !ok || b.list != nil {
		return false
	}
	var lower, upper gms.MySQLRangeCut
	switch c.Compare {
	case bulk.Equal:
		lower, upper, b.equal = gms.Below{Key: v}, gms.Above{Key: v}, true
	case bulk.GreaterOrEqual:
		lower = gms.Below{Key: v}
	case bulk.Greater:
		lower = gms.Above{Key: v}
	case bulk.LessOrEqual:
		upper = gms.Above{Key: v}
	case bulk.Less:
		upper = gms.Below{Key: v}
	}
	if lower != nil && b.lower != nil || upper != nil && b.upper != nil {
		return false
	}
	if lower != nil {
		b.lower = lower
	}
	if upper != nil {
		b.upper = upper
	}
	b.conditions[b.conditionsN] = plainFilter{b.column, comparison(c.Compare), v}
	b.conditionsN++
	return true
}

// filters are the conditions, to be looked at for each row.
func (b *plainBounds) filters() []plainFilter { return b.conditions[:b.conditionsN] }

// plainRange says of the index's first columns what is told of them: of all but the last that they have one value. Nil: nothing is told of the
// first one. point: it is one entry at most.
func (x *Index) plainRange(told []plainBounds) (r gms.MySQLRange, last *plainBounds, point bool) {
	if x.prefixes != nil {
		return nil, nil, false
	}
	for i := range x.parts {
		at := slices.IndexFunc(told, func(b plainBounds) bool { return b.column == x.parts[i].Column })
		if at < 0 {
			break
		}
		b := &told[at]
		one := gms.MySQLRangeColumnExpr{LowerBound: gms.AboveNull{}, UpperBound: gms.AboveAll{}, Typ: x.expressions[i].Type}
		if b.lower != nil {
			one.LowerBound = b.lower
		}
		if b.upper != nil {
			one.UpperBound = b.upper
		}
		r, last = append(r, one), b
		if !b.equal {
			break
		}
	}
	return r, last, last != nil && last.equal && x.unique && len(r) == len(x.parts)
}

// comparableValue is a literal as a value of the column that it is compared with. No: it is of another kind, or the column cannot hold it.
func comparableValue(c *dict.Column, v bulk.Value) (any, bool) {
	switch t := c.Type.(type) {
	case gms.NumberType:
		b, ok := integers[t.Type()]
		if !ok || v.Kind != bulk.Int {
			return nil, false
		}
		return b.value(v.Text)
	case gms.StringType:
		if types.IsBinaryType(t) || t.CharacterSet() != gms.CharacterSet_utf8mb4 || v.Kind != bulk.String || !utf8.ValidString(v.Text) {
			return nil, false
		}
		return v.Text, int64(utf8.RuneCountInString(v.Text)) <= t.MaxCharacterLength()
	}
	return nil, false
}

// triggered: some trigger may be of the table.
func triggered(db *dict.Database, table string) bool {
	name := strings.ToLower(table)
	for _, trigger := range db.Triggers() {
		if strings.ContainsRune(name, '`') || strings.Contains(strings.ToLower(trigger.CreateStatement), name) {
			return true
		}
	}
	return false
}
