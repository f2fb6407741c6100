package txn

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hearthdb/hearth/internal/lock"
)

// Random transactions, several open at once, against maps. One goroutine makes all steps, so that the order is known;
// purge and the walk of losers run beside it. Every so often everything crashes.

type modelTx struct {
	tx       *Tx
	rc       bool
	snapshot map[string]string // nil before the first read
	own      map[string]*string
	touched  map[string]bool // keys it may have locked
	saves    []modelSave
	cursors  []*modelCursor
}

// modelCursor stays open over several steps of its transaction.
type modelCursor struct {
	*Cursor
	sight modelSight
}

// modelSight is what a read should see.
type modelSight struct {
	o         ReadOptions
	committed map[string]string  // of a current read: what was committed when it began
	before    map[string]*string // with Before: the own writes it sees
	save      int                // and which of the transaction's savepoints these were made before, of those there are
}

type modelSave struct {
	sp  Savepoint
	own map[string]*string
}

type model struct {
	*world
	r         *rand.Rand
	committed map[string]string
	open      []*modelTx
	keys      int
	largest   int
	age       int // of transactions: how much rarer their ends are than other steps
	crashes   int
}

func (m *model) key() string { return fmt.Sprintf("key%04d", m.r.IntN(m.keys)) }

func (m *model) value() string {
	n := m.r.IntN(300)
	switch m.r.IntN(20) {
	case 0:
		n = m.r.IntN(MaxInline + 10)
	case 1:
		n = m.r.IntN(m.largest)
	}
	v := bytes.Repeat([]byte{byte('a' + m.r.IntN(26))}, n)
	return string(fmt.Appendf(v, "%d", m.r.Uint32()))
}

// sight chooses how to read.
func (m *model) sight(x *modelTx) (s modelSight) {
	if m.r.IntN(3) == 0 {
		s.o.Current, s.committed = true, maps.Clone(m.committed)
	}
	if n := len(x.saves); n > 0 && m.r.IntN(2) == 0 {
		s.save = m.r.IntN(n)
		s.o.Before, s.before = x.saves[s.save].sp, x.saves[s.save].own
	}
	return s
}

func (m *model) see(x *modelTx, s modelSight) map[string]string {
	v := maps.Clone(s.committed)
	if !s.o.Current {
		if x.snapshot == nil {
			x.snapshot = maps.Clone(m.committed)
		}
		v = maps.Clone(x.snapshot)
	}
	own := x.own
	if s.before != nil {
		own = s.before
	}
	for k, s := range own {
		delete(v, k)
		if s != nil {
			v[k] = *s
		}
	}
	return v
}

// latest is what a writer works on, with all its own writes or some.
func (m *model) latest(own map[string]*string, k string) (string, bool) {
	if s, ok := own[k]; ok {
		if s == nil {
			return "", false
		}
		return *s, true
	}
	v, ok := m.committed[k]
	return v, ok
}

// busy: another transaction may have the key.
func (m *model) busy(x *modelTx, k string) bool {
	for _, o := range m.open {
		if o != x && o.touched[k] {
			return true
		}
	}
	return false
}

func (m *model) end(i int) { m.open = slices.Delete(m.open, i, i+1) }

func (m *model) step() {
	if m.r.IntN(400*m.age) == 0 {
		m.crash()
		m.crashes++
		m.open = nil
		if m.r.IntN(4) > 0 {
			m.m.Start()
		}
		return
	}
	if len(m.open) == 0 || len(m.open) < 6 && m.r.IntN(10) == 0 {
		x := &modelTx{rc: m.r.IntN(3) == 0, own: map[string]*string{}, touched: map[string]bool{}}
		o := Options{}
		if x.rc {
			o.Isolation = ReadCommitted
		}
		x.tx = m.begin(o)
		m.open = append(m.open, x)
	}
	i := m.r.IntN(len(m.open))
	x := m.open[i]
	k := m.key()
	op := m.r.IntN(24)
	if op <= 2 && m.r.IntN(m.age) > 0 {
		op = 23
	}
	switch op {
	case 0, 1:
		m.must(x.tx.Commit(bg))
		for k, s := range x.own {
			delete(m.committed, k)
			if s != nil {
				m.committed[k] = *s
			}
		}
		m.end(i)
	case 2:
		m.must(x.tx.Rollback(bg))
		m.end(i)
	case 3:
		x.saves = append(x.saves, modelSave{x.tx.Savepoint(), maps.Clone(x.own)})
	case 4:
		if n := len(x.saves); n > 0 {
			s := m.r.IntN(n)
			m.must(x.tx.RollbackTo(bg, x.saves[s].sp))
			x.own = maps.Clone(x.saves[s].own)
			for _, c := range x.cursors {
				if c.sight.before != nil && c.sight.save > s { // what it saw beside this has been undone
					c.sight.before, c.sight.save = x.saves[s].own, s
				}
			}
			x.saves = x.saves[:s+1]
		}
	case 5:
		x.tx.Statement()
		if x.rc {
			x.snapshot = nil
		}
	case 6, 7:
		m.scan(x)
	case 8, 9:
		m.walk(x)
	case 10, 11, 12:
		s := m.sight(x)
		want, ok := m.see(x, s)[k]
		got, err := x.tx.GetWith(bg, m.tree, []byte(k), nil, s.o)
		if ok != (err == nil) || err != nil && err != ErrKeyNotFound || string(got) != want {
			m.Fatalf("get %s %+v: %.40q %v, want %.40q %v", k, s.o, got, err, want, ok)
		}
	case 13:
		mode := lock.Mode(1 + m.r.IntN(2))
		if m.busy(x, k) {
			return
		}
		x.touched[k] = true
		o, own := LockOptions{NoWait: true}, x.own
		if n := len(x.saves); n > 0 && m.r.IntN(2) == 0 {
			save := x.saves[m.r.IntN(n)]
			o.Before, own = save.sp, save.own
		}
		want, ok := m.latest(own, k)
		got, err := x.tx.Lock(bg, m.tree, []byte(k), mode, o, nil)
		if ok != (err == nil) || err != nil && err != ErrKeyNotFound || string(got) != want {
			m.Fatalf("lock %s %+v: %.40q %v, want %.40q %v", k, o, got, err, want, ok)
		}
	case 14, 15, 16:
		if m.busy(x, k) {
			return
		}
		x.touched[k] = true
		_, want := m.latest(x.own, k)
		found, err := x.tx.Delete(bg, m.tree, []byte(k))
		if err != nil || found != want {
			m.Fatalf("delete %s: %v %v, want %v", k, found, err, want)
		}
		if want {
			x.own[k] = nil
		}
	case 17, 18:
		if m.busy(x, k) {
			return
		}
		x.touched[k] = true
		v := m.value()
		err := x.tx.Insert(bg, m.tree, []byte(k), []byte(v))
		if _, ok := m.latest(x.own, k); ok {
			if err != ErrKeyExists {
				m.Fatalf("insert %s: %v", k, err)
			}
			return
		}
		m.must(err)
		x.own[k] = &v
	default:
		if m.busy(x, k) {
			return
		}
		x.touched[k] = true
		v := m.value()
		m.must(x.tx.Put(bg, m.tree, []byte(k), []byte(v)))
		x.own[k] = &v
	}
}

func (m *model) scan(x *modelTx) {
	s := m.sight(x)
	want := m.see(x, s)
	keys := slices.Sorted(maps.Keys(want))
	c := x.tx.CursorWith(m.tree, s.o)
	defer c.Close()
	i := 0
	for ok := c.First(bg); ok; ok = c.Next(bg) {
		if i == len(keys) || string(c.Key()) != keys[i] || string(c.Value(bg)) != want[keys[i]] {
			m.Fatalf("scan: entry %d of %d is %s %.40q", i, len(keys), c.Key(), c.Value(bg))
		}
		i++
	}
	if c.Err() != nil || i != len(keys) {
		m.Fatalf("scan: %d of %d: %v", i, len(keys), c.Err())
	}
	for ok := c.Last(bg); ok; ok = c.Prev(bg) {
		i--
		if i < 0 || string(c.Key()) != keys[i] {
			m.Fatalf("scan back: entry %d of %d is %s", i, len(keys), c.Key())
		}
	}
	if c.Err() != nil || i != 0 {
		m.Fatalf("scan back: %d left: %v", i, c.Err())
	}
}

// walk moves a cursor that stays open over several steps of its transaction. Some are closed, some are left to its end.
func (m *model) walk(x *modelTx) {
	at := m.r.IntN(4)
	if at >= len(x.cursors) {
		at = len(x.cursors)
		s := m.sight(x)
		x.cursors = append(x.cursors, &modelCursor{x.tx.CursorWith(m.tree, s.o), s})
	}
	c := x.cursors[at]
	if m.r.IntN(20) == 0 {
		c.Close()
		x.cursors = slices.Delete(x.cursors, at, at+1)
		return
	}
	want := m.see(x, c.sight)
	keys := slices.Sorted(maps.Keys(want))
	for range 1 + m.r.IntN(6) {
		at := string(c.Key())
		var ok bool
		i := 0
		op := m.r.IntN(8)
		if at == "" {
			op = m.r.IntN(4)
		}
		k := m.key()
		switch op {
		case 0:
			ok = c.First(bg)
		case 1:
			ok, i = c.Last(bg), len(keys)-1
		case 2:
			ok = c.Seek(bg, []byte(k))
			i, _ = slices.BinarySearch(keys, k)
		case 3:
			ok = c.SeekLT(bg, []byte(k))
			i, _ = slices.BinarySearch(keys, k)
			i--
		case 4, 5:
			ok = c.Next(bg)
			var there bool
			if i, there = slices.BinarySearch(keys, at); there {
				i++
			}
		default:
			ok = c.Prev(bg)
			i, _ = slices.BinarySearch(keys, at)
			i--
		}
		if c.Err() != nil || ok != (i >= 0 && i < len(keys)) {
			m.Fatalf("cursor %+v, move %d from %q: %v %v, want entry %d of %d", c.sight.o, op, at, ok, c.Err(), i, len(keys))
		}
		if ok && (string(c.Key()) != keys[i] || string(c.Value(bg)) != want[keys[i]]) {
			m.Fatalf("cursor %+v, move %d from %q: %s %.40q, want %s %.40q", c.sight.o, op, at, c.Key(), c.Value(bg), keys[i], want[keys[i]])
		}
	}
}

func TestModel(t *testing.T) {
	for _, c := range []struct{ keys, largest, age, steps int }{{8, 60_000, 1, 6000}, {300, 40_000, 1, 6000}, {8, 8000, 10, 12000}, {40, 8000, 30, 12000}} {
		t.Run(fmt.Sprint(c.keys, " keys, age ", c.age), func(t *testing.T) {
			m := &model{world: newWorld(t, 1024), r: seeded(t), committed: map[string]string{}, keys: c.keys, largest: c.largest, age: c.age}
			m.m.Start()
			for range c.steps {
				m.step()
			}
			for _, x := range m.open {
				m.must(x.tx.Rollback(bg))
			}
			if m.m.background.stop == nil {
				m.m.Start()
			}
			m.clean()
			m.scan(&modelTx{tx: m.begin(), own: map[string]*string{}})
			t.Logf("%d crashes, %+v", m.crashes, m.m.Stats())
		})
	}
}
