package sql

import (
	"io"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/bulk"
)

// plainShape makes of the rows of a plain SELECT what it wants: themselves, each once, or one row about all.
type plainShape func(wanted *table, rows *plainRows) (gms.Schema, gms.RowIter)

// plainShapeOf the statement. No: it is one for GMS.
func plainShapeOf(wanted *table, p *bulk.Plain) (plainShape, bool) {
	switch {
	case p.Aggregate == bulk.Count:
		return func(_ *table, rows *plainRows) (gms.Schema, gms.RowIter) {
			return gms.Schema{{Name: p.Called, Type: types.Int64}}, &countedRows{rows: rows}
		}, true
	case p.Aggregate == bulk.Sum:
		of := wanted.def.schema.Schema[wanted.columns[0]]
		if !isExactNumber(of.Type) {
			return nil, false
		}
		sum := NewSum(expression.NewGetFieldWithTable(0, 0, of.Type, of.DatabaseSource, of.Source, of.Name, of.Nullable)).(*exact)
		buffer, err := sum.NewBuffer()
		if err != nil {
			return nil, false
		}
		return func(_ *table, rows *plainRows) (gms.Schema, gms.RowIter) {
			return gms.Schema{{Name: p.Called, Type: sum.Type(), Nullable: true}}, &summedRows{rows: rows, buffer: buffer}
		}, true
	case p.Distinct:
		if _, ok := integers[wanted.def.rec.Columns[wanted.columns[0]].Type.Type()]; !ok || p.Limit > 0 {
			return nil, false
		}
		return func(wanted *table, rows *plainRows) (gms.Schema, gms.RowIter) {
			return wanted.Schema(), &distinctRows{plainRows: rows, seen: map[any]struct{}{}}
		}, true
	}
	return func(wanted *table, rows *plainRows) (gms.Schema, gms.RowIter) { return wanted.Schema(), rows }, true
}

// countedRows are one row with their number.
type countedRows struct {
	rows *plainRows
	done bool
}

// Next implements gms.RowIter.
func (c *countedRows) Next(ctx *gms.Context) (gms.Row, error) {
	if c.done {
		return nil, io.EOF
	}
	c.done = true
	for n := int64(0); ; n++ {
		if _, err := c.rows.Next(ctx); err == io.EOF {
			return gms.Row{n}, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// Close implements gms.RowIter.
func (c *countedRows) Close(ctx *gms.Context) error { return c.rows.Close(ctx) }

// summedRows are one row with the sum of their first column.
type summedRows struct {
	rows   *plainRows
	buffer gms.AggregationBuffer
	done   bool
}

// Next implements gms.RowIter.
func (s *summedRows) Next(ctx *gms.Context) (gms.Row, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	for {
		row, err := s.rows.Next(ctx)
		if err == io.EOF {
			sum, err := s.buffer.Eval(ctx)
			return gms.Row{sum}, err
		}
		if err != nil {
			return nil, err
		}
		if err := s.buffer.Update(ctx, row); err != nil {
			return nil, err
		}
	}
}

// Close implements gms.RowIter.
func (s *summedRows) Close(ctx *gms.Context) error {
	s.buffer.Dispose()
	return s.rows.Close(ctx)
}

// distinctRows are those with a first column that none before had, an integer.
type distinctRows struct {
	*plainRows
	seen map[any]struct{}
}

// Next implements gms.RowIter.
func (d *distinctRows) Next(ctx *gms.Context) (gms.Row, error) {
	for {
		row, err := d.plainRows.Next(ctx)
		if err != nil {
			return nil, err
		}
		if _, had := d.seen[row[0]]; !had {
			d.seen[row[0]] = struct{}{}
			return row, nil
		}
	}
}
