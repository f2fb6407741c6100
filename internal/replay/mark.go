package replay

// markList knows where in the input the statements under way begin, in the order of the input, so that a checkpoint names a
// place before which everything is accounted for. It is guarded by the queue.
type markList struct {
	open []mark
	last Place // behind everything that ever came
}

type mark struct {
	seq   int64
	place Place
	done  bool
}

// add notes a job that begins at a place.
func (l *markList) add(seq int64, p Place) { l.open = append(l.open, mark{seq: seq, place: p}) }

// done notes that it has ended.
func (l *markList) done(seq int64) {
	if len(l.open) == 0 {
		return
	}
	if i := seq - l.open[0].seq; i >= 0 && i < int64(len(l.open)) {
		l.open[i].done = true
	}
	for len(l.open) > 0 && l.open[0].done {
		l.open = l.open[1:]
	}
}

// at is where to go on: before the oldest job that has not ended.
func (l *markList) at() Place {
	if len(l.open) > 0 {
		return l.open[0].place
	}
	return l.last
}
