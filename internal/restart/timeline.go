package restart

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Timeline is one restart: what was answered before and after.
type Timeline struct {
	Name   string            `json:"name"`   // of the case: "kill -9, dump only, uniform"
	System string            `json:"system"` // "hearth", "InnoDB"
	Config map[string]string `json:"config"` // everything that it took to measure this
	Rate   float64           `json:"rate"`   // requests that arrive per second (open loop); 0: as many as are answered

	Stop     int64  `json:"stop"`     // nanoseconds since 1970: the kill, or the request to stop
	Launched int64  `json:"launched"` // the new process was started
	Ticks    []Tick `json:"ticks"`    // in order
	Last     int64  `json:"last"`     // the last answer of the old process, exactly; 0: taken as the stop
	First    int64  `json:"first"`    // the first answer of the new one, exactly; 0: see the ticks
	Report   string `json:"report"`   // what the server says of its start
}

// Second is what was answered in one second; Start 0 is the moment of the stop.
type Second struct {
	Start    int     // seconds since the stop
	Done     int64   // answered
	Late     int64   // answered too late
	Measured float64 // part of the second that ticks cover
}

// since is when the middle of a tick was, counted from the stop.
func (t *Timeline) since(k *Tick) time.Duration { return time.Duration((k.Begin+k.End)/2 - t.Stop) }

// Seconds groups the ticks. A tick belongs to the second in which its middle lies.
func (t *Timeline) Seconds() []Second {
	by := map[int]*Second{}
	for _, k := range t.Ticks {
		n := int(math.Floor(t.since(&k).Seconds()))
		s := by[n]
		if s == nil {
			s = &Second{Start: n}
			by[n] = s
		}
		s.Done, s.Late = s.Done+k.Done, s.Late+k.Late
		s.Measured += k.seconds()
	}
	all := make([]Second, 0, len(by))
	for _, s := range by {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Second) int { return a.Start - b.Start })
	return all
}

// warmSeconds: what a restart is held against is what was just before it. A load that runs for minutes to fill a log begins
// with other figures: nothing has to be written back yet.
const warmSeconds = 60

// Warm is the median of the last seconds before the stop, warmSeconds at most, in requests per second; the first of all is left out, it may
// be cut. Of requests that arrive no more count than arrived: who is behind answers more for a while.
func (t *Timeline) Warm() float64 {
	var before []float64
	for _, s := range t.Seconds() {
		if s.Start < -1 && s.Measured > 0.8 {
			before = append(before, float64(s.Done)/s.Measured)
		}
	}
	if len(before) > 1 {
		before = before[1:]
	}
	if len(before) == 0 {
		return 0
	}
	before = before[max(0, len(before)-warmSeconds):]
	slices.Sort(before)
	warm := before[len(before)/2]
	if t.Rate > 0 {
		warm = min(warm, t.Rate)
	}
	return warm
}

// FactBefore is what the server said last of a fact before the stop; false if it said nothing.
func (t *Timeline) FactBefore(fact string) (v float64, ok bool) {
	for _, k := range t.Ticks {
		if k.End > t.Stop {
			break
		}
		if x, there := k.Facts[fact]; there {
			v, ok = x, true
		}
	}
	return v, ok
}

// FactNow is what the server said last of a fact; false if it said nothing.
func (t *Timeline) FactNow(fact string) (float64, bool) {
	for _, k := range slices.Backward(t.Ticks) {
		if v, ok := k.Facts[fact]; ok {
			return v, true
		}
	}
	return 0, false
}

// silence around the restart. Where it is not known exactly it is the longest time without an answer that ends after the stop.
func (t *Timeline) silence() (last, first int64) {
	if t.First != 0 {
		return cmp.Or(t.Last, t.Stop), t.First
	}
	var before int64
	for _, k := range t.Ticks {
		if k.Done == 0 {
			continue
		}
		if before != 0 && k.First > t.Stop && k.First-before > first-last {
			last, first = before, k.First
		}
		before = k.Last
	}
	return last, first
}

// firstAnswer is the moment of the first answer after the silence; 0 if there was none.
func (t *Timeline) firstAnswer() int64 {
	_, first := t.silence()
	return first
}

// Blackout is the time without an answer around the restart; false if none came any more.
func (t *Timeline) Blackout() (time.Duration, bool) {
	last, first := t.silence()
	return time.Duration(first - last), first != 0
}

// After returns the throughput of the windows of one second, to the tick, that begin with the first answer, in requests per
// second.
func (t *Timeline) After() (rates []float64) {
	first := t.firstAnswer()
	if first == 0 {
		return nil
	}
	var done int64
	begin := first
	for _, k := range t.Ticks {
		if k.Begin < first-int64(Every) { // the tick of the first answer counts from that answer on
			continue
		}
		done += k.Done
		if k.End-begin >= int64(time.Second)-int64(Every)/2 {
			rates = append(rates, float64(done)/(float64(k.End-begin)/1e9))
			done, begin = 0, k.End
		}
	}
	return rates
}

// FirstSecond is the throughput of the first full second after the first answer as a part of Warm.
func (t *Timeline) FirstSecond() float64 { return t.share(0) }

// FifthSecond is the throughput of the fifth second after the first answer as a part of Warm.
func (t *Timeline) FifthSecond() float64 { return t.share(4) }

func (t *Timeline) share(n int) float64 {
	after, warm := t.After(), t.Warm()
	if n >= len(after) || warm == 0 {
		return 0
	}
	return after[n] / warm
}

// Recovered is how long after the first answer the throughput is back at part (0.9) of Warm: the end of the first whole
// second that reaches it. The first second itself counts as zero: it was never gone.
func (t *Timeline) Recovered(part float64) (time.Duration, bool) {
	warm := t.Warm()
	for n, rate := range t.After() {
		if rate >= part*warm {
			if n == 0 {
				return 0, true
			}
			return time.Duration(n+1) * time.Second, true
		}
	}
	return 0, false
}

// Punctual is how long after the first answer no request is late or waits any more, until the end of the measurement;
// false if that is never so.
func (t *Timeline) Punctual() (time.Duration, bool) {
	first := t.firstAnswer()
	if first == 0 || len(t.Ticks) == 0 {
		return 0, false
	}
	last := first
	for _, k := range t.Ticks {
		if k.End > first && (k.Late > 0 || k.Failed > 0) {
			last = k.End
		}
	}
	return time.Duration(last - first), last < t.Ticks[len(t.Ticks)-1].End
}

// Covered is how long after the stop the measurement goes.
func (t *Timeline) Covered() time.Duration {
	if len(t.Ticks) == 0 {
		return 0
	}
	return max(0, time.Duration(t.Ticks[len(t.Ticks)-1].End-t.Stop))
}

// ServedIn is what was answered in the time d after the stop, as a part of what is answered in that time at Warm; false if the
// measurement is shorter.
func (t *Timeline) ServedIn(d time.Duration) (float64, bool) {
	warm := t.Warm()
	if warm == 0 || t.Covered() < d {
		return 0, false
	}
	var done int64
	for _, k := range t.Ticks {
		if at := t.since(&k); at >= 0 && at < d {
			done += k.Done
		}
	}
	return float64(done) / (warm * d.Seconds()), true
}

// Latency is a percentile (99) of the latencies of what was answered from one moment to another, both counted from the stop, to the tick;
// false if nothing was.
func (t *Timeline) Latency(percentile float64, from, to time.Duration) (time.Duration, bool) {
	all := newHistogram()
	for _, k := range t.Ticks {
		if at := t.since(&k); at >= from && at < to {
			k.addTo(all)
		}
	}
	return time.Duration(all.ValueAtPercentile(percentile)) * time.Microsecond, all.TotalCount() > 0
}

// LatencyBefore is that of the time that Warm is of.
func (t *Timeline) LatencyBefore(percentile float64) (time.Duration, bool) {
	return t.Latency(percentile, -warmSeconds*time.Second, 0)
}

// LatencyAfter is that of so much time from the first answer on.
func (t *Timeline) LatencyAfter(percentile float64, d time.Duration) (time.Duration, bool) {
	first := t.firstAnswer()
	if first == 0 {
		return 0, false
	}
	from := time.Duration(first-t.Stop) - Every // the tick of the first answer has its middle before it
	return t.Latency(percentile, from, from+d)
}
