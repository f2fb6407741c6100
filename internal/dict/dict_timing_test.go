package dict

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dolthub/go-mysql-server/sql/types"
)

// What every statement does costs no allocation.
func TestHotPathsDoNotAllocate(t *testing.T) {
	w := newWorld(t)
	a := w.counting(types.Uint64, 0)
	l, o, name := w.Locks(), NewOwner(1), TableLock("d", "a")
	ctx := context.Background()
	for what, fn := range map[string]func(){
		"look-up":    func() { w.Schema().Table("d", "a") },
		"references": func() { w.Schema().ReferencedBy("d", "a") },
		"peek":       func() { w.PeekAuto(a) },
		"given":      func() { w.NextAuto(ctx, a, 1, 1, 1) },
		"locks": func() {
			l.Acquire(ctx, o, name, Shared, time.Second)
			o.ReleaseAll()
		},
	} {
		if n := testing.AllocsPerRun(100, fn); n > 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}

func BenchmarkLocks(b *testing.B) {
	l, ctx := newLocks(), context.Background()
	b.Run("table of one's own", func(b *testing.B) {
		o, name := NewOwner(1), TableLock("d", "a")
		for b.Loop() {
			l.Acquire(ctx, o, name, Shared, time.Second)
			o.ReleaseAll()
		}
	})
	b.Run("held already", func(b *testing.B) {
		o, name := NewOwner(1), TableLock("d", "a")
		for b.Loop() {
			l.Acquire(ctx, o, name, Shared, time.Second)
		}
		o.ReleaseAll()
	})
	b.Run("one table for all", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			o, name := NewOwner(1), TableLock("d", "a")
			for p.Next() {
				l.Acquire(ctx, o, name, Shared, time.Second)
				o.ReleaseAll()
			}
		})
	})
}

func BenchmarkNextAuto(b *testing.B) {
	w := newWorld(b)
	a := w.counting(types.Uint64, 0)
	ctx := context.Background()
	for b.Loop() {
		if _, err := w.NextAuto(ctx, a, 0, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSchema(b *testing.B) {
	const tables = 1000
	w := newWorld(b)
	var names []string
	for i := range tables {
		names = append(names, fmt.Sprintf("table_%d", i))
	}
	w.with("d", names...)
	b.Run("look-up", func(b *testing.B) {
		for b.Loop() {
			w.Schema().Table("d", "table_7")
		}
	})
	b.Run("open 1000 tables", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(context.Background(), w.db); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change one of 1000 tables", func(b *testing.B) {
		for b.Loop() {
			w.ok(w.change(func(c *Change) error {
				_, err := c.PutTable(c.Schema().Table("d", "table_7").Clone())
				return err
			}))
		}
	})
}
