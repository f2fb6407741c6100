package datafile

import "github.com/hearthdb/hearth/internal/page"

// judge finds out how many bytes a second the disk can move beside contending misses without hurting them: the budget.
//
// It begins with little more than what the misses take, and raises that until they are hurt. Whether they are is a comparison of two
// neighbouring moments: one beside the load, and a pause of it, the probe. They are hurt when beside the load fewer of them
// end and they take longer; both, since readers who have all they want also miss less, and readers who come at their own
// pace wait a little longer and read as much as before. They are hurt as well when they take longer by more than a person would forgive.
//
//	probe ──▶ raise fast, every judgeTicks ──suspicion──▶ probe ──not hurt──▶ go on
//	                                                        └──hurt──▶ less; after a rest raise slowly ──suspicion──▶ probe …
type judge struct {
	budget float64 // bytes a second; 0 before the first probe
	around float64 // pages a miss should read; 1: itself

	probe     bool    // under way
	known     bool    // something is: this is not the first probe
	before    span    // what happened beside the load before it
	alone     span    // what happened in the last probe
	calm      int     // ticks of the probe, not the first, since the last that was not like the one before
	rest      int     // ticks since the mark until the next judgement
	age       int     // ticks since the last probe
	slow      bool    // the budget was too large once
	crowded   bool    // misses wait for processors, see span.crowded
	suspected bool    // at the last look
	stalls    int     // looks in a row that told nothing, for the machine stalled
	step      float64 // see raiseSlow
	knee      float64 // the budget when it was lowered last

	earned float64 // part of the wanted pages that the load has brought: so much less is missed

	// What is known of the disk; 0: nothing yet.
	mostOps   float64 // reads a second, the most seen beside contending misses
	mostBytes float64 // bytes a second, the most seen
	opBytes   float64 // bytes that take as long as an operation
	bound     Bound
}

// Bound is what holds contending misses back.
type Bound uint8

const (
	BoundUnknown    Bound = iota
	BoundOps              // operations a second
	BoundBytes            // bytes a second
	BoundProcessors       // nothing of the disk's
)

const (
	// judgeTicks is how many ticks are judged together.
	judgeTicks = 5
	// probeTicks is how long a probe is at least; in the first of them ends what the load had begun. It lasts until as many operations ended in
	// one as in the one before, but for chance, and pastTicks at most.
	probeTicks = 3
	// stallTicks: a judgement waits for so many ticks at most until a tick is like the one before. A machine that stalls makes operations
	// late and then many at once; between the two nothing can be told.
	stallTicks = 3
	// mostStalls: after so many looks in a row that told nothing because the machine stalled, the next one counts.
	mostStalls = 3
	// leastMisses tell something about misses.
	leastMisses = 64
	// probeEvery is how old, in ticks, a probe may get.
	probeEvery = 120
	// surprise: so many times the most operations seen are looked at longer.
	surprise = 1.1
	// youngTicks: a probe younger than that is believed without another one.
	youngTicks = 15
	// patience: misses are hurt when they take so much longer than alone, and so many fewer of them end. opsShare alone costs
	// 0.03. No second of a start with a load shall serve less than 0.9 of what one without it does.
	patience = 0.05
	// tooLong, in seconds, is how much longer they may take whatever their number.
	tooLong = 0.005
	// The budget is beginWith times what the misses took alone, at least. It is multiplied by raiseFast until it is too much, then by lower
	// and, from nearKnee of what was left then, raised by raiseSlow of itself, twice as much each time that does no harm.
	beginWith, raiseFast, raiseSlow, lower, nearKnee = 1.2, 1.25, 0.02, 0.96, 0.95
	// Beyond farFrom times what the misses took alone, raiseNear is the step instead: with neighbours a budget that is too large takes from
	// the misses at once.
	farFrom, raiseNear = 2, 1.05
	// mostSlow bounds what raiseSlow grows to.
	mostSlow = 0.06
	// fastTicks is how many ticks are judged together while it is raised fast.
	fastTicks = 3
	// aboveMost: once it was too much it is raised no further than to so many times what the disk has shown. What it cannot move makes
	// misses wait, until they are hurt and it is lowered again.
	aboveMost = 1.05
	// restTicks: after it was lowered the budget stays for so many ticks.
	restTicks = 15
	// mostEarned bounds the patience that a load earns by the misses that it spares.
	mostEarned = 0.10
	// used: a budget is raised only if so much of it was used; slowly only, if it was less than nearlyUsed.
	used, nearlyUsed = 0.9, 0.95
	// Of a budget that is aroundFrom times what misses take alone or more, aroundShare of what lies beyond goes to the neighbours of
	// misses, which is nearly all when the disk is full: a neighbour costs no operation, makes no queue, and is not there yet, where the
	// load reads through pages that are. But those whom nobody misses the neighbours of would never come; and while little is to be had,
	// a load is easier to stop than readers are whose every read is longer.
	aroundFrom, aroundShare, aroundMost = 1.4, 1.15, 0.85
	// fullBytes: a disk that moves less than so much of the most that it has moved is not short of bytes.
	fullBytes = 0.7
	// alike are numbers that differ by less.
	alike = 0.96
	// mostAround bounds the neighbours, in pages.
	mostAround = 16
)

func (j *judge) probing() bool { return j.probe }

// tickOver looks at the tick that has just ended.
func (j *judge) tickOver(h *history, s situation, entered bool) {
	j.age++
	j.mostBytes = max(j.mostBytes, h.mean(pastTicks).bytes())
	j.around = 1
	if s != contended {
		j.probe, j.crowded = false, false
		return
	}
	was := j.crowded
	if j.crowded = h.mean(judgeTicks).crowded(was); j.crowded {
		j.probe, j.alone, j.known = false, span{}, true // the grower has the word
		return
	}
	switch {
	case was, entered:
		j.alone = span{}
		j.begin(h, span{})
	case j.probing():
		n := h.since()
		if j.calm = min(j.calm+1, n-1); n > 2 && !h.steady() {
			j.calm = 1
		}
		if alone := h.mean(j.calm); j.calm >= probeTicks-1 && enough(alone) && j.plausible(alone) {
			j.compare(h, alone)
		} else if n >= pastTicks || n > judgeTicks && !j.known { // the first look is corrected by the next one
			j.compare(h, h.mean(n-1))
		}
	case h.since() >= j.rest && enough(h.recent(judgeTicks)) && (h.steady() || j.fine(h) || h.since() >= j.rest+stallTicks):
		j.look(h)
	}
	if base := j.missOps(h) * page.Size; base > 0 && !j.probing() && j.bound != BoundBytes {
		wide := j.budget / base
		j.around = max(min(1+aroundShare*max(wide-aroundFrom, 0), aroundMost*wide, mostAround), 1)
	}
}

// fine says whether the budget was never too large, and misses are not even suspected to be hurt: then it need not be known for sure.
func (j *judge) fine(h *history) bool { return !j.slow && !j.hurt(h.recent(h.since()), 1) }

// enough says whether there were misses enough to judge by, or none will come soon.
func enough(m span) bool { return m.misses >= leastMisses || m.took >= pastTicks*tickLen*9/10 }

// plausible says whether no more operations ended than the disk has ever shown, or little more. A machine that was busy otherwise
// makes a disk look faster behind a pause than it is; a longer look does not.
func (j *judge) plausible(alone span) bool {
	return j.mostOps == 0 || alone.ops() <= surprise*j.mostOps
}

// begin begins a probe, before which things were as told.
func (j *judge) begin(h *history, before span) {
	j.before, j.probe, j.calm, h.mark = before, true, 0, h.ticks
}

// compare is the end of a probe, in which things were as told.
func (j *judge) compare(h *history, alone span) {
	j.alone, j.probe, j.known, j.age, j.rest, h.mark = alone, false, true, 0, fastTicks, h.ticks
	j.mostOps = max(j.mostOps, j.alone.ops())
	switch {
	case j.budget == 0:
		j.budget = beginWith * j.alone.bytes()
	case j.before.took > 0 && j.hurt(j.before, 1):
		j.lower()
	}
}

// lower makes the budget what was read when misses were hurt, less a little. Where operations are what is short, a little more than
// misses take does not hurt; where bytes are, every byte of the load is one that they do not get, and it is left with its floor.
func (j *judge) lower() {
	j.weigh()
	least := beginWith
	if j.bound == BoundBytes {
		least = 1
	}
	j.budget = max(min(j.budget, j.before.bytes())*lower, least*j.alone.bytes())
	j.slow, j.knee, j.step, j.rest, j.suspected = true, j.budget, raiseSlow, restTicks, false
}

// weigh finds out what operations cost beside bytes. Before the probe and in it the disk was as busy as it can be:
// a*ops + b*bytes was 1 both times, a and b what one of them takes. If both times were alike they tell nothing.
func (j *judge) weigh() {
	o0, b0, o1, b1 := j.alone.ops(), j.alone.bytes(), j.before.ops(), j.before.bytes()
	if o1 > alike*o0 && b0 > alike*b1 {
		return
	}
	det := o0*b1 - o1*b0
	a, b := max((b1-b0)/det, 0), max((o0-o1)/det, 0)
	if b0 < fullBytes*j.mostBytes {
		j.bound = BoundOps // whatever the two moments say: misses alone are far from all the bytes that it can move
		if a > 0 && b > 0 {
			j.opBytes = min(a/b, mostRead)
		}
		return
	}
	switch {
	case det <= 0 || a == 0: // fewer operations and not more bytes: only bytes count
		j.opBytes, j.bound = 1, BoundBytes
		return
	case b == 0:
		j.opBytes = mostRead
	default:
		j.opBytes = min(a/b, mostRead)
	}
	j.bound = BoundOps
	if a*o0 < b*b0 {
		j.bound = BoundBytes
	}
}

// look judges the last ticks beside the load.
func (j *judge) look(h *history) {
	ticks := judgeTicks
	if !j.slow {
		ticks = fastTicks
	}
	if j.stalls < mostStalls && h.stalled(h.since()) && !j.fine(h) {
		j.stalls++
		j.rest, h.mark = ticks, h.ticks
		return
	}
	j.stalls = 0
	m := h.recent(max(ticks, h.since()))
	if j.bound == BoundBytes && m.bytes() > j.alone.bytes()/alike {
		j.bound, j.opBytes, j.knee = BoundUnknown, 0, 0 // it moves more than it did: bytes were not what was short
	}
	suspect := j.hurt(m, 1)
	again := suspect && j.suspected || j.hurt(m, 2) // a little, once, may be noise: a busy machine makes misses late as well
	j.suspected = suspect
	switch {
	case j.age > probeEvery, again && j.age >= youngTicks:
		j.begin(h, m)
		return
	case again:
		j.before, h.mark = m, h.ticks
		j.lower()
		return
	case suspect: // not more, for now
	case m.bytes() < used*j.budget:
	default:
		j.raise(m)
	}
	j.mostOps = max(j.mostOps, h.mean(pastTicks).ops())
	j.rest, h.mark = ticks, h.ticks
}

// overdone is told when it was the load alone that made misses wait most of the time.
func (j *judge) overdone() {
	j.slow, j.around = true, 1
}

// raise lets more be read than what is read now. Near what was too much before, and near what the disk may be able to do, it goes slowly.
func (j *judge) raise(now span) {
	if j.knee == 0 || j.budget < nearKnee*j.knee {
		step := raiseFast
		switch {
		case now.bytes() < nearlyUsed*j.budget:
			step = 1 + raiseSlow
		case j.budget > farFrom*j.alone.bytes():
			step = raiseNear
		}
		j.budget *= step
		return
	}
	j.budget = max(j.budget, min(j.budget*(1+j.step), aboveMost*j.mostBytes))
	j.step = min(2*j.step, mostSlow) // each time that does no harm it is less likely that the harm before was ours
}

// hurt says whether misses beside the load are worse off than alone, by so many times what they can bear. Those whom it has spared their misses are better off, so the
// more the load has brought, the more it may ask for: what counts are the reads that are served.
func (j *judge) hurt(beside span, times float64) bool {
	if j.alone.misses == 0 || beside.misses == 0 {
		return false
	}
	if beside.ops() < alike*j.alone.ops() && beside.bytes() < alike*j.alone.bytes() {
		return false // fewer operations and fewer bytes: it is not the load that slows the disk or the machine
	}
	much := times * (patience + min(j.earned, mostEarned))
	return beside.latency() > j.alone.latency()*(1+much) &&
		(beside.missOps() < j.alone.missOps()*(1-much) || beside.latency() > j.alone.latency()+tooLong)
}

// missOps is how many misses a second want to be: also those that are not beside the load.
func (j *judge) missOps(h *history) float64 {
	return max(h.recent(judgeTicks).missOps(), j.alone.missOps())
}

// missBytes is how many bytes they want to read, with their neighbours.
func (j *judge) missBytes(h *history) float64 {
	each := max(j.around, 1) * page.Size
	if m := h.recent(judgeTicks); m.misses > 0 {
		each = float64(m.missBytes) / float64(m.misses)
	}
	return j.missOps(h) * each
}
