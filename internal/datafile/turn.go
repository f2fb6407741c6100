package datafile

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

// Turn is leave for a load of the heat dump to do one read, and how large it should be.
type Turn struct {
	Pages int // it should be no larger
	Free  int // so many pages take as long as an operation does: reading through a gap that is shorter beats a second read

	g     *governor
	size  int
	began time.Time
}

// Turn waits until a load may do a read. earned is the part of the wanted pages that it has brought so far. Every Turn without error
// is followed by Done.
func (s *Set) Turn(ctx context.Context, earned float64) (Turn, error) {
	select {
	case s.turnstile <- struct{}{}:
		defer func() { <-s.turnstile }()
	case <-ctx.Done():
		return Turn{}, ctx.Err()
	}
	for {
		if err := ctx.Err(); err != nil {
			return Turn{}, err
		}
		now := time.Now()
		size, free, again := s.gov.admit(now, earned)
		if size > 0 {
			return Turn{Pages: size / page.Size, Free: free, g: s.gov, size: size, began: now}, nil
		}
		select {
		case <-ctx.Done():
			return Turn{}, ctx.Err()
		case <-s.gov.ended:
		case <-time.After(again):
		}
	}
}

// Done ends the turn, with so many bytes read.
func (t Turn) Done(read int) { t.g.done(t.began, time.Now(), t.size, read) }

// Hold lets no read of a load begin until release: something is read that comes before all loads. What the disk does meanwhile tells the
// governor nothing, for it is not asked.
func (s *Set) Hold(ctx context.Context) (release func(), err error) {
	select {
	case s.turnstile <- struct{}{}:
		return func() { <-s.turnstile }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Around is how many pages a miss should read when its neighbours are wanted too; 1: itself. It is a power of two, so that blocks lie in
// one another, and not the same for all misses.
func (s *Set) Around() int {
	around := s.gov.around.Load()
	n := int32(1) << (bits.Len32(uint32(around/aroundUnit)) - 1)
	if rand.Int32N(n*aroundUnit) < around-n*aroundUnit {
		n *= 2
	}
	return int(n)
}

// SetFloor says how many percent of the bytes that the disk moves a load gets at least.
func (s *Set) SetFloor(percent int) { s.gov.floor.Store(int64(percent)) }
