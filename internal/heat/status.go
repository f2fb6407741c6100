package heat

import (
	"context"
	"time"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/pool"
)

// fill tells of the load.
func (x *load) fill(s *Status) {
	l := x.plan.list
	s.File, s.Order, s.Bands, s.Band = l.file, x.order, len(l.header.Bands), x.plan.current()
	x.mu.Lock()
	defer x.mu.Unlock()
	s.State, s.Started, s.Took = x.state, x.started, time.Since(x.started)
	if !x.ended.IsZero() {
		s.Took = x.ended.Sub(x.started)
	}
	count := func(o pool.Outcome) int64 { return x.counts[o].Load() }
	s.Total = int64(len(l.pages) + l.over)
	s.Loaded, s.Present, s.Gone = count(pool.Loaded), count(pool.Present), count(pool.Gone)
	s.NoRoom, s.Failed = count(pool.NoRoom), count(pool.Failed)
	s.Left = s.Total - s.Loaded - s.Present - s.Gone - s.NoRoom - s.Failed
	s.Around, s.BytesRead, s.Reads = x.along.Load(), x.bytes.Load(), x.reads.Load()
	if x.state != StateLoading && x.state != StatePaused {
		if d := s.Took.Seconds(); d > 0 {
			s.BytesPerSecond = float64(s.BytesRead) / d
		}
		return
	}
	bytes, pages := x.speed.rates()
	s.BytesPerSecond = bytes
	if pages > 0 {
		s.SecondsLeft = float64(s.Left) / pages
	}
}

func deviceOf(d datafile.Device) Device {
	return Device{
		Situation: d.Situation, Bound: d.Bound.String(), IOPS: d.IOPS, BytesPerSecond: d.BytesPerSecond, Budget: d.Budget,
		OpBytes: d.OpBytes, Around: d.Around, ReadBytes: int64(d.ReadBytes), InFlight: d.InFlight, Share: d.Share,
		MissLatency: d.MissLatency.Seconds(), MissAlone: d.MissAlone.Seconds(),
	}
}

// wait waits for the end of the load, for limit at most.
func (x *load) wait(ctx context.Context, limit time.Duration) error {
	var expired <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-x.finished:
	case <-expired:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
