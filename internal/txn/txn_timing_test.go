package txn

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// Costs of a transaction over a tree in memory; the comparison with other engines is in internal/bench.

const timedRows = 200_000

func timedKey(dst []byte, i int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(i)) }

func timedWorld(b *testing.B) *world {
	w := newWorld(b, 8192)
	w.m.Start()
	v := make([]byte, 100)
	for i := 0; i < timedRows; {
		tx := w.begin()
		for range 1000 {
			w.must(tx.Put(bg, w.tree, timedKey(nil, i), v))
			i++
		}
		w.must(tx.Commit(bg))
	}
	w.clean()
	b.ReportAllocs()
	b.ResetTimer()
	return w
}

func BenchmarkGet(b *testing.B) {
	w := timedWorld(b)
	b.RunParallel(func(pb *testing.PB) {
		r := rand.New(rand.NewPCG(rand.Uint64(), 0))
		key := make([]byte, 0, 8)
		for pb.Next() {
			tx := w.m.Begin(Options{ReadOnly: true})
			if _, err := tx.Get(bg, w.tree, timedKey(key, r.IntN(timedRows)), nil); err != nil {
				b.Error(err)
			}
			tx.Commit(bg)
		}
	})
}

func BenchmarkScanRow(b *testing.B) {
	w := timedWorld(b)
	var sum atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		tx := w.m.Begin(Options{ReadOnly: true})
		c := tx.Cursor(w.tree)
		ok := c.First(bg)
		n := uint64(0)
		for pb.Next() {
			if !ok {
				ok = c.First(bg)
			}
			n += uint64(len(c.Key()) + len(c.Value(bg)))
			ok = c.Next(bg)
		}
		sum.Add(n)
		tx.Commit(bg)
	})
}

func BenchmarkPutCommit(b *testing.B) {
	w := timedWorld(b)
	v := make([]byte, 100)
	b.RunParallel(func(pb *testing.PB) {
		r := rand.New(rand.NewPCG(rand.Uint64(), 0))
		key := make([]byte, 0, 8)
		for pb.Next() {
			tx := w.begin()
			if err := tx.Put(bg, w.tree, timedKey(key, r.IntN(timedRows)), v); err != nil {
				b.Error(err)
			}
			if err := tx.Commit(bg); err != nil {
				b.Error(err)
			}
		}
	})
	b.StopTimer()
	b.Logf("history %d of %d", w.m.Stats().History, b.N)
}
