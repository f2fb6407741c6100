package tpcc

import (
	"math/rand/v2"
	"strings"
)

// random draws as clause 2.1.6 and 4.3.2 say.
type random struct {
	*rand.Rand
	scale Scale
	c     constants
}

// constants of NURand (2.1.6.1), one for each use.
type constants struct{ last, customer, item int }

// lastDelta: the constant of the run differs from that of the load by so much (2.1.6.1); any value of 65 to 119 but 96 and 112 is right.
const lastDelta = 86

func newRandom(seed uint64, stream uint64, s Scale) *random {
	c := rand.New(rand.NewPCG(seed, 0))
	r := &random{Rand: rand.New(rand.NewPCG(seed, 1+stream)), scale: s}
	r.c = constants{c.IntN(256), c.IntN(1024), c.IntN(8192)}
	return r
}

// running is the generator of a terminal, whose names are drawn with another constant.
func (r *random) running() *random {
	if r.c.last += lastDelta; r.c.last > 255 {
		r.c.last -= 2 * lastDelta
	}
	return r
}

// between draws from [x, y].
func (r *random) between(x, y int) int { return x + r.IntN(y-x+1) }

// nuRand is the non-uniform distribution over [x, y].
func (r *random) nuRand(a, c, x, y int) int {
	return (r.between(0, a)|r.between(x, y)+c)%(y-x+1) + x
}

func (r *random) customer() int { return r.nuRand(1023, r.c.customer, 1, r.scale.Customers) }
func (r *random) item() int     { return r.nuRand(8191, r.c.item, 1, r.scale.Items) }

// names is how many last names there are: no more than customers, so that each belongs to somebody.
func (s Scale) names() int { return min(1000, s.Customers) }

func (r *random) lastName() string { return lastName(r.nuRand(255, r.c.last, 0, r.scale.names()-1)) }

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// lastName of a number below 1,000 (4.3.2.3).
func lastName(n int) string { return syllables[n/100] + syllables[n/10%10] + syllables[n%10] }

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	figures = "0123456789"
)

// text is a random a-string of x to y characters (4.3.2.2).
func (r *random) text(x, y int) string { return r.string(letters, r.between(x, y)) }

// digits is a random n-string of n characters.
func (r *random) digits(n int) string { return r.string(figures, n) }

func (r *random) string(of string, n int) string {
	var b strings.Builder
	b.Grow(n)
	for n > 0 {
		x := r.Uint64()
		for range min(n, 10) { // 62^10 is below 2^60
			b.WriteByte(of[x%uint64(len(of))])
			x /= uint64(len(of))
			n--
		}
	}
	return b.String()
}

func (r *random) zip() string { return r.digits(4) + "11111" }

// data is text of 26 to 50 characters, a tenth of it with ORIGINAL in it.
func (r *random) data() string {
	s := r.text(26, 50)
	if r.IntN(10) > 0 {
		return s
	}
	const mark = "ORIGINAL"
	at := r.IntN(len(s) - len(mark) + 1)
	return s[:at] + mark + s[at+len(mark):]
}
