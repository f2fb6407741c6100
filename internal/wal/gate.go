package wal

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/page"
)

// gate is a position that moves forward, and those who wait for it. They wait by batch, on one channel each: the writer
// wakes a whole batch by closing it, and wakes nobody whose bytes are not there yet.
//
//	wait ──▶ next ──launch──▶ flying ──release──▶ woken
//
// Rejected: one sync.Cond for all (every sync woke those of the next batch too, and 16 goroutines fought for its mutex),
// and a channel per waiter (one allocation and one send each).
type gate struct {
	reached atomic.Uint64 // all below is through
	want    atomic.Uint64 // highest position anybody asked for
	pending atomic.Int32  // waiters in next

	mu       sync.Mutex
	next     *batch
	flying   *batch // nil between release and launch
	flyingTo page.LSN
	dead     error
}

type batch struct {
	done    chan struct{}
	waiters int
	err     error // set before done is closed
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

func (g *gate) init(at page.LSN) {
	g.reached.Store(uint64(at))
	g.want.Store(uint64(at))
	g.next = newBatch()
}

func (g *gate) at() page.LSN { return page.LSN(g.reached.Load()) }

// wanted says whether somebody asked for more than there is.
func (g *gate) wanted() bool { return g.want.Load() > g.reached.Load() }

// ask raises want.
func (g *gate) ask(lsn page.LSN) {
	for {
		old := g.want.Load()
		if old >= uint64(lsn) || g.want.CompareAndSwap(old, uint64(lsn)) {
			return
		}
	}
}

// join finds the batch that will be through at lsn; nil with a nil error means it is through already.
func (g *gate) join(lsn page.LSN) (*batch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at() >= lsn {
		return nil, nil
	}
	if g.dead != nil {
		return nil, g.dead
	}
	b := g.next
	if g.flying != nil && lsn <= g.flyingTo {
		b = g.flying
	} else {
		g.pending.Add(1)
	}
	b.waiters++
	return b, nil
}

// wait blocks until lsn is through, the gate is dead or ctx is done; kick is called when somebody must be told to begin.
func (g *gate) wait(ctx context.Context, lsn page.LSN, kick func()) error {
	if g.at() >= lsn {
		return nil
	}
	b, err := g.join(lsn)
	if b == nil {
		return err
	}
	g.ask(lsn)
	kick()
	if ctx.Done() == nil {
		<-b.done
		return b.err
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// launch turns next into flying. tail is asked under the mutex, so it covers everyone who joined.
func (g *gate) launch(tail func() page.LSN) page.LSN {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flying, g.next, g.flyingTo = g.next, newBatch(), tail()
	g.pending.Store(0)
	return g.flyingTo
}

// release moves the gate to what launch said, and wakes the batch. It returns how many that were. It must not move it any further: who
// joined since for a position beyond what launch said is in next, and nobody would see that he waits.
func (g *gate) release() int {
	g.mu.Lock()
	b := g.flying
	g.flying = nil
	g.reached.Store(uint64(g.flyingTo))
	g.mu.Unlock()
	close(b.done)
	return b.waiters
}

// kill wakes everyone with err, now and from now on.
func (g *gate) kill(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead != nil {
		return
	}
	g.dead = err
	for _, b := range []*batch{g.flying, g.next} {
		if b != nil {
			b.err = err
			close(b.done)
		}
	}
	g.flying, g.next = nil, newBatch()
	g.pending.Store(0)
}
