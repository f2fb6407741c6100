package hearth

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/pool"
)

// Spent counts what was done for one context: for a statement, say. What runs behind it (purge, the cleaner) is nobody's.
type Spent struct{ pages, waited atomic.Int64 }

// PagesRead is how many pages were read because they were not in memory.
func (s *Spent) PagesRead() int64 { return s.pages.Load() }

// LockWait is how long row locks were waited for, in waits that have ended.
func (s *Spent) LockWait() time.Duration { return time.Duration(s.waited.Load()) }

// Counting returns a context like ctx, which counts into s what the engine does for it.
func Counting(ctx context.Context, s *Spent) context.Context { return counting{ctx, s} }

type counting struct {
	context.Context
	spent *Spent
}

// Value implements context.Context.
func (c counting) Value(key any) any {
	switch key.(type) {
	case pool.ReadsKey:
		return &c.spent.pages
	case lock.WaitsKey:
		return &c.spent.waited
	}
	return c.Context.Value(key)
}
