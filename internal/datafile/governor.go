package datafile

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// governor decides how much a load of the heat dump may ask of the disk. It knows nothing of the disk but what it sees: how many
// misses end, how long they take, how many bytes move. Reading ahead counts as missing: somebody is going to wait for it.
//
// # Situations
//
//	idle       no miss for a while: the load has the disk for itself, and fills it
//	light      misses come and go: the load reads a little less than the disk can, one read at a time while misses are about
//	contended  a miss is on the disk most of the time: the load is rationed, unless it is processors that hold misses up
//
//	idle ──miss──▶ light ──misses most of the time──▶ contended ──seldom, or only for the load──▶ light ──none for idleAfter──▶ idle
//
// # The ration
//
// Beside busy readers a load gets few operations, opsShare of their number, for readers that wait for single pages want operations.
// It gets many bytes with each, for those are what such readers leave over: cloud volumes have a limit for either. How many
// bytes the disk can move without a miss noticing is the budget (see judge.go).
//
// # Processors
//
// Where there is always a reader who waits for a processor, to hear that the disk has answered, a slower answer of the disk costs nobody anything: this
// is what most servers look like whose clients want all they can get from a fast disk. Then there is no ration. The load reads more and more, until misses
// take twice as long on the disk as they did, or its own work takes too much of the processors (see grow.go). A disk that is asked for too much
// answers later, readers wait for it and no longer for processors, and the ration is back.
//
// # The floor
//
// Whatever the misses do, the load gets its floor, a part of all bytes that the disk moves, in every second: what it lacks to
// its floor in the second that ends now is due, and is read whatever the ration says, also while a probe holds it back (see judge.go).
//
// Latencies of single operations say little: a volume that is held to 3000 operations a second may do 300 of them in the first
// 10 ms of a tenth of a second and let the next one wait for 90. So all is judged by means over some tenths of a second.
type governor struct {
	counters    *[classes]counters
	sched       *scheduler
	around      atomic.Int32             // pages a miss should read
	floor       atomic.Int64             // percent
	inFlightNow func() (reads, disk int) // of single pages, see file.InFlight
	idleNow     func() (idle, all int64) // of processors, see there

	mu        sync.Mutex // guards what follows
	situation situation
	history   history
	judge     judge
	grower    grower

	lastMiss time.Time // when one was last seen
	filled   time.Time // when tokens were last added
	tokens   float64   // bytes the load may read now
	credit   float64   // operations it may begin now
	missed   int64     // misses that credit was given for
	inFlight int       // reads of the load
	flying   int       // bytes of those
	asked    time.Time // when a load last asked
	hungry   int       // ticks that ended since one began to ask

	lightPart float64 // see lightMost
	idle, all int64   // of processors, at the end of the last tick

	sampled              time.Time
	readNanos, diskNanos int64 // see totals
	turnNanos            int64 // of reads that ended, from their leave to their end

	ended chan struct{} // has room for one: a read ended, ask again
}

type situation uint8

const (
	idle situation = iota
	light
	contended
)

const (
	// contendedAt and lightAt are misses on the disk, on average, from where on, and below which, it is contended.
	contendedAt, lightAt = 0.5, 0.3
	// idleAfter is how long no miss must have been seen for the disk to be idle; quietAfter, for a pause between two.
	idleAfter, quietAfter = time.Second, time.Millisecond
	// opsShare is how many operations the load gets for a miss, which costs the misses as much of their number; earnedShare is what it
	// gets besides, times what it has earned (see judge.hurt).
	opsShare, earnedShare = 1. / 32, 0.6
	// leastRead and mostRead bound a read of the load beside contending misses, in bytes. Below, operations cost more than bytes;
	// above, nothing is gained. smallRead is for disks so slow that leastRead would be seldom.
	smallRead, leastRead, mostRead = 64 << 10, 256 << 10, 1 << 20
	// leastFree, in bytes, is what an operation beside contending misses is worth at least, unless bytes are what is short.
	leastFree = 128 << 10
	// idleRead and lightRead are its size otherwise.
	idleRead, lightRead = 512 << 10, 256 << 10
	// idleDepth, lightDepth and contendedDepth are how many reads of the load are on the disk at a time.
	idleDepth, lightDepth, contendedDepth = 8, 2, 8
	// queueTime bounds the bytes that are in flight on an idle disk, by its speed: a miss that comes now waits for them.
	queueTime = 30 * time.Millisecond
	// lightMost is the part of what a disk has shown beside contending misses, bytes and operations, that all may use in light situations
	// afterwards; it shrinks by lightShrink when that makes misses wait.
	lightMost, lightShrink = 0.9, 0.9
	// lightMend is what it recovers by in each tick of a light situation: 0.5 % in a second.
	lightMend = 1.0005
	// forgetAfter: what was found out for a load is of no use for one that begins so long after it.
	forgetAfter = time.Minute
	// burst is how much of its ration a load may save up while the disk does not answer.
	burst = 150 * time.Millisecond
	// dueReads is in how many reads a second a load gets its floor, at least where smallRead allows it.
	dueReads = 4
	// aboveFloor is how much more than a small floor is aimed at.
	aboveFloor = 0.2
	// aroundUnit: one miss in so many may read a page more than others.
	aroundUnit = 256
	// askAgain is how long a load that must wait for something else than time waits at most.
	askAgain = 2 * time.Millisecond
	// defaultFree is how many pages cost as much as an operation, while nothing is known about the disk.
	defaultFree = 2
)

func newGovernor(c *[classes]counters, sched *scheduler) *governor {
	g := &governor{counters: c, sched: sched, lightPart: lightMost, inFlightNow: file.InFlight, idleNow: processors, ended: make(chan struct{}, 1)}
	g.around.Store(aroundUnit)
	g.floor.Store(DefaultFloor)
	return g
}

// DefaultFloor, in percent of the bytes that the disk moves, is what a load gets at least.
const DefaultFloor = 10

// admit says whether the load may begin a read, of how many bytes, and how many pages cost as much as an operation; else, how
// long to wait before it asks again. earned is the part of the wanted pages that it has brought.
func (g *governor) admit(now time.Time, earned float64) (size, free int, again time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.judge.earned = earned
	if now.Sub(g.asked) > forgetAfter && g.inFlight == 0 {
		g.judge, g.grower, g.lightPart = judge{earned: earned}, grower{}, lightMost
	}
	t := g.look(now)
	if g.inFlight == 0 && now.Sub(g.asked) > pastTicks*tickLen || g.judge.probing() && !g.judge.known && g.history.since() < judgeTicks {
		g.hungry = 0 // it was away, or nothing is known yet of misses alone, but not for so long that it costs the first second's floor
	}
	g.asked = now
	size, depth := g.shape()
	if g.inFlight >= depth {
		return 0, 0, askAgain
	}
	switch due := g.due(t); {
	case due > 0:
		size = min(size, due)
	case g.situation == light && g.inFlight > 0 && now.Sub(g.lastMiss) < quietAfter:
		return 0, 0, quietAfter
	case g.paused(), g.situation == light && g.history.ticks == 0:
		return 0, 0, askAgain
	case g.credit < 1 && g.rationed():
		return 0, 0, askAgain
	case g.situation != idle && g.tokens < float64(size):
		return 0, 0, askAgain
	}
	g.inFlight++
	g.flying += size
	g.tokens = max(g.tokens-float64(size), -float64(size))
	g.credit = max(g.credit-1, -1)
	return size, g.free(), 0
}

// rationed says whether the load gets operations in return for those of misses only: where they wait for the disk, or where they did, and operations were
// what it was short of.
func (g *governor) rationed() bool {
	return g.situation == contended && !g.judge.crowded || g.situation == light && g.judge.slow && g.judge.bound == BoundOps
}

// growing says whether the grower has the word.
func (g *governor) growing() bool {
	return g.situation == light && !g.judge.slow || g.situation == contended && g.judge.crowded
}

// paused says whether somebody wants to see misses alone.
func (g *governor) paused() bool {
	if g.growing() {
		return g.grower.paused
	}
	return g.situation == contended && g.judge.probing()
}

// done ends a read that was admitted with size, when it began, and has read so many bytes.
func (g *governor) done(began, now time.Time, size, read int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnNanos += int64(now.Sub(began))
	g.inFlight--
	g.flying -= size
	g.tokens += float64(size - read)
	if read == 0 {
		g.credit++
	}
	g.look(now)
	select {
	case g.ended <- struct{}{}:
	default:
	}
}

// look brings everything up to now, and returns the counters.
func (g *governor) look(now time.Time) totals {
	g.sample(now)
	t := totalsOf(g.counters)
	t.readNanos, t.diskNanos = g.readNanos, g.diskNanos
	t.idle, t.processors = g.idle, g.all
	if g.history.over(now) {
		t.idle, t.processors = g.idleNow()
		g.idle, g.all = t.idle, t.processors
	}
	t.workNanos = g.turnNanos - g.counters[ClassPrewarm].busy.Load()
	if t.misses != g.missed || g.sched.lanes[ClassMiss].inFlight.Load() > 0 || g.sched.lanes[ClassReadAhead].inFlight.Load() > 0 {
		g.lastMiss = now
		if g.situation == idle {
			g.situation = light
			g.tokens = 0
		}
	}
	if g.history.note(now, t) {
		g.tickOver(now)
	}
	g.fill(now, t)
	return t
}

// sample looks how many reads are under way, as often as a load asks.
func (g *governor) sample(now time.Time) {
	took := int64(min(now.Sub(g.sampled), tickLen))
	reads, disk := g.inFlightNow()
	g.readNanos += took * int64(reads)
	g.diskNanos += took * int64(disk)
	g.sampled = now
}

// tickOver is what is seen to once in a tick.
func (g *governor) tickOver(now time.Time) {
	was := g.situation
	g.hungry++
	switch waiting := g.history.mean(2).waiting(); {
	case waiting >= contendedAt:
		g.situation = contended
	case g.situation == contended && g.history.mean(judgeTicks).waiting() < lightAt:
		g.situation = light
	case g.situation == light && now.Sub(g.lastMiss) >= idleAfter:
		g.situation = idle
	}
	g.judge.tickOver(&g.history, g.situation, was != g.situation)
	if g.situation == contended && g.judge.alone.took > 0 && !g.judge.probing() && g.judge.alone.waiting() < lightAt {
		g.situation = light // it was the load itself that made misses wait
		g.lightPart *= lightShrink
		g.judge.overdone()
	}
	switch {
	case g.growing() && g.judge.slow:
		g.grower.tickOver(&g.history, g.lightPart*g.judge.mostBytes)
	case g.growing():
		g.grower.tickOver(&g.history, 0)
	case g.situation == light:
		g.lightPart = min(g.lightPart*lightMend, lightMost)
	}
	g.around.Store(int32(g.judge.around * aroundUnit))
}

// fill adds to the ration what time and misses have brought.
func (g *governor) fill(now time.Time, t totals) {
	took := now.Sub(g.filled).Seconds()
	credit := float64(t.misses-g.missed) * g.opsShare()
	if g.situation == light {
		credit = max(credit, (g.lightPart*g.judge.mostOps-g.history.mean(judgeTicks).missOps())*took)
	}
	g.credit = min(g.credit+credit, contendedDepth)
	g.missed = t.misses
	rate := g.rate()
	if g.paused() {
		rate = 0
	}
	g.tokens = min(g.tokens+rate*took, max(rate*burst.Seconds(), mostRead))
	g.filled = now
}

func (g *governor) opsShare() float64 {
	return opsShare + earnedShare*min(g.judge.earned, mostEarned)
}

// rate is how many bytes a second the load may read.
func (g *governor) rate() float64 {
	missing := g.history.mean(judgeTicks).missBytesRate()
	if g.situation == contended && !g.judge.crowded {
		missing = g.judge.missBytes(&g.history)
	}
	floor := g.aim()
	least := missing * floor / (1 - floor)
	budget := g.judge.budget
	switch {
	case g.situation == idle:
		return 1 << 40 // nobody knows better
	case g.growing():
		budget = g.grower.budget
	case g.situation == light:
		budget = g.lightPart * g.judge.mostBytes
	}
	return max(budget-missing, least)
}

// shape is the size of the next read in bytes, and how many may be in flight.
func (g *governor) shape() (size, depth int) {
	switch g.situation {
	case contended:
		size, depth = mostRead, contendedDepth
		if ops := g.judge.missOps(&g.history) * g.opsShare(); g.judge.crowded {
			size = idleRead
		} else if ops > 0 {
			rate := g.rate()
			// What is not spent, because some of the pages in a read are there already, makes the next reads larger.
			size = int(min(max(rate/ops, g.tokens/contendedDepth, leastRead), rate*burst.Seconds(), mostRead))
			size = max(size, smallRead)
		}
	case light:
		size, depth = lightRead, lightDepth
	default:
		fly := max(int(g.judge.mostBytes*queueTime.Seconds()), 4*smallRead)
		size = min(fly/2, idleRead)
		depth = min(max(fly/size, 2), idleDepth)
	}
	return size / page.Size * page.Size, depth
}

// due is of how many bytes a read has to be now, so that the load has its floor in the second that ends now; 0: it has it, with the reads
// that are on their way.
func (g *governor) due(t totals) int {
	if g.hungry == 0 {
		return 0
	}
	second := g.history.mean(min(pastTicks-1, g.hungry)).totals.add(t, 1).add(g.history.seen, -1)
	floor := g.aim()
	least := float64(second.missBytes) * floor / (1 - floor)
	lacks := least - float64(second.loadBytes) - float64(g.flying)
	if lacks <= 0 {
		return 0
	}
	return int(min(max(lacks, least/dueReads, smallRead), leastRead)) / page.Size * page.Size
}

// aim is the part of all bytes that the load is given at least: more than its floor, for a read that is admitted late ends in another
// second than the one that it was missing in, and the floor is to hold in every one.
func (g *governor) aim() float64 {
	floor := float64(g.floor.Load()) / 100
	return floor * (1 + aboveFloor*(1-floor))
}

// free is how many pages cost as much as an operation.
func (g *governor) free() int {
	known := g.judge.opBytes
	if g.situation == contended && g.judge.bound != BoundBytes {
		// Operations are what is short: whatever the disk may think of them, so many bytes are there for each.
		if ops := g.judge.missOps(&g.history) * g.opsShare(); ops > 0 {
			known = max(known, min(g.rate()/ops, mostRead), leastFree)
		}
	}
	if g.situation != idle && !g.rationed() {
		known = max(known, leastFree) // an operation costs processors more than a gap does, and nothing speaks for the disk being short of bytes
	}
	if known == 0 {
		return defaultFree
	}
	return max(int(known/page.Size+0.5), defaultFree) // less would make many small reads, which no disk likes
}
