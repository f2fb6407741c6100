package replay

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Pace says when entries are sent. The zero value sends them as they come.
type Pace struct {
	Factor  float64       // of the log's own time: 1 original, 2 twice as fast; 0: at once
	PerSec  float64       // at most so many entries a second; 0: no cap
	MaxIdle time.Duration // a longer gap in the log is cut to this; 0: not
}

// ParsePace reads "now", "original", "x2.5".
func ParsePace(s string) (Pace, error) {
	switch {
	case s == "" || s == "now":
		return Pace{}, nil
	case s == "original":
		return Pace{Factor: 1}, nil
	}
	f, ok := strings.CutPrefix(s, "x")
	if v, err := strconv.ParseFloat(f, 64); ok && err == nil && v > 0 && v < 1e6 {
		return Pace{Factor: v}, nil
	}
	return Pace{}, fmt.Errorf("pace %q: want now, original or a factor like x2 or x0.5", s)
}

// pacer keeps a pace.
type pacer struct {
	Pace
	last time.Time // newest time in the log; a clock that goes back does not move it
	due  time.Time // when the entry before was due
	next time.Time // when the cap allows the next
}

func newPacer(p Pace) *pacer { return &pacer{Pace: p} }

// wait until it is time for an entry.
func (p *pacer) wait(ctx context.Context, e *slowlog.Entry) error {
	if p.Factor == 0 && p.PerSec == 0 {
		return ctx.Err()
	}
	now := time.Now()
	due := now
	if p.Factor > 0 {
		at := e.Started
		if at.IsZero() {
			at = e.Ended
		}
		switch {
		case at.IsZero():
		case p.last.IsZero():
			p.last, p.due = at, now
		case at.After(p.last):
			gap := at.Sub(p.last)
			if p.MaxIdle > 0 && gap > p.MaxIdle {
				gap = p.MaxIdle
			}
			p.due = p.due.Add(time.Duration(float64(gap) / p.Factor))
			p.last = at
		}
		if p.due.After(due) {
			due = p.due
		}
	}
	if p.PerSec > 0 {
		if p.next.Before(now) {
			p.next = now
		}
		if p.next.After(due) {
			due = p.next
		}
		p.next = p.next.Add(time.Duration(float64(time.Second) / p.PerSec))
	}
	if d := due.Sub(now); d > 0 && !sleep(ctx, d) {
		return ctx.Err()
	}
	return ctx.Err()
}
