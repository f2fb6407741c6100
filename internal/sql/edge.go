package sql

import (
	"context"
	"errors"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"

	"github.com/hearthdb/hearth/internal/rows"
)

// edge is where a value that a range is cut at lies among the values that a column can hold.
type edge struct {
	key    []byte // the value, or where it is beyond: the greatest that is less, encoded as a part; empty: all are less
	beyond bool   // the column cannot hold the value itself
	before bool   // the column can hold nothing less
	none   bool   // NULL: nothing is less, equal or greater
}

// edgeOf encodes a value of the type typ, that of the column or what it is promoted to, as part n of a key. GMS converts
// most values before, but not all: those of lookup joins come as the other table has them.
func edgeOf(key *rows.Key, n int, v any, typ gms.Type) (edge, error) {
	if v == nil {
		return edge{none: true}, nil
	}
	part, err := key.AppendBound(nil, n, v)
	switch {
	case err == nil:
		return edge{key: part}, nil
	case errors.Is(err, rows.ErrInexact):
		return edgeBetween(key, n, v, typ)
	case errors.Is(err, rows.ErrOutOfRange):
		return edgeOutside(v), nil
	}
	// Text for a number that is none, say: to GMS the zero of the type.
	converted, _, cerr := typ.Convert(context.Background(), v)
	if cerr != nil {
		converted = typ.Zero()
	}
	if part, cerr = key.AppendBound(nil, n, converted); cerr != nil {
		return edge{}, err
	}
	return edge{key: part}, nil
}

// edgeBetween: the column would round the value.
func edgeBetween(key *rows.Key, n int, v any, typ gms.Type) (edge, error) {
	d, ok := decimalOf(v)
	if !ok {
		return edge{}, rows.ErrInexact
	}
	scale := int32(0)
	if t, ok := typ.(gms.DecimalType); ok {
		scale = int32(t.Scale())
	}
	part, err := key.AppendBound(nil, n, d.RoundFloor(scale))
	if errors.Is(err, rows.ErrOutOfRange) {
		return edgeOutside(v), nil
	}
	return edge{key: part, beyond: true}, err
}

// edgeOutside: all values of the column are less, or all are greater.
func edgeOutside(v any) edge {
	d, ok := decimalOf(v)
	below := ok && d.IsNegative()
	return edge{beyond: true, before: below}
}

func decimalOf(v any) (decimal.Decimal, bool) {
	d, _, err := types.InternalDecimalType.Convert(context.Background(), v)
	if err != nil || d == nil {
		return decimal.Decimal{}, false
	}
	return d.(decimal.Decimal), true
}
