package pool

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

// gate holds back new groups while the log has no room for them, until write-back has moved the checkpoint on.
type gate struct {
	limit atomic.Uint64 // LSN that no group may begin at or behind
	mu    sync.Mutex
	ch    chan struct{} // closed when limit moves; guarded by mu
}

func (g *gate) init() {
	g.ch = make(chan struct{})
	g.limit.Store(math.MaxUint64)
}

func (g *gate) set(limit page.LSN) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit.Store(uint64(limit))
	close(g.ch)
	g.ch = make(chan struct{})
}

// SetLogLimit says up to where the log may grow: groups that would begin behind it wait for the next call. Groups that
// have begun may carry the log beyond it.
func (p *Pool) SetLogLimit(limit page.LSN) { p.gate.set(limit) }

// NoLogLimit lets the log grow without end.
const NoLogLimit = page.LSN(math.MaxUint64)

// roomInLog waits until the log may grow.
func (p *Pool) roomInLog(ctx context.Context) error {
	g := &p.gate
	if uint64(p.log.Tail()) < g.limit.Load() {
		return nil
	}
	deadline := time.Now().Add(frameWait)
	for {
		g.mu.Lock()
		ch := g.ch
		g.mu.Unlock()
		if uint64(p.log.Tail()) < g.limit.Load() {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(deadline)):
			if err := p.stats.lastError(); err != nil {
				return fmt.Errorf("the log is full, and its changes cannot be written to the files: %w", err)
			}
			deadline = time.Now().Add(frameWait) // the disk is slow, not broken
		}
	}
}
