package datafile

import "runtime"

// grower finds out how many bytes a second can be moved where it is not the disk that holds misses up: where they come and go, or where their readers
// wait for processors. It lets more and more be read, until misses take much longer on the disk than they did at best.
//
//	grow, every fastTicks ──misses slower──▶ cut ──and again, or stuck for long──▶ pause ──what they take without the load──▶ grow …
//
// The pause is for a disk that has become slower by itself: it is not held to what it was.
type grower struct {
	budget float64 // bytes a second, of misses and load together; 0: not begun
	best   float64 // seconds that a miss took on the disk at best, atOnce at least; 0: not known
	cuts   int     // in a row
	age    int     // ticks since the last growth, or pause
	paused bool    // nothing is loaded, to see misses alone
}

const (
	// beginAt, in bytes a second: even the slowest disk has time for so much.
	beginAt = 8 << 20
	// fewMisses in pastTicks tell something about misses, where they are rare.
	fewMisses = 16
	// The budget grows by growBy while misses take less than soon times as long on the disk as at best, and is cut by cutBy when they take more than
	// mostSlower times as long.
	growBy, cutBy, soon, mostSlower = 1.4, 1.2, 1.6, 2.2
	// atOnce, in seconds: a disk that answers sooner could be slower by as much, and no statement would notice.
	atOnce = 150e-6
	// mostWork is the part of all processors that a load may keep busy while readers wait for them.
	mostWork = 1. / 8
	// mostCuts in a row, and the next thing is a pause; so it is after stuckTicks in which misses were too slow for more.
	mostCuts, stuckTicks = 3, 100
)

// tickOver looks at the tick that has just ended. most is what the disk is known to move, if it was asked for too much before; 0: it never was.
func (w *grower) tickOver(h *history, most float64) {
	w.age++
	if w.budget == 0 {
		w.budget, h.mark = max(beginWith*h.mean(judgeTicks).bytes(), beginAt), h.ticks
		return
	}
	if h.since() < fastTicks {
		return
	}
	m := h.recent(h.since())
	if w.paused {
		w.best = took(h.recent(h.since() - 1)) // in the first tick ended what had begun
		w.paused, w.cuts, w.age, h.mark = false, 0, 0, h.ticks
		return
	}
	took := took(m, h.mean(pastTicks))
	h.mark = h.ticks
	if took > 0 && (w.best == 0 || took < w.best) {
		w.best = took
	}
	w.budget = max(w.budget, lightMost*m.bytes()) // what it was asked for while nobody missed anything
	switch {
	case took > mostSlower*w.best:
		w.cut(m)
	case m.crowded(true) && m.working() > mostWork*float64(runtime.GOMAXPROCS(0)):
		w.budget = max(min(w.budget, m.bytes())/cutBy, m.missBytesRate())
	case took > soon*w.best:
		w.paused = w.age > stuckTicks
	case m.bytes() > used*w.budget:
		w.budget *= growBy
		w.cuts, w.age = 0, 0
	}
	if most > 0 {
		w.budget = min(w.budget, most)
	}
}

// took is how many seconds misses took on the disk, by the first span that has enough of them; 0: none has.
func took(spans ...span) float64 {
	for i, m := range spans {
		if m.misses >= leastMisses || i > 0 && m.misses >= fewMisses {
			return max(m.diskLatency(), atOnce)
		}
	}
	return 0
}

// cut is what misses get when they take too long.
func (w *grower) cut(m span) {
	if w.cuts++; w.cuts > mostCuts {
		w.paused = true
		return
	}
	w.budget = max(min(w.budget, m.bytes())/cutBy, m.missBytesRate())
}
