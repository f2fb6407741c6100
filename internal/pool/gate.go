package pool

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate holds back new groups while the log has no room for them, until write-back has moved the checkpoint on.
type gate struct {
	shut atomic.Bool
	mu   sync.Mutex
	ch   chan struct{} // closed when the gate opens; guarded by mu
}

func (g *gate) init() { g.ch = make(chan struct{}) }

func (g *gate) wait(ctx context.Context) {
	for g.shut.Load() {
		g.mu.Lock()
		ch := g.ch
		shut := g.shut.Load()
		g.mu.Unlock()
		if !shut {
			return
		}
		select {
		case <-ch:
		case <-ctx.Done(): // the group's next Fetch may still succeed; its caller sees the context
			return
		}
	}
}

func (g *gate) close() { g.shut.Store(true) }

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut.CompareAndSwap(true, false) {
		close(g.ch)
		g.ch = make(chan struct{})
	}
}

// HoldChanges makes Begin wait (true) or go on (false).
func (p *Pool) HoldChanges(hold bool) {
	if hold && !p.closed.Load() {
		p.gate.close()
	} else {
		p.gate.open()
	}
}
