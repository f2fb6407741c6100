package tpcc

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// cents are an amount of money. Sums of them are exact.
type cents int64

func (c cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// Value is what the driver writes as a decimal number: single amounts are far below a million, where it would begin to write
// exponents.
func (c cents) Value() (driver.Value, error) {
	if c <= -100_000_000 || c >= 100_000_000 {
		return nil, fmt.Errorf("an amount of %s is too large for a statement", c)
	}
	return float64(c) / 100, nil
}

// Scan takes a DECIMAL with up to two figures after its point, or a DOUBLE, which some servers make of a sum of them.
func (c *cents) Scan(from any) error {
	var s string
	switch v := from.(type) {
	case float64:
		*c = cents(math.Round(100 * v))
		return nil
	case []byte:
		s = string(v)
	case string:
		s = v
	default:
		return fmt.Errorf("an amount of money as %T", from)
	}
	whole, part, _ := strings.Cut(s, ".")
	if len(part) > 2 {
		return fmt.Errorf("an amount of money with %d figures after the point: %q", len(part), s)
	}
	n, err := strconv.ParseInt(whole+(part + "00")[:2], 10, 64)
	*c = cents(n)
	return err
}
