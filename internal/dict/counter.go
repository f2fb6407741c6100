package dict

import "context"

// NextAuto returns the next value of the AUTO_INCREMENT counter of t: the smallest above all so far that is offset plus a multiple
// of increment (auto_increment_increment, auto_increment_offset; both at least 1; an offset above the increment is ignored). If
// given is not 0 it is the value that a row brings along: the counter goes there if it was below, and given is returned.
// ErrAutoIncrement: the type of the column has no such value any more. What was handed out is not given back by a rollback.
func (d *Dict) NextAuto(ctx context.Context, t *Table, given, increment, offset uint64) (uint64, error) {
	panic("BUG: not written yet")
}

// PeekAuto returns what NextAuto would return with increment and offset 1, without taking it; 0 if there is none any more.
func (d *Dict) PeekAuto(t *Table) uint64 { panic("BUG: not written yet") }
