package datafile

import (
	"math"
	"runtime"
	"time"
)

// history is what happened in the last ticks.
type history struct {
	seen  totals // at the end of the last tick
	began time.Time
	past  [pastTicks]span // the newest at (ticks-1)%pastTicks
	ticks int
	mark  int // ticks when things last changed so much that what was before does not count
}

const (
	// tickLen is one slice of the kernel's block throttle (DFL_THROTL_SLICE in blk-throttle.c), which is a burst and a rest.
	tickLen = 100 * time.Millisecond
	// pastTicks: means are over so many ticks at most.
	pastTicks = 10
)

// totals are counters since the beginning, or what they grew by.
type totals struct {
	misses, missBytes, missNanos int64 // of misses; nanoseconds until their readers had them, summed
	readNanos, diskNanos         int64 // of reads of single pages, seen by samples: under way, and of these on the disk
	loads, loadBytes             int64 // of loads
	workNanos                    int64 // that loads spent behind their reads, on processors
	idle, processors             int64 // time of all processors of the machine; see processors
}

func totalsOf(c *[classes]counters) totals {
	var t totals
	for _, m := range []*counters{&c[ClassMiss], &c[ClassReadAhead]} {
		t.misses += int64(m.reads.Load())
		t.missBytes += int64(m.bytesRead.Load())
		t.missNanos += m.busy.Load()
	}
	l := &c[ClassPrewarm]
	t.loads, t.loadBytes = int64(l.reads.Load()), int64(l.bytesRead.Load())
	return t
}

func (t totals) add(o totals, sign int64) totals {
	return totals{
		t.misses + sign*o.misses, t.missBytes + sign*o.missBytes, t.missNanos + sign*o.missNanos,
		t.readNanos + sign*o.readNanos, t.diskNanos + sign*o.diskNanos,
		t.loads + sign*o.loads, t.loadBytes + sign*o.loadBytes, t.workNanos + sign*o.workNanos,
		t.idle + sign*o.idle, t.processors + sign*o.processors,
	}
}

// span is what happened in some time.
type span struct {
	took time.Duration
	totals
}

// over says whether a tick has ended that nobody noted yet.
func (h *history) over(now time.Time) bool { return h.began.IsZero() || now.Sub(h.began) >= tickLen }

// note says whether a tick ended. Ticks keep their rhythm, whenever somebody looks: so each of them has one burst of a throttled disk.
func (h *history) note(now time.Time, t totals) bool {
	if h.began.IsZero() {
		h.began, h.seen = now, t
	}
	took := now.Sub(h.began) / tickLen * tickLen
	if took == 0 {
		return false
	}
	h.past[h.ticks%pastTicks] = span{took, t.add(h.seen, -1)}
	h.ticks++
	h.began, h.seen = h.began.Add(took), t
	return true
}

// since is how many ticks ended since the mark.
func (h *history) since() int { return h.ticks - h.mark }

// recent is the mean of the last n ticks since the mark.
func (h *history) recent(n int) span { return h.mean(min(n, h.since())) }

// mean of the last n ticks, or as many as there are.
func (h *history) mean(n int) span {
	var m span
	for i := range min(n, h.ticks, pastTicks) {
		s := h.past[(h.ticks-1-i)%pastTicks]
		m.took += s.took
		m.totals = m.totals.add(s.totals, 1)
	}
	return m
}

// steady says whether as many operations ended in the last tick as in the one before, but for chance.
func (h *history) steady() bool {
	now, before := h.mean(1).ops(), h.mean(2).ops()*2-h.mean(1).ops()
	return math.Abs(now-before) <= max((1-alike)*before, math.Sqrt(before*tickLen.Seconds())/tickLen.Seconds())
}

// stalled says whether in one of the last n ticks less than half as many operations ended as in all of them on average.
func (h *history) stalled(n int) bool {
	least := h.mean(n).ops() / 2
	for i := range min(n, h.ticks, pastTicks) {
		s := h.past[(h.ticks-1-i)%pastTicks]
		if s.ops() < least {
			return true
		}
	}
	return false
}

func (s span) rate(n int64) float64 {
	if s.took <= 0 {
		return 0
	}
	return float64(n) / s.took.Seconds()
}

func (s span) missOps() float64       { return s.rate(s.misses) }
func (s span) missBytesRate() float64 { return s.rate(s.missBytes) }

// bytes a second of misses and loads together.
func (s span) bytes() float64 { return s.rate(s.missBytes + s.loadBytes) }

// ops a second, likewise.
func (s span) ops() float64 { return s.rate(s.misses + s.loads) }

// waiting is how many misses were on the disk on average. Readers who wait for a processor to hear that the disk has answered do not count: on a
// machine whose processors are all busy a miss may take ten times as long as the disk does.
func (s span) waiting() float64 {
	w := s.rate(s.missNanos) / float64(time.Second)
	if s.sampled() {
		w *= float64(s.diskNanos) / float64(s.readNanos)
	}
	return w
}

// leastSampled: samples tell something about misses if they saw so much of the time that these took (1 by this).
const leastSampled = 8

func (s span) sampled() bool { return s.readNanos > s.missNanos/leastSampled }

// crowded says whether misses wait for processors, which are all busy, and not much longer for the disk, which answers soon. Once it was so it has to be
// clearly otherwise.
func (s span) crowded(was bool) bool {
	at, late := crowdedAt, lateAnswer
	if was {
		at, late = notCrowdedAt, 2*lateAnswer
	}
	return s.sampled() && float64(s.readNanos-s.diskNanos) > at*float64(s.diskNanos) && s.diskLatency() < late &&
		s.processors > 0 && float64(s.idle)*float64(runtime.NumCPU()) < mostIdle*float64(s.processors)
}

const (
	// A statement needs a processor several times for each time that it hears of a miss. So when misses wait for one crowdedAt times as long as for the
	// disk, their readers do longer than for the disk.
	crowdedAt, notCrowdedAt = 0.25, 0.15
	// mostIdle is how many processors are idle on average, at most, where all are busy: clients and servers wait for each other now and then.
	mostIdle = 0.5
	// lateAnswer, in seconds: whoever else may keep the processors busy, readers wait for a disk that takes so long.
	lateAnswer = 1e-3
)

// working is how many reads of loads had come from the disk and were seen to, by a processor, on average.
func (s span) working() float64 { return s.rate(s.workNanos) / float64(time.Second) }

// diskLatency is how many seconds of the disk a miss took on average, by Little's law.
func (s span) diskLatency() float64 {
	if s.misses == 0 {
		return 0
	}
	return s.waiting() / s.missOps()
}

// latency is how many seconds a miss took on average.
func (s span) latency() float64 {
	if s.misses == 0 {
		return 0
	}
	return float64(s.missNanos) / float64(s.misses) / float64(time.Second)
}
