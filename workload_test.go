package hearth

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A workload with an oracle: a few clients, each with trees of its own in which nobody else writes, and accounts that all of
// them move money between. Every transaction of a client also writes its number into the tree "clients", so a database
// found after a crash says itself which transactions it kept of whom; the oracle says which it had to and which it could, and
// what the client's trees must then hold, to the byte.

const (
	clientsTree = "clients" // client → number of its last transaction
	bankTree    = "bank"    // account → balance
	accounts    = 20
	deposit     = 100
)

// stamp stands for a value: n bytes that follow from seed.
type stamp struct {
	seed uint64
	n    int
}

func (s stamp) bytes() []byte {
	b := make([]byte, 0, s.n+8)
	for x := s.seed; len(b) < s.n; {
		x += 0x9E3779B97F4A7C15
		z := (x ^ x>>31) * 0xBF58476D1CE4E5B9
		b = binary.LittleEndian.AppendUint64(b, z^z>>29)
	}
	return b[:s.n]
}

// effect is what one statement did to the client's trees.
type effect struct {
	op   effectOp
	tree string
	key  string
	val  stamp
}

type effectOp byte

const (
	effectPut effectOp = iota
	effectDelete
	effectCreate
	effectDrop
)

// world is the contents of trees.
type world map[string]map[string]stamp

func (w world) apply(effects []effect) {
	for _, e := range effects {
		switch e.op {
		case effectPut:
			w[e.tree][e.key] = e.val
		case effectDelete:
			delete(w[e.tree], e.key)
		case effectCreate:
			w[e.tree] = map[string]stamp{}
		case effectDrop:
			delete(w, e.tree)
		}
	}
}

// workload is the clients and what they were told.
type workload struct {
	clients []*client
}

type client struct {
	id  int
	rng *rand.Rand
	own world // after the last acknowledged transaction; only the client's goroutine

	mu    sync.Mutex // guards the rest
	txs   [][]effect // of transaction 1, 2, …
	acked int        // so many were acknowledged
	begun int        // so many may have happened
}

func newWorkload(seed uint64, clients int) *workload {
	w := &workload{}
	for i := range clients {
		w.clients = append(w.clients, &client{id: i, rng: rngOf(seed + uint64(i)<<32), own: world{}})
	}
	return w
}

// clone is the same workload, to go on with on another disk.
func (w *workload) clone(seed uint64) *workload {
	c := newWorkload(seed, len(w.clients))
	for i, from := range w.clients {
		to := c.clients[i]
		from.mu.Lock()
		to.txs, to.acked, to.begun = slices.Clone(from.txs), from.acked, from.begun
		from.mu.Unlock()
		for _, effects := range to.txs[:to.acked] {
			to.own.apply(effects)
		}
	}
	return c
}

// settle takes what a database kept for what was acknowledged, so that the clients can go on after a crash.
func (w *workload) settle(kept []int) {
	for i, c := range w.clients {
		c.mu.Lock()
		c.acked, c.begun, c.txs, c.own = kept[i], kept[i], c.txs[:kept[i]], world{}
		for _, effects := range c.txs {
			c.own.apply(effects)
		}
		c.mu.Unlock()
	}
}

// setUp makes the trees.
func (w *workload) setUp(ctx context.Context, db *DB) error {
	err := db.Update(ctx, func(tx *Tx) error {
		if _, err := tx.CreateTree(clientsTree); err != nil {
			return err
		}
		bank, err := tx.CreateTree(bankTree)
		for i := range accounts {
			err = errors.Join(err, bank.Put(accountKey(i), strconv.AppendInt(nil, deposit, 10)))
		}
		return err
	})
	return err
}

func accountKey(i int) []byte { return fmt.Appendf(nil, "account%02d", i) }

// run lets every client do n transactions, or fewer when one fails or stop says so.
func (w *workload) run(ctx context.Context, db *DB, n int, stop func() bool) error {
	errs := make([]error, len(w.clients))
	var wg sync.WaitGroup
	for i, c := range w.clients {
		wg.Go(func() {
			for range n {
				if stop() {
					return
				}
				if errs[i] = c.transaction(ctx, db); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// errChange is a transaction that a client rolls back because it thought better of it.
var errChange = errors.New("the client changed its mind")

// transaction does the client's next one, until it is acknowledged or fails other than by a deadlock.
func (c *client) transaction(ctx context.Context, db *DB) error {
	if c.begun != c.acked {
		return fmt.Errorf("client %d: nobody knows what became of commit %d", c.id, c.begun)
	}
	for {
		tx, err := db.Begin(ctx, TxOptions{})
		if err != nil {
			return err
		}
		effects, err := c.work(tx)
		if err != nil {
			rerr := tx.Rollback()
			if errors.Is(err, errChange) && rerr != nil {
				return rerr
			}
			if errors.Is(err, ErrDeadlock) || errors.Is(err, errChange) {
				continue
			}
			return err
		}
		c.mu.Lock()
		c.txs = append(c.txs, effects)
		c.begun++
		c.mu.Unlock()
		if err := tx.Commit(ctx); err != nil {
			return fmt.Errorf("client %d, commit %d: %w", c.id, c.begun, err)
		}
		c.own.apply(effects)
		c.mu.Lock()
		c.acked++
		c.mu.Unlock()
		return nil
	}
}

// mainTree is the client's largest tree.
func (c *client) mainTree() string { return fmt.Sprintf("c%d/main", c.id) }

// mainKeys is how many keys the main tree has at most; with them, three clients have more than the smallest pool holds.
const mainKeys = 1500

func mainKey(i int) string {
	// Some share long prefixes, some are long, so that leaves and inner pages of all shapes occur.
	switch i % 16 {
	case 3:
		return fmt.Sprintf("%05d%s", i, strings.Repeat("long", 60))
	case 7:
		return fmt.Sprintf("a/prefix/shared/by/many/%05d", i)
	}
	return fmt.Sprintf("%05d", i)
}

func (c *client) value() stamp {
	n := 0
	switch r := c.rng.IntN(100); {
	case r < 60:
		n = c.rng.IntN(200)
	case r < 93:
		n = 200 + c.rng.IntN(3800)
	case r < 99:
		n = 4000 + c.rng.IntN(30000)
	default:
		n = 100000 + c.rng.IntN(200000)
	}
	return stamp{c.rng.Uint64(), n}
}

// job is a client's transaction under way.
type job struct {
	*client
	tx      *Tx
	number  int
	effects []effect
}

// work writes what makes up the next transaction.
func (c *client) work(tx *Tx) ([]effect, error) {
	j := &job{client: c, tx: tx, number: c.acked + 1}
	if j.number == 1 {
		if _, err := j.create(c.mainTree()); err != nil {
			return nil, err
		}
	}
	var err error
	switch r := c.rng.IntN(100); {
	case r < 60:
		err = j.puts(c.mainTree(), 1+c.rng.IntN(8))
	case r < 64:
		err = j.puts(c.mainTree(), 60)
	case r < 70:
		err = j.deleteRun()
	case r < 76:
		err = j.newTree()
	case r < 82:
		err = j.dropTree()
	case r < 92:
		err = j.savepoint()
	default:
		err = j.transfer()
	}
	if err != nil {
		return nil, err
	}
	if c.rng.IntN(15) == 0 {
		return nil, errChange
	}
	t, err := tx.Tree(clientsTree)
	if err != nil {
		return nil, err
	}
	return j.effects, t.Put(strconv.AppendInt(nil, int64(c.id), 10), strconv.AppendInt(nil, int64(j.number), 10))
}

func (j *job) create(name string) (*Tree, error) {
	j.effects = append(j.effects, effect{op: effectCreate, tree: name})
	return j.tx.CreateTree(name)
}

func (j *job) put(t *Tree, name, key string, val stamp) error {
	j.effects = append(j.effects, effect{effectPut, name, key, val})
	b := val.bytes()
	if val.n > 50000 {
		return t.PutReader([]byte(key), bytes.NewReader(b), int64(len(b)))
	}
	return t.Put([]byte(key), b)
}

func (j *job) puts(name string, n int) error {
	t, err := j.tx.Tree(name)
	if err != nil {
		return err
	}
	for range n {
		key := mainKey(j.rng.IntN(mainKeys))
		if j.rng.IntN(5) == 0 {
			j.effects = append(j.effects, effect{op: effectDelete, tree: name, key: key})
			_, err = t.Delete([]byte(key))
		} else {
			err = j.put(t, name, key, j.value())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteRun empties a stretch of keys, so that leaves merge.
func (j *job) deleteRun() error {
	t, err := j.tx.Tree(j.mainTree())
	if err != nil {
		return err
	}
	from := j.rng.IntN(mainKeys)
	for i := from; i < min(from+100, mainKeys); i++ {
		j.effects = append(j.effects, effect{op: effectDelete, tree: j.mainTree(), key: mainKey(i)})
		if _, err := t.Delete([]byte(mainKey(i))); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) newTree() error {
	name := fmt.Sprintf("c%d/t%d", j.id, j.number)
	t, err := j.create(name)
	if err != nil {
		return err
	}
	switch j.rng.IntN(3) {
	case 0:
		return j.puts(name, 20)
	case 1: // as somebody who did not create it, so by single puts
		if t, err = j.tx.Tree(name); err != nil {
			return err
		}
	}
	return t.Load(j.rows(name, 200))
}

// rows are n in key order, and effects.
func (j *job) rows(name string, n int) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		for i := range n {
			key, val := fmt.Sprintf("%06d", i), j.value()
			val.n %= 4000
			j.effects = append(j.effects, effect{effectPut, name, key, val})
			if !yield([]byte(key), val.bytes()) {
				return
			}
		}
	}
}

func (j *job) dropTree() error {
	names := slices.Sorted(maps.Keys(j.own))
	names = slices.DeleteFunc(names, func(n string) bool { return n == j.mainTree() })
	if len(names) == 0 {
		return j.newTree()
	}
	name := names[j.rng.IntN(len(names))]
	j.effects = append(j.effects, effect{op: effectDrop, tree: name})
	return j.tx.DropTree(name)
}

// savepoint writes, then takes some of it back.
func (j *job) savepoint() error {
	if err := j.puts(j.mainTree(), 1+j.rng.IntN(4)); err != nil {
		return err
	}
	kept := len(j.effects)
	sp := j.tx.Savepoint()
	if err := j.puts(j.mainTree(), 1+j.rng.IntN(30)); err != nil {
		return err
	}
	if err := j.tx.RollbackTo(sp); err != nil {
		return err
	}
	j.effects = j.effects[:kept]
	return j.puts(j.mainTree(), j.rng.IntN(3))
}

// transfer moves money, under locks in any order.
func (j *job) transfer() error {
	t, err := j.tx.Tree(bankTree)
	if err != nil {
		return err
	}
	amount := j.rng.IntN(10)
	from := j.rng.IntN(accounts)
	to := (from + 1 + j.rng.IntN(accounts-1)) % accounts
	for _, step := range []struct{ account, by int }{{from, -amount}, {to, amount}} {
		v, err := t.GetForUpdate(accountKey(step.account), LockOptions{})
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return err
		}
		if err := t.Put(accountKey(step.account), strconv.AppendInt(nil, int64(n+step.by), 10)); err != nil {
			return err
		}
	}
	return nil
}

// bounds says of every client how many transactions a database must have kept, and how many it may have.
type bounds []struct{ least, most int }

// keepNothing leaves open how much was kept, but not that it is a beginning of what happened.
func (b bounds) keepNothing() {
	for i := range b {
		b[i].least = 0
	}
}

// least fills in what was acknowledged: to be called before the moment in question.
func (w *workload) least() bounds {
	b := make(bounds, len(w.clients))
	for i, c := range w.clients {
		c.mu.Lock()
		b[i].least = c.acked
		c.mu.Unlock()
	}
	return b
}

// most fills in what may have happened: to be called after it.
func (w *workload) most(b bounds) bounds {
	for i, c := range w.clients {
		c.mu.Lock()
		b[i].most = c.begun
		c.mu.Unlock()
	}
	return b
}

// wrong is an answer of the database that is not the oracle's; other errors of verify are the database's own.
type wrong struct{ what string }

func (e *wrong) Error() string { return "WRONG: " + e.what }

func wrongf(format string, args ...any) error { return &wrong{fmt.Sprintf(format, args...)} }

// verify compares everything in the database with what the oracle says, and tells how many transactions each client kept.
func (w *workload) verify(ctx context.Context, db *DB, b bounds) (kept []int, err error) {
	err = db.View(ctx, func(tx *Tx) error {
		want := map[string]bool{clientsTree: true, bankTree: true}
		for i, c := range w.clients {
			k, err := c.kept(tx)
			if err != nil {
				return err
			}
			if k < b[i].least || k > b[i].most {
				return wrongf("client %d: its last transaction is %d, want %d to %d", i, k, b[i].least, b[i].most)
			}
			kept = append(kept, k)
			own := world{}
			c.mu.Lock()
			txs := c.txs[:k]
			c.mu.Unlock()
			for _, effects := range txs {
				own.apply(effects)
			}
			for name, rows := range own {
				want[name] = true
				if err := compareTree(tx, name, rows); err != nil {
					return fmt.Errorf("client %d after transaction %d: %w", i, k, err)
				}
			}
		}
		got, err := tx.Trees()
		if err != nil {
			return err
		}
		if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(got, sorted) {
			return wrongf("trees are %q, want %q", got, sorted)
		}
		return checkBank(tx)
	})
	return kept, err
}

func (c *client) kept(tx *Tx) (int, error) {
	t, err := tx.Tree(clientsTree)
	if err != nil {
		return 0, err
	}
	v, err := t.Get(strconv.AppendInt(nil, int64(c.id), 10))
	if errors.Is(err, ErrKeyNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(v))
}

func compareTree(tx *Tx, name string, want map[string]stamp) error {
	t, err := tx.Tree(name)
	if errors.Is(err, ErrTreeNotFound) {
		return wrongf("tree %s is not there", name)
	} else if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(want))
	c := t.Cursor()
	defer c.Close()
	at := 0
	for ok := c.First(); ok; ok = c.Next() {
		if at == len(keys) || string(c.Key()) != keys[at] {
			next := "the end"
			if at < len(keys) {
				next = strconv.Quote(keys[at])
			}
			return wrongf("%s: found %.40q, want %.40s", name, c.Key(), next)
		}
		got := c.Value()
		if err := c.Err(); err != nil {
			return err // a large value could not be read
		}
		if want := want[keys[at]].bytes(); !bytes.Equal(got, want) {
			return wrongf("%s: %.40q has another value: got %d bytes %.20x, want %d bytes %.20x", name, keys[at], len(got), got, len(want), want)
		}
		at++
	}
	if err := c.Err(); err != nil {
		return err
	}
	if at < len(keys) {
		return wrongf("%s: ends after %d rows, want %d; %.40q is missing", name, at, len(keys), keys[at])
	}
	return compareOtherWays(t, name, keys, want)
}

// compareOtherWays reads a tree by the other means there are: backwards, by key, as a stream.
func compareOtherWays(t *Tree, name string, keys []string, want map[string]stamp) error {
	c := t.Cursor()
	defer c.Close()
	at := len(keys) - 1
	for ok := c.Last(); ok; ok = c.Prev() {
		if at < 0 || string(c.Key()) != keys[at] {
			return wrongf("%s: backwards: found %.40q at place %d", name, c.Key(), at)
		}
		at--
	}
	if err := c.Err(); err != nil {
		return err
	}
	if at >= 0 {
		return wrongf("%s: backwards: ends before %.40q", name, keys[at])
	}
	for i := 0; i < len(keys); i += 37 {
		r, err := t.OpenValue([]byte(keys[i]))
		if err != nil {
			return err
		}
		got, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want[keys[i]].bytes()) {
			return wrongf("%s: %.40q as a stream has another value", name, keys[i])
		}
		if got, err = t.Get([]byte(keys[i])); err != nil {
			return err
		} else if !bytes.Equal(got, want[keys[i]].bytes()) {
			return wrongf("%s: %.40q by Get has another value", name, keys[i])
		}
	}
	return nil
}

func checkBank(tx *Tx) error {
	t, err := tx.Tree(bankTree)
	if err != nil {
		return err
	}
	sum := 0
	for i := range accounts {
		v, err := t.Get(accountKey(i))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return wrongf("account %d holds %q", i, v)
		}
		sum += n
	}
	if sum != accounts*deposit {
		return wrongf("the bank has %d, want %d", sum, accounts*deposit)
	}
	return nil
}
