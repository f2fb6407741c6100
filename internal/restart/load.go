package restart

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Op sends one request and waits for its answer. Each worker calls its own.
type Op func(ctx context.Context) error

// Load sends requests until its context ends.
type Load struct {
	Rate     float64       // requests per second over all workers, open loop; 0: closed loop, each worker without a pause
	Patience time.Duration // an answer later than this is late; 0: none is
	Facts    func() map[string]float64
}

// worker counts for itself; whoever makes the tick takes the counts away.
type worker struct {
	mu     sync.Mutex
	failed int64
	late   int64
	first  time.Time // answer of this tick
	last   time.Time
	hist   *hdrhistogram.Histogram
	spare  *hdrhistogram.Histogram // empty
	_      [64]byte
}

// note counts a request that was due at begin and answered at end.
func (w *worker) note(begin, end time.Time, patience time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed++
		return
	}
	if w.first.IsZero() {
		w.first = end
	}
	w.last = end
	took := end.Sub(begin)
	w.hist.RecordValue(min(max(took.Microseconds(), leastLatency), mostLatency))
	if patience > 0 && took > patience {
		w.late++
	}
}

// Run lets one worker run for each op, calls emit for each tick, and returns when ctx has ended and all workers have.
// An op that fails because ctx ended does not count.
func (l Load) Run(ctx context.Context, ops []Op, emit func(Tick)) {
	workers := make([]worker, len(ops))
	var due atomic.Int64 // open loop: requests taken by workers so far
	start := time.Now()
	var wg sync.WaitGroup
	for i := range workers {
		w := &workers[i]
		w.hist, w.spare = newHistogram(), newHistogram()
		wg.Go(func() {
			if l.Rate > 0 {
				l.open(ctx, ops[i], w, start, &due)
			} else {
				l.closed(ctx, ops[i], w)
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()

	t := time.NewTicker(Every)
	defer t.Stop()
	all, begin := newHistogram(), start.UnixNano()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		tick := l.take(workers, all)
		tick.Begin, begin = begin, tick.End
		if l.Rate > 0 {
			tick.Behind = max(0, int64(time.Since(start).Seconds()*l.Rate)-due.Load())
		}
		emit(tick)
	}
}

// take makes a tick of what the workers counted since the last.
func (l Load) take(workers []worker, all *hdrhistogram.Histogram) Tick {
	all.Reset()
	var tick Tick
	for i := range workers {
		w := &workers[i]
		w.mu.Lock()
		w.hist, w.spare = w.spare, w.hist
		tick.Failed, tick.Late = tick.Failed+w.failed, tick.Late+w.late
		first, last := w.first, w.last
		w.failed, w.late, w.first = 0, 0, time.Time{}
		w.mu.Unlock()
		if !first.IsZero() {
			if at := first.UnixNano(); tick.First == 0 || at < tick.First {
				tick.First = at
			}
			tick.Last = max(tick.Last, last.UnixNano())
		}
		tick.Done += w.spare.TotalCount()
		all.Merge(w.spare)
		w.spare.Reset()
	}
	tick.End = time.Now().UnixNano()
	tick.summarize(all)
	if l.Facts != nil {
		tick.Facts = l.Facts()
	}
	return tick
}

// closed sends a request when the one before is answered.
func (l Load) closed(ctx context.Context, op Op, w *worker) {
	for before := time.Now(); ctx.Err() == nil; {
		err := op(ctx)
		now := time.Now()
		if err != nil && ctx.Err() != nil {
			return
		}
		w.note(before, now, l.Patience, err)
		before = now
	}
}

// open takes the next request that is due, whoever of the workers is free. The latency counts from then.
func (l Load) open(ctx context.Context, op Op, w *worker, start time.Time, due *atomic.Int64) {
	for ctx.Err() == nil {
		at := start.Add(time.Duration(float64(due.Add(1)-1) / l.Rate * float64(time.Second)))
		if early := time.Until(at); early > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(early):
			}
		}
		err := op(ctx)
		if err != nil && ctx.Err() != nil {
			return
		}
		w.note(at, time.Now(), l.Patience, err)
	}
}
