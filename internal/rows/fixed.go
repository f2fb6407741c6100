package rows

import (
	"encoding/binary"
	"math"

	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/shopspring/decimal"
)

const (
	sign8  = 1 << 7
	sign16 = 1 << 15
	sign32 = 1 << 31
	sign64 = 1 << 63
)

// store puts v into b if v has the Go type that go-mysql-server uses for the column and the column can hold it as it is.
func (c *codec) store(b []byte, v any) bool {
	switch c.kind {
	case kindInt8:
		x, ok := v.(int8)
		b[0] = byte(x) ^ sign8
		return ok
	case kindInt16:
		x, ok := v.(int16)
		binary.BigEndian.PutUint16(b, uint16(x)^sign16)
		return ok
	case kindInt32:
		x, ok := v.(int32)
		binary.BigEndian.PutUint32(b, uint32(x)^sign32)
		return ok
	case kindInt64:
		x, ok := v.(int64)
		binary.BigEndian.PutUint64(b, uint64(x)^sign64)
		return ok
	case kindUint8:
		x, ok := v.(uint8)
		b[0] = x
		return ok
	case kindUint16, kindEnum:
		x, ok := v.(uint16)
		binary.BigEndian.PutUint16(b, x)
		return ok
	case kindUint32:
		x, ok := v.(uint32)
		binary.BigEndian.PutUint32(b, x)
		return ok
	case kindUint64:
		x, ok := v.(uint64)
		binary.BigEndian.PutUint64(b, x)
		return ok
	case kindFloat32:
		x, ok := v.(float32)
		binary.BigEndian.PutUint32(b, orderFloat32(x))
		return ok
	case kindFloat64:
		x, ok := v.(float64)
		binary.BigEndian.PutUint64(b, orderFloat64(x))
		return ok
	case kindDecimal:
		x, ok := v.(decimal.Decimal)
		return ok && c.decimal.store(b, x)
	case kindDate:
		days, ok := dayOf(v)
		binary.BigEndian.PutUint32(b, uint32(days)^sign32)
		return ok
	case kindDatetime:
		us, ok := microsecondsOf(v, c.grain)
		binary.BigEndian.PutUint64(b, uint64(us)^sign64)
		return ok
	case kindTime:
		x, ok := v.(types.Timespan)
		binary.BigEndian.PutUint64(b, uint64(x)^sign64)
		return ok
	case kindYear:
		x, ok := v.(int16)
		binary.BigEndian.PutUint16(b, uint16(x))
		return ok && isYear(x)
	case kindBits:
		x, ok := v.(uint64)
		putBits(b, x)
		return ok && x <= c.limit
	}
	panic("BUG: store of a kind without a width")
}

// load is the inverse of store. False: no value is stored as these bytes.
func (c *codec) load(b []byte) (v any, ok bool) {
	switch c.kind {
	case kindInt8:
		return int8(b[0] ^ sign8), true
	case kindInt16:
		return int16(binary.BigEndian.Uint16(b) ^ sign16), true
	case kindInt32:
		return int32(binary.BigEndian.Uint32(b) ^ sign32), true
	case kindInt64:
		return int64(binary.BigEndian.Uint64(b) ^ sign64), true
	case kindUint8:
		return b[0], true
	case kindUint16, kindEnum:
		return binary.BigEndian.Uint16(b), true
	case kindUint32:
		return binary.BigEndian.Uint32(b), true
	case kindUint64:
		return binary.BigEndian.Uint64(b), true
	case kindFloat32:
		return unorderFloat32(binary.BigEndian.Uint32(b)), true
	case kindFloat64:
		return unorderFloat64(binary.BigEndian.Uint64(b)), true
	case kindDecimal:
		return c.decimal.load(b)
	case kindDate:
		return timeOfDay(int32(binary.BigEndian.Uint32(b) ^ sign32))
	case kindDatetime:
		return timeOfMicroseconds(int64(binary.BigEndian.Uint64(b) ^ sign64))
	case kindTime:
		return types.Timespan(binary.BigEndian.Uint64(b) ^ sign64), true
	case kindYear:
		x := int16(binary.BigEndian.Uint16(b))
		return x, isYear(x)
	case kindBits:
		x := loadBits(b)
		return x, x <= c.limit
	}
	panic("BUG: load of a kind without a width")
}

// orderFloat64 maps floats to numbers in the same order. Zeroes are equal in SQL, so they are one; NaN, of which there is no
// order in SQL, comes after everything else.
func orderFloat64(x float64) uint64 {
	switch {
	case x == 0:
		x = 0
	case x != x:
		x = math.NaN()
	}
	bits := math.Float64bits(x)
	if bits&sign64 != 0 {
		return ^bits
	}
	return bits | sign64
}

func unorderFloat64(bits uint64) float64 {
	if bits&sign64 != 0 {
		return math.Float64frombits(bits &^ sign64)
	}
	return math.Float64frombits(^bits)
}

func orderFloat32(x float32) uint32 {
	switch {
	case x == 0:
		x = 0
	case x != x:
		x = float32(math.NaN())
	}
	bits := math.Float32bits(x)
	if bits&sign32 != 0 {
		return ^bits
	}
	return bits | sign32
}

func unorderFloat32(bits uint32) float32 {
	if bits&sign32 != 0 {
		return math.Float32frombits(bits &^ sign32)
	}
	return math.Float32frombits(^bits)
}

// putBits puts the low bytes of x, the most significant first.
func putBits(b []byte, x uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte(x)
		x >>= 8
	}
}

func loadBits(b []byte) (x uint64) {
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x
}

// isYear: what a YEAR can be.
func isYear(x int16) bool { return x == 0 || x >= 1901 && x <= 2155 }
