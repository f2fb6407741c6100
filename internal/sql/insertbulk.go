package sql

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
	"github.com/shopspring/decimal"

	"github.com/hearthdb/hearth/internal/bulk"
	"github.com/hearthdb/hearth/internal/dict"
)

// INSERT of many literals is most of the work of a restore, and most of its time was spent in the syntax tree, in the plan and in the
// expressions of GMS, one for each value. Here it goes from the text to the editor. What is not plain (a value that must be warned
// about or refused, a default, a trigger, a check) is left to GMS, before anything is done; so there is one place for each error.

// InsertBulk runs the INSERT, if it can. ok: it did, or it failed at it; else nothing was done. It needs a transaction that GMS would
// have begun, and who calls it has looked at the user's privileges. more: another statement may stand behind it.
func (s *Session) InsertBulk(ctx *gms.Context, in *bulk.Insert, more bool) (affected, insertID uint64, ok bool, err error) {
	t, err := s.bulkTable(ctx, in)
	if t == nil || err != nil {
		return 0, 0, false, err
	}
	b, ok := newBulkInsert(ctx, s, t, in)
	if !ok || !b.read(ctx, in) || !more && in.Rest() != "" {
		return 0, 0, false, nil
	}
	e := newEditor(ctx, &t.table)
	e.StatementBegin(ctx)
	err = b.insert(ctx, e)
	if err != nil {
		if back := e.DiscardChanges(ctx, err); back != nil {
			err = back
		}
	} else {
		err = e.StatementComplete(ctx)
	}
	if err != nil {
		return 0, 0, true, err
	}
	s.SetLastQueryInfoInt(gms.RowCount, int64(len(b.rows)))
	return uint64(len(b.rows)), b.insertID, true, nil
}

// bulkTable is the table, if an INSERT into it needs nothing but the editor. Nil: it is not, or there is none, which GMS tells.
func (s *Session) bulkTable(ctx *gms.Context, in *bulk.Insert) (*Table, error) {
	db := in.Database
	if db == "" {
		db = s.BaseSession.GetCurrentDatabase()
	}
	d, err := s.backend.provider.Database(ctx, db)
	if err != nil {
		return nil, nil
	}
	ours, ok := d.(*Database)
	if !ok {
		return nil, nil
	}
	found, ok, err := ours.GetTableInsensitive(ctx, in.Table)
	if err != nil || !ok {
		return nil, err
	}
	t, ok := found.(*Table)
	if !ok || t.def.rec.Temporary || s.rewriting != nil || s.faking || s.current().readOnly {
		return nil, nil
	}
	rec := t.def.rec
	if len(rec.Checks) > 0 || t.def.hidesIndexed || len(rec.ForeignKeys) > 0 && s.checksForeignKeys(ctx) {
		return nil, nil
	}
	for i := range rec.Columns {
		if rec.Columns[i].Generated != nil {
			return nil, nil
		}
	}
	record := ours.record(ctx)
	if record == nil || triggered(record, rec.Name) {
		return nil, nil
	}
	return t, nil
}

func (s *Session) checksForeignKeys(ctx *gms.Context) bool {
	v, err := s.GetSessionVariable(ctx, "foreign_key_checks")
	return err != nil || v != int8(0) && v != false
}

// bulkInsert is one INSERT on its way to the editor.
type bulkInsert struct {
	def     *definition
	columns []int       // ordinals of the values of a row
	convert []converter // of the same
	rows    []gms.Row

	auto       int  // ordinal of the AUTO_INCREMENT column, -1 without
	autoValue  int  // its place among the values, -1 if it has none
	zeroIsZero bool // NO_AUTO_VALUE_ON_ZERO
	firstMade  int  // row whose AUTO_INCREMENT value is the first to be made, -1: none
	insertID   uint64
}

// newBulkInsert matches the columns. No: some column has a default to be computed, or there is an error for GMS to tell.
func newBulkInsert(ctx *gms.Context, s *Session, t *Table, in *bulk.Insert) (*bulkInsert, bool) {
	rec := t.def.rec
	mode := gms.LoadSqlMode(ctx)
	if mode.ModeEnabled("NO_BACKSLASH_ESCAPES") || mode.ModeEnabled("PAD_CHAR_TO_FULL_LENGTH") || !isUTF8(ctx) {
		return nil, false
	}
	b := &bulkInsert{def: t.def, auto: rec.AutoIncrement(), autoValue: -1, firstMade: -1, zeroIsZero: mode.ModeEnabled(gms.NoAutoValueOnZero)}
	if b.auto >= 0 {
		if _, v, ok := gms.SystemVariables.GetGlobal("innodb_autoinc_lock_mode"); ok && v != int64(2) {
			return nil, false
		}
	}
	given := make([]bool, len(rec.Columns))
	if in.Columns == nil {
		for i := range rec.Columns {
			b.columns = append(b.columns, i)
		}
	}
	for _, name := range in.Columns {
		c := rec.Column(name)
		if c < 0 {
			return nil, false
		}
		b.columns = append(b.columns, c)
	}
	for at, c := range b.columns {
		if given[c] {
			return nil, false
		}
		given[c] = true
		if c == b.auto {
			b.autoValue = at
		}
		convert, ok := converterOf(&rec.Columns[c])
		if !ok {
			return nil, false
		}
		b.convert = append(b.convert, convert)
	}
	for c := range rec.Columns {
		if col := &rec.Columns[c]; !given[c] && c != b.auto && (!col.Nullable || col.Default != nil) {
			return nil, false
		}
	}
	return b, true
}

// isUTF8: literals are read as they are.
func isUTF8(ctx *gms.Context) bool {
	for _, name := range []string{"character_set_client", "character_set_connection"} {
		v, err := ctx.GetSessionVariable(ctx, name)
		if text, ok := v.(string); err != nil || !ok || !strings.HasPrefix(text, "utf8") {
			return false
		}
	}
	return true
}

// read converts all values. No: one of them is for GMS.
func (b *bulkInsert) read(ctx *gms.Context, in *bulk.Insert) bool {
	width := len(b.def.rec.Columns)
	values := make([]bulk.Value, len(b.columns))
	var arena []any // of rows to come
	for last := false; !last; {
		var n int
		var ok bool
		if n, last, ok = in.Next(values); !ok || n != len(values) {
			return false
		}
		if len(arena) < width {
			arena = make([]any, width*min(1+len(b.rows), 1024))
		}
		row := gms.Row(arena[:width:width])
		arena = arena[width:]
		for i, c := range b.columns {
			v := values[i]
			if c == b.auto {
				if !b.readAuto(v) {
					return false
				}
				if v.Kind == bulk.Null {
					continue
				}
			}
			if v.Kind == bulk.Null {
				if !b.def.rec.Columns[c].Nullable {
					return false
				}
				continue
			}
			if row[c], ok = b.convert[i](ctx, v); !ok {
				return false
			}
		}
		if b.auto >= 0 && b.autoValue < 0 && b.firstMade < 0 {
			b.firstMade = 0
		}
		b.rows = append(b.rows, row)
	}
	return true
}

// readAuto looks at a value for the AUTO_INCREMENT column: NULL, and 0 save for one SQL mode, has one made.
func (b *bulkInsert) readAuto(v bulk.Value) bool {
	isZero := v.Kind == bulk.Int && strings.Trim(v.Text, "0") == ""
	if v.Kind == bulk.Null || isZero && !b.zeroIsZero {
		if b.firstMade < 0 {
			b.firstMade = len(b.rows)
		}
		return true
	}
	return v.Kind == bulk.Int && v.Text[0] != '-'
}

// insert puts the rows. What has failed is undone by who calls it.
func (b *bulkInsert) insert(ctx *gms.Context, e *editor) error {
	const lookEvery = 128 // rows, between looks whether the statement was killed
	for n, row := range b.rows {
		if n%lookEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if b.auto >= 0 {
			if err := b.number(ctx, e, n, row); err != nil {
				return err
			}
		}
		if err := e.Insert(ctx, row); err != nil {
			return err
		}
		if n == b.firstMade { // also if a row behind it fails, as in GMS
			e.session.SetLastQueryInfoInt(gms.LastInsertId, toInt64(row[b.auto]))
		}
	}
	return nil
}

// number gives a row its AUTO_INCREMENT value, as GMS's expression of that name does.
func (b *bulkInsert) number(ctx *gms.Context, e *editor, n int, row gms.Row) error {
	typ := b.def.rec.Columns[b.auto].Type
	given := row[b.auto]
	if given != nil {
		zero, err := typ.Compare(ctx, given, typ.Zero())
		switch {
		case err != nil:
			return err
		case zero == 0 && b.zeroIsZero:
			return nil
		case zero == 0:
			given = nil
		}
	}
	next, err := e.table.GetNextAutoIncrementValue(ctx, given)
	if err != nil {
		return err
	}
	if given == nil {
		if row[b.auto], _, err = typ.Convert(ctx, next); err != nil {
			return err
		}
	}
	if n == 0 {
		b.insertID = uint64(toInt64(row[b.auto]))
	}
	return nil
}

func toInt64(v any) int64 {
	n, _, err := types.Int64.Convert(nil, v)
	if err != nil || n == nil {
		return 0
	}
	return n.(int64)
}

// converter makes a column's value of a literal that is not NULL. No: it cannot be, or not as it is.
type converter func(ctx *gms.Context, v bulk.Value) (any, bool)

// converterOf the column. Most types convert as GMS does, by their own method; for numbers and text there are shorter ways to the
// same.
func converterOf(c *dict.Column) (converter, bool) {
	general := func(ctx *gms.Context, v bulk.Value) (any, bool) {
		raw, ok := literalOf(v)
		if !ok {
			return nil, false
		}
		converted, inRange, err := c.Type.Convert(ctx, raw)
		return converted, err == nil && bool(inRange) && converted != nil
	}
	if _, spatial := c.Type.(gms.SpatialColumnType); spatial {
		return nil, false
	}
	switch t := c.Type.(type) {
	case gms.NumberType:
		if bounds, ok := integers[c.Type.Type()]; ok {
			return integerConverter(bounds, general), true
		}
	case gms.StringType:
		if !types.IsBinaryType(c.Type) && t.CharacterSet().MaxLength() > 1 {
			return textConverter(t, general), true
		}
		return general, true
	}
	return func(ctx *gms.Context, v bulk.Value) (any, bool) {
		if v.Kind == bulk.Binary {
			return nil, false
		}
		return general(ctx, v)
	}, true
}

// literalOf is the value as GMS's literals have it.
func literalOf(v bulk.Value) (any, bool) {
	switch v.Kind {
	case bulk.Int:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n, true
		}
	case bulk.Decimal:
		if d, err := decimal.NewFromString(v.Text); err == nil {
			return d, true
		}
	case bulk.Float:
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f, true
		}
	case bulk.String:
		return v.Text, true
	case bulk.Binary:
		return []byte(v.Text), true
	}
	return nil, false
}

// integerBounds of a type, and the value as GMS has it.
type integerBounds struct {
	low, high int64
	box       func(int64) any
}

var integers = map[querypb.Type]integerBounds{
	sqltypes.Int8:   {math.MinInt8, math.MaxInt8, func(n int64) any { return int8(n) }},
	sqltypes.Int16:  {math.MinInt16, math.MaxInt16, func(n int64) any { return int16(n) }},
	sqltypes.Int24:  {-1 << 23, 1<<23 - 1, func(n int64) any { return int32(n) }},
	sqltypes.Int32:  {math.MinInt32, math.MaxInt32, func(n int64) any { return int32(n) }},
	sqltypes.Int64:  {math.MinInt64, math.MaxInt64, func(n int64) any { return n }},
	sqltypes.Uint8:  {0, math.MaxUint8, func(n int64) any { return uint8(n) }},
	sqltypes.Uint16: {0, math.MaxUint16, func(n int64) any { return uint16(n) }},
	sqltypes.Uint24: {0, 1<<24 - 1, func(n int64) any { return uint32(n) }},
	sqltypes.Uint32: {0, math.MaxUint32, func(n int64) any { return uint32(n) }},
	sqltypes.Uint64: {0, math.MaxInt64, func(n int64) any { return uint64(n) }},
}

func integerConverter(b integerBounds, general converter) converter {
	return func(ctx *gms.Context, v bulk.Value) (any, bool) {
		if v.Kind != bulk.Int {
			if v.Kind == bulk.Binary {
				return nil, false
			}
			return general(ctx, v)
		}
		return b.value(v.Text)
	}
}

// value of the type that a number in digits is, if it is one.
func (b integerBounds) value(digits string) (any, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < b.low || n > b.high {
		return nil, false
	}
	return b.box(n), true
}

func textConverter(t gms.StringType, general converter) converter {
	text := t.Type() == sqltypes.Text
	return func(ctx *gms.Context, v bulk.Value) (any, bool) {
		switch {
		case v.Kind == bulk.Binary:
			return nil, false
		case v.Kind != bulk.String:
			return general(ctx, v)
		case !utf8.ValidString(v.Text):
			return nil, false
		case text:
			return v.Text, int64(len(v.Text)) <= t.MaxByteLength()
		}
		return v.Text, int64(len(v.Text)) <= t.MaxCharacterLength() || int64(utf8.RuneCountInString(v.Text)) <= t.MaxCharacterLength()
	}
}
