package btree

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// timingRows is the size of the tree the benchmarks read: larger than any processor cache.
const timingRows = 2_000_000

func loaded(b *testing.B) *Tree {
	t, _ := newTree(b, timingRows/90)
	l := t.NewLoader(context.Background())
	value := make([]byte, 137)
	for i := range timingRows {
		if err := l.Add(rowKey(uint64(i)), value); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Finish(); err != nil {
		b.Fatal(err)
	}
	return t
}

func rowKey(i uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), i*977), i)
}

func BenchmarkGet(b *testing.B) {
	t := loaded(b)
	ctx := context.Background()
	var dst []byte
	rng := rand.New(rand.NewPCG(1, 2))
	b.ResetTimer()
	for range b.N {
		v, found, err := t.Get(ctx, rowKey(rng.Uint64N(timingRows)), dst[:0])
		if !found || err != nil {
			b.Fatal(found, err)
		}
		dst = v
	}
}

func BenchmarkScan(b *testing.B) {
	t := loaded(b)
	ctx := context.Background()
	it := t.NewIter()
	it.First(ctx)
	b.ResetTimer()
	n := 0
	for range b.N {
		n += len(it.Key()) + len(it.Value())
		if !it.Next(ctx) {
			it.First(ctx)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	t := loaded(b)
	value := make([]byte, 137)
	rng := rand.New(rand.NewPCG(1, 2))
	b.ResetTimer()
	for range b.N {
		if err := put(t, rowKey(rng.Uint64N(timingRows)), value); err != nil {
			b.Fatal(err)
		}
	}
}
