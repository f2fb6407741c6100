package heat

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// load is one load of a dump.
//
//	loading ──pause──▶ paused ──resume──▶ loading ──nothing left──▶ done
//	   └──────────cancel───────┴──cancel──▶ cancelled
type load struct {
	pool  *pool.Pool
	files *datafile.Set
	wide  func() int // its Around
	plan  plan
	order Order

	ctx      context.Context
	cancel   context.CancelFunc
	finished chan struct{} // closed at the end

	counts [pool.Outcomes]atomic.Int64
	along  atomic.Int64 // of Loaded: by a miss
	bytes  atomic.Int64
	reads  atomic.Int64

	mu      sync.Mutex // guards what follows
	state   State
	resumed chan struct{} // closed on resume; nil unless paused
	started time.Time
	ended   time.Time
	speed   speed
}

// loaders is how many reads of a load may be under way: what fills fast disks.
const loaders = 16

// sampleEvery is how often the speed of a load is noted.
const sampleEvery = 250 * time.Millisecond

func newLoad(p *pool.Pool, files *datafile.Set, l *list, order Order) *load {
	l.sort()
	x := &load{pool: p, files: files, wide: files.Around, order: order, finished: make(chan struct{}), state: StateLoading, started: time.Now()}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.plan = plan{
		list: l, physical: order == OrderPhysical, has: p.Has, taken: make([]atomic.Bool, len(l.pages)),
		settle: func(_ int, o pool.Outcome) { x.counts[o].Add(1) },
	}
	x.counts[pool.NoRoom].Add(int64(l.over))
	x.fit()
	return x
}

// fit leaves out the coldest pages if the pool has no room for all.
func (x *load) fit() {
	l := x.plan.list
	spare := x.pool.Spare()
	if len(l.pages) <= spare {
		return
	}
	var missing []int
	for i, p := range l.pages {
		if x.pool.Has(p.id) {
			x.plan.take(i)
			x.plan.settle(i, pool.Present)
		} else {
			missing = append(missing, i)
		}
	}
	if len(missing) <= spare {
		return
	}
	slices.SortStableFunc(missing, func(a, b int) int { return cmp.Compare(l.pages[a].band, l.pages[b].band) })
	for _, i := range missing[spare:] {
		x.plan.take(i)
		x.plan.settle(i, pool.NoRoom)
	}
}

// run does the load.
func (x *load) run() {
	x.pool.SetCompanions(x)
	var wg sync.WaitGroup
	for range loaders {
		wg.Go(x.loader)
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	t := time.NewTicker(sampleEvery)
	defer t.Stop()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-t.C:
			x.sample()
		}
	}
	x.pool.SetCompanions(nil)
	x.end()
}

func (x *load) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = StateDone
	if x.ctx.Err() != nil {
		x.state = StateCancelled
	}
	x.ended = time.Now()
	x.cancel()
	close(x.finished)
}

// loader reads until nothing is left.
func (x *load) loader() {
	r := new(pool.Run)
	for x.waitResumed() {
		turn, err := x.files.Turn(x.ctx, x.earned())
		if err != nil {
			return
		}
		if x.pool.Spare() == 0 {
			x.plan.rest(pool.NoRoom)
		}
		if !x.plan.next(r, turn.Pages, turn.Free) {
			turn.Done(0)
			return
		}
		n := x.pool.Load(x.ctx, r, pool.ClassPrewarm)
		turn.Done(n)
		x.plan.came(r)
		if n > 0 {
			x.bytes.Add(int64(n))
			x.reads.Add(1)
		}
	}
}

// earned is the part of the wanted pages that the load brought in.
func (x *load) earned() float64 {
	return float64(x.counts[pool.Loaded].Load()) / float64(max(len(x.plan.list.pages), 1))
}

// Around implements pool.Companions.
func (x *load) Around(id page.ID, r *pool.Run) (heat uint32, along bool) {
	l := x.plan.list
	i, ok := l.find(id)
	if !ok {
		return 0, false
	}
	heat = l.heat(l.pages[i].band)
	n := x.wide()
	if n < 2 || x.paused() {
		return heat, false
	}
	return heat, x.plan.around(r, id, n)
}

// Came implements pool.Companions.
func (x *load) Came(r *pool.Run) {
	for _, p := range r.Pages {
		if p.Outcome == pool.Loaded {
			x.along.Add(1)
			x.bytes.Add(page.Size)
		}
	}
	x.plan.came(r)
}

func (x *load) pause() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == StateLoading {
		x.state, x.resumed = StatePaused, make(chan struct{})
	}
}

func (x *load) resume() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == StatePaused {
		close(x.resumed)
		x.state, x.resumed = StateLoading, nil
	}
}

func (x *load) paused() bool { return x.now() == StatePaused }

// now is its state.
func (x *load) now() State {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state
}

// waitResumed waits while the load is paused. False: it is over.
func (x *load) waitResumed() bool {
	for {
		x.mu.Lock()
		ch := x.resumed
		x.mu.Unlock()
		if ch == nil {
			return x.ctx.Err() == nil
		}
		select {
		case <-ch:
		case <-x.ctx.Done():
			return false
		}
	}
}

// stop cancels the load and waits for its reads.
func (x *load) stop() {
	x.cancel()
	<-x.finished
}

// seen is how many pages have their outcome.
func (x *load) seen() (n int64) {
	for i := range x.counts {
		n += x.counts[i].Load()
	}
	return n
}

func (x *load) sample() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.speed.note(time.Now(), x.bytes.Load(), x.seen())
}
