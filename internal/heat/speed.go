package heat

import "time"

// speed knows how fast a load was over the last seconds.
type speed struct {
	samples [speedSamples]struct {
		at          time.Time
		bytes, seen int64
	}
	n int
}

// speedSamples is how many samples speed looks back: 3 s of them.
const speedSamples = int(3 * time.Second / sampleEvery)

func (s *speed) note(at time.Time, bytes, seen int64) {
	x := &s.samples[s.n%speedSamples]
	x.at, x.bytes, x.seen = at, bytes, seen
	s.n++
}

// rates are bytes and pages a second; 0 when it is too early to say.
func (s *speed) rates() (bytes, pages float64) {
	if s.n < 2 {
		return 0, 0
	}
	last := s.samples[(s.n-1)%speedSamples]
	first := s.samples[max(s.n-speedSamples, 0)%speedSamples]
	d := last.at.Sub(first.at).Seconds()
	if d <= 0 {
		return 0, 0
	}
	return float64(last.bytes-first.bytes) / d, float64(last.seen-first.seen) / d
}
