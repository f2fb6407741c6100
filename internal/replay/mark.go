package replay

// Mark is a place in the input to go on from: everything before it is accounted for.
type Mark struct {
	seq    int64
	Offset int64  // in the stream, of the next entry
	Token  string // of the input, where it has such
}

// markList knows the marks of what is under way, in the order of the input. It is guarded by the queue.
type markList struct {
	open []openMark
	last Mark // behind everything that ever came
}

type openMark struct {
	Mark
	done bool
}

// add notes a job that begins at m.
func (l *markList) add(m Mark) { l.open = append(l.open, openMark{Mark: m}) }

// done notes that it has ended.
func (l *markList) done(m Mark) {
	if len(l.open) == 0 {
		return
	}
	if i := int(m.seq - l.open[0].seq); i >= 0 && i < len(l.open) {
		l.open[i].done = true
	}
	for len(l.open) > 0 && l.open[0].done {
		l.open = l.open[1:]
	}
}

// at is where to go on: before the oldest job that has not ended.
func (l *markList) at() Mark {
	if len(l.open) > 0 {
		return l.open[0].Mark
	}
	return l.last
}
