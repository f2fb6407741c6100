package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// Replacement is S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023): a page
// begins in a small queue, from which it leaves for the main queue if it was used again, and else leaves the
// pool and is remembered by a ghost; a page whose ghost is still there begins in the main queue. So a scan of any
// length passes through a tenth of the pool. A hit only counts, see touch.
//
// Differences to the paper: a frame that cannot go (pinned, or changed and not yet written) goes round in the
// main queue; the ghost queue is a table of fingerprints that newer ones overwrite.
type replacement struct {
	mu   sync.Mutex
	cond *sync.Cond // a frame became free, or the pool closes
	free []uint32
	// coming is how many frames more the region will give; each time it has, and at the end, grown wakes who waits.
	coming int
	grown  *sync.Cond
	small  ring
	main   ring
	ghost  []uint32 // fingerprints by hash; written without order, a guess like any

	smallTarget int
	low, high   int // the cleaner fills the free list up to high when it falls below low
}

// ring is a queue of frames; a frame is in one queue at most.
type ring struct {
	at   []uint32
	head int
	n    int
}

func (r *ring) push(f uint32) {
	if r.n == len(r.at) {
		panic(fmt.Sprintf("BUG: a replacement queue of %d frames overflows", len(r.at)))
	}
	i := r.head + r.n
	if i >= len(r.at) {
		i -= len(r.at)
	}
	r.at[i] = f
	r.n++
}

func (r *ring) pop() uint32 {
	f := r.at[r.head]
	r.head++
	if r.head == len(r.at) {
		r.head = 0
	}
	r.n--
	return f
}

const (
	// smallShare of the pool is for pages seen once (a tenth, as in the paper).
	smallShare = 10
	// freeShare of the pool is kept free, within bounds, so that a miss need not wait for an eviction.
	freeShare = 64
	maxFree   = 2048
	// foregroundTries is how many frames a miss looks at itself before it asks the cleaner.
	foregroundTries = 32
	// frameWait is how long a miss waits for a frame before it is an error.
	frameWait = 30 * time.Second
)

func (r *replacement) init(n, coming int) {
	r.cond, r.grown, r.coming = sync.NewCond(&r.mu), sync.NewCond(&r.mu), coming
	r.small.at = make([]uint32, n)
	r.main.at = make([]uint32, n)
	ghosts := 256
	for ghosts < n {
		ghosts *= 2
	}
	r.ghost = make([]uint32, ghosts)
	r.setTargets(n)
}

func (r *replacement) setTargets(frames int) {
	r.smallTarget = frames / smallShare
	r.low = min(max(frames/freeShare, 8), maxFree)
	r.high = 2 * r.low
}

// survivors are frames that were kept over a restart, and how hot they are.
type survivors struct {
	frames  []uint32
	classes []uint8
	counts  [heatClasses]int
}

func (s *survivors) init(most int) {
	s.frames, s.classes = make([]uint32, 0, most), make([]uint8, 0, most)
}

func (s *survivors) add(f uint32, class int) {
	s.frames, s.classes = append(s.frames, f), append(s.classes, uint8(class))
	s.counts[class]++
}

// enqueue puts all of them into an empty queue, the coldest first: those are the first to go. It returns how many they are.
func enqueue(queue []uint32, all []survivors) (n int) {
	var wg sync.WaitGroup
	places := make([][heatClasses]int, len(all))
	for c := range heatClasses {
		for w := range all {
			places[w][c] = n
			n += all[w].counts[c]
		}
	}
	for w := range all {
		wg.Go(func() {
			for i, f := range all[w].frames {
				at := &places[w][all[w].classes[i]]
				queue[*at] = f
				*at++
			}
		})
	}
	wg.Wait()
	return n
}

func (r *replacement) ghostAt(id page.ID) (*uint32, uint32) {
	h := hash(id ^ 0x5bd1e995)
	return &r.ghost[h>>32&uint64(len(r.ghost)-1)], uint32(h) | 1
}

// enter puts a frame that has just got its page into its queue.
func (r *replacement) enter(f uint32, id page.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, mark := r.ghostAt(id); *at == mark {
		*at = 0
		r.main.push(f)
		return
	}
	r.small.push(f)
}

func (r *replacement) wakeAll() {
	r.mu.Lock()
	r.cond.Broadcast()
	r.grown.Broadcast()
	r.mu.Unlock()
}

// giveBack makes a frame that nobody can find available.
func (p *Pool) giveBack(f uint32) {
	r := &p.repl
	r.mu.Lock()
	r.free = append(r.free, f)
	r.cond.Signal()
	r.mu.Unlock()
}

// takeFree gets a frame that holds no page, evicting one if need be.
func (p *Pool) takeFree(ctx context.Context) (uint32, error) {
	r := &p.repl
	r.mu.Lock()
	defer r.mu.Unlock()
	var deadline time.Time
	for {
		if n := len(r.free); n > 0 {
			f := r.free[n-1]
			r.free = r.free[:n-1]
			if n <= r.low {
				p.askCleaner()
			}
			return f, nil
		}
		for range foregroundTries {
			if r.coming > 0 && (deadline.IsZero() || time.Until(deadline) > frameWait-growWait) {
				break
			}
			f, fromSmall, ok := r.victim(p)
			if !ok {
				break
			}
			if p.evict(f, fromSmall) {
				p.askCleaner()
				return f, nil
			}
			r.main.push(f)
		}
		switch now := time.Now(); {
		case p.closed.Load():
			return 0, ErrClosed
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case deadline.IsZero():
			deadline = now.Add(frameWait)
			stop := context.AfterFunc(ctx, r.wakeAll)
			defer stop()
		case now.After(deadline):
			return 0, fmt.Errorf("no frame of the pool became free in %v: all %d are in use or cannot be written (last write error: %v); give it a larger pool", frameWait, p.Frames(), p.stats.lastError())
		}
		p.askCleaner()
		// Between the miss and here the cleaner may have had nothing to do; the timer asks again.
		t := time.AfterFunc(20*time.Millisecond, r.wakeAll)
		r.cond.Wait()
		t.Stop()
	}
}

// victim is the next frame to go, taken out of its queue. Under r.mu.
func (r *replacement) victim(p *Pool) (f uint32, fromSmall, ok bool) {
	for range 4 * (r.small.n + r.main.n) {
		if r.small.n > r.smallTarget || r.main.n == 0 {
			if r.small.n == 0 {
				return 0, false, false
			}
			f := r.small.pop()
			d := p.desc(f)
			if h := d.Heat.Load(); h&freqMask > 1 && d.State.Load() != region.StateFree {
				change(d, h, h&^freqMask)
				r.main.push(f)
				continue
			}
			return f, true, true
		}
		f := r.main.pop()
		d := p.desc(f)
		if h := d.Heat.Load(); h&freqMask > 0 && d.State.Load() != region.StateFree {
			change(d, h, h-1)
			r.main.push(f)
			continue
		}
		return f, false, true
	}
	return 0, false, false
}

// evict makes a frame free if nobody uses it and its page is safe in the file. Under r.mu; the frame is in no queue.
func (p *Pool) evict(f uint32, fromSmall bool) bool {
	fr, d := &p.frames[f], p.desc(f)
	if !fr.pins.CompareAndSwap(0, evicting) {
		return false
	}
	defer fr.pins.Add(-evicting)
	switch d.State.Load() {
	case region.StateFree: // its tree was dropped
		return true
	case region.StateLoading:
		return false
	}
	if d.First.Load() != 0 || d.Version.Load()&1 != 0 {
		return false
	}
	id := page.ID(d.ID.Load())
	p.forget(f, id)
	if fromSmall {
		at, mark := p.repl.ghostAt(id)
		*at = mark
	}
	p.stats.evictions.Add(1)
	return true
}

// DiscardSpace forgets all pages of a space that was dropped, changed or not, without writing them.
func (p *Pool) DiscardSpace(space uint32) {
	for f := range uint32(p.n) {
		fr, d := &p.frames[f], p.desc(f)
		for {
			id := page.ID(d.ID.Load())
			if id.Space() != space || id == 0 {
				break
			}
			if !fr.pins.CompareAndSwap(0, evicting) {
				time.Sleep(10 * time.Microsecond) // a write-back or a read of it is under way
				continue
			}
			if page.ID(d.ID.Load()) == id {
				p.forget(f, id) // its queue still holds it and meets a free frame when its turn comes
			}
			fr.pins.Add(-evicting)
			break
		}
	}
}
