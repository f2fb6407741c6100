package tpcc

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Stats of a driver since its beginning. Use Report.
type Stats struct {
	mu      sync.Mutex
	kinds   [kinds]*hdrhistogram.Histogram // latency of those committed, retries included, in microseconds
	undone  int64                          // New-Orders rolled back as their profile demands
	retries int64
}

// Histograms hold latencies in microseconds with two digits.
const (
	mostLatency = int64(10 * time.Minute / time.Microsecond)
	precision   = 2
)

func newHistograms() (all [kinds]*hdrhistogram.Histogram) {
	for k := range all {
		all[k] = hdrhistogram.New(1, mostLatency, precision)
	}
	return all
}

// begin returns what is to be called when the transaction is over.
func (s *Stats) begin(k Kind) func(committed bool) {
	start := time.Now()
	return func(committed bool) {
		took := min(max(1, time.Since(start).Microseconds()), mostLatency)
		s.mu.Lock()
		defer s.mu.Unlock()
		if committed {
			s.kinds[k].RecordValue(took)
		} else {
			s.undone++
		}
	}
}

func (s *Stats) retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retries++
}

// Report is what a driver has done.
type Report struct {
	Committed  [kinds]int64
	P50, P95   [kinds]time.Duration
	RolledBack int64 // New-Orders with an unused item, which are not among the committed
	Retries    int64 // after deadlocks and lock waits that were too long
}

// Report what was done so far.
func (s *Stats) Report() (r Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, h := range s.kinds {
		r.Committed[k] = h.TotalCount()
		r.P50[k] = time.Duration(h.ValueAtPercentile(50)) * time.Microsecond
		r.P95[k] = time.Duration(h.ValueAtPercentile(95)) * time.Microsecond
	}
	r.RolledBack, r.Retries = s.undone, s.retries
	return r
}

// NOTPM is new orders per minute between two reports.
func NOTPM(from, to Report, between time.Duration) float64 {
	return float64(to.Committed[NewOrder]-from.Committed[NewOrder]) / between.Minutes()
}
