package datafile

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// enterMany starts n operations of a class; they stay on the disk.
func enterMany(s *scheduler, c Class, n int) {
	for range n {
		go s.enter(context.Background(), c)
	}
	synctest.Wait()
}

func (s *scheduler) onDisk(c Class) int32 { return s.lanes[c].inFlight.Load() }

func TestUrgentNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler()
		for c := range classes {
			enterMany(s, c, int(bounds[c].most)) // all lower classes as full as they get
		}
		enterMany(s, ClassMiss, 1000)
		if got := s.onDisk(ClassMiss); got != 1000 {
			t.Errorf("%d misses on the disk, want 1000", got)
		}
		drain(s)
	})
}

// drain ends operations until nobody waits, so that no goroutine stays behind.
func drain(s *scheduler) {
	for left := true; left; {
		left = false
		for c := range classes {
			if s.onDisk(c) > 0 {
				s.leave(c)
				left = true
			}
		}
		synctest.Wait()
	}
}

func TestLowerClassStepsBackAndComesForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler()
		b := bounds[ClassReadAhead]
		enterMany(s, ClassReadAhead, 200)
		if got := s.onDisk(ClassReadAhead); got != b.least {
			t.Fatalf("begins with %d, want %d", got, b.least)
		}
		for range 2 * b.most {
			s.leave(ClassReadAhead)
		}
		if got := s.onDisk(ClassReadAhead); got != b.most {
			t.Fatalf("undisturbed %d on the disk, want %d", got, b.most)
		}
		s.enter(context.Background(), ClassMiss)
		for range b.most + 5 {
			s.leave(ClassReadAhead)
		}
		if got := s.onDisk(ClassReadAhead); got != b.least {
			t.Fatalf("beside a miss %d on the disk, want its floor %d", got, b.least)
		}
		s.leave(ClassMiss)
		s.leave(ClassReadAhead)
		s.leave(ClassReadAhead)
		if got := s.onDisk(ClassReadAhead); got != b.least+2 {
			t.Fatalf("after the miss %d on the disk, want %d", got, b.least+2)
		}
		drain(s)
	})
}

// TestEveryClassKeepsItsFloor: with all above it busy, each still has its least on the disk.
func TestEveryClassKeepsItsFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler()
		enterMany(s, ClassMiss, 50)
		for c := ClassWriteBack; c < ClassPrewarm; c++ { // whose floor the governor keeps
			enterMany(s, c, 50)
			if got := s.onDisk(c); got != bounds[c].least {
				t.Errorf("%v: %d on the disk, want %d", c, got, bounds[c].least)
			}
		}
		drain(s)
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler()
		least := bounds[ClassRedo].least
		for range least {
			s.enter(context.Background(), ClassRedo)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.enter(ctx, ClassRedo); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := s.enter(ctx, ClassRedo); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a dead context: got %v", err)
		}
		if s.waiting.Load() != 0 || s.onDisk(ClassRedo) != least {
			t.Errorf("%d wait, %d on the disk", s.waiting.Load(), s.onDisk(ClassRedo))
		}
		drain(s)
	})
}

// TestSchedulerUnderRace: everybody gets through, bounds hold, nothing is left over.
func TestSchedulerUnderRace(t *testing.T) {
	s := newScheduler()
	var running [classes]atomic.Int32
	var wg sync.WaitGroup
	for c := range classes {
		for i := range 40 {
			wg.Go(func() {
				for j := range 50 {
					ctx, cancel := context.WithCancel(context.Background())
					if (i+j)%7 == 0 {
						go cancel()
					}
					if s.enter(ctx, c) == nil {
						if n := running[c].Add(1); bounds[c].most > 0 && n > bounds[c].most {
							t.Errorf("%v: %d at a time", c, n)
						}
						running[c].Add(-1)
						s.leave(c)
					}
					cancel()
				}
			})
		}
	}
	wg.Wait()
	for c := range classes {
		if s.onDisk(c) != 0 || len(s.lanes[c].queue) != 0 {
			t.Errorf("%v: %d on the disk, %d in the queue", c, s.onDisk(c), len(s.lanes[c].queue))
		}
	}
	if s.waiting.Load() != 0 {
		t.Errorf("%d wait", s.waiting.Load())
	}
}

// TestMissTakesNoMemory: neither finding the file nor the turn may cost the garbage collector anything.
func TestMissTakesNoMemory(t *testing.T) {
	s := openSet(t, file.OS, t.TempDir())
	must(t, s.Create(70000))
	id := page.MakeID(70000, 3)
	must(t, s.WritePages(ctx, writes(1, id)))
	p := newPage()
	if n := testing.AllocsPerRun(50, func() { s.ReadPage(ctx, id, p, ClassMiss) }); n != 0 {
		t.Errorf("%v allocations per miss, want 0", n)
	}
}
