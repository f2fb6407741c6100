package restart

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Every is the length of a tick, unless the machine is too busy to end it in time.
const Every = 100 * time.Millisecond

// Tick is what was answered in one interval.
type Tick struct {
	Begin  int64 `json:"begin"`            // nanoseconds since 1970
	End    int64 `json:"end"`              // the same
	Done   int64 `json:"done"`             // requests answered
	Failed int64 `json:"failed,omitempty"` // requests answered by an error
	Late   int64 `json:"late,omitempty"`   // of those answered: later than Load.Patience
	Behind int64 `json:"behind,omitempty"` // open loop: requests due and not begun at the end

	First int64 `json:"first,omitempty"` // the first answer, nanoseconds since 1970; 0: none
	Last  int64 `json:"last,omitempty"`  // the last

	// Latency of those answered, in microseconds.
	P50 int64 `json:"p50,omitempty"`
	P95 int64 `json:"p95,omitempty"`
	P99 int64 `json:"p99,omitempty"`
	Max int64 `json:"max,omitempty"`
	// Latencies are all of them, in microseconds: an HDR histogram in its own encoding (V2, compressed, base64), which any tool for those
	// reads. Percentiles of several ticks cannot be had from theirs.
	Latencies string `json:"latencies,omitempty"`

	// Facts are the server's own figures at the end of the tick, by name: "pool pages", "loaded", ...
	Facts map[string]float64 `json:"facts,omitempty"`
}

func (t Tick) seconds() float64 { return float64(t.End-t.Begin) / 1e9 }

// Histograms hold latencies in microseconds with two digits.
const (
	leastLatency = 1
	mostLatency  = int64(10 * time.Minute / time.Microsecond)
	digits       = 2
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(leastLatency, mostLatency, digits)
}

// summarize puts the latencies of h into t.
func (t *Tick) summarize(h *hdrhistogram.Histogram) {
	if h.TotalCount() == 0 {
		return
	}
	t.P50, t.P95, t.P99, t.Max = h.ValueAtPercentile(50), h.ValueAtPercentile(95), h.ValueAtPercentile(99), h.Max()
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic("BUG: a histogram of our own: " + err.Error())
	}
	t.Latencies = string(encoded)
}

// addTo adds the latencies of t to those of h.
func (t *Tick) addTo(h *hdrhistogram.Histogram) {
	if t.Latencies == "" {
		return
	}
	own, err := hdrhistogram.Decode([]byte(t.Latencies))
	if err != nil {
		panic(fmt.Sprintf("BUG: latencies of a tick: got %q, want what summarize wrote: %v", t.Latencies, err))
	}
	h.Merge(own)
}
