package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hearthdb/hearth"
)

// watcher reads snapshots while others write, and asks for a checkpoint now and then. Its writer writes nothing but events.
type watcher struct{ *writer }

func (w *watcher) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.snapshot(ctx); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if err := w.journal.event(eventSnapshot); err != nil {
			return err
		}
		if w.chance(3) {
			if err := w.c.db.Checkpoint(ctx); err != nil {
				return fmt.Errorf("checkpoint: %w", err)
			}
			if err := w.journal.event(eventCheckpoint); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshotPause is how long a snapshot is kept at most between its two looks at the bank.
const snapshotPause = 60 * time.Millisecond

// snapshot proves of one moment: the sum of the bank, that it stays as it is, that trees changed together agree, and that
// no row is newer than its writer's last transaction.
func (w *watcher) snapshot(ctx context.Context) error {
	return w.c.db.View(ctx, func(tx *hearth.Tx) error {
		first, err := w.balances(tx)
		if err != nil {
			return err
		}
		for range 50 {
			if err := w.agree(tx); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(w.rnd.Int64N(int64(snapshotPause))))
		again, err := w.balances(tx)
		if err == nil && !maps.Equal(first, again) {
			err = errors.New("WRONG ANSWER: the bank has other balances at a second look")
		}
		return err
	})
}

func (w *watcher) balances(tx *hearth.Tx) (map[uint16]int64, error) {
	t, err := tx.Tree(bankTree)
	if err != nil {
		return nil, err
	}
	c := t.Cursor()
	defer c.Close()
	g := newGathered()
	g.begin(bankTree)
	var sum int64
	for ok := c.First(); ok; ok = c.Next() {
		g.add(row{key: c.Key(), value: c.Value()})
	}
	for _, b := range g.bank {
		sum += b
	}
	if want := int64(w.c.order.Accounts) * initialBalance; c.Err() == nil && (sum != want || len(g.bank) != w.c.order.Accounts || len(g.wrongs) > 0) {
		return nil, fmt.Errorf("WRONG ANSWER: %d accounts hold %d, want %d holding %d; %v", len(g.bank), sum, w.c.order.Accounts, want, g.wrongs)
	}
	return g.bank, c.Err()
}

// agree looks at one key of one writer in the trees that are changed together.
func (w *watcher) agree(tx *hearth.Tx) error {
	of, index := firstWriter+uint16(w.rnd.IntN(w.c.order.Writers)), w.index()
	key := left.key(nil, of, index)
	var first stamp
	for i, no := range together {
		t, err := tx.Tree(no.name(0))
		if err != nil {
			return err
		}
		a := attempt{w: w.writer}
		s, err := a.read(t, key)
		if err != nil && !errors.Is(err, hearth.ErrKeyNotFound) {
			return fmt.Errorf("WRONG ANSWER: tree %s, key %s: %w", t.Name(), showKey(key), err)
		}
		if i == 0 {
			first = s
		} else if s != first {
			return fmt.Errorf("WRONG ANSWER: key %s: %v in %s and %v in %s of one snapshot", showKey(key), first, left.name(0), s, t.Name())
		}
	}
	return w.notNewer(tx, of, first)
}

func (w *watcher) notNewer(tx *hearth.Tx, of uint16, s stamp) error {
	t, err := tx.Tree(stampTree)
	if err != nil {
		return err
	}
	var seq uint64
	v, err := t.Get(numberKey(of))
	if err == nil {
		seq, err = parseSeq(v)
	} else if errors.Is(err, hearth.ErrKeyNotFound) {
		err = nil
	}
	if err == nil && s.seq > seq {
		err = fmt.Errorf("WRONG ANSWER: a row is of %v, and the last transaction of the same snapshot is %d", s, seq)
	}
	return err
}
