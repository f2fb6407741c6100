package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
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
	agreed   sync.Map // fingerprints that vitess has read as we do
	agreedN  atomic.Int64
	bytes    atomic.Int64 // of results thrown away
	rows     atomic.Int64
	sent     atomic.Int64 // statements, of rewritten changes several
	cut      atomic.Int64
	lastSeen atomic.Int64 // Unix nanoseconds of the end of the newest entry, by the log's clock
	canary   string
	looped   atomic.Bool
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
	j.hash = hashOf(state.Schema, j.text)
	p.memory.judge(j, p.residency())
	if j.repeat && p.cfg.Dedupe {
		p.Accounts.end(Skipped, "replayed lately")
		return
	}
	p.queue.put(j)
}

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

// worker owns one connection.
type worker struct {
	p *Player
	c *conn
}

func (w *worker) run(ctx context.Context) {
	defer w.hangUp()
	for {
		var like State
		if w.c != nil {
			like = w.c.state
		}
		j := w.p.queue.take(like)
		if j == nil {
			return
		}
		outcome, reason := w.do(ctx, j)
		w.p.Accounts.end(outcome, reason)
		w.p.queue.done(j)
	}
}

func (w *worker) hangUp() {
	if w.c != nil {
		w.c.c.Close()
		w.c = nil
	}
}

// do sends a job, and says how it ended.
func (w *worker) do(ctx context.Context, j *job) (Outcome, string) {
	p := w.p
	texts, ok, how := []string{string(j.text)}, Run, ""
	switch {
	case j.class == Write && p.t.fake:
		how = "changes faked"
	case j.class == Write:
		ok = Rewritten
		var err error
		if texts, err = p.rewriter.Rewrite(ctx, *j.change); err != nil {
			if errors.Is(err, ErrNotRewritable) {
				return Skipped, strings.TrimPrefix(err.Error(), ErrNotRewritable.Error()+": ")
			}
			return Failed, "definition of a table: " + reasonOf(errors.Unwrap(err))
		}
	}
	if !(j.class == Write && p.t.fake) {
		texts = p.proved(texts, j.state.Mode(p.t.base), j.class != Write, j.fingerprint)
		if len(texts) == 0 {
			return Skipped, "not proved to read"
		}
	}
	sent, refused := 0, ""
	for _, text := range texts {
		switch reason, shed := w.send(ctx, j, text); {
		case shed:
			return Shed, reason
		case reason != "":
			refused = reason // the other reads of a change may still touch their pages
		default:
			sent++
		}
	}
	if sent == 0 {
		return Failed, refused
	}
	p.memory.replayed(j.hash, time.Now())
	return ok, how
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

// Patience with a target that has gone.
const (
	maxTries   = 3
	firstPause = 50 * time.Millisecond
	mostPause  = 2 * time.Second
)

// send runs one statement. reason is "" when it worked; shed says that it was not sent.
func (w *worker) send(ctx context.Context, j *job, text string) (reason string, shed bool) {
	p := w.p
	pause := firstPause
	for try := 1; ; try++ {
		if p.cfg.QueueAge > 0 && p.cfg.Policy != PolicyBlock && time.Since(j.at) > p.cfg.QueueAge {
			return "too old", true
		}
		if !p.watch.open(time.Now()) {
			if p.queue.status(time.Now()).Waiting == 0 && p.closing() || p.promoted() {
				return "target not confirmed read-only", true
			}
			if !sleep(ctx, firstPause) {
				return reasonStopped, true
			}
			try--
			continue
		}
		err := w.connected(ctx)
		if err == nil {
			err = w.c.enter(j.state, p.t.baseModes)
		}
		if err == nil {
			err = w.timed(text)
		}
		if err == nil {
			return "", false
		}
		reason = reasonOf(err)
		switch {
		case errors.Is(err, errCut):
			p.cut.Add(1)
			w.hangUp()
			return "", false
		case reason == "error 1054" || reason == "error 1146":
			if j.class == Write {
				p.tables.forget()
			}
			return reason, false
		case w.c != nil && !lost(err):
			return reason, false // the server's word on this statement
		}
		w.hangUp()
		if try >= maxTries || p.promoted() || p.closing() {
			return reason, false
		}
		if !sleep(ctx, pause+rand.N(pause)) {
			return reasonStopped, true
		}
		pause = min(2*pause, mostPause)
	}
}

// connected sees that there is a connection.
func (w *worker) connected(ctx context.Context) (err error) {
	if w.c == nil {
		w.c, err = w.p.t.connect(ctx)
	}
	return err
}

// timed runs a statement and measures it.
func (w *worker) timed(text string) error {
	p := w.p
	p.mu.Lock()
	p.running[w] = w.c.id
	p.mu.Unlock()
	from := time.Now()
	rows, bytes, err := w.c.read(text, p.cfg.Target.Limits)
	p.latency.add(time.Since(from))
	p.mu.Lock()
	delete(p.running, w)
	p.mu.Unlock()
	p.sent.Add(1)
	p.rows.Add(rows)
	p.bytes.Add(bytes)
	return err
}

// closing: the input has ended, and nothing is to be waited for without end.
func (p *Player) closing() bool {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	return p.queue.closed
}

func (p *Player) promoted() bool {
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	return p.watch.closed != ""
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
