package replay

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies is a histogram with four buckets to each doubling, of which the last interval can be cut off.
type latencies struct {
	n [64 * 4]atomic.Int64
}

func (l *latencies) add(d time.Duration) {
	v := uint64(max(d, 1))
	exp := bits.Len64(v) - 1
	sub := 0
	if exp >= 2 {
		sub = int(v>>(exp-2)) & 3
	}
	l.n[exp*4+sub].Add(1)
}

// take empties it and returns the quantiles of what it held; zeros if it held nothing.
func (l *latencies) take(quantiles ...float64) []time.Duration {
	var counts [len(l.n)]int64
	total := int64(0)
	for i := range l.n {
		counts[i] = l.n[i].Swap(0)
		total += counts[i]
	}
	out := make([]time.Duration, len(quantiles))
	for k, q := range quantiles {
		want, seen := int64(q*float64(total)+0.5), int64(0)
		for i, c := range counts {
			if seen += c; c > 0 && seen >= want {
				exp, sub := i/4, i%4
				if exp >= 2 {
					out[k] = time.Duration(uint64(4+sub) << (exp - 2))
				} else {
					out[k] = time.Duration(uint64(1) << exp)
				}
				break
			}
		}
	}
	return out
}
