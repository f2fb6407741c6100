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
	cursor   *Cursor
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

func (m *model) see(x *modelTx) map[string]string {
	if x.snapshot == nil {
		x.snapshot = maps.Clone(m.committed)
	}
	v := maps.Clone(x.snapshot)
	for k, s := range x.own {
		delete(v, k)
		if s != nil {
			v[k] = *s
		}
	}
	return v
}

// latest is what a writer works on.
func (m *model) latest(x *modelTx, k string) (string, bool) {
	if s, ok := x.own[k]; ok {
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
	if m.r.IntN(400) == 0 {
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
	switch m.r.IntN(24) {
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
		want, ok := m.see(x)[k]
		got, err := x.tx.Get(bg, m.tree, []byte(k), nil)
		if ok != (err == nil) || err != nil && err != ErrKeyNotFound || string(got) != want {
			m.Fatalf("get %s: %.40q %v, want %.40q %v", k, got, err, want, ok)
		}
	case 13:
		mode := lock.Mode(1 + m.r.IntN(2))
		if m.busy(x, k) {
			return
		}
		x.touched[k] = true
		want, ok := m.latest(x, k)
		got, err := x.tx.Lock(bg, m.tree, []byte(k), mode, LockOptions{NoWait: true}, nil)
		if ok != (err == nil) || err != nil && err != ErrKeyNotFound || string(got) != want {
			m.Fatalf("lock %s: %.40q %v, want %.40q %v", k, got, err, want, ok)
		}
	case 14, 15, 16:
		if m.busy(x, k) {
			return
		}
		x.touched[k] = true
		_, want := m.latest(x, k)
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
		if _, ok := m.latest(x, k); ok {
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
	want := m.see(x)
	keys := slices.Sorted(maps.Keys(want))
	c := x.tx.Cursor(m.tree)
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

// walk moves a cursor that stays open over several steps of its transaction.
func (m *model) walk(x *modelTx) {
	want := m.see(x)
	keys := slices.Sorted(maps.Keys(want))
	if x.cursor == nil {
		x.cursor = x.tx.Cursor(m.tree)
	}
	c := x.cursor
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
			m.Fatalf("cursor, move %d from %q: %v %v, want entry %d of %d", op, at, ok, c.Err(), i, len(keys))
		}
		if ok && (string(c.Key()) != keys[i] || string(c.Value(bg)) != want[keys[i]]) {
			m.Fatalf("cursor, move %d from %q: %s %.40q, want %s %.40q", op, at, c.Key(), c.Value(bg), keys[i], want[keys[i]])
		}
	}
}

func TestModel(t *testing.T) {
	for _, c := range []struct{ keys, largest, steps int }{{8, 60_000, 6000}, {300, 40_000, 6000}} {
		t.Run(fmt.Sprint(c.keys, " keys"), func(t *testing.T) {
			m := &model{world: newWorld(t, 1024), r: seeded(t), committed: map[string]string{}, keys: c.keys, largest: c.largest}
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
