package hearth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// Multi-version reads against a model. A schedule is a list of steps of a few transactions that are open at the same time, done one
// after the other by one goroutine; where a transaction would wait for another, its short lock wait timeout must come instead.
// The model is a map of versions and a table of locks. A schedule that fails is shrunk before it is shown.

// mvStep is one step: of which transaction, what, on which key.
type mvStep struct {
	tx  int
	op  mvOp
	key int
	val int
}

type mvOp byte

const (
	mvBegin mvOp = iota // val: bit 0 read committed
	mvGet
	mvScan
	mvBack
	mvPut
	mvInsert
	mvDelete
	mvLock
	mvShare
	mvSavepoint
	mvRollbackTo
	mvStatement
	mvCommit
	mvRollback
	mvOps
)

func (o mvOp) String() string {
	return [...]string{"begin", "get", "scan", "back", "put", "insert", "delete", "lock", "share", "savepoint", "rollback to", "statement", "commit", "rollback"}[o]
}

func (s mvStep) String() string { return fmt.Sprintf("t%d %v k%02d %d", s.tx, s.op, s.key, s.val) }

const (
	mvTxs  = 4
	mvKeys = 12
)

// mvWeights make reads and writes frequent, and ends rare, so that transactions grow old.
var mvWeights = [mvOps]int{mvBegin: 30, mvGet: 20, mvScan: 5, mvBack: 3, mvPut: 18, mvInsert: 6, mvDelete: 8, mvLock: 3, mvShare: 3, mvSavepoint: 4, mvRollbackTo: 4, mvStatement: 5, mvCommit: 3, mvRollback: 1}

func mvSchedule(rng *rand.Rand, n int) []mvStep {
	sum := 0
	for _, w := range mvWeights {
		sum += w
	}
	steps := make([]mvStep, n)
	for i := range steps {
		r, op := rng.IntN(sum), mvOp(0)
		for r >= mvWeights[op] {
			r -= mvWeights[op]
			op++
		}
		steps[i] = mvStep{rng.IntN(mvTxs), op, rng.IntN(mvKeys), rng.IntN(1000)}
	}
	return steps
}

// mvState is the contents at some moment.
type mvState map[string]string

func (s mvState) String() string {
	var rows []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		rows = append(rows, k+"="+s[k])
	}
	return strings.Join(rows, " ")
}

// mvWrite is a transaction's own version of a key.
type mvWrite struct {
	val  string
	live bool
}

// mvModel is what the database should be.
type mvModel struct {
	committed mvState
	txs       [mvTxs]*mvTx
}

type mvTx struct {
	readCommitted bool
	snapshot      mvState // nil: none taken yet
	own           map[string]mvWrite
	locks         map[string]mvOp // explicit ones: mvLock or mvShare
	points        []mvPoint
}

type mvPoint struct {
	own map[string]mvWrite
	sp  Savepoint
}

// sight is how step s reads, and what it should see of the committed rows and of the transaction's own.
func (m *mvModel) sight(tx *mvTx, s mvStep) (o ReadOptions, sees mvState) {
	own := tx.own
	if n := len(tx.points); n > 0 && s.val%3 == 0 {
		p := tx.points[s.val%n]
		o.Before, own = p.sp, p.own
	}
	if o.Current = s.val%5 == 0; o.Current {
		return o, overlay(m.committed, own)
	}
	if tx.snapshot == nil {
		tx.snapshot = maps.Clone(m.committed)
	}
	return o, overlay(tx.snapshot, own)
}

func overlay(s mvState, own map[string]mvWrite) mvState {
	s = maps.Clone(s)
	for k, w := range own {
		if w.live {
			s[k] = w.val
		} else {
			delete(s, k)
		}
	}
	return s
}

// blocked says whether tx would wait for key, and makes the lock of a writer that is waited for explicit, as the engine does.
func (m *mvModel) blocked(tx *mvTx, key string, mode mvOp) bool {
	if _, mine := tx.own[key]; mine {
		return false
	}
	waits := false
	for _, other := range m.txs {
		if other == nil || other == tx {
			continue
		}
		if _, wrote := other.own[key]; wrote {
			other.locks[key] = mvLock
			return true
		}
		if held := other.locks[key]; held == mvLock || held == mvShare && mode == mvLock {
			waits = true
		}
	}
	return waits
}

// mvRun runs a schedule on a new database and its model, and returns the first difference.
func mvRun(steps []mvStep, fault func(mvState)) error {
	ctx := context.Background()
	opts := smallOptions(file.NewMem(1))
	db, err := Open(ctx, memDir, opts)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Update(ctx, func(tx *Tx) error { _, err := tx.CreateTree("t"); return err }); err != nil {
		return err
	}
	m := &mvModel{committed: mvState{}}
	var txs [mvTxs]*Tx
	defer func() {
		for _, tx := range txs {
			if tx != nil {
				tx.Rollback()
			}
		}
	}()
	for i, s := range steps {
		got, want := mvDo(ctx, db, m, &txs[s.tx], s, fault)
		if got != want {
			return fmt.Errorf("step %d: %v: got %q, want %q", i, s, got, want)
		}
	}
	return nil
}

// mvDo does one step in the database and in the model.
func mvDo(ctx context.Context, db *DB, m *mvModel, txp **Tx, s mvStep, fault func(mvState)) (got, want string) {
	mt := m.txs[s.tx]
	if s.op == mvBegin {
		if mt != nil {
			return "", ""
		}
		o := TxOptions{LockWait: time.Millisecond}
		if s.val&1 != 0 {
			o.Isolation = ReadCommitted
		}
		tx, err := db.Begin(ctx, o)
		*txp = tx
		m.txs[s.tx] = &mvTx{readCommitted: s.val&1 != 0, own: map[string]mvWrite{}, locks: map[string]mvOp{}}
		return mvError(err), "ok"
	}
	if mt == nil {
		return "", "" // no transaction: the step is none
	}
	tx := *txp
	switch s.op {
	case mvCommit, mvRollback:
		*txp, m.txs[s.tx] = nil, nil
		if s.op == mvRollback {
			return mvError(tx.Rollback()), "ok"
		}
		m.committed = overlay(m.committed, mt.own)
		fault(m.committed)
		return mvError(tx.Commit(ctx)), "ok"
	case mvSavepoint, mvStatement:
		sp := mvPoint{own: maps.Clone(mt.own)}
		if s.op == mvSavepoint {
			sp.sp = tx.Savepoint()
		} else {
			sp.sp = tx.Statement()
			if mt.readCommitted {
				mt.snapshot = nil
			}
		}
		mt.points = append(mt.points, sp)
		return "ok", "ok"
	case mvRollbackTo:
		if len(mt.points) == 0 {
			return "", ""
		}
		i := s.val % len(mt.points)
		mt.own, mt.points[i].own = mt.points[i].own, maps.Clone(mt.points[i].own)
		mt.points = mt.points[:i+1]
		return mvError(tx.RollbackTo(mt.points[i].sp)), "ok"
	}
	t, err := tx.Tree("t")
	if err != nil {
		return err.Error(), "ok"
	}
	return mvDoKey(m, mt, t, s)
}

// mvDoKey does the steps on keys.
func mvDoKey(m *mvModel, mt *mvTx, t *Tree, s mvStep) (got, want string) {
	key, val := fmt.Sprintf("k%02d", s.key), fmt.Sprint(s.val)
	large := s.val%50 == 0
	if large {
		val = strings.Repeat(val+".", 5000) // in overflow pages
	}
	answer := func(state mvState) string {
		if v, ok := state[key]; ok {
			return v
		}
		return mvError(ErrKeyNotFound)
	}
	read := func(v []byte, err error) string {
		if err != nil {
			return mvError(err)
		}
		return string(v)
	}
	switch s.op {
	case mvGet:
		o, sees := m.sight(mt, s)
		return read(t.GetWith(nil, []byte(key), o)), answer(sees)
	case mvScan, mvBack:
		got := mvState{}
		o, sees := m.sight(mt, s)
		c := t.CursorWith(o)
		defer c.Close()
		start, step := c.First, c.Next
		if s.op == mvBack {
			start, step = c.Last, c.Prev
		}
		for ok := start(); ok; ok = step() {
			got[string(c.Key())] = string(c.Value())
		}
		if c.Err() != nil {
			return c.Err().Error(), "ok"
		}
		return got.String(), sees.String()
	}
	// The rest are current reads and writes.
	mode := mvLock
	if s.op == mvShare {
		mode = mvShare
	}
	current := overlay(m.committed, mt.own)
	want = "ok"
	if m.blocked(mt, key, mode) {
		want = mvError(ErrLockWaitTimeout)
	}
	_, there := current[key]
	_, wrote := mt.own[key] // what it wrote is locked already
	if want == "ok" && large && !wrote && (s.op == mvPut || s.op == mvInsert) {
		mt.locks[key] = mvLock // large values are written under an explicit lock
	}
	switch s.op {
	case mvLock, mvShare:
		var o LockOptions
		if n := len(mt.points); n > 0 && s.val%3 == 0 {
			o.Before = mt.points[s.val%n].sp
			current = overlay(m.committed, mt.points[s.val%n].own)
		}
		if want == "ok" {
			want = answer(current)
			if !wrote && mt.locks[key] != mvLock {
				mt.locks[key] = mode
			}
		}
		if s.op == mvShare {
			return read(t.GetForShare([]byte(key), o)), want
		}
		return read(t.GetForUpdate([]byte(key), o)), want
	case mvInsert:
		if want == "ok" && there {
			want = mvError(ErrKeyExists)
		} else if want == "ok" {
			mt.own[key] = mvWrite{val, true}
		}
		return mvError(t.Insert([]byte(key), []byte(val))), want
	case mvDelete:
		if want == "ok" && there {
			mt.own[key] = mvWrite{}
		} else if want == "ok" {
			want = mvError(ErrKeyNotFound)
		}
		found, err := t.Delete([]byte(key))
		if err == nil && !found {
			err = ErrKeyNotFound
		}
		return mvError(err), want
	}
	if want == "ok" {
		mt.own[key] = mvWrite{val, true}
	}
	return mvError(t.Put([]byte(key), []byte(val))), want
}

func mvError(err error) string {
	if err == nil {
		return "ok"
	}
	return "error: " + errorName(err)
}

// mvShrink leaves steps out as long as the schedule fails without them.
func mvShrink(steps []mvStep, fault func(mvState), most time.Duration) []mvStep {
	deadline := time.Now().Add(most)
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(steps) && time.Now().Before(deadline); {
			shorter := slices.Concat(steps[:at], steps[at+size:])
			if mvRun(shorter, fault) != nil {
				steps = shorter
			} else {
				at += size
			}
		}
	}
	return steps
}

func TestVersions(t *testing.T) {
	seed := seedOf(t)
	rounds := 25
	if testing.Short() {
		rounds = 8
	}
	if long {
		rounds = 2000
	}
	none := func(mvState) {}
	for round := range rounds {
		steps := mvSchedule(rngOf(seed+uint64(round)), 400)
		if err := mvRun(steps, none); err != nil {
			short := mvShrink(steps, none, 30*time.Second)
			t.Fatalf("round %d: %v\nshrunk: %v\n%s", round, err, mvRun(short, none), mvText(short))
		}
	}
}

func mvText(steps []mvStep) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, "\t", s)
	}
	return b.String()
}

// TestVersionsCanary proves that the test above fails when something is wrong, and that shrinking leaves little of it: the
// model forgets one key at each commit.
func TestVersionsCanary(t *testing.T) {
	forget := func(s mvState) { delete(s, "k03") }
	var steps []mvStep
	for seed := uint64(1); mvRun(steps, forget) == nil; seed++ {
		if seed > 20 {
			t.Fatal("every schedule passes although the model forgets")
		}
		steps = mvSchedule(rngOf(seed), 400)
	}
	short := mvShrink(steps, forget, 30*time.Second)
	if err := mvRun(short, forget); err == nil || errors.Is(err, ErrClosed) || len(short) > 8 {
		t.Fatalf("shrunk to %d steps, want at most 8: %v\n%s", len(short), err, mvText(short))
	}
}
