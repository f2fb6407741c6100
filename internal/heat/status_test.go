package heat

import (
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// TestStatusOfALoad: the numbers of a load under way, and of one that is over.
func TestStatusOfALoad(t *testing.T) {
	l := &list{file: "x", header: Header{Bands: []Band{{8, 50}, {2, 50}}}}
	for i := range uint32(100) {
		l.add(int(i)*2/100, id(16, i))
	}
	l.sort()
	began := time.Now().Add(-time.Minute)
	x := &load{plan: plan{list: l}, order: OrderHeat, state: StateLoading, started: began}
	x.counts[pool.Loaded].Store(20)
	x.counts[pool.Gone].Store(5)
	x.along.Store(2)
	x.bytes.Store(20 * page.Size)
	x.reads.Store(3)
	var s Status
	if x.fill(&s); s.SecondsLeft != 0 || s.BytesPerSecond != 0 || s.Total != 100 || s.Left != 75 {
		t.Errorf("too early to say how fast: %+v", s)
	}
	x.speed.note(began, 0, 0)
	x.speed.note(began.Add(2*time.Second), 20*page.Size, 25)
	x.fill(&s)
	if s.State != StateLoading || s.SecondsLeft != 6 || s.BytesPerSecond != 10*page.Size || s.Took < time.Minute {
		t.Errorf("75 pages are left, 12.5 come in a second: %+v", s)
	}
	if s.Loaded != 20 || s.Gone != 5 || s.Around != 2 || s.Reads != 3 || s.BytesRead != 20*page.Size || s.Bands != 2 || s.Started != began {
		t.Errorf("counts: %+v", s)
	}
	x.state, x.ended = StateCancelled, began.Add(10*time.Second)
	s = Status{}
	x.fill(&s)
	if s.State != StateCancelled || s.SecondsLeft != 0 || s.BytesPerSecond != 2*page.Size || s.Took != 10*time.Second || s.Left != 75 {
		t.Errorf("it is over: %+v", s)
	}
}
