package rows

import (
	"context"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/proto/query"
)

// kind says how values of a type are stored. Its numbers are not stored.
type kind uint8

const (
	kindInt8 kind = iota
	kindInt16
	kindInt32 // MEDIUMINT too
	kindInt64
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindFloat32
	kindFloat64
	kindDecimal
	kindDate
	kindDatetime // TIMESTAMP too
	kindTime
	kindYear
	kindBits // BIT and SET
	kindEnum

	kindText // from here on of any length
	kindBytes
	kindJSON
	kindGeometry
)

// codec stores the values of one type. Kinds of a fixed width have one encoding, in rows and in keys: width bytes, the most
// significant first, that compare as the values do.
//
//	kind                 width            bytes
//	TINYINT ... BIGINT   1 2 4 4 8        two's complement, sign bit flipped
//	... UNSIGNED         1 2 4 4 8        the number
//	FLOAT DOUBLE         4 8              IEEE 754; sign bit flipped if it is 0, else all bits. -0.0 is 0.0, there is one NaN
//	DECIMAL(p,s)         by p, 1 to 28    value * 10^s in two's complement, sign bit flipped
//	DATE                 4                days since 1970-01-01, as INT
//	DATETIME TIMESTAMP   8                microseconds since 1970-01-01 00:00:00 UTC, as BIGINT
//	TIME                 8                microseconds, as BIGINT
//	YEAR                 2                the year
//	BIT(n)  SET of n     (n+7)/8          the number
//	ENUM                 2                the number
type codec struct {
	kind  kind
	width int // 0: any length
	typ   gms.Type

	grain   int            // DATETIME, TIMESTAMP: nanoseconds between two values
	decimal *decimalLimits // DECIMAL
	limit   uint64         // BIT, SET: the greatest value
	pad     int            // BINARY(n): n, else 0
	text    gms.StringType // strings
	wide    gms.Type       // strings: the type without a limit on length, for ends of ranges
}

func newCodec(t gms.Type) (c codec, err error) {
	c.typ = t
	switch base := t.Type(); base {
	case sqltypes.Int8, sqltypes.Int16, sqltypes.Int24, sqltypes.Int32, sqltypes.Int64,
		sqltypes.Uint8, sqltypes.Uint16, sqltypes.Uint24, sqltypes.Uint32, sqltypes.Uint64,
		sqltypes.Float32, sqltypes.Float64:
		_, ok := t.(gms.NumberType)
		return c.number(base), c.check(ok)
	case sqltypes.Decimal:
		d, ok := t.(gms.DecimalType)
		if ok {
			c.kind, c.decimal = kindDecimal, newDecimalLimits(int(d.Precision()), int(d.Scale()))
			c.width = c.decimal.width
		}
		return c, c.check(ok)
	case sqltypes.Date, sqltypes.Datetime, sqltypes.Timestamp:
		d, ok := t.(gms.DatetimeType)
		if ok {
			c.kind, c.width, c.grain = kindDatetime, 8, grain(d.Precision())
			if base == sqltypes.Date {
				c.kind, c.width = kindDate, 4
			}
		}
		return c, c.check(ok)
	case sqltypes.Time:
		c.kind, c.width = kindTime, 8
	case sqltypes.Year:
		c.kind, c.width = kindYear, 2
	case sqltypes.Bit:
		b, ok := t.(interface{ NumberOfBits() uint8 })
		if ok {
			c = c.bits(int(b.NumberOfBits()))
		}
		return c, c.check(ok)
	case sqltypes.Set:
		s, ok := t.(gms.SetType)
		if ok {
			c = c.bits(int(s.NumberOfElements()))
		}
		return c, c.check(ok)
	case sqltypes.Enum:
		c.kind, c.width = kindEnum, 2
	case sqltypes.Char, sqltypes.VarChar, sqltypes.Text, sqltypes.Binary, sqltypes.VarBinary, sqltypes.Blob:
		s, ok := t.(gms.StringType)
		if ok {
			c = c.str(base, s)
		}
		return c, c.check(ok)
	case sqltypes.TypeJSON:
		c.kind = kindJSON
	case sqltypes.Geometry:
		c.kind = kindGeometry
	default:
		return c, c.check(false)
	}
	return c, nil
}

// check is the error of a type that no table can have.
func (c codec) check(known bool) error {
	if known {
		return nil
	}
	return fmt.Errorf("a column of type %s (%T) cannot be stored", c.typ, c.typ)
}

func (c codec) number(base query.Type) codec {
	switch base {
	case sqltypes.Int8:
		c.kind, c.width = kindInt8, 1
	case sqltypes.Int16:
		c.kind, c.width = kindInt16, 2
	case sqltypes.Int24, sqltypes.Int32:
		c.kind, c.width = kindInt32, 4
	case sqltypes.Int64:
		c.kind, c.width = kindInt64, 8
	case sqltypes.Uint8:
		c.kind, c.width = kindUint8, 1
	case sqltypes.Uint16:
		c.kind, c.width = kindUint16, 2
	case sqltypes.Uint24, sqltypes.Uint32:
		c.kind, c.width = kindUint32, 4
	case sqltypes.Uint64:
		c.kind, c.width = kindUint64, 8
	case sqltypes.Float32:
		c.kind, c.width = kindFloat32, 4
	case sqltypes.Float64:
		c.kind, c.width = kindFloat64, 8
	}
	return c
}

func (c codec) bits(n int) codec {
	c.kind, c.width, c.limit = kindBits, (n+7)/8, ^uint64(0)>>(64-n)
	return c
}

func (c codec) str(base query.Type, s gms.StringType) codec {
	c.kind, c.text, c.wide = kindText, s, s.Promote()
	switch base {
	case sqltypes.Binary:
		c.kind, c.pad = kindBytes, int(s.MaxByteLength())
	case sqltypes.VarBinary, sqltypes.Blob:
		c.kind = kindBytes
	}
	return c
}

// put stores v, which is not NULL, in b of length width.
func (c *codec) put(b []byte, v any) error {
	if c.store(b, v) {
		return nil
	}
	v, err := c.convert(v)
	if err != nil {
		return err
	}
	if !c.store(b, v) {
		return fmt.Errorf("%w: %s, got %T %v", ErrOutOfRange, c.typ, v, v)
	}
	return nil
}

// convert makes v what the type wants, by the rules of an assignment.
func (c *codec) convert(v any) (any, error) { return convertTo(c.typ, v) }

func convertTo(t gms.Type, v any) (any, error) {
	ctx := context.Background() // conversions do not wait for anything
	v, err := gms.UnwrapAny(ctx, v)
	if err != nil {
		return nil, err
	}
	converted, inRange, err := t.Convert(ctx, v)
	switch {
	case err != nil:
		return nil, err
	case inRange != gms.InRange:
		return nil, fmt.Errorf("%w: %s, got %v", ErrOutOfRange, t, v)
	case converted == nil:
		return nil, fmt.Errorf("%T %v converts to no %s", v, v, t)
	}
	return converted, nil
}
