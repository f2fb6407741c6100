package datafile

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Class says who waits for an operation. A smaller one is more urgent.
type Class uint8

const (
	ClassMiss      Class = iota // somebody needs the page now
	ClassLog                    // the log; it has files of its own and is here for whoever counts
	ClassWriteBack              // changed pages on their way home
	ClassRedo                   // recovery behind the first answer
	ClassReadAhead              // what a scan may need
	ClassPrewarm                // loading the heat dump; held back by the governor, not here
	classes
)

var classNames = [classes]string{"miss", "log", "write-back", "redo", "read-ahead", "prewarm"}

func (c Class) String() string { return classNames[c] }

// bounds says how many operations of a class may be on the disk at a time: most when no more urgent one is, least
// when one is. 0 = as many as come: what is urgent never queues, the number of goroutines bounds it.
//
// The figures aim at a disk that is busy with about 32 requests. least is above zero so that nobody starves, and small
// so that a miss finds a short queue; for write-back it is larger, since misses wait for clean frames in the end.
var bounds = [classes]struct{ least, most int32 }{
	ClassWriteBack: {4, 16},
	ClassRedo:      {4, 32},
	ClassReadAhead: {2, 16},
}

// scheduler holds back the less urgent. A class steps back to its least at once when a more urgent operation is on the
// disk, and comes forward by one with each operation that ends undisturbed: the other way round, every short pause
// between two misses would let a whole queue slip in front of the second.
type scheduler struct {
	lanes   [classes]lane
	waiting atomic.Int32 // in all queues; written under mu
	mu      sync.Mutex
}

type lane struct {
	inFlight atomic.Int32
	limit    int32           // guarded by mu
	queue    []chan struct{} // guarded by mu; closed when admitted

	_ [24]byte // lanes do not share cache lines
}

func newScheduler() *scheduler {
	s := new(scheduler)
	for c := range s.lanes {
		s.lanes[c].limit = bounds[c].least
	}
	return s
}

// enter waits until an operation of class c may begin. For a class without bounds it is one atomic add.
func (s *scheduler) enter(ctx context.Context, c Class) error {
	l := &s.lanes[c]
	if bounds[c].most == 0 {
		l.inFlight.Add(1)
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	admitted := make(chan struct{})
	s.mu.Lock()
	l.queue = append(l.queue, admitted)
	s.waiting.Add(1)
	// Counted first, looked second: leave lowers inFlight first and looks at waiting second, so one of the two sees the other.
	s.admit()
	s.mu.Unlock()
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	if i := slices.Index(l.queue, admitted); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		s.waiting.Add(-1)
		s.mu.Unlock()
		return ctx.Err()
	}
	s.mu.Unlock()
	s.leave(c) // admitted at the last moment
	return ctx.Err()
}

// leave ends an operation. For a class without bounds it is one atomic add, and a load when the last one leaves.
func (s *scheduler) leave(c Class) {
	l := &s.lanes[c]
	left := l.inFlight.Add(-1)
	if left < 0 {
		panic("BUG: leave " + c.String() + " without enter")
	}
	if bounds[c].most == 0 {
		if left == 0 && s.waiting.Load() > 0 {
			s.mu.Lock()
			s.admit()
			s.mu.Unlock()
		}
		return
	}
	s.mu.Lock()
	if !s.busyAbove(c) {
		l.limit = min(l.limit+1, bounds[c].most)
	}
	s.admit()
	s.mu.Unlock()
}

// admit lets in whoever may. The caller holds mu.
func (s *scheduler) admit() {
	for c := range classes {
		l := &s.lanes[c]
		if len(l.queue) == 0 {
			continue
		}
		if s.busyAbove(c) {
			l.limit = bounds[c].least
		}
		for len(l.queue) > 0 && l.inFlight.Load() < l.limit {
			l.inFlight.Add(1)
			close(l.queue[0])
			l.queue = slices.Delete(l.queue, 0, 1)
			s.waiting.Add(-1)
		}
	}
}

// busyAbove says whether a more urgent operation is on the disk.
func (s *scheduler) busyAbove(c Class) bool {
	for above := range c {
		if s.lanes[above].inFlight.Load() > 0 {
			return true
		}
	}
	return false
}
