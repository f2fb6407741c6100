package datafile

import (
	"math/rand/v2"
	"runtime"
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
				g.done(now, now, size, size)
			}
		}
		if g.situation != c.want {
			t.Errorf("%s: situation is %s, want %s", c.name, situationNames[g.situation], situationNames[c.want])
		}
	}
}

// crowd is readers, and a disk of 1 GB/s, whose answers are late by as much as it is busy. Each reader needs the disk, then processors, then misses again.
type crowd struct {
	readers    float64
	answers    time.Duration // of the disk, when it has nothing else to do
	processors time.Duration // between two misses of a reader, in all
	hears      time.Duration // of that, until it hears that the disk has answered
	work       float64       // seconds of a processor for a byte that the load has read
	idle       float64       // processors that have nothing to do

	g       *governor
	counts  *[classes]counters
	now     time.Time
	dice    *rand.Rand
	began   []time.Time // of reads of the load
	ends    []time.Time
	sizes   []int
	busFree time.Time
	missing float64 // part of a miss that is not over
	busy    float64 // part of its time that the disk moved bytes of the load, lately
}

const crowdDisk = 1e9

// answer is how long a miss takes on the disk.
func (c *crowd) answer() time.Duration {
	return time.Duration(float64(c.answers) / (1 - min(c.busy, 0.98)))
}

// begin makes the governor of the disk, and returns when that was.
func (c *crowd) begin() time.Time {
	now := time.Unix(1, 0)
	c.counts, c.dice = new([classes]counters), rand.New(rand.NewPCG(1, 2))
	c.g = newGovernor(c.counts, newScheduler())
	c.g.inFlightNow = func() (reads, disk int) {
		rate := c.readers / (c.answer() + c.processors).Seconds()
		return c.some(rate * (c.answer() + c.hears).Seconds()), c.some(rate * c.answer().Seconds())
	}
	c.g.idleNow = func() (idle, all int64) {
		ms := c.now.UnixMilli()
		return int64(c.idle * float64(ms)), int64(runtime.NumCPU()) * ms
	}
	c.g.sched.lanes[ClassMiss].inFlight.Store(1)
	c.now = now
	return now
}

// some is n, or its neighbour, so that it is n on average.
func (c *crowd) some(n float64) int {
	whole := int(n)
	if c.dice.Float64() < n-float64(whole) {
		whole++
	}
	return whole
}

// step lets a millisecond pass, at the end of which it is now. It returns how many misses ended.
func (c *crowd) step(now time.Time) float64 {
	const step = time.Millisecond
	answer := c.answer()
	misses := c.readers * float64(step) / float64(answer+c.processors)
	miss, load := &c.counts[ClassMiss], &c.counts[ClassPrewarm]
	c.missing += misses
	for ; c.missing >= 1; c.missing-- {
		miss.reads.Add(1)
		miss.bytesRead.Add(16 << 10)
		miss.busy.Add(int64(answer + c.hears))
	}
	for len(c.ends) > 0 && c.ends[0].Before(now) {
		work := time.Duration(c.work * float64(c.sizes[0]) * 1e9)
		load.reads.Add(1)
		load.bytesRead.Add(uint64(c.sizes[0]))
		load.busy.Add(int64(c.ends[0].Sub(c.began[0])))
		c.g.done(c.began[0], c.ends[0].Add(work), c.sizes[0], c.sizes[0])
		c.began, c.ends, c.sizes = c.began[1:], c.ends[1:], c.sizes[1:]
	}
	c.now = now
	asked := 0
	for {
		size, _, _ := c.g.admit(now, 0)
		if size == 0 {
			break
		}
		if c.busFree.Before(now) {
			c.busFree = now
		}
		c.busFree = c.busFree.Add(time.Duration(float64(size) / crowdDisk * 1e9))
		c.began, c.ends, c.sizes = append(c.began, now), append(c.ends, c.busFree), append(c.sizes, size)
		asked += size
	}
	c.busy += (float64(asked)/(crowdDisk*step.Seconds()) - c.busy) / 50
	return misses
}

// Where readers wait for processors the load takes what the disk has left, until its answers take twice as long; where they wait for the disk it does not; and
// it never takes more of the processors than its part.
func TestLoadBesideBusyProcessors(t *testing.T) {
	const seconds, soon = 12, 200 * time.Microsecond
	procs := float64(runtime.GOMAXPROCS(0))
	for _, c := range []struct {
		name        string
		crowd       crowd
		least, most float64 // bytes a second that the load reads in the end
		served      float64 // of the misses without a load, at least
	}{
		{"processors are busy", crowd{readers: 16, answers: soon, processors: 900 * time.Microsecond, hears: 200 * time.Microsecond}, 300e6, 800e6, 0.7},
		{"the disk is busy", crowd{readers: 16, answers: soon, processors: 20 * time.Microsecond, hears: 5 * time.Microsecond, idle: 1}, 0, 400e6, 0.8},
		{"a fast disk, and nobody is busy", crowd{readers: 4, answers: 60 * time.Microsecond, processors: 25 * time.Microsecond, hears: 20 * time.Microsecond, idle: 1},
			0, 400e6, 0.88},
		{"both, and others on the processors", crowd{readers: 16, answers: 5 * time.Millisecond, processors: 2 * time.Millisecond, hears: 2 * time.Millisecond}, 0, 200e6, 0.85},
		{"the load's own work", crowd{readers: 16, answers: soon, processors: 900 * time.Microsecond, hears: 200 * time.Microsecond, work: procs / 1e9}, 60e6, 200e6, 0.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.crowd
			now, all := w.begin(), 0.0
			var last uint64
			for i := range seconds * 1000 {
				if i == (seconds-4)*1000 {
					last, all = w.counts[ClassPrewarm].bytesRead.Load(), 0
				}
				now = now.Add(time.Millisecond)
				all += w.step(now)
			}
			rate := float64(w.counts[ClassPrewarm].bytesRead.Load()-last) / 4
			alone := w.readers / (w.answers + w.processors).Seconds() * 4
			t.Logf("the load reads %.0f MB/s beside %.2f of the misses that there would be without it", rate/1e6, all/alone)
			if rate < c.least || rate > c.most {
				t.Errorf("the load reads %.0f MB/s, want %.0f to %.0f", rate/1e6, c.least/1e6, c.most/1e6)
			}
			if all < c.served*alone {
				t.Errorf("%.2f of the misses end that would without a load, want %.2f", all/alone, c.served)
			}
		})
	}
}

// A disk that becomes eight times slower for reasons of its own is not held to what it was: a load beside misses that come and go, at first told to read less,
// goes on.
func TestDiskThatBecomesSlower(t *testing.T) {
	for _, c := range []struct {
		name  string
		crowd crowd
	}{
		{"misses come and go", crowd{readers: 1, answers: 80 * time.Microsecond, processors: 3 * time.Millisecond, hears: 10 * time.Microsecond, idle: 1}},
		{"processors are busy", crowd{readers: 16, answers: 80 * time.Microsecond, processors: 900 * time.Microsecond, hears: 400 * time.Microsecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.crowd
			now := w.begin()
			read := func(seconds int) float64 {
				before := w.counts[ClassPrewarm].bytesRead.Load()
				for range seconds * 1000 {
					now = now.Add(time.Millisecond)
					w.step(now)
				}
				return float64(w.counts[ClassPrewarm].bytesRead.Load()-before) / float64(seconds)
			}
			read(8)
			fast := read(4)
			w.answers *= 8
			read(16)
			if slow := read(4); slow < fast/3 {
				t.Errorf("the load reads %.0f MB/s from a disk that has become slower, want at least a third of the %.0f before", slow/1e6, fast/1e6)
			} else {
				t.Logf("%.0f MB/s, and %.0f", fast/1e6, slow/1e6)
			}
		})
	}
}
