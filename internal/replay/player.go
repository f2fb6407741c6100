package replay

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Config of a replay.
type Config struct {
	Target      TargetConfig
	Connections int           // at most so many statements at once
	QueueBytes  int64         // what may wait, texts and bookkeeping
	QueueAge    time.Duration // how long a statement may wait; 0: as long as it takes
	Policy      Policy
	Pace        Pace
	Dedupe      bool          // leave out texts replayed within their pages' residency
	Residency   time.Duration // how long a page stays in the target's pool; 0: estimated
	Pipeline    int           // statements on their way on one connection; 0: DefaultPipeline, 1: each waits for the answer before
	Filter      Filter
	Allow       []string // stored functions that reads may call
	Schema      string   // of entries whose schema is not known; "": that of the DSN
	Log         func(format string, args ...any)
}

// Defaults of a Config.
const (
	DefaultConnections = 32
	DefaultQueueBytes  = 64 << 20
	DefaultQueueAge    = 30 * time.Second
)

// Source gives entries. A reader of a log is one.
type Source interface {
	// Next fills e, whose slices are valid until the next call; io.EOF at the end.
	Next(e *slowlog.Entry) error
	// Place is where to go on behind the last entry.
	Place() Place
	// Close makes a Next that waits return.
	Close() error
}

// Player replays one source to one target.
type Player struct {
	cfg      Config
	t        *target
	tables   *schemas
	rewriter *Rewriter
	watch    *watch
	queue    *queue
	memory   *memory
	Accounts *Accounts

	latency  latencies
	ages     latencies // from the end of a statement on the source, by the log's clock, to its end on the target
	agreed   sync.Map  // fingerprints that vitess has read as we do
	agreedN  atomic.Int64
	bytes    atomic.Int64 // of results thrown away
	rows     atomic.Int64
	sent     atomic.Int64 // statements, of rewritten changes several
	cut      atomic.Int64
	lastSeen atomic.Int64 // Unix nanoseconds of the end of the newest entry, by the log's clock
	canary   string
	looped   atomic.Bool
	gone     atomic.Bool // no connection could be made
	states   *lanes

	mu      sync.Mutex
	running map[*worker]uint64 // connection ids of statements under way
}

// New asks the target whether it may be replayed to, and gets ready.
func New(ctx context.Context, cfg Config) (*Player, error) {
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	if cfg.Target.Limits == (Limits{}) {
		cfg.Target.Limits = DefaultLimits
	}
	cfg.Connections = max(1, cfg.Connections)
	if cfg.Pipeline <= 0 {
		cfg.Pipeline = DefaultPipeline
	}
	t, err := openTarget(ctx, cfg.Target)
	if err != nil {
		return nil, err
	}
	if cfg.Schema == "" {
		cfg.Schema = t.schema
	}
	if cfg.Target.Writes == WritesFake && !t.fake {
		cfg.Log("the target has no innodb_fake_changes: changes are rewritten into reads of the pages they would touch")
		cfg.Target.Writes = WritesRewrite
		t.cfg.Writes = WritesRewrite
	}
	p := &Player{
		cfg: cfg, t: t, Accounts: &Accounts{}, memory: newMemory(), running: map[*worker]uint64{}, states: newLanes(),
		tables: &schemas{db: t.db, mariadb: t.mariadb},
		watch:  &watch{t: t, lag: -1, seen: !writable(t.variables)},
		canary: fmt.Sprintf("SELECT 'hearth replay %016x'", rand.Uint64()),
	}
	p.rewriter = &Rewriter{Table: p.tables.table}
	p.queue = newQueue(cfg.QueueBytes, cfg.QueueAge, cfg.Policy, max(1, cfg.Connections/2), func(_ *job, reason string) { p.Accounts.end(Shed, reason) })
	return p, nil
}

// Close lets the target go.
func (p *Player) Close() { p.t.close() }

// Identity of the target.
func (p *Player) Identity() Identity { return p.t.identity }

// errLoop: the target's own statements come out of the log.
var errLoop = &RefusedError{"what it was sent comes back in the log, so it is the source itself", "give the standby"}

// Run replays until the source ends or ctx does, and proves the accounts. What waits when ctx ends is shed.
func (p *Player) Run(ctx context.Context, src Source) error {
	why, err := p.watch.look(ctx)
	if err != nil {
		return fmt.Errorf("ask the target: %w", err)
	}
	if why != "" {
		return &RefusedError{why, "see that the standby is the target"}
	}
	background, stop := context.WithCancel(context.Background())
	defer stop()
	var watching, working, feeding sync.WaitGroup
	watching.Go(func() { p.watching(background) })
	watching.Go(func() { p.tuning(background) })
	for range p.cfg.Connections {
		working.Go(func() { (&worker{p: p}).run(background) })
	}
	fed := make(chan error, 1)
	feeding.Go(func() { fed <- p.feed(ctx, src) })
	select {
	case err = <-fed:
	case <-ctx.Done():
		p.queue.close(false) // a source that waits for room goes on, and ends at its next entry
		src.Close()
		err = <-fed
	}
	p.queue.close(ctx.Err() == nil && err == nil)
	defer context.AfterFunc(ctx, func() { p.queue.close(false) })() // the input has ended, and what waits may have no target any more
	working.Wait()
	stop()
	watching.Wait()
	p.Accounts.check()
	if p.looped.Load() {
		return errLoop
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// feed reads entries, decides what they are, and queues what is to be sent.
func (p *Player) feed(ctx context.Context, src Source) error {
	c := &Classifier{Allow: p.cfg.Allow}
	pace := newPacer(p.cfg.Pace)
	var e slowlog.Entry
	for {
		before := src.Place()
		switch err := src.Next(&e); {
		case err == io.EOF:
			return nil
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read the log: %w", err)
		}
		if err := pace.wait(ctx, &e); err != nil {
			return nil
		}
		p.Accounts.receive()
		p.admit(c, &e, before)
		p.queue.passed(src.Place())
		if p.looped.Load() {
			return errLoop
		}
	}
}

// admit brings one entry to its account or into the queue.
func (p *Player) admit(c *Classifier, e *slowlog.Entry, before Place) {
	if !e.Ended.IsZero() {
		p.lastSeen.Store(e.Ended.UnixNano())
	}
	if why := p.cfg.Filter.leavesOut(e); why != "" {
		p.Accounts.end(Skipped, why)
		return
	}
	if e.Truncated > 0 {
		p.Accounts.end(Skipped, "text cut")
		return
	}
	lane := laneOf(e)
	state := p.states.of(lane)
	mode := state.Mode(p.t.base)
	v := c.Entry(e, mode)
	switch v.Class {
	case Admin:
		if string(e.Text) == "Quit" || string(e.Text) == "Change user" || string(e.Text) == "Reset connection" {
			p.states.drop(lane)
		}
	case Session:
		after, ignored := state.After(e.Text, mode)
		if ignored != "" {
			v.Reason = "session state: " + ignored
		}
		p.states.put(lane, after)
	}
	switch {
	case v.Class == Write && p.cfg.Target.Writes == WritesSkip:
		p.Accounts.end(Skipped, "write")
		return
	case v.Class == Write && v.Fingerprint == 0:
		p.Accounts.end(Skipped, v.Reason)
		return
	case v.Class != Read && v.Class != Strip && v.Class != Write:
		p.Accounts.end(Skipped, v.Reason)
		return
	case state.Unsafe && !asciiOnly(e.Text):
		p.Accounts.end(Skipped, "character set that hides quotes")
		return
	}
	if e.SchemaKnown {
		state.Schema, state.Known = string(e.Schema), true
	} else if !state.Known && p.cfg.Schema != "" {
		state.Schema, state.Known = p.cfg.Schema, true
	}
	if !state.Known {
		p.Accounts.end(Skipped, "schema not known")
		return
	}
	j := &job{lane: lane, class: v.Class, state: state, fingerprint: v.Fingerprint, at: time.Now(), place: before}
	if v.Class == Write {
		j.text = append([]byte(nil), e.Text...)
		j.change = &Change{Text: j.text, Schema: state.Schema, Mode: mode, InsertID: e.InsertID, LastInsertID: e.LastInsertID}
	} else {
		j.text = append([]byte(nil), v.Text...)
		if string(j.text) == p.canary {
			p.looped.Store(true)
		}
	}
	if !e.Ended.IsZero() {
		j.ended = e.Ended.UnixNano()
	}
	j.hash = hashOf(state.Schema, j.text)
	p.memory.judge(j, p.residency())
	if j.repeat && p.cfg.Dedupe {
		p.Accounts.end(Skipped, reasonLately)
		return
	}
	p.queue.put(j)
}

// reasonLately: it touches nothing that would not be there anyway.
const reasonLately = "replayed lately"

func (p *Player) residency() time.Duration {
	if p.cfg.Residency > 0 {
		return p.cfg.Residency
	}
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	return p.watch.residency
}

// Of how many looks one also asks for the load, and says what must not come back in the log.
const (
	loadEvery   = 2
	canaryEvery = 120
)

// watching keeps the gate (rule 5).
func (p *Player) watching(ctx context.Context) {
	shut := false
	for n := 0; ; n++ {
		why, err := p.watch.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case why != "":
			p.queue.pause(true, why)
			p.watch.kill(p.underWay())
			if !shut {
				p.cfg.Log("stopped: %s; looking again every %v", why, WatchEvery)
			}
			shut = true
		case err == nil:
			p.queue.pause(false, "")
			if shut {
				p.cfg.Log("going on: the target is read-only")
			}
			shut = false
		case !p.watch.open(time.Now()):
			p.queue.pause(true, "") // it may come back, and what waits may still be young enough
		}
		if n%loadEvery == 0 && err == nil {
			p.watch.load(ctx)
		}
		if n%canaryEvery == 0 && err == nil && why == "" {
			p.t.db.ExecContext(ctx, p.canary)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(WatchEvery):
		}
	}
}

// underWay are the connections that have a statement on them.
func (p *Player) underWay() (ids []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.running {
		ids = append(ids, id)
	}
	return ids
}

// tuneEvery is how often the limits are moved.
const tuneEvery = 100 * time.Millisecond

func (p *Player) tuning(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-time.After(tuneEvery):
			s := p.queue.status(time.Now())
			p.queue.tune(now, p.cfg.Connections, p.watch.distress(s.Inflight))
		}
	}
}

// maxAgreed bounds the shapes that are remembered as read alike.
const maxAgreed = 1 << 16

// proved keeps the texts that both readers take for reads (rule 1). vitess is slow, so it is asked once for each shape of
// statements that came as reads; what we have written ourselves goes through our own proof as well.
func (p *Player) proved(texts []string, m Mode, asRead bool, fingerprint uint64) (kept []string) {
	for _, t := range texts {
		b := []byte(t)
		if asRead {
			if _, known := p.agreed.Load(fingerprint); known {
				kept = append(kept, t)
				continue
			}
		} else {
			c := Classifier{Allow: p.cfg.Allow}
			v := c.Classify(b, m)
			if v.Class != Read && v.Class != Strip {
				continue
			}
			b = v.Text
		}
		if agrees(b, m) != nil {
			continue
		}
		if asRead && p.agreedN.Add(1) < maxAgreed {
			p.agreed.Store(fingerprint, true)
		}
		kept = append(kept, string(b))
	}
	return kept
}

// closing: the input has ended, and nothing is to be waited for without end.
func (p *Player) closing() bool {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.queue.closed
}

// end brings a job to its account.
func (p *Player) end(j *job, o Outcome, reason string) {
	if j.ended != 0 && (o == Run || o == Rewritten) {
		p.ages.add(time.Since(time.Unix(0, j.ended)))
	}
	p.Accounts.end(o, reason)
}

// away notes that the target cannot be reached, or (nil) that it can again, and says so once.
func (p *Player) away(err error) {
	if was := p.gone.Swap(err != nil); was == (err != nil) {
		return
	}
	if err != nil {
		p.cfg.Log("cannot connect to the target: %v; trying again", err)
		return
	}
	p.cfg.Log("connected to the target again")
}

// promoted: the target must not be replayed to, for it said so.
func (p *Player) promoted() bool { return p.watch.why() != "" }

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
