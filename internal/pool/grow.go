package pool

import (
	"context"
	"fmt"
	"time"

	"github.com/hearthdb/hearth/internal/page"
)

// A region may give its frames behind the start, chunk by chunk: the kernel takes a third of a second for a GiB, and the first
// answer must not wait for that. Frames that are still to come count as free: a load that finds none waits for them (takeSpare),
// and nothing is evicted meanwhile, save by a miss that waited for growWait in vain.

// growWait is how long a miss that finds no free frame waits for one that is to come: many times what a chunk takes.
const growWait = time.Second

// hurryBelow, in frames, is from how few free ones on the growth takes no rest: 32 MiB.
const hurryBelow = 2048

// grow has the region reserve the frames that are missing, with half a core at most unless they are being waited for.
func (p *Pool) grow() {
	defer close(p.grown)
	for p.ctx.Err() == nil {
		start, from := time.Now(), p.region.Reserved()
		to, err := p.region.ReserveMore()
		free := p.gain(from, to)
		if err != nil {
			p.stayShort(to, err)
			return
		}
		if to == p.n {
			return
		}
		if free < hurryBelow {
			continue
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(time.Since(start)):
		}
	}
}

// Grown waits until no frame is to come any more.
func (p *Pool) Grown(ctx context.Context) error {
	select {
	case <-p.grown:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gain makes the frames [from,to) available, and returns how many are.
func (p *Pool) gain(from, to int) (free int) {
	r := &p.repl
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := from; f < to; f++ {
		r.free = append(r.free, uint32(f))
	}
	r.coming -= to - from
	r.grown.Broadcast()
	r.cond.Broadcast()
	return max(len(r.free)-r.high, 0)
}

// stayShort ends the growth at that many frames.
func (p *Pool) stayShort(frames int, why error) {
	why = fmt.Errorf("the pool has %d pages (%d MiB) and was to have %d: %w", frames, frames*page.Size>>20, p.n, why)
	p.logger.Warn("memory for the pool ran out; it stays smaller until the next start", "reason", why)
	p.stats.noteShort(why)
	p.size.Store(int64(frames))
	r := &p.repl
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coming = 0
	r.setTargets(frames)
	r.grown.Broadcast()
	r.cond.Broadcast()
}
