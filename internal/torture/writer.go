package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hearthdb/hearth"
)

// writer runs transactions on its own keys and on the bank.
type writer struct {
	c       *life
	no      uint16
	own     *state // what its keys hold
	journal *journal
	rnd     *rand.Rand
	seq     uint64 // of its last committed transaction
	n       uint32 // of its last change
	value   []byte // scratch
}

// Numbers of writers: one makes the fixed trees, those that work follow, after them comes the one that only watches.
const (
	setupWriter = 0
	firstWriter = 1
)

// changesBits is how many bits of a change's number count within a life. The rest is the life, so that no number
// comes twice: the stamp of a transaction that was lost, or rolled back, is never that of another.
const changesBits = 21

func (c *life) writer(no uint16, own *state) (*writer, error) {
	j, err := openJournal(c.order.Journals, no)
	if err != nil {
		return nil, err
	}
	return &writer{
		c: c, no: no, own: own, journal: j, n: uint32(c.order.Life) << changesBits,
		rnd: rand.New(rand.NewPCG(c.order.Seed^uint64(c.order.Life)<<32, uint64(no))),
	}, nil
}

func (w *writer) number() uint32 {
	w.n++
	return w.n
}

// chance is true in so many of a hundred cases.
func (w *writer) chance(percent int) bool { return w.rnd.IntN(100) < percent }

// setup makes the fixed trees and opens the accounts.
func (w *writer) setup(ctx context.Context, accounts int) error {
	tx, err := w.c.db.Begin(ctx, hearth.TxOptions{Durability: hearth.DurabilityCommit})
	if err != nil {
		return err
	}
	for _, no := range fixedTrees {
		if _, err := tx.CreateTree(no.name(0)); err != nil {
			return err
		}
	}
	if _, err := tx.CreateTree(stampTree); err != nil {
		return err
	}
	bank, err := tx.CreateTree(bankTree)
	if err != nil {
		return err
	}
	for i := range accounts {
		if err := bank.Put(numberKey(uint16(i)), bankValue(initialBalance)); err != nil {
			return err
		}
	}
	a := &attempt{w: w, tx: tx, seq: w.seq + 1}
	a.did(op{kind: opSetup, a: uint32(accounts), b: initialBalance})
	return a.commit(ctx, true)
}

// initialBalance of an account, in coins of no value.
const initialBalance = 1_000_000

// run works until ctx ends.
func (w *writer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.one(ctx); err != nil {
			return fmt.Errorf("writer %d, transaction %d: %w", w.no, w.seq+1, err)
		}
	}
	return nil
}

// one runs a transaction.
func (w *writer) one(ctx context.Context) error {
	durable := w.c.order.Durability == hearth.DurabilityCommit
	if w.chance(15) {
		durable = !durable
	}
	durability := hearth.DurabilityProcess
	if durable {
		durability = hearth.DurabilityCommit
	}
	a, err := w.begin(ctx, durability)
	if err != nil {
		return err
	}
	err = w.kind()(ctx, a)
	switch {
	case errors.Is(err, errAbandoned):
		return a.rollback()
	case err != nil:
		return errors.Join(err, a.rollback())
	case ctx.Err() != nil, len(a.ops) == 0, w.chance(8):
		return a.rollback()
	}
	if err := a.commit(ctx, durable); err != nil {
		return errors.Join(err, a.rollback())
	}
	return nil
}

// A kind of transaction, drawn by weight.
type body func(context.Context, *attempt) error

func (w *writer) kind() body {
	if w.c.order.Phase == phaseFill && w.chance(60) {
		return w.many
	}
	switch p := w.rnd.IntN(100); {
	case p < 53:
		return w.few
	case p < 75:
		return w.transfer
	case p < 82:
		return w.many
	case p < 87:
		return w.series
	case p < 92:
		return w.ownTrees
	case p < 94:
		return w.largeValues
	case p < 95:
		return w.long
	default:
		return w.walk
	}
}

// few changes a few keys, and reads some.
func (w *writer) few(ctx context.Context, a *attempt) error {
	for range 1 + w.rnd.IntN(5) {
		if err := w.change(a); err != nil {
			return err
		}
	}
	if w.chance(20) {
		return w.pay(a)
	}
	return nil
}

// transfer moves coins between accounts that everybody wants.
func (w *writer) transfer(ctx context.Context, a *attempt) error {
	for range 1 + w.rnd.IntN(4) {
		if err := w.pay(a); err != nil {
			return err
		}
	}
	return w.change(a)
}

// many changes many keys, with savepoints and partial rollbacks.
func (w *writer) many(ctx context.Context, a *attempt) error {
	for range 2 + w.rnd.IntN(6) {
		sp, n := a.tx.Savepoint(), len(a.ops)
		for range 5 + w.rnd.IntN(40) {
			if err := w.change(a); err != nil {
				return err
			}
		}
		if w.chance(25) {
			if err := a.rollbackTo(sp, n); err != nil {
				return err
			}
			if err := w.journal.event(eventSavepoint); err != nil {
				return err
			}
		}
	}
	return nil
}

// series puts or deletes keys in a row, so that pages split at one end and empty.
func (w *writer) series(ctx context.Context, a *attempt) error {
	o := &w.c.order
	at, n := w.index(), uint32(20+w.rnd.IntN(200))
	trees := []treeNo{alone}
	if w.chance(30) {
		trees = together
	}
	deletes := w.chance(o.Phase.deletes())
	for i := at; i < min(at+n, o.Keys); i++ {
		var err error
		if deletes {
			err = a.delete(i, trees...)
		} else {
			err = a.put(i, w.size(), trees...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// longPause is how long a long transaction thinks between statements, now and then.
const longPause = 4 * time.Millisecond

// long stays open for long: most are still open at the kill.
func (w *writer) long(ctx context.Context, a *attempt) error {
	if err := w.journal.event(eventLong); err != nil {
		return err
	}
	for range 100 + w.rnd.IntN(2000) {
		if err := w.change(a); err != nil {
			return err
		}
		if w.chance(10) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(longPause):
			}
		}
	}
	return nil
}

// change puts or deletes one key, or looks at it.
func (w *writer) change(a *attempt) error {
	i, trees := w.index(), []treeNo{alone}
	if w.chance(60) {
		trees = together
	}
	switch {
	case w.chance(15):
		return a.look(i, trees[w.rnd.IntN(len(trees))])
	case w.chance(w.c.order.Phase.deletes()):
		return a.delete(i, trees...)
	}
	return a.put(i, w.size(), trees...)
}

func (w *writer) index() uint32 {
	if w.chance(20) { // some keys are popular
		return uint32(w.rnd.IntN(int(min(w.c.order.Keys, 16))))
	}
	return uint32(w.rnd.IntN(int(w.c.order.Keys)))
}

// size of a value: mostly small, some nearly as large as fits in a leaf, a few beyond.
func (w *writer) size() uint32 {
	switch p := w.rnd.IntN(100); {
	case p < 75:
		return headSize + uint32(w.rnd.IntN(130))
	case p < 93:
		return headSize + uint32(w.rnd.IntN(900))
	case p < 99:
		return headSize + uint32(w.rnd.IntN(4200))
	default:
		return headSize + uint32(w.rnd.IntN(40_000))
	}
}
