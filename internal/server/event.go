package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/sql"
)

// events executes the events of the dictionary when they are due (sql.NextDue). GMS has a scheduler, which is not used: it looks twice a
// minute, knows no calendar, and ends the process when an event panics.
//
//  1. What is to be done is in the dictionary. The queue is what follows from it, and is brought up to date whenever a definition changes.
//  2. That an event is executed is noted, durable, before it is. So none is executed twice for one time, whatever dies; and one whose
//     execution was cut short by the server's death is not executed again.
//  3. An event runs as its definer, in a session of its own, as a client's statement does: with its time limit, memory and KILL, in
//     SHOW PROCESSLIST. Its failure is logged and changes nothing for its next time.
//  4. An event does not run beside itself: one that still runs when it is due again is left out that time. MySQL starts it again.
type events struct {
	server  *Server
	wake    chan struct{} // the variable was set
	on      atomic.Bool   // event_scheduler
	since   atomic.Int64  // when that was switched on, Unix nanoseconds: what was due before is late
	started uint32        // sessions so far; of the scheduler's goroutine
	slots   chan struct{} // one for each event that runs
	stop    context.CancelFunc
	loop    sync.WaitGroup
	workers sync.WaitGroup

	mu struct {
		sync.Mutex
		running map[eventKey]bool
	}
}

// eventKey is an event's name, lower case.
type eventKey struct{ database, name string }

func (k eventKey) String() string { return k.database + "." + k.name }

// queued is what the scheduler knows about an enabled event.
type queued struct {
	event *dict.Event // as it was when due was found
	due   time.Time   // zero: never, for it is wrong, or over and still runs
	over  bool        // nothing but to end it
}

const (
	maxEventsRunning = 64               // at a time; others that are due wait
	eventRetry       = 10 * time.Second // after the dictionary could not be written
	clockLook        = 30 * time.Second // the longest sleep: somebody may set the clock
	firstEventID     = 1 << 31          // of the connections that events have: clients count from 1
)

func (s *Server) newEvents() *events {
	ev := &events{server: s, wake: make(chan struct{}, 1), slots: make(chan struct{}, maxEventsRunning)}
	ev.mu.running = map[eventKey]bool{}
	return ev
}

// set switches the scheduler on or off. It may be called under the lock of the variables.
func (ev *events) set(on bool) {
	ev.since.Store(time.Now().UnixNano())
	ev.on.Store(on)
	select {
	case ev.wake <- struct{}{}:
	default: // it is about to look anyway
	}
}

// begin to execute events.
func (ev *events) begin(ctx context.Context) {
	ctx, ev.stop = context.WithCancel(ctx)
	ev.loop.Go(func() { ev.run(ctx) })
}

// end stops the events that run, and waits until they have.
func (ev *events) end() {
	if ev.stop != nil {
		ev.stop()
		ev.loop.Wait()
	}
}

// run until ctx ends.
func (ev *events) run(ctx context.Context) {
	defer ev.workers.Wait()
	queue := map[eventKey]*queued{}
	for {
		schema, changed := ev.server.backend.Dict().Changed()
		sleep := clockLook
		if ev.on.Load() {
			now := time.Now()
			ev.fill(queue, schema, now)
			ev.act(ctx, queue, now)
			for _, q := range queue {
				if !q.due.IsZero() {
					sleep = min(sleep, time.Until(q.due))
				}
			}
		} else {
			clear(queue)
		}
		timer := time.NewTimer(max(0, sleep))
		select {
		case <-changed:
		case <-ev.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// fill brings the queue up to date with the dictionary.
func (ev *events) fill(queue map[eventKey]*queued, schema *dict.Schema, now time.Time) {
	there := make(map[eventKey]bool, len(queue))
	for _, db := range schema.Databases() {
		for _, e := range db.Events() {
			if !sql.EventEnabled(e) {
				continue
			}
			key := eventKey{strings.ToLower(db.Name), strings.ToLower(e.Name)}
			there[key] = true
			if q := queue[key]; q == nil || q.event != e {
				queue[key] = ev.plan(key, e, now)
			}
		}
	}
	for key := range queue {
		if !there[key] {
			delete(queue, key)
		}
	}
}

// plan finds when an event is due next. What was missed before the scheduler began is left out; what was defined since is not, even if
// its time has come before the statement was committed.
func (ev *events) plan(key eventKey, e *dict.Event, now time.Time) *queued {
	from := now
	if e.LastAltered.UnixNano() >= ev.since.Load() && e.LastAltered.Before(now) {
		from = e.LastAltered
	}
	due, over, err := sql.NextDue(e, from)
	switch {
	case err != nil:
		ev.server.log.Error("an event cannot be scheduled", "event", key.String(), "err", err)
		return &queued{event: e}
	case over && ev.runs(key):
		return &queued{event: e} // it is ended after that
	case over:
		return &queued{event: e, due: now, over: true}
	}
	return &queued{event: e, due: due}
}

// act starts what is due, the oldest first, and ends what is over.
func (ev *events) act(ctx context.Context, queue map[eventKey]*queued, now time.Time) {
	var due []eventKey
	for key, q := range queue {
		if !q.due.IsZero() && !q.due.After(now) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b eventKey) int { return queue[a].due.Compare(queue[b].due) })
	for _, key := range due {
		q := queue[key]
		err := error(nil)
		if q.over {
			if err = ev.server.backend.EndEvent(ctx, key.database, q.event); err == nil {
				q.due = time.Time{}
			}
		} else {
			err = ev.start(ctx, key, q, now)
		}
		if err != nil && ctx.Err() == nil {
			ev.server.log.Error("the execution of an event could not be noted", "event", key.String(), "err", err)
			q.due = now.Add(eventRetry)
		}
	}
}

// start notes that an event is executed, and does it.
func (ev *events) start(ctx context.Context, key eventKey, q *queued, now time.Time) error {
	after := *q.event
	after.LastExecuted = now
	next, over, err := sql.NextDue(&after, now)
	if err != nil {
		return err
	}
	if ev.runs(key) {
		if q.due = next; over {
			q.due = time.Time{}
		}
		ev.server.log.Warn("an event is left out: it still runs", "event", key.String())
		return nil
	}
	noted, err := ev.server.backend.MarkEvent(ctx, key.database, q.event, now, over && q.event.OnCompletionPreserve)
	if err != nil {
		return err
	}
	if noted == nil { // altered or dropped: the dictionary has changed
		q.due = time.Time{}
		return nil
	}
	*q = queued{event: noted, due: next}
	if over {
		q.due = time.Time{}
	}
	ev.started++
	id := firstEventID + ev.started%firstEventID
	ev.mu.Lock()
	ev.mu.running[key] = true
	ev.mu.Unlock()
	ev.workers.Go(func() { ev.work(ctx, key, noted, id, over && !noted.OnCompletionPreserve) })
	return nil
}

func (ev *events) runs(key eventKey) bool {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	return ev.mu.running[key]
}

// work executes an event once, and drops it if that was the last time.
func (ev *events) work(ctx context.Context, key eventKey, e *dict.Event, id uint32, last bool) {
	defer func() {
		ev.mu.Lock()
		delete(ev.mu.running, key)
		ev.mu.Unlock()
	}()
	select {
	case ev.slots <- struct{}{}:
		defer func() { <-ev.slots }()
	case <-ctx.Done():
		return
	}
	if err := ev.server.execute(ctx, key.database, e, id); err != nil && ctx.Err() == nil {
		ev.server.log.Error("an event failed", "event", key.String(), "definer", e.Definer, "err", err)
	}
	if last && ctx.Err() == nil {
		if err := ev.server.backend.EndEvent(ctx, key.database, e); err != nil {
			ev.server.log.Error("an event that is over could not be dropped", "event", key.String(), "err", err)
		}
	}
}

// accountOf a definer, as GMS and dumps write it: `name`@`host`, 'name'@'host' or name@host.
func accountOf(definer string) (user, host string, err error) {
	at := strings.LastIndexByte(definer, '@')
	if at < 0 {
		return "", "", fmt.Errorf("the definer %q is not user@host", definer)
	}
	return strings.Trim(definer[:at], "`'\""), strings.Trim(definer[at+1:], "`'\""), nil
}

var errNoDefiner = errors.New("its definer does not exist")
