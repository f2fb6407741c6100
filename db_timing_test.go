package hearth

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

const timingRows = 2_000_000

// timingDB is a database of timingRows rows, all of them in the pool.
func timingDB(b *testing.B, d Durability) *DB {
	o := testOptions(b)
	o.PoolSize, o.LogSize, o.SegmentSize, o.RingSize, o.Durability = 1<<30, 2<<30, 64<<20, 64<<20, d
	db := mustOpen(b, b.TempDir(), o)
	b.Cleanup(func() { db.CloseFlush(context.Background()) })
	err := db.Update(context.Background(), func(tx *Tx) error {
		t, err := tx.CreateTree("t")
		if err != nil {
			return err
		}
		value := make([]byte, 120)
		return t.Load(func(yield func(k, v []byte) bool) {
			key := make([]byte, 16)
			for i := range uint64(timingRows) {
				binary.BigEndian.PutUint64(key, i)
				if !yield(key, value) {
					return
				}
			}
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func rowKey(key []byte, i uint64) []byte {
	key = key[:16]
	binary.BigEndian.PutUint64(key, i)
	binary.BigEndian.PutUint64(key[8:], 0)
	return key
}

// inParallel runs do with a random row's key, in a transaction of its own each time.
func inParallel(b *testing.B, db *DB, opts TxOptions, do func(t *Tree, key, buf []byte) error) {
	ctx := context.Background()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
		key, buf := make([]byte, 16), make([]byte, 120)
		for pb.Next() {
			k := rowKey(key, rng.Uint64N(timingRows))
			err := db.run(ctx, opts, func(tx *Tx) error {
				t, err := tx.Tree("t")
				if err != nil {
					return err
				}
				return do(t, k, buf)
			})
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkPointRead(b *testing.B) {
	db := timingDB(b, DurabilityCommit)
	inParallel(b, db, TxOptions{ReadOnly: true}, func(t *Tree, key, buf []byte) error {
		_, err := t.GetTo(buf[:0], key)
		return err
	})
}

func BenchmarkScanRows(b *testing.B) {
	db := timingDB(b, DurabilityCommit)
	ctx := context.Background()
	b.ResetTimer()
	n := 0
	for n < b.N {
		err := db.View(ctx, func(tx *Tx) error {
			t, err := tx.Tree("t")
			if err != nil {
				return err
			}
			c := t.Cursor()
			for ok := c.First(); ok && n < b.N; ok = c.Next() {
				n++
				if len(c.Key())+len(c.Value()) != 136 {
					b.Fatal("a row is", len(c.Key()), len(c.Value()))
				}
			}
			return c.Err()
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommitProcess(b *testing.B) {
	inParallel(b, timingDB(b, DurabilityProcess), TxOptions{}, (*Tree).Put)
}

func BenchmarkCommitDurable(b *testing.B) {
	db := timingDB(b, DurabilityCommit)
	b.SetParallelism(8)
	inParallel(b, db, TxOptions{}, (*Tree).Put)
}
