package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// attempt is a work under way, and what the model says of it so far.
type attempt struct {
	*client
	ctx   context.Context
	began uint64
	work  *work
	undos []func()
	marks []mark
}

// mark is a savepoint.
type mark struct {
	name    string
	effects int // there were when it was set
}

func (c *client) attempt(ctx context.Context) *attempt {
	return &attempt{client: c, ctx: ctx, began: c.clock.tick(), work: &work{author: author{c.no, c.seq + 1}}}
}

// did notes what a statement has done.
func (a *attempt) did(e effect) {
	a.work.effects = append(a.work.effects, e)
	a.undos = append(a.undos, a.own.apply(e))
}

// forget takes the model back to where it had n effects.
func (a *attempt) forget(n int) {
	for i := len(a.undos) - 1; i >= n; i-- {
		a.undos[i]()
	}
	a.work.effects, a.undos = a.work.effects[:n], a.undos[:n]
}

func (a *attempt) exec(allowed []uint16, text string, args ...any) (affected uint64, err error) {
	affected, _, err = a.client.exec(a.ctx, allowed, text, args...)
	return affected, err
}

func (a *attempt) query(allowed []uint16, text string, args ...any) ([][]string, error) {
	return a.client.query(a.ctx, allowed, text, args...)
}

// must executes a statement that changes n rows unless it fails as a whole.
func (a *attempt) must(n uint64, allowed []uint16, text string, args ...any) error {
	affected, err := a.exec(allowed, text, args...)
	if err == nil && affected != n {
		a.found.torn("%s: %s %v: %d rows affected, want %d", a.who, text, args, affected, n)
		return errAborted
	}
	return err
}

// names of savepoints: few, so that a new one takes the place of an old one.
const names = 4

// unit runs f behind a savepoint: when one of its statements is undone all of them are.
func (a *attempt) unit(f func() error) error {
	m := mark{fmt.Sprintf("s%d", a.rnd.IntN(names)), len(a.work.effects)}
	a.marks = slices.DeleteFunc(a.marks, func(old mark) bool { return old.name == m.name })
	if _, err := a.exec(nil, "SAVEPOINT "+m.name); err != nil {
		return passOver(err)
	}
	a.marks = append(a.marks, m)
	err := f()
	if errors.As(err, new(undone)) {
		return a.rollbackTo(len(a.marks) - 1)
	}
	return err
}

// rewind rolls back to any savepoint there is, and may do so again.
func (a *attempt) rewind() error {
	if len(a.marks) == 0 {
		return nil
	}
	a.found.event("rollbacks to savepoints")
	return a.rollbackTo(a.rnd.IntN(len(a.marks)))
}

// rollbackTo the i-th savepoint, which stays.
func (a *attempt) rollbackTo(i int) error {
	m := a.marks[i]
	if err := a.insist("ROLLBACK TO SAVEPOINT " + m.name); err != nil {
		return err
	}
	a.marks = a.marks[:i+1]
	a.forget(m.effects)
	return nil
}

// insist executes a statement that may only be killed until it is not.
func (a *attempt) insist(text string) error {
	for {
		if _, err := a.exec(nil, text); !errors.As(err, new(undone)) {
			return err
		}
	}
}

// passOver lets a work go on after a statement that has done nothing.
func passOver(err error) error {
	if errors.As(err, new(undone)) {
		return nil
	}
	return err
}

// steps are what transactions are made of, each with its share.
var steps = []struct {
	share int
	do    func(*attempt) error
}{
	{20, (*attempt).transfer},
	{22, (*attempt).writeSlot},
	{4, (*attempt).writeManySlots},
	{12, (*attempt).claim},
	{8, (*attempt).ticket},
	{14, (*attempt).family},
	{12, (*attempt).useSite},
	{8, (*attempt).readOwn},
	{4, (*attempt).rewind},
}

func (a *attempt) step() error {
	all := 0
	for _, s := range steps {
		all += s.share
	}
	n := a.rnd.IntN(all)
	for _, s := range steps {
		if n -= s.share; n < 0 {
			return s.do(a)
		}
	}
	panic("BUG: no step drawn, want one")
}

// transaction is one work of many statements.
func (c *client) transaction(ctx context.Context) error {
	a := c.attempt(ctx)
	err := a.begin()
	for range 1 + c.rnd.IntN(6) {
		if err != nil {
			break
		}
		err = a.step()
	}
	if err == nil && !c.chance(8) {
		return a.commit()
	}
	a.forget(0)
	if errors.Is(err, errLost) {
		return err
	}
	c.found.event("rollbacks")
	return a.insist("ROLLBACK")
}

// begin also looks whether the client's own works are there, and no later one.
func (a *attempt) begin() error {
	isolation := "REPEATABLE READ"
	if a.chance(40) {
		isolation = "READ COMMITTED"
	}
	for _, text := range []string{"SET TRANSACTION ISOLATION LEVEL " + isolation, "START TRANSACTION"} {
		if _, err := a.exec(nil, text); err != nil {
			return err
		}
	}
	rows, err := a.query(nil, "SELECT seq FROM stamp WHERE client = ?", a.no)
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != fmt.Sprint(a.stamped) {
		a.found.lost("%s: its stamp is %v, want %d", a.who, rows, a.stamped)
		return errAborted
	}
	return nil
}

// commit is rule 1.
func (a *attempt) commit() error {
	c := a.client
	for {
		err := a.must(1, nil, "UPDATE stamp SET seq = ? WHERE client = ?", a.work.seq, c.no)
		if err == nil {
			break
		}
		if !errors.As(err, new(undone)) {
			a.forget(0)
			return err
		}
	}
	a.work.began = c.clock.tick()
	c.log = append(c.log, a.work)
	if _, err := a.exec(nil, "COMMIT"); err != nil {
		a.doubt()
		return err
	}
	c.acknowledged(a.work)
	return nil
}

// alone is a work of one statement.
func (c *client) alone(ctx context.Context) error {
	a := c.attempt(ctx)
	a.work.alone, a.work.began = 1+c.rnd.IntN(5), a.began
	c.log = append(c.log, a.work)
	first, err := a.drawTickets(a.work.alone)
	switch {
	case errors.Is(err, errLost):
		a.doubt()
		return err
	case err != nil: // it has done nothing, and is not there
		c.log = c.log[:len(c.log)-1]
		return passOver(err)
	}
	c.acknowledged(a.work)
	if err = a.readTickets(a.work.alone, first); err != nil {
		a.doubt()
	}
	return err
}
