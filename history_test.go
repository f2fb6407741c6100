package hearth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hearthdb/hearth/internal/file"
)

// Histories: clients that run at the same time read, write and compare-and-swap a few keys, each call a transaction. What they
// were answered must be explicable by some order in which each call takes effect at one moment between its begin and its end
// (linearizability; Herlihy and Wing, TOPLAS 1990). Porcupine looks for that order.

type registerInput struct {
	op       registerOp
	key      string
	old, new int // 0: not there
}

type registerOp byte

const (
	registerRead registerOp = iota
	registerWrite
	registerSwap // if old, then new
)

// registers is the model: each key is a register of its own.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(registerInput).key
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, p := range byKey {
			parts = append(parts, p)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(registerInput), output.(int)
		switch {
		case in.op == registerRead:
			return out == state.(int), state
		case in.op == registerSwap && state.(int) != in.old:
			return out == 0, state
		case in.op == registerSwap:
			return out == 1, in.new
		}
		return true, in.new
	},
	DescribeOperation: func(input, output any) string {
		in := input.(registerInput)
		return fmt.Sprintf("%s: %s %d %d -> %d", in.key, [...]string{"read", "write", "swap"}[in.op], in.old, in.new, output)
	},
}

// registerCall does one call in a transaction of its own. how chooses among the ways there are.
func registerCall(ctx context.Context, db *DB, in registerInput, how int) (out int, err error) {
	key := []byte(in.key)
	if in.op == registerRead {
		read := [...]func(*Tree) ([]byte, error){
			func(t *Tree) ([]byte, error) { return t.Get(key) },
			func(t *Tree) ([]byte, error) { return t.GetForShare(key, LockOptions{}) },
			func(t *Tree) ([]byte, error) {
				c := t.Cursor()
				defer c.Close()
				if !c.Seek(key) || string(c.Key()) != in.key {
					return nil, errors.Join(c.Err(), ErrKeyNotFound)
				}
				return bytes.Clone(c.Value()), nil // the cursor's memory goes with it
			},
		}[how%3]
		err = db.View(ctx, func(tx *Tx) error {
			t, err := tx.Tree("registers")
			if err == nil {
				out, err = registerValue(read(t))
			}
			return err
		})
		return out, err
	}
	tx, err := db.Begin(ctx, TxOptions{Isolation: [...]Isolation{RepeatableRead, ReadCommitted}[how%2], Durability: [...]Durability{DurabilityCommit, DurabilityProcess}[how/2%2]})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of no effect after a commit
	t, err := tx.Tree("registers")
	if err != nil {
		return 0, err
	}
	if in.op == registerSwap {
		is, err := registerValue(t.GetForUpdate(key, LockOptions{}))
		if err != nil || is != in.old {
			return 0, err
		}
	}
	if in.new == 0 {
		_, err = t.Delete(key)
	} else {
		err = t.Put(key, strconv.AppendInt(nil, int64(in.new), 10))
	}
	if err != nil {
		return 0, err
	}
	return 1, tx.Commit(ctx)
}

func registerValue(v []byte, err error) (int, error) {
	if errors.Is(err, ErrKeyNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(v))
}

func TestHistory(t *testing.T) {
	seed := seedOf(t)
	ctx := context.Background()
	db := openMem(t, file.NewMem(seed))
	if err := db.Update(ctx, func(tx *Tx) error { _, err := tx.CreateTree("registers"); return err }); err != nil {
		t.Fatal(err)
	}
	rounds := 20
	if long {
		rounds = 1000
	}
	for round := range rounds {
		history := recordHistory(ctx, t, db, seed+uint64(round)<<40, fmt.Sprintf("%d/", round))
		if res := porcupine.CheckOperationsTimeout(registers, history, time.Minute); res != porcupine.Ok {
			t.Fatalf("round %d: %d calls: %s", round, len(history), res)
		}
	}
}

// recordHistory lets clients loose on registers that nobody has used yet.
func recordHistory(ctx context.Context, t *testing.T, db *DB, seed uint64, prefix string) []porcupine.Operation {
	const clients, calls, keys = 6, 120, 4
	begin := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var wg sync.WaitGroup
	for id := range clients {
		wg.Go(func() {
			rng := rngOf(seed + uint64(id))
			for range calls {
				in := registerInput{op: registerOp(rng.IntN(3)), key: fmt.Sprintf("%s%d", prefix, rng.IntN(keys))}
				if in.op != registerRead {
					in.old, in.new = rng.IntN(4), rng.IntN(4)
				}
				call := time.Since(begin)
				out, err := registerCall(ctx, db, in, rng.IntN(12))
				if err != nil {
					t.Errorf("%+v: %v", in, err)
					return
				}
				histories[id] = append(histories[id], porcupine.Operation{
					ClientId: id, Input: in, Output: out, Call: int64(call), Return: int64(time.Since(begin)),
				})
			}
		})
	}
	wg.Wait()
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	return all
}

// TestHistoryCanary proves that the test above can fail: reads in a snapshot that is too old are passed off as new.
func TestHistoryCanary(t *testing.T) {
	ctx := context.Background()
	db := openMem(t, file.NewMem(1))
	if err := db.Update(ctx, func(tx *Tx) error { _, err := tx.CreateTree("registers"); return err }); err != nil {
		t.Fatal(err)
	}
	old, err := db.Begin(ctx, TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Rollback()
	tree, err := old.Tree("registers")
	if err != nil {
		t.Fatal(err)
	}
	var history []porcupine.Operation
	note := func(in registerInput, out int) {
		at := int64(2 * len(history))
		history = append(history, porcupine.Operation{Input: in, Output: out, Call: at, Return: at + 1})
	}
	for i := range 3 {
		v, err := registerValue(tree.Get([]byte("k")))
		if err != nil {
			t.Fatal(err)
		}
		note(registerInput{op: registerRead, key: "k"}, v)
		in := registerInput{op: registerWrite, key: "k", new: i + 1}
		if _, err := registerCall(ctx, db, in, 0); err != nil {
			t.Fatal(err)
		}
		note(in, 1)
	}
	if porcupine.CheckOperations(registers, history) {
		t.Fatal("a history with stale reads passes: the check checks nothing")
	}
}
