package heat

import "time"

// coming is the load of a start that has yet to begin: a start without memory reads the log first. It can be paused and cancelled like
// one that runs.
//
//	waiting ──Pause──▶ paused ──Resume──▶ waiting ──Run──▶ a load, paused if it was
//	   └──────Cancel, Load────┴──────────▶ cancelled
type coming struct {
	state State // "": there is none, or it has begun
	ended time.Time
}

// Expect says that Run is going to begin a load.
func (w *Warmer) Expect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coming.state = StateWaiting
}

// steer changes the state of a coming load, if it is one of from. False: it is not.
func (w *Warmer) steer(to State, from ...State) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range from {
		if w.coming.state == s {
			w.coming = coming{to, time.Now()}
			return true
		}
	}
	return false
}

// is says whether the coming load is in that state.
func (w *Warmer) is(s State) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.coming.state == s
}

// arrive ends the waiting with the load, or with nil when there is nothing to load. False: it was cancelled. Until here it could be
// steered, also while its dump was read; w.mu is held.
func (w *Warmer) arrive(l *load) (wanted bool) {
	switch w.coming.state {
	case StateCancelled:
		return false
	case StatePaused:
		if l != nil {
			l.pause()
		}
	}
	w.coming = coming{}
	return true
}

// fill tells of a load that has not begun; w.mu is held.
func (c coming) fill(s *Status, began time.Time) {
	s.State, s.Started, s.Took = c.state, began, time.Since(began)
	if c.state == StateCancelled {
		s.Took = c.ended.Sub(began)
	}
}
