package datafile

import "context"

// Turn is leave to do one operation of a class that may be held back, and how large it may be.
type Turn struct {
	Pages int // the operation should read no more, in pages
	Free  int // so many pages take as long as an operation does: reading through a shorter gap is cheaper than a second operation

	set   *Set
	class Class
}

// Turn waits for the turn of a class that may be held back. Every Turn without error is followed by Done.
func (s *Set) Turn(ctx context.Context, class Class) (Turn, error) {
	if err := s.sched.enter(ctx, class); err != nil {
		return Turn{}, err
	}
	return Turn{Pages: 16, Free: 2, set: s, class: class}, nil
}

// Done ends the turn.
func (t Turn) Done() { t.set.sched.leave(t.class) }

// Around is how many pages a miss should read when its neighbours are wanted too; 1: itself.
func (s *Set) Around() int { return 1 }
