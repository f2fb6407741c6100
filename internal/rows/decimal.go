package rows

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// narrowDigits is how many digits fit into an int64, whatever they are.
const narrowDigits = 18

// decimalLimits of a DECIMAL(precision, scale). Its values are integers, counted in 10^-scale.
type decimalLimits struct {
	precision, scale int
	width            int      // bytes for every integer of precision digits, with a sign
	offset           *big.Int // what is added so that all of them are positive: 2^(8*width-1)

	over, under decimal.Decimal // the nearest values that have a digit too many
}

func newDecimalLimits(precision, scale int) *decimalLimits {
	end := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	width := (end.BitLen() + 1 + 7) / 8
	over := decimal.NewFromBigInt(end, -int32(scale))
	return &decimalLimits{
		precision: precision, scale: scale,
		width:  width,
		offset: new(big.Int).Lsh(big.NewInt(1), uint(8*width-1)),
		over:   over, under: over.Neg(),
	}
}

// store puts d if it has no more than scale digits behind the point and fits.
func (l *decimalLimits) store(b []byte, d decimal.Decimal) bool {
	if d.Exponent() != -int32(l.scale) {
		var ok bool
		if d, ok = l.rescale(d); !ok {
			return false
		}
	}
	// The scales are equal now, so that these compare two integers.
	if d.Cmp(l.over) >= 0 || d.Cmp(l.under) <= 0 {
		return false
	}
	if l.precision <= narrowDigits {
		putBits(b, uint64(d.CoefficientInt64())+1<<(8*l.width-1))
		return true
	}
	x := d.Coefficient()
	x.Add(x, l.offset).FillBytes(b)
	return true
}

// rescale gives d the column's scale if that changes no digit.
func (l *decimalLimits) rescale(d decimal.Decimal) (decimal.Decimal, bool) {
	if d.IsZero() {
		return decimal.New(0, -int32(l.scale)), true
	}
	up := int(d.Exponent()) + l.scale
	if up > l.precision { // too great in any case; do not compute 10^up
		return d, false
	}
	if up < 0 {
		short := d.Round(int32(l.scale))
		return short, short.Equal(d)
	}
	x := d.Coefficient()
	x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(up)), nil))
	return decimal.NewFromBigInt(x, -int32(l.scale)), true
}

func (l *decimalLimits) load(b []byte) (d decimal.Decimal, ok bool) {
	if l.precision <= narrowDigits {
		d = decimal.New(int64(loadBits(b)-1<<(8*l.width-1)), -int32(l.scale))
	} else {
		x := new(big.Int).SetBytes(b)
		d = decimal.NewFromBigInt(x.Sub(x, l.offset), -int32(l.scale))
	}
	return d, d.Cmp(l.over) < 0 && d.Cmp(l.under) > 0
}
