package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// client works on the server, one work after the other. Its number, its log and what it has used up outlive the server.
type client struct {
	no   int
	who  string  // for findings
	next uint64  // of the keys it makes: none is made twice
	log  []*work // since the last proof

	// Of one life.
	*world
	rnd      *rand.Rand
	link     *link
	own      *own
	question *question // nil: none
	seq      uint64    // of the last work that is there
	stamped  uint64    // what the stamp says
}

func (c *client) chance(percent int) bool { return c.rnd.IntN(100) < percent }

// key makes one that no row has had.
func (c *client) key() uint64 {
	c.next++
	return rowKey(c.no, c.next)
}

// own is what a client knows of its rows: what was found at the start, and its works since.
type own struct {
	rows  [tables]map[uint64]string
	sites map[uint64]string // the name under which it put them
}

// ownOf takes what belongs to a client from what is proven.
func ownOf(s *state, no int) *own {
	o := &own{sites: map[uint64]string{}}
	for t := range s.rows {
		o.rows[t] = map[uint64]string{}
		for key, r := range s.rows[t] {
			if r.by.client == no {
				o.rows[t][key] = r.value
			}
		}
	}
	for key, r := range s.sites {
		if ownerOf(key) == no {
			o.sites[key] = r.at.name
		}
	}
	return o
}

// apply does what the statement did, and returns how to undo it.
func (o *own) apply(e effect) (undo func()) {
	switch e.kind {
	case put, remove:
		rows := o.rows[e.table]
		before, there := rows[e.key]
		if e.kind == put {
			rows[e.key] = e.value
		} else {
			delete(rows, e.key)
		}
		return func() { restore(rows, e.key, before, there) }
	case putSite, removeSite:
		before, there := o.sites[e.key]
		if e.kind == putSite {
			o.sites[e.key] = e.at.name
		} else {
			delete(o.sites, e.key)
		}
		return func() { restore(o.sites, e.key, before, there) }
	}
	return func() {}
}

func restore(m map[uint64]string, key uint64, value string, there bool) {
	if there {
		m[key] = value
	} else {
		delete(m, key)
	}
}

// live works until the life is over.
func (c *client) live(ctx context.Context) {
	for !c.over.Load() && ctx.Err() == nil {
		var err error
		switch {
		case c.link == nil:
			err = c.connect(ctx)
		case c.question != nil:
			err = c.ask(ctx)
		case c.chance(20):
			err = c.alone(ctx)
		default:
			err = c.transaction(ctx)
		}
		if errors.Is(err, errLost) && c.link != nil {
			c.found.event("connections lost")
			c.link.close()
			c.link = nil
		}
	}
	if c.link != nil {
		c.link.close()
	}
}

// retryAfter is how long a client waits before it tries again.
const retryAfter = 5 * time.Millisecond

// connect in some manner.
func (c *client) connect(ctx context.Context) error {
	end, cancel := statement(ctx)
	defer cancel()
	l, err := dial(end, c.server, manner{tcp: c.chance(30), prepared: c.chance(50)}, database)
	if err != nil {
		time.Sleep(retryAfter)
		return c.failure(err, nil, "connect")
	}
	c.link = l
	c.targets.set(c.who, l)
	return nil
}

// Why a work does not go on.
var (
	errLost    = errors.New("the connection is lost")
	errAborted = errors.New("the transaction is gone")
)

// undone says that a statement failed as it may, and has done nothing.
type undone uint16

func (u undone) Error() string { return fmt.Sprintf("error %d", uint16(u)) }

// failure says what an error means. Every statement may have waited in vain, or have been killed.
func (c *client) failure(err error, allowed []uint16, text string) error {
	n := number(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.found.fail(fmt.Errorf("%s: no answer within %v: %s", c.who, statementLimit, text))
		return errLost
	case isLost(err):
		return errLost
	case n == erDeadlock:
		c.found.event("deadlocks")
		return errAborted
	case n == erLockWait, n == erInterrupted, slices.Contains(allowed, n):
		c.found.event(fmt.Sprintf("statements failed, error %d", n))
		return undone(n)
	}
	c.found.torn("%s: %s: %v", c.who, text, err)
	return errAborted
}

func (c *client) exec(ctx context.Context, allowed []uint16, text string, args ...any) (affected, id uint64, err error) {
	end, cancel := statement(ctx)
	defer cancel()
	r, err := c.link.conn.ExecContext(end, text, args...)
	if err != nil {
		return 0, 0, c.failure(err, allowed, text)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, 0, err
	}
	last, err := r.LastInsertId()
	return uint64(n), uint64(last), err
}

// query reads all rows as text; NULL is "NULL".
func (c *client) query(ctx context.Context, allowed []uint16, text string, args ...any) ([][]string, error) {
	end, cancel := statement(ctx)
	defer cancel()
	rows, err := c.link.query(end, text, args...)
	if err != nil {
		return nil, c.failure(err, allowed, text)
	}
	return rows, nil
}

// doubt the outcome of a work.
func (a *attempt) doubt() {
	a.found.event(answersLost)
	a.client.question = &question{a.work, a, a.link.id}
}

// answersLost is the event of a work or a step whose outcome is not known.
const answersLost = "answers lost"

// question is a work whose answer was lost.
type question struct {
	*work
	attempt *attempt
	thread  uint32 // of the connection on which it was
}

// ask a server that lives what became of the question.
func (c *client) ask(ctx context.Context) error {
	q := c.question
	if q.thread != c.link.id {
		// What it sent last may still wait to be read.
		rows, err := c.query(ctx, nil, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", q.thread)
		if err != nil || rows[0][0] != "0" {
			time.Sleep(retryAfter)
			return err
		}
	} else if _, _, err := c.exec(ctx, nil, "ROLLBACK"); err != nil {
		return err
	}
	if q.alone > 0 {
		return c.askTickets(ctx, q)
	}
	rows, err := c.query(ctx, nil, "SELECT COUNT(*) FROM stamp WHERE client = ? AND seq = ?", c.no, q.seq)
	if err != nil {
		return err
	}
	c.answered(q, rows[0][0] == "1")
	return nil
}

// askTickets asks whether a work alone is there, and if it is, which ids it got.
func (c *client) askTickets(ctx context.Context, q *question) error {
	rows, err := c.query(ctx, nil, "SELECT COUNT(*) FROM ticket WHERE client = ? AND seq = ?", c.no, q.seq)
	if err != nil {
		return err
	}
	if rows[0][0] == "0" {
		if q.acked != 0 {
			c.found.lost("%v was acknowledged, and its tickets are not there", q.author)
		}
		c.answered(q, false)
		return nil
	}
	q.attempt.ctx = ctx
	q.attempt.forget(0)
	if err := q.attempt.readTickets(q.alone, 0); err != nil {
		return err
	}
	c.answered(q, true)
	return nil
}

func (c *client) answered(q *question, there bool) {
	c.question = nil
	c.found.event("questions answered")
	if there {
		c.acknowledged(q.work)
		return
	}
	q.attempt.forget(0)
	c.log = c.log[:len(c.log)-1]
	c.seq = q.seq - 1
}

// acknowledged: the work is there, the server says so.
func (c *client) acknowledged(w *work) {
	w.acked = c.clock.tick()
	c.seq = w.seq
	if w.alone == 0 {
		c.stamped = w.seq
	}
}
