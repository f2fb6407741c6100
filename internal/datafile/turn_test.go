package datafile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestHold: no turn begins while something comes before all loads; those that wait begin then, and a hold waits for nobody for ever.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := newScheduler()
		s := &Set{sched: sched, turnstile: make(chan struct{}, 1)}
		s.gov = newGovernor(&s.counters, sched)
		release, err := s.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan Turn, 1)
		go func() {
			turn, err := s.Turn(t.Context(), 0)
			if err != nil {
				t.Error(err)
			}
			began <- turn
		}()
		synctest.Wait()
		if len(began) > 0 {
			t.Error("a turn began while all were held")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Turn(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("a turn that nobody waits for any more: %v", err)
		}
		if _, err := s.Hold(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a second hold that nobody waits for any more: %v", err)
		}
		release()
		(<-began).Done(0)
	})
}
