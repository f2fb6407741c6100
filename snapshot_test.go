package hearth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
)

// TestSnapshotsUnderLoad: money moves between many accounts in leaves that split and merge all the time, in a pool that does not hold
// them all; every snapshot, however it is read, has all of it.
func TestSnapshotsUnderLoad(t *testing.T) {
	seed := seedOf(t)
	ctx := context.Background()
	db := openMem(t, file.NewMem(seed))
	const accounts, deposit = 2000, 100
	key := func(i int) []byte { return fmt.Appendf(nil, "%04d", i) }
	// A balance is followed by ballast, whose length changes with it.
	value := func(n int) []byte { return append(fmt.Appendf(nil, "%d ", n), make([]byte, n*31%4000)...) }
	balance := func(v []byte) (int, error) {
		n, _, _ := bytes.Cut(v, []byte(" "))
		return strconv.Atoi(string(n))
	}
	err := db.Update(ctx, func(tx *Tx) error {
		tree, err := tx.CreateTree("accounts")
		for i := 0; err == nil && i < accounts; i++ {
			err = tree.Put(key(i), value(deposit))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	transfer := func(from, to, amount int) error {
		return db.Update(ctx, func(tx *Tx) error {
			tree, err := tx.Tree("accounts")
			if err != nil {
				return err
			}
			for _, side := range []struct{ account, by int }{{from, -amount}, {to, amount}} {
				n := 0
				v, err := tree.GetForUpdate(key(side.account), LockOptions{})
				if err == nil {
					n, err = balance(v)
				} else if errors.Is(err, ErrKeyNotFound) {
					err = nil // an empty account is deleted
				}
				if err != nil {
					return err
				}
				if n += side.by; n == 0 {
					_, err = tree.Delete(key(side.account))
				} else {
					err = tree.Put(key(side.account), value(max(n, -n)))
				}
				if err != nil || n < 0 {
					return errors.Join(err, errOverdrawn)
				}
			}
			return nil
		})
	}
	transfers, scans := 1500, 40
	if testing.Short() {
		transfers, scans = 400, 12
	}
	if long {
		transfers, scans = 100000, 2000
	}
	var wg sync.WaitGroup
	var moved atomic.Int64
	for w := range 3 {
		wg.Go(func() {
			rng := rngOf(seed + uint64(w))
			for range transfers {
				err := transfer(rng.IntN(accounts), rng.IntN(accounts), 1+rng.IntN(deposit))
				switch {
				case err == nil:
					moved.Add(1)
				case !errors.Is(err, errOverdrawn) && !errors.Is(err, ErrDeadlock):
					t.Error(err)
					return
				}
			}
		})
	}
	sum := func(tx *Tx, back bool) (int, error) {
		tree, err := tx.Tree("accounts")
		if err != nil {
			return 0, err
		}
		c := tree.Cursor()
		defer c.Close()
		start, step := c.First, c.Next
		if back {
			start, step = c.Last, c.Prev
		}
		total := 0
		for ok := start(); ok; ok = step() {
			n, err := balance(c.Value())
			if err != nil {
				return 0, err
			}
			total += n
		}
		return total, c.Err()
	}
	for w := range 2 {
		wg.Go(func() {
			for i := range scans {
				tx, err := db.Begin(ctx, TxOptions{ReadOnly: true, Isolation: [...]Isolation{RepeatableRead, ReadCommitted}[w]})
				if err != nil {
					t.Error(err)
					return
				}
				for j := range 3 {
					tx.Statement()
					if total, err := sum(tx, (i+j)%2 == 0); err != nil || total != accounts*deposit {
						t.Errorf("scan %d.%d of reader %d: the sum is %d, want %d, %v", i, j, w, total, accounts*deposit, err)
						tx.Rollback()
						return
					}
				}
				tx.Rollback()
			}
		})
	}
	wg.Wait()
	t.Logf("%d transfers", moved.Load())
	if err := checkSound(ctx, db); err != nil {
		t.Error(err)
	}
}

var errOverdrawn = errors.New("the account is overdrawn")
