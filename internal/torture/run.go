package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/meddle"
)

// run is a run of the torture.
type run struct {
	cfg     Config
	dir     folders
	fates   *fates
	oracle  *oracle
	verdict Verdict
	pace    pace
	events  [events]int
	before  *ending // how the life before ended; nil: nothing follows from it for the next start
	memory  meddle.Memory
	lied    bool
}

// Run tortures a database until it has been killed often enough, or something is wrong: then the verdict is not OK, and
// the folders are kept. An error means that a child failed by itself, or that the torture could not go on.
func Run(ctx context.Context, cfg Config) (_ Verdict, err error) {
	if err := cfg.validate(); err != nil {
		return Verdict{}, err
	}
	dir, err := makeFolders(cfg)
	if err != nil {
		return Verdict{}, err
	}
	fates := newFates(cfg, dir)
	r := &run{cfg: cfg, dir: dir, fates: fates, oracle: newOracle(),
		memory:  meddle.Memory{Dir: dir.memory, Stale: dir.stale, Rand: fates.rnd, Corrupt: cfg.Corrupt},
		verdict: Verdict{Starts: map[string]int{}, Events: map[string]int{}},
		pace:    pace{start: 100 * time.Millisecond, tell: 100 * time.Millisecond, close: 50 * time.Millisecond}}
	err = r.all(ctx)
	for e, n := range r.events {
		r.verdict.Events[eventNames[e]] = n
	}
	r.verdict.Acknowledged, r.verdict.Forgiven = r.oracle.acknowledged, r.oracle.forgiven
	if ctx.Err() != nil || err == nil && r.verdict.OK() {
		return r.verdict, errors.Join(err, dir.remove())
	}
	r.verdict.Kept = []string{dir.root, dir.shared}
	return r.verdict, err
}

func (r *run) all(ctx context.Context) error {
	life := 0
	for told := time.Now(); r.verdict.Kills < r.cfg.Kills; life++ {
		if err := r.one(ctx, life, r.fates.next(life)); err != nil || !r.verdict.OK() {
			return err
		}
		if life == 0 || time.Since(told) > 2*time.Second {
			told = time.Now()
			r.cfg.Progress("%d of %d kills, %d transactions acknowledged", r.verdict.Kills, r.cfg.Kills, r.oracle.acknowledged)
		}
	}
	for _, x := range r.fates.last(life) {
		if err := r.one(ctx, life, x); err != nil || !r.verdict.OK() {
			return err
		}
		life++
	}
	// A last look at what the last close left, which needs no load.
	x := r.fates.last(life)[0]
	return r.one(ctx, life, x)
}

// one prepares a life, lets it live and judges what it found.
func (r *run) one(ctx context.Context, life int, x fate) error {
	story := fmt.Sprintf("life %d: pool %d MiB, ring %d MiB, %s, ", life, x.order.Pool>>20, x.order.Ring>>20, x.order.Phase)
	if x.order.Ending == endKilled || x.moment == momentClose {
		story += "killed in " + string(x.moment)
	} else {
		story += string(x.order.Ending)
	}
	told, err := r.memory.Do(x.meddle)
	if err != nil {
		return fmt.Errorf("%s: %w", story, err)
	}
	story += told
	r.lie()
	f, err := live(ctx, r.cfg, x, r.pace, r.dir.log(life))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.opened {
		story += fmt.Sprintf("; its start found: %s %s", f.report.Kind, f.report.Why)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; see %s", story, err, r.dir.log(life))
	}
	if !f.closed {
		r.verdict.Kills++
	}
	r.pace.learn(f)
	r.judge(story, x, f)
	if x.order.Check && !f.checked && x.moment == momentLoad {
		return fmt.Errorf("%s: the check was not made", story)
	}
	os.Remove(r.dir.log(life - logsKept)) // it may never have been
	return r.harvest()
}

// judge compares what a life found with what the lives before it left.
func (r *run) judge(story string, x fate, f found) {
	r.judgeStart(story, x, f)
	if f.rows != nil {
		ruling := r.oracle.judge(f.rows)
		r.verdict.Lost += ruling.lost
		r.verdict.Torn += ruling.torn
		for _, w := range ruling.wrongs {
			r.cfg.Progress("WRONG: %s: %s", story, w)
		}
	}
	if f.checked {
		r.verdict.Checks++
		r.verdict.Problems = append(r.verdict.Problems, f.problems...)
		for _, p := range f.problems[:min(len(f.problems), maxWrongs)] {
			r.cfg.Progress("CHECK: %s: %s", story, p)
		}
	}
}

// judgeStart is rule 5: what this start may have lost, and whether it says what it must say.
func (r *run) judgeStart(story string, x fate, f found) {
	if x.meddle.MayLose() && !(f.opened && keepsLog(f.report.Kind)) {
		r.oracle.loss = lossMemory
	}
	before := r.before
	r.before = nil
	if !f.opened {
		r.fates.unfinished++
		return
	}
	r.fates.unfinished = 0
	r.verdict.Starts[string(f.report.Kind)]++
	r.verdict.Opened = append(r.verdict.Opened, f.report.Took)
	if before != nil && x.meddle == meddle.None && !slices.Contains(before.expected(), f.report.Kind) {
		r.verdict.Torn++
		r.cfg.Progress("WRONG: %s: but the life before was %s, and nobody touched the region", story, *before)
	}
	if f.report.Survives {
		ending := x.order.Ending
		if !f.closed && x.moment == momentClose {
			ending = endClosing
		}
		r.before = &ending
	}
}

// keepsLog: a start that says so had the log in memory.
func keepsLog(k hearth.StartKind) bool {
	return k == hearth.StartCrashRegion || k == hearth.StartFramesLost || k == hearth.StartCleanRegion
}

// harvest reads what the writers of a dead child wrote down.
func (r *run) harvest() error {
	for no := range firstWriter + r.cfg.Writers + 1 {
		txs, err := readJournal(r.dir.journals, uint16(no), &r.events)
		if err != nil {
			return err
		}
		r.oracle.add(txs)
	}
	return nil
}
