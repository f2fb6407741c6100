package rows

import (
	"bytes"
	"fmt"
	"math"

	"github.com/shopspring/decimal"
)

// AppendBound is AppendPart for an end of a range: text may be longer than the column allows, and BINARY is not padded. A value that
// the column cannot hold exactly is ErrInexact or ErrOutOfRange, since a rounded end would make another range.
//
// A prefix cuts v, too. So with Part(i).Prefix != 0 the key says less than v, and both ends of the range must be taken as
// inclusive: a value less or greater than v may have the same key.
func (k *Key) AppendBound(dst []byte, i int, v any) ([]byte, error) {
	p := &k.parts[i]
	start := len(dst)
	dst, done, err := p.appendTag(dst, v)
	if done || err != nil {
		return dst, err
	}
	switch {
	case p.width > 0:
		at := len(dst)
		dst = append(dst, make([]byte, p.width)...)
		err = p.putExactly(dst[at:], v)
	case p.kind == kindText:
		var s string
		if s, err = p.textBound(v); err == nil {
			dst = p.appendText(dst, s)
		}
	default:
		var b []byte
		if b, err = p.bytesBound(v); err == nil {
			dst = p.appendBytes(dst, b)
		}
	}
	if err != nil {
		return dst[:start], fmt.Errorf("column %d: %w", p.column, err)
	}
	return dst, nil
}

// putExactly is put, but for values that a conversion would change.
func (c *codec) putExactly(b []byte, v any) error {
	if c.store(b, v) {
		return nil
	}
	exact := true
	switch v := v.(type) {
	case float32:
		exact = c.isFloat() || float64(v) == math.Trunc(float64(v))
	case float64:
		exact = c.kind == kindFloat64 || c.kind == kindFloat32 && float64(float32(v)) == v || v == math.Trunc(v)
	case decimal.Decimal:
		if c.kind == kindDecimal {
			// Not stored as it is: it has too many digits, before the point or behind it.
			exact = v.Truncate(int32(c.decimal.scale)).Equal(v)
		} else {
			exact = c.isFloat() || v.IsInteger()
		}
	}
	if !exact {
		return fmt.Errorf("%w: %s, got %v", ErrInexact, c.typ, v)
	}
	return c.put(b, v)
}

func (c *codec) isFloat() bool { return c.kind == kindFloat32 || c.kind == kindFloat64 }

// AppendNotNull appends where the values of part i begin that are not NULL: NULL is less, everything else is not. It is a cut
// between keys, not a part.
func (k *Key) AppendNotNull(dst []byte, i int) []byte {
	if k.parts[i].nullable {
		return append(dst, tagValue)
	}
	return dst
}

// After is the least key greater than all that begin with prefix; nil if there is none.
func After(prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xff { // bytes.TrimRight would take every byte that is no UTF-8 for it
		n--
	}
	if n == 0 {
		return nil
	}
	after := bytes.Clone(prefix[:n])
	after[n-1]++
	return after
}
