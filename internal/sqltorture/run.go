package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hearthdb/hearth/internal/meddle"
)

// run is a run of the torture.
type run struct {
	cfg      Config
	dir      folders
	fates    *fates
	memory   meddle.Memory
	clock    clock
	oracle   *oracle
	ledger   *ledger
	clients  []*client
	builders []*builder
	verdict  Verdict
	pace     pace
	lastSeen *seen
	lied     bool
}

// Run tortures a server until it has been killed often enough, or something is wrong: then the verdict is not OK, and the folders are
// kept. An error means that the server failed by itself, or that the torture could not go on.
func Run(ctx context.Context, cfg Config) (_ Verdict, err error) {
	if err := cfg.validate(); err != nil {
		return Verdict{}, err
	}
	dir, err := makeFolders(cfg)
	if err != nil {
		return Verdict{}, err
	}
	r := newRun(cfg, dir)
	err = r.all(ctx)
	r.verdict.Acked, r.verdict.Forgiven = r.oracle.acked, r.oracle.forgiven
	r.verdict.Maybe = r.verdict.Events[answersLost]
	if ctx.Err() != nil || err == nil && r.verdict.OK() {
		return r.verdict, errors.Join(err, dir.remove())
	}
	r.verdict.Kept = []string{dir.root, dir.shared}
	return r.verdict, err
}

func newRun(cfg Config, dir folders) *run {
	f := newFates(cfg)
	r := &run{cfg: cfg, dir: dir, fates: f,
		memory: meddle.Memory{Dir: dir.memory, Stale: dir.stale, Rand: f.rnd, Corrupt: cfg.Corrupt},
		oracle: &oracle{proven: newState(cfg.Clients)}, ledger: &ledger{given: map[uint64]issue{}},
		verdict: Verdict{Starts: map[string]int{}, Events: map[string]int{}},
		pace:    pace{start: time.Second, look: time.Second, stop: 500 * time.Millisecond}}
	for no := range cfg.Clients {
		r.clients = append(r.clients, &client{no: no, who: fmt.Sprintf("client %d", no)})
	}
	for no := range builders {
		r.builders = append(r.builders, newBuilder(no, f.rnd))
	}
	return r
}

func (r *run) all(ctx context.Context) error {
	if err := r.create(ctx); err != nil {
		return err
	}
	no := 1
	for told := time.Now(); r.verdict.Kills < r.cfg.Kills; no++ {
		if err := r.one(ctx, r.fates.next(no)); err != nil || !r.verdict.OK() {
			return err
		}
		if no == 1 || time.Since(told) > 5*time.Second {
			told = time.Now()
			r.cfg.Progress("%d of %d kills, %d works acknowledged", r.verdict.Kills, r.cfg.Kills, r.oracle.acked)
		}
	}
	for range 2 { // the second one sees what the stop of the first one left
		if err := r.one(ctx, r.fates.last(no)); err != nil || !r.verdict.OK() {
			return err
		}
		no++
	}
	return nil
}

// one prepares a life, lets it be lived, and notes what it found.
func (r *run) one(ctx context.Context, x fate) error {
	story := fmt.Sprintf("life %d: pool %d MiB, %s in %s", x.no, x.pool>>20, x.ending, x.moment)
	told, err := r.memory.Do(x.meddle)
	if err != nil {
		return fmt.Errorf("%s: %w", story, err)
	}
	story += told
	l := &life{run: r, fate: x, found: newFindings()}
	err = l.live(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.kind != "" {
		story += "; its start: " + l.kind
		r.verdict.Starts[l.kind]++
		r.fates.unfinished = 0
	} else {
		r.fates.unfinished++
	}
	r.note(story, l.found)
	if err = errors.Join(l.found.failed, err); err != nil {
		return fmt.Errorf("%s: %w; see %s", story, err, r.dir.log(x.no))
	}
	if l.killed {
		r.verdict.Kills++
	}
	os.Remove(r.dir.log(x.no - logsKept)) // it may never have been
	if !x.check || !r.verdict.OK() {
		return nil
	}
	if err := r.check(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("after %s: %w", story, err)
	}
	for _, p := range r.verdict.Problems[:min(len(r.verdict.Problems), maxWrongs)] {
		r.cfg.Progress("CHECK: after %s: %s", story, p)
	}
	return ctx.Err()
}

func (r *run) note(story string, f *findings) {
	r.verdict.Counts.add(f.counts)
	for _, w := range f.wrongs {
		r.cfg.Progress("WRONG: %s: %s", story, w)
	}
	for name, n := range f.events {
		r.verdict.Events[name] += n
	}
}

// pace is how long parts of a life usually take.
type pace struct{ start, look, stop time.Duration }

// follow lets a pace follow what a life took, slowly.
func follow(d *time.Duration, took time.Duration) { *d = (*d*3 + took) / 4 }
