package rows

import (
	"bytes"
	"testing"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
)

// TestCollations: every collation of go-mysql-server gives weights that have a key, in their order, and what is called ordered by
// code point is.
func TestCollations(t *testing.T) {
	r := newRand(t)
	all, tested := gms.NewCollationsIterator(), 0
	for {
		c, ok := all.Next()
		if !ok {
			break
		}
		if c.ID.Sorter() == nil || c.ID.CharacterSet().Encoder() == nil || c.ID == gms.Collation_binary {
			continue
		}
		tested++
		typ := types.MustCreateString(sqltypes.VarChar, 10, c.ID)
		k := part(t, typ, false, 0)
		randomRune := func() string {
			var x rune
			switch r.IntN(3) {
			case 0:
				x = rune(r.IntN(0x250))
			case 1:
				x = rune(r.IntN(0x10000))
			default:
				x = rune(r.IntN(utf8.MaxRune + 1))
			}
			return string(x) // a surrogate becomes U+FFFD
		}
		for range 300 {
			a, b := randomRune(), randomRune()
			ka, kb := mustPart(t, k, a), mustPart(t, k, b)
			if got, want := bytes.Compare(ka, kb), sign(compare(t, typ, a, b)); got != want {
				t.Fatalf("%s: %q and %q: keys %x and %x compare %d, want %d", c.Name, a, b, ka, kb, got, want)
			}
		}
	}
	if tested < 100 {
		t.Errorf("%d collations, want most of MySQL's", tested)
	}
}

// TestWeightBoundaries: keys of weights compare as the weights do where their length changes.
func TestWeightBoundaries(t *testing.T) {
	weights := []int32{0, 1, weights1 - 1, weights1, weights1 + 254, weights1 + 255, weights2 - 1, weights2, weights2 + 254, weights2 + 255,
		weights2 + 255*255 - 1, weights2 + 255*255, weights3 - 1, unknownWeight}
	c := &collation{sorter: func(r rune) int32 { return weights[int(r)%len(weights)] }}
	var last []byte
	for i := range weights {
		key := c.append(nil, string(rune(i)))
		if n := len(key) - 1; n < 1 || n > maxWeightSize || bytes.IndexByte(key, terminator) != n {
			t.Errorf("weight %d: key %x", weights[i], key)
		}
		if bytes.Compare(last, key) >= 0 {
			t.Errorf("weight %d has key %x, not more than %x", weights[i], key, last)
		}
		last = key
	}
}
