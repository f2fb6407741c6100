package sql

import (
	"io"
	"strings"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/bulk"
	"github.com/hearthdb/hearth/internal/dict"
)

// Most statements of applications find rows of one table by an index, and go-mysql-server spends ten times as long on their plan as the
// engine on their rows. So plain ones (bulk.Plain) go from the text to the scan and the editor that GMS would have come to.
//
//  1. What comes of a plain statement is what GMS makes of it: rows, types, locks, counts, errors. There is one scan, one editor, one
//     set of expressions; only the way to them is shorter. One thing is better: columns say whether they are of the primary key, and
//     whether they are AUTO_INCREMENT, which GMS forgets where it projects.
//  2. Whatever else there is to be done, warned about or refused is left to GMS before anything is written, or with all undone: there is
//     one place for each error.
//  3. All conditions make one range of an index. A condition that would have to be looked at for each row is for GMS, and so is one
//     whose literal is not of the column's own kind, for then there are rules how to compare.

// PlainSelect opens a plain SELECT. No: it is for GMS. It needs a transaction that GMS would have begun, and who calls it has looked at
// the user's privileges.
func (s *Session) PlainSelect(ctx *gms.Context, p *bulk.Plain) (_ gms.Schema, _ gms.RowIter, ok bool, err error) {
	t, err := s.plainTable(ctx, p.Database, p.Table)
	if t == nil || err != nil {
		return nil, nil, false, err
	}
	wanted := t.table
	if p.Columns != nil {
		wanted.columns = make([]int, len(p.Columns))
		for i, name := range p.Columns {
			if wanted.columns[i] = t.def.column(name); wanted.columns[i] < 0 {
				return nil, nil, false, nil
			}
			for _, c := range wanted.columns[:i] {
				if c == wanted.columns[i] {
					return nil, nil, false, nil
				}
			}
		}
	}
	wanted.lock = plainLocks[p.Lock]
	part, ok, err := t.def.plainRange(ctx, p)
	if !ok || err != nil {
		return nil, nil, false, err
	}
	rows := &scan{table: wanted, index: part.index, intervals: part.intervals, reverse: part.reverse}
	if err := rows.open(ctx); err != nil {
		return nil, nil, true, err
	}
	if p.Limit > 0 {
		return wanted.Schema(), &firstRows{rows, p.Limit}, true, nil
	}
	return wanted.Schema(), rows, true, nil
}

var plainLocks = map[bulk.RowLock]rowLock{
	bulk.ForShare:            {mode: lockShared},
	bulk.ForUpdate:           {mode: lockExclusive},
	bulk.ForUpdateNoWait:     {mode: lockExclusive, wait: noWait},
	bulk.ForUpdateSkipLocked: {mode: lockExclusive, wait: skipLocked},
}

// firstRows are as many of a scan. The next one is not looked at: it would be locked.
type firstRows struct {
	*scan
	left int
}

// Next implements gms.RowIter.
func (f *firstRows) Next(ctx *gms.Context) (gms.Row, error) {
	if f.left == 0 {
		return nil, io.EOF
	}
	f.left--
	return f.scan.Next(ctx)
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

// plainRange is the part of a table that the conditions of a plain statement leave, in the order it asks for. No: they make no range of
// an index.
func (d *definition) plainRange(ctx *gms.Context, p *bulk.Plain) (part onePartition, ok bool, err error) {
	told := make([]plainBounds, 0, 4)
	for i := range p.Conditions {
		c := &p.Conditions[i]
		column := d.column(c.Column)
		if column < 0 {
			return part, false, nil
		}
		v, ok := comparableValue(&d.rec.Columns[column], c.Value)
		if !ok {
			return part, false, nil
		}
		at := 0
		for at < len(told) && told[at].column != column {
			at++
		}
		if at == len(told) {
			told = append(told, plainBounds{column: column})
		}
		if !told[at].cut(c.Compare, v) {
			return part, false, nil
		}
	}
	var best *Index
	var ranges gms.MySQLRange
	for _, x := range d.indexes {
		r, point := x.plainRange(told)
		if r == nil || len(p.Order) > 0 && !x.ordered(p.Order, r) {
			continue
		}
		if best == nil || point {
			best, ranges = x, r
		}
		if point {
			break
		}
	}
	if best == nil {
		return part, false, nil
	}
	in, err := best.intervals(gms.MySQLRangeCollection{ranges})
	return onePartition{index: best, intervals: in, reverse: p.Descending}, len(in) > 0, err // GMS opens no table for what cannot be
}

// plainBounds of a column, as conditions tell them.
type plainBounds struct {
	column       int
	equal        bool
	lower, upper gms.MySQLRangeCut
}

// cut takes a condition. No: there is one already that says something of the same kind.
func (b *plainBounds) cut(how bulk.Compare, v any) bool {
	var lower, upper gms.MySQLRangeCut
	switch how {
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
	return true
}

// plainRange says of the index's first columns what is told of them. Nil: they are not those that something is told of. point: it is one
// entry at most.
func (x *Index) plainRange(told []plainBounds) (r gms.MySQLRange, point bool) {
	if x.prefixes != nil || len(told) > len(x.parts) {
		return nil, false
	}
	r = make(gms.MySQLRange, len(told))
	for i := range told {
		at := 0
		for at < len(told) && told[at].column != x.parts[i].Column {
			at++
		}
		if at == len(told) || !told[at].equal && i < len(told)-1 {
			return nil, false
		}
		b := &told[at]
		r[i] = gms.MySQLRangeColumnExpr{LowerBound: gms.AboveNull{}, UpperBound: gms.AboveAll{}, Typ: x.expressions[i].Type}
		if b.lower != nil {
			r[i].LowerBound = b.lower
		}
		if b.upper != nil {
			r[i].UpperBound = b.upper
		}
		point = b.equal
	}
	return r, point && x.unique && len(told) == len(x.parts)
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
