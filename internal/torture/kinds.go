package torture

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/hearthdb/hearth"
)

// pay moves coins from one account to another, under row locks taken in any order: so there are waits and deadlocks.
func (w *writer) pay(a *attempt) error {
	from, to := w.account(), w.account()
	amount := uint32(1 + w.rnd.IntN(100))
	if from == to {
		return nil
	}
	return a.statement(func() error {
		bank, err := a.tx.Tree(bankTree)
		if err != nil {
			return err
		}
		var balances [2]int64
		for i, no := range [...]uint16{from, to} {
			v, err := bank.GetForUpdate(numberKey(no), hearth.LockOptions{NoWait: w.chance(5)})
			if err != nil {
				return fmt.Errorf("account %d: %w", no, err)
			}
			if balances[i], err = parseBank(v); err != nil {
				return fmt.Errorf("WRONG ANSWER: account %d: %w", no, err)
			}
		}
		if err := bank.Put(numberKey(from), bankValue(balances[0]-int64(amount))); err != nil {
			return err
		}
		if err := bank.Put(numberKey(to), bankValue(balances[1]+int64(amount))); err != nil {
			return err
		}
		a.did(op{kind: opTransfer, a: uint32(from), n: uint32(to), b: amount})
		return nil
	})
}

// popularAccounts get half of all transfers.
const popularAccounts = 5

func (w *writer) account() uint16 {
	n := w.c.order.Accounts
	if w.chance(50) {
		n = min(n, popularAccounts)
	}
	return uint16(w.rnd.IntN(n))
}

// largeValues puts, deletes and reads values of many pages.
func (w *writer) largeValues(ctx context.Context, a *attempt) error {
	o := &w.c.order
	for range 1 + w.rnd.IntN(2) {
		i := uint32(w.rnd.IntN(int(o.LargeKeys)))
		var err error
		switch {
		case w.chance(20):
			err = a.look(i, large)
		case w.chance(20):
			err = a.delete(i, large)
		default:
			// As many of 10 to 20 KB as of 1 to 2 MB.
			size := leastLarge * math.Pow(float64(o.LargeValue)/leastLarge, w.rnd.Float64())
			err = a.put(i, uint32(size), large)
		}
		if err != nil {
			return err
		}
	}
	return w.change(a)
}

const (
	// ownTreesEach is how many trees of its own a writer has at most: few names, so that they are used again.
	ownTreesEach = 3
	// ownTreeKeys bounds the keys of such a tree.
	ownTreeKeys = 1500
)

// ownTrees creates, fills, changes and drops trees.
func (w *writer) ownTrees(ctx context.Context, a *attempt) error {
	for range 1 + w.rnd.IntN(3) {
		sp, n := a.tx.Savepoint(), len(a.ops)
		if err := w.ownTree(a, ownTree+treeNo(w.rnd.IntN(ownTreesEach))); err != nil {
			return err
		}
		if w.chance(15) {
			if err := a.rollbackTo(sp, n); err != nil {
				return err
			}
		}
	}
	return w.change(a)
}

func (w *writer) ownTree(a *attempt, no treeNo) error {
	_, there := w.own.trees[no.name(w.no)]
	switch {
	case !there:
		return w.createTree(a, no)
	case w.chance(30):
		return a.statement(func() error {
			if err := a.tx.DropTree(no.name(w.no)); err != nil {
				return fmt.Errorf("drop %s: %w", no.name(w.no), err)
			}
			a.did(op{kind: opDrop, tree: no})
			return nil
		})
	}
	for range 1 + w.rnd.IntN(50) {
		i := uint32(w.rnd.IntN(ownTreeKeys))
		var err error
		if w.chance(40) {
			err = a.delete(i, no)
		} else {
			err = a.put(i, w.size(), no)
		}
		if err != nil {
			return err
		}
	}
	return a.look(uint32(w.rnd.IntN(ownTreeKeys)), no)
}

func (w *writer) createTree(a *attempt, no treeNo) error {
	return a.statement(func() error {
		name := no.name(w.no)
		t, err := a.tx.CreateTree(name)
		if err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		a.did(op{kind: opCreate, tree: no})
		if w.chance(30) {
			return nil
		}
		o := op{kind: opLoad, tree: no, a: uint32(w.rnd.IntN(ownTreeKeys)), b: headSize + uint32(w.rnd.IntN(300)), n: w.number()}
		err = t.Load(func(yield func(k, v []byte) bool) {
			var key, value []byte
			for i := range o.a {
				key = no.key(key, w.no, i)
				value = stamp{w.no, o.n, a.seq, o.b}.value(value, name, key)
				if !yield(key, value) {
					return
				}
			}
		})
		if err != nil {
			return fmt.Errorf("load %d rows into %s: %w", o.a, name, err)
		}
		a.did(o)
		return nil
	})
}

// walk reads a range of the writer's keys with a cursor, both ways, in the middle of its own changes.
func (w *writer) walk(ctx context.Context, a *attempt) error {
	if err := w.few(ctx, a); err != nil {
		return err
	}
	t, err := a.tree(alone)
	if err != nil {
		return err
	}
	const most = 300
	lo := w.index()
	hi := min(lo+most, w.c.order.Keys)
	var want [][]byte
	for i := lo; i < hi; i++ {
		if _, ok := a.known(alone, i); ok {
			want = append(want, alone.key(nil, w.no, i))
		}
	}
	c := t.Cursor()
	defer c.Close()
	ok := c.Seek(alone.key(nil, w.no, lo)[:6]) // without the tail: no key is between
	for i := range want {
		if err := w.at(c, ok, want[i]); err != nil {
			return fmt.Errorf("forwards: %w", err)
		}
		ok = c.Next()
	}
	ok = c.SeekLT(alone.key(nil, w.no, hi)[:6])
	for i := len(want) - 1; i >= 0; i-- {
		if err := w.at(c, ok, want[i]); err != nil {
			return fmt.Errorf("backwards: %w", err)
		}
		ok = c.Prev()
	}
	return c.Err()
}

// at compares what a cursor stands on.
func (w *writer) at(c *hearth.Cursor, ok bool, want []byte) error {
	name := alone.name(0)
	switch {
	case !ok && c.Err() != nil:
		return c.Err()
	case !ok:
		return fmt.Errorf("WRONG ANSWER: a cursor of %s ends; want key %s", name, showKey(want))
	case !bytes.Equal(c.Key(), want):
		return fmt.Errorf("WRONG ANSWER: a cursor of %s is at key %s; want %s", name, showKey(c.Key()), showKey(want))
	}
	v := c.Value()
	if err := c.Err(); err != nil { // a large value is read only now
		return err
	}
	s, err := verify(bytes.NewReader(v), int64(len(v)), name, want)
	if err == nil && s != w.own.trees[name][string(want)] {
		err = fmt.Errorf("%v; want %v", s, w.own.trees[name][string(want)])
	}
	if err != nil {
		return fmt.Errorf("WRONG ANSWER: a cursor of %s at key %s: %w", name, showKey(want), err)
	}
	return nil
}
