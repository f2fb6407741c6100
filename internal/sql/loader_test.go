package sql

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hearthdb/hearth"
)

func openTestDB(t *testing.T) *hearth.DB {
	t.Helper()
	db, err := hearth.Open(context.Background(), t.TempDir(), &hearth.Options{
		Memory: hearth.MemoryOff, Durability: hearth.DurabilityProcess, PoolSize: 16 << 20, SmallPages: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestLoader: whatever the order and however often it spills, the tree has every entry once; a key that comes twice is told, in the run it
// came in or against an earlier one.
func TestLoader(t *testing.T) {
	defer func(was int) { loadMemory = was }(loadMemory)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	db := openTestDB(t)
	for _, c := range []struct {
		name   string
		memory int
		twice  int // index of an entry that comes again at the end; -1: none
	}{
		{"one run", 1 << 20, -1},
		{"many runs", 1 << 12, -1},
		{"twice in one run", 1 << 20, 7},
		{"twice in different runs", 1 << 12, 7},
		{"empty", 1 << 20, -2},
	} {
		t.Run(c.name, func(t *testing.T) {
			loadMemory = c.memory
			var keys []uint64
			for range 5000 {
				keys = append(keys, rnd.Uint64())
			}
			if c.twice == -2 {
				keys = nil
			}
			add := keys
			if c.twice >= 0 {
				add = append(slices.Clone(keys), keys[c.twice])
			}
			tx, err := db.Begin(t.Context(), hearth.TxOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			l := &loader{tx: tx, name: "x"}
			for _, k := range add {
				b := binary.BigEndian.AppendUint64(nil, k)
				if err = l.add(b, b[:4]); err != nil {
					break
				}
			}
			if err == nil {
				err = l.finish()
			}
			var twice *duplicateError
			if c.twice >= 0 {
				if !errors.As(err, &twice) || binary.BigEndian.Uint64(twice.key) != keys[c.twice] {
					t.Fatalf("got %v, want that key %x came twice", err, keys[c.twice])
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tree, err := tx.Tree("x")
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(keys)
			cursor := tree.Cursor()
			defer cursor.Close()
			n := 0
			for ok := cursor.First(); ok; ok = cursor.Next() {
				if got := binary.BigEndian.Uint64(cursor.Key()); n >= len(keys) || got != keys[n] {
					t.Fatalf("entry %d: got %x", n, got)
				}
				n++
			}
			if n != len(keys) {
				t.Errorf("got %d entries, want %d", n, len(keys))
			}
		})
	}
}

// TestSeenRows: ids come out in the order they were noted in, each once, also when the older half was forgotten in between.
func TestSeenRows(t *testing.T) {
	var s seenRows
	a, b := seenRowOf(1, []byte("a")), seenRowOf(1, []byte("b"))
	for _, id := range []uint64{5, 6, 5, 7} {
		s.note(a, id)
	}
	s.note(b, 9)
	if other := seenRowOf(2, []byte("a")); other == a {
		t.Fatal("rows of different tables are the same")
	}
	s.old, s.young = s.young, nil // as when there were many
	s.note(a, 8)
	var got []uint64
	for id, ok := s.take(a); ok; id, ok = s.take(a) {
		got = append(got, id)
	}
	if !slices.Equal(got, []uint64{5, 6, 7, 8}) {
		t.Errorf("got %v, want 5 to 8", got)
	}
	if id, ok := s.take(b); !ok || id != 9 {
		t.Errorf("got %d %t, want 9", id, ok)
	}
	if _, ok := s.take(b); ok {
		t.Error("an id came out twice")
	}
}
