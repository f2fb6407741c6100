package rows

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// A collation of go-mysql-server gives each character one weight; strings compare by their weights from left to right, and a prefix
// is less. So the key of a string is its weights, each as a number without zero bytes that compares bytewise, and a zero byte:
//
//	weight w               bytes
//	0 ... 126              w+1
//	127 ... 24606          80 to DF, 01 to FF: w-127 in base 255
//	24607 ... 1910331      E0 to FC, two of 01 to FF: w-24607 in base 255
//	2147483647             FE: the collation does not know the character
//	end                    00
const (
	weights1 = 127
	weights2 = weights1 + (0xE0-0x80)*255
	weights3 = weights2 + (0xFD-0xE0)*255*255

	unknownWeight = math.MaxInt32
	unknownByte   = 0xFE

	// maxWeightSize is the most bytes of a character.
	maxWeightSize = 3
	terminator    = 0
)

// collation knows the weights of a collation, in pages of 256 characters that are computed at first use: a weight costs
// go-mysql-server a map lookup and a long list of ranges.
type collation struct {
	sorter gms.CollationSorter
	pages  [(utf8.MaxRune + 1) / 256]atomic.Pointer[[256]int32]
}

// collations holds a *collation by gms.CollationID, for all tables.
var collations sync.Map

func collationOf(id gms.CollationID) (*collation, error) {
	if c, ok := collations.Load(id); ok {
		return c.(*collation), nil
	}
	sorter := id.Sorter()
	if sorter == nil {
		return nil, fmt.Errorf("collation %s is not supported", id)
	}
	c, _ := collations.LoadOrStore(id, &collation{sorter: sorter})
	return c.(*collation), nil
}

// page has the weights of the characters r with r/256 == n. Two goroutines may both compute it; they compute the same.
func (c *collation) page(n rune) *[256]int32 {
	if p := c.pages[n].Load(); p != nil {
		return p
	}
	p := new([256]int32)
	for i := range p {
		p[i] = c.sorter(n<<8 + rune(i))
	}
	c.pages[n].Store(p)
	return p
}

// append appends the key of s, with its end. Bytes that are no UTF-8 count as U+FFFD, as in comparisons.
func (c *collation) append(dst []byte, s string) []byte {
	latin := c.page(0)
	for i := 0; i < len(s); {
		var w int32
		if b := s[i]; b < utf8.RuneSelf {
			w = latin[b]
			i++
		} else {
			r, n := utf8.DecodeRuneInString(s[i:])
			w = c.page(r >> 8)[r&255]
			i += n
		}
		switch {
		case w < weights1:
			dst = append(dst, byte(w+1))
		case w < weights2:
			w -= weights1
			dst = append(dst, 0x80+byte(w/255), 1+byte(w%255))
		default:
			dst = appendLargeWeight(dst, w)
		}
	}
	return append(dst, terminator)
}

func appendLargeWeight(dst []byte, w int32) []byte {
	switch {
	case w == unknownWeight:
		return append(dst, unknownByte)
	case w < 0 || w >= weights3:
		panic(fmt.Sprintf("BUG: a collation has weight %d, got keys for 0 to %d and %d", w, weights3-1, unknownWeight))
	}
	w -= weights2
	return append(dst, 0xE0+byte(w/(255*255)), 1+byte(w/255%255), 1+byte(w%255))
}

// byCodePoint: the collations that order strings by code point, as their UTF-8 is ordered. Those that need not store characters
// beyond the Basic Multilingual Plane give all of them one weight, so they are not here.
func byCodePoint(id gms.CollationID) bool {
	switch id {
	case gms.Collation_utf8mb4_0900_bin, gms.Collation_utf8mb4_bin, gms.Collation_utf16_bin, gms.Collation_utf32_bin:
		return true
	}
	return false
}
