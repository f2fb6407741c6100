package torture

import (
	"math/rand/v2"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/meddle"
)

// fate is what is to become of a life, drawn before it starts.
type fate struct {
	order  order
	meddle meddle.What
	moment moment
	at     float64 // of the time that the moment usually takes, at which part
}

// moment is the part of a life in which it is killed.
type moment string

const (
	momentStart moment = "start"   // before or while the database opens
	momentTell  moment = "reading" // while everything is read and losers are rolled back
	momentLoad  moment = "load"
	momentClose moment = "close" // while it closes in order
)

// phase says whether the database grows.
type phase string

const (
	phaseFill   phase = "fill" // large transactions that mostly put
	phaseGrow   phase = "grow"
	phaseMixed  phase = "mixed"
	phaseShrink phase = "shrink"
)

// phases take turns, a few lives each.
var phases = [...]phase{phaseFill, phaseMixed, phaseShrink, phaseGrow, phaseMixed, phaseShrink}

const livesPerPhase = 4

// deletes is how many of a hundred changes are deletes.
func (p phase) deletes() int {
	switch p {
	case phaseFill:
		return 3
	case phaseGrow:
		return 20
	case phaseShrink:
		return 85
	}
	return 50
}

// unfinishedInARow bounds how many lives in a row are killed before they are open. From the third on the engine throws
// the frames away, which is to be seen; from the sixth on the log in memory too, which nobody was promised to survive.
const unfinishedInARow = 4

// fates draws lives.
type fates struct {
	cfg        Config
	rnd        *rand.Rand
	dir        folders
	pool       int64
	unfinished int // lives in a row that were killed before they were open
}

func newFates(cfg Config, dir folders) *fates {
	f := &fates{cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 0)), dir: dir}
	f.pool = f.drawPool()
	return f
}

func (f *fates) chance(percent int) bool { return f.rnd.IntN(100) < percent }

func (f *fates) drawPool() int64 {
	switch {
	case f.cfg.Pool == 0 && f.chance(50):
		return smallPool
	case f.cfg.Pool == 0:
		return largePool
	case f.chance(15):
		return max(smallPool, f.cfg.Pool/2)
	case f.chance(15):
		return f.cfg.Pool + f.cfg.Pool/2
	}
	return f.cfg.Pool
}

func (f *fates) order(life int) order {
	cfg := &f.cfg
	if f.chance(30) {
		f.pool = f.drawPool()
	}
	o := order{
		Dir: f.dir.data, Memory: f.dir.memory, Journals: f.dir.journals,
		Pool: f.pool, Ring: ringUnit, Segment: segment, Log: logSegments * segment,
		Durability: cfg.Durability, Seed: cfg.Seed, Life: life, Writers: cfg.Writers,
		Keys: uint32(cfg.keys()), LargeKeys: largeKeys, LargeValue: uint32(cfg.LargeValue),
		Phase: phases[life/livesPerPhase%len(phases)], Accounts: accounts,
		Check: f.rnd.IntN(cfg.CheckEvery) == 0, Ending: endKilled,
	}
	if f.chance(40) {
		o.Ring *= 4
	}
	if f.chance(20) {
		o.Log *= 4
	}
	return o
}

// next draws the life with that number.
func (f *fates) next(life int) fate {
	pool := f.pool
	x := fate{order: f.order(life), moment: momentLoad, at: f.rnd.Float64()}
	x.meddle = meddle.Draw(f.rnd, f.cfg.Corrupt)
	x.order.MemoryOff = x.meddle == meddle.Off
	starts := 20
	if x.meddle != meddle.None || x.order.Pool < pool { // a start with much to do is worth a second death
		starts = 50
	}
	switch p := f.rnd.IntN(100); {
	case life == 0: // has nothing to find
	case p < starts && f.unfinished < unfinishedInARow:
		x.moment = momentStart
		if f.chance(50) {
			x.moment = momentTell
		}
	case p < starts+4:
		x.order.Ending = endClosed
	case p < starts+6:
		x.order.Ending = endFlushed
	case p < starts+9:
		x.order.Ending, x.moment = endClosed, momentClose
	case p < starts+12:
		x.order.Ending, x.moment = endFlushed, momentClose
	}
	return x
}

// last are the lives after the last kill: they are checked, and end in order in both ways.
func (f *fates) last(life int) []fate {
	var all []fate
	for i, e := range []ending{endClosed, endFlushed, endClosed} {
		x := fate{order: f.order(life + i), moment: momentLoad, at: f.rnd.Float64()}
		x.order.Ending, x.order.Check = e, true
		all = append(all, x)
	}
	return all
}

// expected are the kinds of start that can follow a life that had been open, by how it ended, when nothing was done to its
// region.
func (e ending) expected() []hearth.StartKind {
	switch e {
	case endClosed:
		return []hearth.StartKind{hearth.StartCleanRegion}
	case endFlushed:
		return []hearth.StartKind{hearth.StartCleanFlushed}
	case endClosing:
		return []hearth.StartKind{hearth.StartCrashRegion, hearth.StartCleanRegion, hearth.StartCleanFlushed}
	}
	return []hearth.StartKind{hearth.StartCrashRegion}
}
