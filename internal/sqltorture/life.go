package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/meddle"
	"github.com/hearthdb/hearth/internal/peer"
)

// life is one server process, from its start to its death.
type life struct {
	*run
	fate   fate
	found  *findings
	server *peer.Server
	kind   string // of its start, once it answered
	killed bool
}

// startLimit is more than any start takes that is not stuck.
const startLimit = 2 * time.Minute

// newServer makes the server of a life; all of them have one folder.
func (r *run) newServer(x fate) (*peer.Server, error) {
	extra := []string{"--shutdown-timeout=2s"}
	if x.meddle == meddle.Off {
		extra = append(extra, "--memory=off")
	}
	return peer.Hearth(r.cfg.Binary, r.dir.memory)(peer.Config{
		Dir: r.dir.server, Pool: x.pool, LogSize: logSize, Durable: r.cfg.Durable, Extra: extra, Log: r.dir.log(x.no),
	})
}

// create makes the database in a life of its own, which is stopped in order: nothing is to be killed before there is something to lose.
func (r *run) create(ctx context.Context) error {
	s, err := r.newServer(fate{pool: largePool})
	if err != nil {
		return err
	}
	defer s.Kill()
	if err := s.Start(ctx); err != nil {
		return err
	}
	l, err := dial(ctx, s, manner{}, "")
	if err != nil {
		return err
	}
	defer l.close()
	var layouts []layout
	for _, b := range r.builders {
		layouts = append(layouts, b.first)
	}
	if err := setUp(ctx, l, r.cfg.Clients, layouts); err != nil {
		return err
	}
	return s.Stop()
}

// live starts the server, has it judged, loads it and ends it.
func (l *life) live(ctx context.Context) (err error) {
	if l.server, err = l.newServer(l.fate); err != nil {
		return err
	}
	defer l.server.Kill()
	if l.fate.moment == momentStart {
		l.killed = true
		l.mayHaveLost("") // what was done to the memory counts, however far the start comes
		if err := l.server.Launch(ctx, nil); err != nil {
			return err
		}
		time.Sleep(l.part(l.pace.start))
		return l.server.Kill()
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := l.server.Start(limited); err != nil {
		return err
	}
	follow(&l.run.pace.start, time.Since(began))
	c, err := dial(limited, l.server, manner{}, database)
	if err != nil {
		return fmt.Errorf("connect to a server that answers: %w", err)
	}
	defer c.close()
	if l.kind, err = l.startKind(limited, c); err != nil {
		return err
	}
	l.mayHaveLost(l.kind)
	if l.cfg.Canary != CanaryNone && !l.lied {
		l.run.lied = l.lie()
	}
	if l.fate.moment == momentLook {
		return l.killWhile(func() { look(limited, c, l.cfg.Clients, newFindings()) }, l.pace.look)
	}
	if err := l.judge(limited, c); err != nil || l.found.any() {
		return err
	}
	return l.load(ctx, c)
}

// part of a time at which the life is to end.
func (l *life) part(d time.Duration) time.Duration { return time.Duration(l.fate.at * float64(d)) }

func (l *life) startKind(ctx context.Context, c *link) (string, error) {
	rows, err := c.query(ctx, "SELECT @@GLOBAL.hearth_start_kind")
	if err != nil {
		return "", fmt.Errorf("ask for the kind of the start: %w", err)
	}
	return rows[0][0], nil
}

// mayHaveLost is rule 6, for a start of that kind, "" if it was killed before it said so. It holds until works are judged.
func (l *life) mayHaveLost(kind string) {
	if l.fate.meddle.MayLose() && !l.cfg.Durable && !keepsLog(kind) {
		l.oracle.loss = true
	}
}

// keepsLog: a start that says so had the log in memory.
func keepsLog(kind string) bool {
	return kind == "crash, region kept" || kind == "crash, only ring kept" || kind == "clean, region kept"
}

// killWhile kills the server while f uses it.
func (l *life) killWhile(f func(), usual time.Duration) error {
	l.killed = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	time.Sleep(l.part(usual))
	err := l.server.Kill()
	<-done
	return err
}

// judge reads everything and holds it against what was acknowledged.
func (l *life) judge(ctx context.Context, c *link) error {
	began := time.Now()
	s, err := look(ctx, c, l.cfg.Clients, l.found)
	if errors.Is(err, errStrange) {
		l.found.torn("%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	follow(&l.run.pace.look, time.Since(began))
	l.oracle.judge(s, l.clients, l.builders, l.ledger, l.clock.tick(), l.found)
	l.run.lastSeen = s
	if l.found.any() {
		return nil
	}
	if err := probe(ctx, c, s, l.found); err != nil {
		return err
	}
	if l.cfg.Canary != CanaryNone && !l.lied {
		l.run.lied, err = l.tamper(ctx, c)
	}
	return err
}

// load lets everybody loose on the server, and ends it.
func (l *life) load(ctx context.Context, c *link) error {
	w := &world{server: l.server, clock: &l.clock, found: l.found, ledger: l.ledger, families: &families{}}
	for id := range l.oracle.proven.rows[parents] {
		w.families.born(id)
	}
	var all sync.WaitGroup
	stream := uint64(l.fate.no) << 16
	random := func() *rand.Rand {
		stream++
		return rand.New(rand.NewPCG(l.cfg.Seed, stream))
	}
	for _, c := range l.clients {
		c.world, c.rnd, c.link, c.own = w, random(), nil, ownOf(l.oracle.proven, c.no)
		all.Go(func() { c.live(ctx) })
	}
	for _, b := range l.builders {
		b.world, b.rnd, b.link = w, random(), nil
		all.Go(func() { b.live(ctx) })
	}
	for n := range watchers {
		x := &watcher{client{no: n, who: fmt.Sprintf("watcher %d", n), world: w, rnd: random()}}
		all.Go(func() { x.live(ctx) })
	}
	n := &nuisance{client{who: "nuisance", world: w, rnd: random()}}
	all.Go(func() { n.live(ctx) })

	err := l.end(ctx)
	w.over.Store(true)
	all.Wait()
	return err
}

// end waits for the moment, and ends the server as fate has it.
func (l *life) end(ctx context.Context) error {
	until := l.cfg.LoadTime
	if l.fate.moment == momentLoad {
		until = l.part(until)
	}
	for at := time.Now().Add(until); time.Now().Before(at) && !l.found.any(); {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), l.server.Kill())
		case <-l.server.Ended():
			return errors.New("the server ended by itself")
		case <-time.After(min(time.Until(at), 20*time.Millisecond)):
		}
	}
	if l.found.failed != nil {
		return l.server.Dump()
	}
	switch {
	case l.fate.ending == endKilled:
		l.killed = true
		return l.server.Kill()
	case l.fate.moment == momentStop:
		return l.killWhile(func() { l.server.Stop() }, l.pace.stop)
	}
	began := time.Now()
	err := l.server.Stop()
	follow(&l.run.pace.stop, time.Since(began))
	return err
}
