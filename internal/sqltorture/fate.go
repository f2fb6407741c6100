package sqltorture

import (
	"math/rand/v2"

	"github.com/hearthdb/hearth/internal/meddle"
)

// fate is what is to become of a life, drawn before it starts.
type fate struct {
	no     int
	pool   int64
	meddle meddle.What
	moment moment
	ending ending
	at     float64 // of the time that the moment usually takes, at which part
	check  bool    // an offline check follows
}

// moment is the part of a life in which it ends.
type moment string

const (
	momentStart moment = "its start"
	momentLook  moment = "being read"
	momentLoad  moment = "load"
	momentStop  moment = "its stop"
)

// ending is how a life ends.
type ending string

const (
	endKilled  ending = "killed"
	endStopped ending = "stopped"
)

// unfinishedInARow bounds how many lives in a row are killed before they are open: from the sixth on the engine throws its memory away,
// which nobody was promised to survive.
const unfinishedInARow = 4

// fates draws lives.
type fates struct {
	cfg        Config
	rnd        *rand.Rand
	pool       int64
	unfinished int // lives in a row that were killed before they answered
}

func newFates(cfg Config) *fates {
	f := &fates{cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 0))}
	f.pool = f.drawPool()
	return f
}

func (f *fates) chance(percent int) bool { return f.rnd.IntN(100) < percent }

func (f *fates) drawPool() int64 {
	switch {
	case f.cfg.Pool != 0:
		return f.cfg.Pool
	case f.chance(50):
		return smallPool
	}
	return largePool
}

// next draws the life with that number. The first one has nothing to find.
func (f *fates) next(no int) fate {
	before := f.pool
	if f.chance(30) {
		f.pool = f.drawPool()
	}
	x := fate{no: no, pool: f.pool, moment: momentLoad, ending: endKilled, at: f.rnd.Float64(), check: f.rnd.IntN(f.cfg.CheckEvery) == 0}
	x.meddle = meddle.Draw(f.rnd, f.cfg.Corrupt)
	starts := 25
	if x.meddle != meddle.None || x.pool < before { // a start with much to do is worth a second death
		starts = 50
	}
	switch p := f.rnd.IntN(100); {
	case p < starts && f.unfinished < unfinishedInARow:
		x.moment = momentStart
		if f.chance(40) {
			x.moment = momentLook
		}
	case p < starts+5:
		x.ending = endStopped
	case p < starts+12:
		x.ending, x.moment = endStopped, momentStop
	}
	return x
}

// last is a life after the last kill: it is stopped in order, and checked.
func (f *fates) last(no int) fate {
	return fate{no: no, pool: f.pool, moment: momentLoad, ending: endStopped, at: f.rnd.Float64(), check: true}
}
