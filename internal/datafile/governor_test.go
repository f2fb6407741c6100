package datafile

import (
	"testing"
	"time"
)

// A miss that waits for a processor does not wait for the disk: three readers who are late to hear of what the disk has long answered
// leave it to the load, three who wait for the disk do not. Where nothing is seen of single reads, all that a miss takes counts.
func TestProcessorsAreNotTheDisk(t *testing.T) {
	for _, c := range []struct {
		name        string
		reads, disk int // under way, and of these on the disk
		want        situation
	}{
		{"the disk is busy", 3, 3, contended},
		{"the processors are busy", 3, 0, light},
		{"a little of both", 10, 1, light},
		{"mostly the disk", 3, 2, contended},
		{"no samples", 0, 0, contended},
	} {
		counts, sched := new([classes]counters), newScheduler()
		g := newGovernor(counts, sched)
		g.inFlightNow = func() (int, int) { return c.reads, c.disk }
		sched.lanes[ClassMiss].inFlight.Store(3)
		miss, now := &counts[ClassMiss], time.Unix(1, 0)
		for range 2000 { // two seconds, of which each of three readers misses all the time, 2 ms each
			now = now.Add(time.Millisecond)
			miss.busy.Add(int64(3 * time.Millisecond))
			miss.reads.Add(1)
			miss.bytesRead.Add(16 << 10)
			if size, _, _ := g.admit(now, 0); size > 0 {
				g.done(now, size, size)
			}
		}
		if g.situation != c.want {
			t.Errorf("%s: situation is %s, want %s", c.name, situationNames[g.situation], situationNames[c.want])
		}
	}
}
