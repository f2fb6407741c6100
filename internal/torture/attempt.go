package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hearthdb/hearth"
)

// attempt is a transaction under way: the engine's, and what the model says of it.
type attempt struct {
	w     *writer
	tx    *hearth.Tx
	seq   uint64
	ops   []op
	undos []func()
	done  bool
}

// errAbandoned: the transaction has no future, for a reason that is no fault.
var errAbandoned = errors.New("abandoned")

func (w *writer) begin(ctx context.Context, durability hearth.Durability) (*attempt, error) {
	opts := hearth.TxOptions{Durability: durability}
	if w.chance(30) {
		opts.Isolation = hearth.ReadCommitted
	}
	tx, err := w.c.db.Begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &attempt{w: w, tx: tx, seq: w.seq + 1}, nil
}

// did notes a change that the engine has made.
func (a *attempt) did(o op) {
	a.ops = append(a.ops, o)
	a.undos = append(a.undos, a.w.own.apply(a.w.no, a.seq, o))
}

// forget takes the model back to where it had n changes.
func (a *attempt) forget(n int) {
	for i := len(a.undos) - 1; i >= n; i-- {
		a.undos[i]()
	}
	a.ops, a.undos = a.ops[:n], a.undos[:n]
}

// statement runs f as one statement: whole or, when it fails by a lock that was not to be had, not at all.
func (a *attempt) statement(f func() error) error {
	sp, n := a.tx.Statement(), len(a.ops)
	err := f()
	switch {
	case errors.Is(err, hearth.ErrDeadlock): // the engine has rolled back
		a.done = true
		a.forget(0)
		return errors.Join(errAbandoned, a.w.journal.event(eventDeadlock))
	case errors.Is(err, hearth.ErrLockWaitTimeout), errors.Is(err, hearth.ErrLocked):
		if err := a.rollbackTo(sp, n); err != nil {
			return err
		}
		return a.w.journal.event(eventLockWait)
	}
	return err
}

func (a *attempt) rollbackTo(sp hearth.Savepoint, n int) error {
	if err := a.tx.RollbackTo(sp); err != nil {
		return fmt.Errorf("roll back to a savepoint: %w", err)
	}
	a.forget(n)
	return nil
}

func (a *attempt) rollback() error {
	if a.done {
		return nil
	}
	a.done = true
	a.forget(0)
	if err := a.tx.Rollback(); err != nil && !errors.Is(err, hearth.ErrTxDone) { // a commit that failed has ended it
		return fmt.Errorf("roll back: %w", err)
	}
	return a.w.journal.event(eventRollback)
}

// commit is rule 1.
func (a *attempt) commit(ctx context.Context, durable bool) error {
	t, err := a.tx.Tree(stampTree)
	if err != nil {
		return err
	}
	if err := t.Put(numberKey(a.w.no), seqValue(a.seq)); err != nil {
		return fmt.Errorf("stamp row: %w", err)
	}
	if err := a.w.journal.intent(a.seq, durable, a.ops); err != nil {
		return err
	}
	if err := a.tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	a.done = true
	a.w.seq = a.seq
	return a.w.journal.ack(a.seq)
}

// tree opens one of the writer's trees.
func (a *attempt) tree(t treeNo) (*hearth.Tree, error) { return a.tx.Tree(t.name(a.w.no)) }

func (a *attempt) known(t treeNo, index uint32) (stamp, bool) {
	s, ok := a.w.own.trees[t.name(a.w.no)][string(t.key(nil, a.w.no, index))]
	return s, ok
}

// put sets the value of a key in some trees, with one stamp.
func (a *attempt) put(index, size uint32, trees ...treeNo) error {
	n := a.w.number()
	return a.statement(func() error {
		for _, no := range trees {
			if err := a.putOne(op{kind: opPut, tree: no, a: index, b: size, n: n}); err != nil {
				return err
			}
		}
		return nil
	})
}

// streamFrom is the size in bytes from which values are streamed, every other time.
const streamFrom = 100_000

func (a *attempt) putOne(o op) error {
	t, err := a.tree(o.tree)
	if err != nil {
		return err
	}
	w := a.w
	key := o.tree.key(nil, w.no, o.a)
	s := stamp{w.no, o.n, a.seq, o.b}
	_, there := a.known(o.tree, o.a)
	if there && w.chance(5) {
		if err := t.Insert(key, nil); err == nil {
			return fmt.Errorf("WRONG ANSWER: an insert of key %s into %s, where it is already", showKey(key), t.Name())
		} else if !errors.Is(err, hearth.ErrKeyExists) {
			return err
		}
	}
	switch {
	case o.b >= streamFrom && w.chance(50):
		f := s.filler(place(t.Name(), key))
		if err = t.PutReader(key, &f, int64(o.b)); err == nil {
			err = w.journal.event(eventStream)
		}
	case !there && w.chance(50):
		w.value = s.value(w.value, t.Name(), key)
		err = t.Insert(key, w.value)
	default:
		w.value = s.value(w.value, t.Name(), key)
		err = t.Put(key, w.value)
	}
	if err != nil {
		return fmt.Errorf("put %d bytes into %s: %w", o.b, t.Name(), err)
	}
	a.did(o)
	return nil
}

func (a *attempt) delete(index uint32, trees ...treeNo) error {
	return a.statement(func() error {
		for _, no := range trees {
			t, err := a.tree(no)
			if err != nil {
				return err
			}
			if _, err := t.Delete(no.key(nil, a.w.no, index)); err != nil {
				return fmt.Errorf("delete from %s: %w", t.Name(), err)
			}
			a.did(op{kind: opDelete, tree: no, a: index})
		}
		return nil
	})
}

// look reads a key of the writer and compares.
func (a *attempt) look(index uint32, no treeNo) error {
	t, err := a.tree(no)
	if err != nil {
		return err
	}
	key := no.key(nil, a.w.no, index)
	want, there := a.known(no, index)
	got, err := a.read(t, key)
	switch {
	case errors.Is(err, hearth.ErrKeyNotFound) && !there:
		return nil
	case err != nil:
		return fmt.Errorf("WRONG ANSWER: tree %s, key %s: %w; want %v (there: %v)", t.Name(), showKey(key), err, want, there)
	case !there:
		return fmt.Errorf("WRONG ANSWER: tree %s, key %s: %v; want nothing", t.Name(), showKey(key), got)
	case got != want:
		return fmt.Errorf("WRONG ANSWER: tree %s, key %s: %v; want %v", t.Name(), showKey(key), got, want)
	}
	return nil
}

func (a *attempt) read(t *hearth.Tree, key []byte) (stamp, error) {
	w := a.w
	if w.chance(10) {
		r, err := t.OpenValue(key)
		if err != nil {
			return stamp{}, err
		}
		s, err := verify(r, r.Size(), t.Name(), key)
		if err == nil && s.size > headSize {
			err = seekInto(w, r, s, place(t.Name(), key))
		}
		return s, err
	}
	v, err := t.GetTo(w.value[:0], key)
	if err != nil {
		return stamp{}, err
	}
	w.value = v
	return verify(bytes.NewReader(v), int64(len(v)), t.Name(), key)
}

// seekInto reads some bytes in the middle of a value.
func seekInto(w *writer, r io.ReadSeeker, s stamp, place uint32) error {
	at := w.rnd.IntN(int(s.size))
	if _, err := r.Seek(int64(at), io.SeekStart); err != nil {
		return err
	}
	var got, want [64]byte
	f := s.filler(place)
	f.at = at
	n := f.read(want[:])
	if _, err := io.ReadFull(r, got[:n]); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the value of %v has other bytes at %d", s, at)
	}
	return nil
}
