package btree

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/testbed"
)

const testSpace = 16

func newTree(tb testing.TB, frames int) (*Tree, *testbed.Bed) {
	bed := testbed.New(tb, frames)
	if err := bed.Files.Create(testSpace); err != nil {
		tb.Fatal(err)
	}
	t, err := Create(context.Background(), bed.Pool, testSpace)
	if err != nil {
		tb.Fatal(err)
	}
	return t, bed
}

func put(t *Tree, key, value []byte) error {
	ctx := context.Background()
	g := t.pool.Begin(ctx)
	pos, err := t.Seek(ctx, g, key, len(value))
	if err != nil {
		g.Abort()
		return err
	}
	pos.Put(value)
	_, err = g.Commit()
	return err
}

func remove(t *Tree, key []byte) error {
	ctx := context.Background()
	g := t.pool.Begin(ctx)
	pos, err := t.Seek(ctx, g, key, 0)
	if err != nil || !pos.Found {
		g.Abort()
		return err
	}
	tidy := pos.Remove()
	if _, err := g.Commit(); err != nil || !tidy {
		return err
	}
	return t.Tidy(ctx, key)
}

// seed prints the seed of a random test, so that a failure can be repeated.
func seed(tb testing.TB) *rand.Rand {
	s := rand.Uint64()
	tb.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

func TestAgainstMap(t *testing.T) {
	for _, c := range []struct {
		name           string
		frames, ops    int
		keyLen, valLen int
		keys           int
	}{
		{"small", 512, 30000, 16, 120, 3000},
		{"tight pool", 256, 30000, 16, 400, 20000},
		{"long keys", 512, 6000, MaxKey, 1500, 500},
		{"long values", 512, 8000, 40, MaxCell - 40, 800},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := seed(t)
			tree, _ := newTree(t, c.frames)
			model := map[string][]byte{}
			var keys [][]byte
			for i := range c.keys {
				k := make([]byte, 1+rng.IntN(c.keyLen))
				for j := range k {
					k[j] = "ab\x00\xff"[rng.IntN(4)]
				}
				if i%2 == 0 {
					k = binary.BigEndian.AppendUint64(nil, uint64(i))
				}
				keys = append(keys, k)
			}
			for i := range c.ops {
				k := keys[rng.IntN(len(keys))]
				// Phases of growth and of shrinking, so that pages both split and merge.
				if rng.IntN(10) < 2+6*(i*4/c.ops%2) {
					if err := remove(tree, k); err != nil {
						t.Fatal(err)
					}
					delete(model, string(k))
					continue
				}
				v := make([]byte, rng.IntN(c.valLen+1))
				if len(v)+len(k) > MaxCell {
					v = v[:MaxCell-len(k)]
				}
				for j := range v {
					v[j] = byte(rng.Uint32())
				}
				if err := put(tree, k, v); err != nil {
					t.Fatal(err)
				}
				model[string(k)] = v
			}
			compare(t, tree, model)
			for k := range model {
				if err := remove(tree, []byte(k)); err != nil {
					t.Fatal(err)
				}
				delete(model, k)
			}
			compare(t, tree, model)
			if n := pagesUsed(t, tree); n > 4+16 { // an emptied tree gives its pages back
				t.Errorf("an empty tree has %d pages in use", n)
			}
		})
	}
}

func pagesUsed(tb testing.TB, t *Tree) int {
	g := t.pool.BeginRead(context.Background())
	defer g.Abort()
	h, err := g.Fetch(page.MakeID(testSpace, 1), 0)
	if err != nil {
		tb.Fatal(err)
	}
	return h.Page.CountBits()
}

func compare(tb testing.TB, tree *Tree, model map[string][]byte) {
	tb.Helper()
	ctx := context.Background()
	var want []string
	for k := range model {
		want = append(want, k)
	}
	slices.Sort(want)
	it := tree.NewIter()
	i := 0
	for ok := it.First(ctx); ok; ok = it.Next(ctx) {
		if i == len(want) || string(it.Key()) != want[i] || !bytes.Equal(it.Value(), model[want[i]]) {
			tb.Fatalf("forward: entry %d is %q, of %d", i, it.Key(), len(want))
		}
		i++
	}
	if it.Err() != nil || i != len(want) {
		tb.Fatalf("forward: %d of %d entries, %v", i, len(want), it.Err())
	}
	for ok := it.Last(ctx); ok; ok = it.Prev(ctx) {
		i--
		if i < 0 || string(it.Key()) != want[i] {
			tb.Fatalf("backward: entry %d is %q", i, it.Key())
		}
	}
	if it.Err() != nil || i != 0 {
		tb.Fatalf("backward: %d entries missing, %v", i, it.Err())
	}
	for k, v := range model {
		got, found, err := tree.Get(ctx, []byte(k), nil)
		if err != nil || !found || !bytes.Equal(got, v) {
			tb.Fatalf("get %q: %v %v", k, found, err)
		}
	}
	for range min(100, len(want)) {
		j := rand.IntN(len(want))
		if !it.SeekGE(ctx, []byte(want[j])) || string(it.Key()) != want[j] {
			tb.Fatalf("seek >= %q: %q", want[j], it.Key())
		}
		if ok := it.SeekLT(ctx, []byte(want[j])); ok != (j > 0) || ok && string(it.Key()) != want[j-1] {
			tb.Fatalf("seek < %q", want[j])
		}
	}
}

func TestAscendingFillsPages(t *testing.T) {
	tree, _ := newTree(t, 2048)
	const n = 50000
	for i := range n {
		if err := put(tree, fmt.Appendf(nil, "key%012d", i), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	want := n * (100 + 15 + page.CellOverhead) / page.Size
	if got := pagesUsed(t, tree); got > want*11/10 {
		t.Errorf("an ascending load of %d pages' bytes takes %d pages", want, got)
	}
	for _, c := range []struct{ lo, hi int }{{0, n}, {1000, 1001}, {500, 40000}, {30000, 30100}, {7, 7}} {
		got, err := tree.Estimate(context.Background(), fmt.Appendf(nil, "key%012d", c.lo), fmt.Appendf(nil, "key%012d", c.hi))
		if want := c.hi - c.lo; err != nil || int(got) < want*7/10-3 || int(got) > want*13/10+3 {
			t.Errorf("estimate of [%d,%d) is %d, want about %d (%v)", c.lo, c.hi, got, want, err)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000, 60000} {
		tree, _ := newTree(t, 1024)
		model := map[string][]byte{}
		l := tree.NewLoader(context.Background())
		for i := range n {
			k := fmt.Appendf(nil, "key%012d", i)
			if i%1000 == 999 {
				k = append(k, bytes.Repeat([]byte("x"), MaxKey-len(k))...)
			}
			v := make([]byte, i%300)
			if err := l.Add(k, v); err != nil {
				t.Fatal(err)
			}
			model[string(k)] = v
		}
		if err := l.Finish(); err != nil {
			t.Fatal(err)
		}
		compare(t, tree, model)
		for k := range model {
			if rand.IntN(2) == 0 {
				if err := remove(tree, []byte(k)); err != nil {
					t.Fatal(err)
				}
				delete(model, k)
			}
		}
		compare(t, tree, model)
	}
}

// Writers of disjoint keys and readers of all: a reader sees every key that stays, always with a value that was put.
func TestConcurrent(t *testing.T) {
	tree, _ := newTree(t, 400)
	ctx := context.Background()
	const fixed, writers, rounds = 2000, 4, 3000
	key := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)*0x9E3779B97F4A7C15) }
	value := func(i, v int) []byte { return bytes.Repeat([]byte{byte(v)}, 1+(i*7+v)%200) }
	for i := range fixed {
		if err := put(tree, key(i), value(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var ww, rr sync.WaitGroup
	stop := make(chan struct{})
	for w := range writers {
		ww.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				i := fixed + w + writers*rng.IntN(1500)
				var err error
				switch rng.IntN(3) {
				case 0:
					err = remove(tree, key(i))
				default:
					err = put(tree, key(i), value(i, rng.IntN(250)))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for r := range 2 {
		rr.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r), 2))
			it := tree.NewIter()
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := rng.IntN(fixed)
				v, found, err := tree.Get(ctx, key(i), nil)
				if err != nil || !found || !bytes.Equal(v, value(i, 1)) {
					t.Errorf("key %d: %v %v %v", i, found, v, err)
					return
				}
				if rng.IntN(200) == 0 {
					n := 0
					var last []byte
					for ok := it.First(ctx); ok; ok = it.Next(ctx) {
						if bytes.Compare(last, it.Key()) >= 0 && n > 0 {
							t.Errorf("scan goes from %x to %x", last, it.Key())
							return
						}
						last = append(last[:0], it.Key()...)
						n++
					}
					if it.Err() != nil || n < fixed {
						t.Errorf("scan: %d entries, %v", n, it.Err())
						return
					}
				}
			}
		})
	}
	ww.Wait()
	close(stop)
	rr.Wait()
}

// TestSplitOfFullPages appends to pages that are full to the last byte, so that the new fence has no room beside all
// entries of the left page, nor beside all of the right one.
func TestSplitOfFullPages(t *testing.T) {
	rng := seed(t)
	tree, _ := newTree(t, 1024)
	for run := range 60 {
		long := bytes.Repeat([]byte{'m'}, 500+rng.IntN(MaxKey-600))
		for i := range 40 {
			key := fmt.Appendf(nil, "%03d%06d", run, i)
			if rng.IntN(3) == 0 {
				key = fmt.Appendf(nil, "%03d%s%06d", run, long, i) // a long fence behind a run of short keys
			}
			if err := put(tree, key, make([]byte, rng.IntN(min(2500, MaxCell-len(key))))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
