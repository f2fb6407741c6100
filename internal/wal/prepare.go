package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/hearthdb/hearth/internal/page"
)

// maxSpares is how many segments no longer needed are held to become new ones. Checkpoints set keep forward smoothly,
// so few lie about at once; with none at hand the next segment costs its length in zeroes.
const maxSpares = 4

// segments owns the files: which are kept, which is next. A goroutine makes the next one while the writer fills the current.
//
//	(none) ──makeSegment──▶ next ──take──▶ live ──keep passes it──▶ spare ──makeSegment──▶ next
//	                                         └────enough spares───▶ removed
type segments struct {
	y     *layout
	log   *slog.Logger
	stats *counters
	gone  chan struct{} // closed when the goroutine is

	mu       sync.Mutex // guards everything below
	changed  sync.Cond  // anything below
	live     []uint64   // ascending, with current
	current  uint64
	keep     page.LSN
	pins     map[uint64]int // being read; rule 9
	next     *segment
	nextErr  error
	wanted   uint64 // segment to make next
	waiting  bool   // the writer waits for next
	spares   []string
	spareSeq uint64
	letting  bool // recycle is under way: a segment is neither live nor a spare
	stopped  bool
}

func (s *segments) init(y *layout, have listing, start page.LSN, log *slog.Logger, stats *counters) error {
	s.y, s.log, s.stats = y, log, stats
	s.changed.L = &s.mu
	s.gone = make(chan struct{})
	s.pins = map[uint64]int{}
	s.spares = have.spares
	for _, name := range have.litter {
		if err := y.fs.Remove(y.path(name)); err != nil {
			return err
		}
	}
	// What lies above start is not live: it is taken when its turn comes.
	for _, n := range have.segments {
		if n <= y.segmentOf(start) {
			s.live = append(s.live, n)
		}
	}
	for _, name := range s.spares {
		var n uint64
		fmt.Sscanf(name, sparePrefix+"%016x", &n)
		s.spareSeq = max(s.spareSeq, n+1)
	}
	return nil
}

// use says that the writer begins in segment n.
func (s *segments) use(n uint64) {
	if !slices.Contains(s.live, n) {
		s.live = append(s.live, n)
	}
	s.current, s.wanted = n, n+1
}

// spare takes a spare away, "" when there is none.
func (s *segments) spare() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spareLocked()
}

func (s *segments) spareLocked() string {
	if len(s.spares) == 0 {
		return ""
	}
	name := s.spares[len(s.spares)-1]
	s.spares = s.spares[:len(s.spares)-1]
	return name
}

func (s *segments) run() {
	defer close(s.gone)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.stopped {
		old, idle := s.oldestUnkept()
		switch {
		case idle && !(s.waiting && s.next == nil):
			s.recycle(old)
		case s.next == nil && s.nextErr == nil:
			s.make(s.wanted, s.spareLocked())
		default:
			s.changed.Wait()
		}
	}
}

// make makes segment n; mu is released meanwhile.
func (s *segments) make(n uint64, spare string) {
	s.mu.Unlock()
	unused := ""
	made, err := s.y.reuseSegment(n)
	if err != nil && absent(err) {
		made, err = s.y.makeSegment(n, spare, s.pace)
	} else if spare != "" {
		spare, unused = "", spare
	}
	if err != nil && spare != "" {
		s.log.Warn("a spare log segment could not be used again; making a new one", "file", s.y.path(spare), "err", err)
		if rmErr := s.y.fs.Remove(s.y.path(spare)); rmErr != nil {
			s.log.Warn("removing it failed too", "file", s.y.path(spare), "err", rmErr)
		}
		made, err = s.y.makeSegment(n, "", s.pace)
	}
	s.mu.Lock()
	if unused != "" {
		s.spares = append(s.spares, unused)
	}
	if err != nil && !errors.Is(err, errClosed) {
		s.log.Warn("the next log segment could not be made; it will be tried once more when it is needed", "err", err)
	}
	s.next, s.nextErr = made, err
	s.stats.made.Add(1)
	s.changed.Broadcast()
}

// pace is to makeSegment what the writer and Close want. A segment not zeroed to its end makes syncs slower, but not wrong.
func (s *segments) pace() (hurry bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false, errClosed
	}
	return s.waiting, nil
}

// take gives the writer segment n, the one after its current.
func (s *segments) take(n uint64) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n != s.wanted {
		panic(fmt.Sprintf("BUG: log writer takes segment %d, want %d", n, s.wanted))
	}
	s.waiting = true
	defer func() { s.waiting = false }()
	for retried := false; s.next == nil; {
		if s.nextErr != nil {
			if retried {
				return nil, s.nextErr
			}
			// The disk may have been full then, and not now.
			retried, s.nextErr = true, nil
			s.changed.Broadcast()
		}
		s.stats.segmentWaits.Add(1)
		s.changed.Wait()
	}
	next := s.next
	s.next = nil
	s.current, s.wanted = n, n+1
	s.live = append(s.live, n)
	s.changed.Broadcast()
	return next, nil
}

func (s *segments) setKeep(lsn page.LSN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lsn > s.keep {
		s.keep = lsn
		s.changed.Broadcast()
	}
}

// oldestUnkept finds a segment that rule 9 lets go.
func (s *segments) oldestUnkept() (uint64, bool) {
	if len(s.live) == 0 {
		return 0, false
	}
	n := s.live[0]
	return n, n < s.current && s.y.startOf(n+1) <= s.keep && s.pins[n] == 0
}

// recycle makes live segment n a spare, or removes it; mu is released meanwhile. What fails here is tried again at the
// next start: the file is litter then, not a danger, since nobody asks for positions below keep.
func (s *segments) recycle(n uint64) {
	s.live = s.live[1:]
	room := len(s.spares) < maxSpares
	name := spareName(s.spareSeq)
	s.spareSeq++
	s.letting = true
	s.mu.Unlock()
	err := s.y.removeIndex(n)
	if err == nil {
		if room {
			err = s.y.fs.Rename(s.y.segmentPath(n), s.y.path(name))
		} else {
			err = s.y.fs.Remove(s.y.segmentPath(n))
		}
	}
	if err == nil {
		// Before its header changes: no file may be found under a name that is not its own.
		err = s.y.fs.SyncDir(s.y.dir)
	}
	s.mu.Lock()
	s.letting = false
	switch {
	case err != nil:
		s.log.Warn("a log segment no longer needed could not be recycled", "file", s.y.segmentPath(n), "err", err)
	case room:
		s.spares = append(s.spares, name)
		s.stats.recycled.Add(1)
	}
	s.changed.Broadcast()
}

// pin keeps live segment n, and the one after it where its last group may end, from being recycled.
func (s *segments) pin(n uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.live, n) {
		return false
	}
	s.pins[n]++
	return true
}

func (s *segments) unpin(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins[n]--; s.pins[n] == 0 {
		delete(s.pins, n)
	}
	s.changed.Broadcast()
}

// close stops the goroutine. A next segment stays on disk for the next life.
func (s *segments) close() {
	s.mu.Lock()
	s.stopped = true
	s.changed.Broadcast()
	s.mu.Unlock()
	<-s.gone
	if s.next != nil {
		s.next.f.Close()
	}
}
