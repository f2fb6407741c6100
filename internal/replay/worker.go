package replay

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// worker owns one connection, and runs jobs on it: several at a time where the target is near and there is much to do.
type worker struct {
	p       *Player
	c       *conn
	jobs    []*job
	errands []errand
	texts   []string
}

// errand is a job whose reads are being sent.
type errand struct {
	j       *job
	outcome Outcome // when one of its reads has worked
	how     string
	texts   []string // not yet answered
	sent    int      // answered well
	refused string   // what the server said of one of them
	tries   int      // on which the connection was lost
}

func (w *worker) run(ctx context.Context) {
	defer w.hangUp()
	pause := firstPause
	for {
		var like State
		if w.c != nil {
			like = w.c.state
		}
		w.jobs = w.p.queue.take(like, w.p.cfg.Pipeline, w.jobs[:0])
		if len(w.jobs) == 0 {
			return
		}
		if err := w.connected(ctx); err != nil {
			w.noConnection(ctx, err, &pause)
			continue
		}
		pause = firstPause
		w.do(ctx)
		w.p.queue.done(w.jobs)
		clear(w.jobs)
	}
}

func (w *worker) hangUp() {
	if w.c != nil {
		w.c.c.Close()
		w.c = nil
	}
}

// Patience with a target that has gone.
const (
	maxTries   = 3
	firstPause = 50 * time.Millisecond
	mostPause  = 2 * time.Second
)

// connected sees that there is a connection.
func (w *worker) connected(ctx context.Context) (err error) {
	if w.c == nil {
		if w.c, err = w.p.t.connect(ctx); err == nil {
			w.p.away(nil)
		}
	}
	return err
}

// noConnection gives the jobs back, for a worker that has a connection or for later, when they may be too old. Only when the input
// has ended is it their end.
func (w *worker) noConnection(ctx context.Context, err error, pause *time.Duration) {
	w.p.away(err)
	if w.p.closing() && *pause > firstPause<<maxTries {
		for _, j := range w.jobs {
			w.p.end(j, Failed, reasonOf(err))
		}
		w.p.queue.done(w.jobs)
		return
	}
	w.p.queue.giveBack(w.jobs)
	sleep(ctx, *pause+rand.N(*pause))
	*pause = min(2**pause, mostPause)
}

// do brings all jobs to their accounts.
func (w *worker) do(ctx context.Context) {
	w.errands = w.errands[:0]
	for _, j := range w.jobs {
		e, reason := w.p.prepare(ctx, j)
		if reason != "" {
			w.p.end(j, e.outcome, reason)
			continue
		}
		w.errands = append(w.errands, e)
	}
	for left := w.errands; len(left) > 0; {
		left = w.deliver(ctx, left)
	}
	clear(w.errands)
}

// prepare finds what is to be sent for a job. With a reason nothing is, and its outcome is the errand's.
func (p *Player) prepare(ctx context.Context, j *job) (e errand, reason string) {
	if p.cfg.Dedupe && p.memory.hot(j.hash, p.residency()) { // while it waited
		return errand{outcome: Skipped}, reasonLately
	}
	e = errand{j: j, texts: []string{string(j.text)}, outcome: Run}
	switch {
	case j.class == Write && p.t.fake:
		e.how = "changes faked"
	case j.class == Write:
		e.outcome = Rewritten
		var err error
		if e.texts, err = p.rewriter.Rewrite(ctx, *j.change); err != nil {
			if errors.Is(err, ErrNotRewritable) {
				return errand{outcome: Skipped}, strings.TrimPrefix(err.Error(), ErrNotRewritable.Error()+": ")
			}
			return errand{outcome: Failed}, "definition of a table: " + reasonOf(errors.Unwrap(err))
		}
	}
	if e.how == "" {
		e.texts = p.proved(e.texts, j.state.Mode(p.t.base), j.class != Write, j.fingerprint)
		if len(e.texts) == 0 {
			return errand{outcome: Skipped}, "not proved to read"
		}
	}
	for _, s := range e.texts {
		if len(s) > p.t.maxText {
			return errand{outcome: Skipped}, "larger than the target's max_allowed_packet"
		}
	}
	return e, ""
}

// finish brings an errand to its account when all its reads are answered.
func (w *worker) finish(e *errand) {
	if e.sent == 0 {
		w.p.end(e.j, Failed, e.refused)
		return
	}
	w.p.memory.replayed(e.j.hash, time.Now())
	w.p.end(e.j, e.outcome, e.how)
}

// deliver sends some of the errands' reads, and returns the errands that are left.
func (w *worker) deliver(ctx context.Context, left []errand) []errand {
	p, e := w.p, &left[0]
	if p.cfg.QueueAge > 0 && p.cfg.Policy != PolicyBlock && time.Since(e.j.at) > p.cfg.QueueAge {
		p.end(e.j, Shed, "too old")
		return left[1:]
	}
	if !p.watch.open(time.Now()) {
		reason := ""
		switch {
		case p.promoted():
			reason = p.watch.why()
		case p.closing() && p.queue.status(time.Now()).Waiting == 0:
			reason = "target not confirmed read-only"
		case !sleep(ctx, firstPause):
			reason = reasonStopped
		default:
			return left
		}
		p.end(e.j, Shed, reason)
		return left[1:]
	}
	if err := w.connected(ctx); err != nil {
		p.away(err)
		if !p.closing() {
			e.tries = 0 // the target is away, which says nothing about the statement
		}
		return w.lose(ctx, left, err)
	}
	err := w.c.enter(e.j.state, p.t.baseModes)
	switch {
	case err == nil:
		return w.window(ctx, left)
	case w.c != nil && !lost(err):
		return w.refuse(left, err) // the server's word on the session's state
	}
	return w.lose(ctx, left, err)
}

// refuse ends the first read of the first errand.
func (w *worker) refuse(left []errand, err error) []errand {
	e := &left[0]
	e.refused = reasonOf(err)
	if (e.refused == "error 1054" || e.refused == "error 1146") && e.j.class == Write {
		w.p.tables.forget()
	}
	return w.next(left)
}

// next goes on behind the first read of the first errand; the other reads of a change may still touch their pages.
func (w *worker) next(left []errand) []errand {
	e := &left[0]
	if e.texts = e.texts[1:]; len(e.texts) > 0 {
		return left
	}
	w.finish(e)
	return left[1:]
}

// lose is for a connection that is lost before the first read of the first errand was answered: it is tried again.
func (w *worker) lose(ctx context.Context, left []errand, err error) []errand {
	p, e := w.p, &left[0]
	w.hangUp()
	e.tries++
	switch {
	case p.promoted():
		p.end(e.j, Shed, p.watch.why())
		return left[1:]
	case e.tries >= maxTries || p.closing() && e.tries > 1:
		e.refused = reasonOf(err)
		return w.next(left)
	case !sleep(ctx, firstPause+rand.N(firstPause<<e.tries)):
		p.end(e.j, Shed, reasonStopped)
		return left[1:]
	}
	return left
}

// window sends as many reads as may be on their way, all in the session's state, and reads their answers.
func (w *worker) window(ctx context.Context, left []errand) []errand {
	p, bytes := w.p, 0
	most := w.c.most(p.cfg.Pipeline)
	w.texts = w.texts[:0]
collect:
	for i := range left {
		for _, s := range left[i].texts {
			if n := len(w.texts); n >= most || n > 0 && bytes+len(s) > maxPipelined {
				break collect
			}
			w.texts, bytes = append(w.texts, s), bytes+len(s)
		}
	}
	p.mu.Lock()
	p.running[w] = w.c.id
	p.mu.Unlock()
	from := time.Now()
	err := w.c.send(w.texts)
	for n := len(w.texts); n > 0 && err == nil; n-- {
		var rows, bytes int64
		rows, bytes, err = w.c.answer(p.cfg.Target.Limits)
		now := time.Now()
		p.latency.add(now.Sub(from))
		from = now
		p.sent.Add(1)
		p.rows.Add(rows)
		p.bytes.Add(bytes)
		switch {
		case err == nil:
			left[0].sent++
			left = w.next(left)
		case errors.Is(err, errCut):
			p.cut.Add(1)
			left[0].sent++
			left = w.next(left)
			w.hangUp() // what was sent behind it is sent again
			n = 1
			err = nil
		case !lost(err):
			left, err = w.refuse(left, err), nil
		}
	}
	p.mu.Lock()
	delete(p.running, w)
	p.mu.Unlock()
	clear(w.texts)
	if err != nil {
		return w.lose(ctx, left, err)
	}
	return left
}
