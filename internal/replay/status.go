package replay

import (
	"fmt"
	"time"
)

// Status of a replay at one moment.
type Status struct {
	Totals Totals        `json:"accounts"`
	Queue  QueueStatus   `json:"queue"`
	Gate   string        `json:"gate"`
	Open   bool          `json:"open"`      // statements may leave
	Sent   int64         `json:"sent"`      // statements; a rewritten change may be several
	Cut    int64         `json:"cut"`       // results longer than the limits
	Rows   int64         `json:"rows"`      // of results thrown away
	Bytes  int64         `json:"bytes"`     // of them
	Behind time.Duration `json:"behind_ns"` // newest entry by the log's clock to now by ours; 0: not known

	P50 time.Duration `json:"p50_ns"` // of statements since the last status
	P99 time.Duration `json:"p99_ns"`

	Age50 time.Duration `json:"age_p50_ns"` // from a statement's end on the source, by the log's clock, to its end here; 0: not known
	Age99 time.Duration `json:"age_p99_ns"`
}

// Status tells how it goes. Quantiles are of the time since the call before.
func (p *Player) Status() Status {
	s := p.snapshot()
	q := p.latency.take(0.5, 0.99)
	s.P50, s.P99 = q[0], q[1]
	q = p.ages.take(0.5, 0.99)
	s.Age50, s.Age99 = q[0], q[1]
	return s
}

// snapshot is a status without quantiles, which are of one asker only.
func (p *Player) snapshot() Status {
	now := time.Now()
	s := Status{
		Totals: p.Accounts.Totals(), Queue: p.queue.status(now), Gate: p.watch.describe(), Open: p.watch.open(now), Sent: p.sent.Load(),
		Cut: p.cut.Load(), Rows: p.rows.Load(), Bytes: p.bytes.Load(),
	}
	if seen := p.lastSeen.Load(); seen != 0 {
		s.Behind = max(0, now.Sub(time.Unix(0, seen)))
	}
	return s
}

// Place is where another run would go on.
func (p *Player) Place() Place {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.queue.marks.at()
}

// Line is a status in one line, with rates since the one before.
func (s Status) Line(before Status, passed time.Duration) string {
	rate := func(o Outcome) float64 {
		return float64(s.Totals.Sum(o)-before.Totals.Sum(o)) / passed.Seconds()
	}
	return fmt.Sprintf("received %.0f/s run %.0f/s rewritten %.0f/s skipped %.0f/s shed %.0f/s failed %.0f/s; queue %d in %.1f MB, oldest %v; "+
		"%d of %d at once, p50 %v p99 %v; age p50 %v p99 %v, behind %v; %s",
		float64(s.Totals.Received-before.Totals.Received)/passed.Seconds(), rate(Run), rate(Rewritten), rate(Skipped), rate(Shed), rate(Failed),
		s.Queue.Waiting, float64(s.Queue.Bytes)/1e6, s.Queue.Oldest.Round(time.Millisecond), s.Queue.Inflight, s.Queue.Limit,
		s.P50.Round(time.Microsecond), s.P99.Round(time.Microsecond),
		s.Age50.Round(time.Millisecond), s.Age99.Round(time.Millisecond), s.Behind.Round(time.Second), s.Gate)
}
