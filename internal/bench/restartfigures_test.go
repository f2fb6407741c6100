package bench

import (
	"testing"

	"github.com/hearthdb/hearth/internal/restart"
)

// Of reads that arrive, what a cold start answers late is not more than there was to answer.
func TestWorstSecond(t *testing.T) {
	line := func(done ...int64) *restart.Timeline {
		l := &restart.Timeline{Stop: 1e9, First: 2e9, Last: 1e9}
		for i, n := range done {
			begin := int64(2+i) * 1e9
			l.Ticks = append(l.Ticks, restart.Tick{Begin: begin, End: begin + 1e9, First: begin, Last: begin + 1e9, Done: n})
		}
		return l
	}
	dump, cold := line(90, 100, 100), line(100, 50, 200)
	for rate, want := range map[float64]float64{0: 0.5, 100: 0.9} {
		if got, ok := worstSecond(dump, cold, rate); !ok || got != want {
			t.Errorf("at %v a second: got %v, %v, want %v", rate, got, ok, want)
		}
	}
}
