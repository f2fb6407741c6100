package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/wal"
)

// Log is what the pool needs of the log.
type Log interface {
	Append(body []byte) (start, end page.LSN, err error)
	Tail() page.LSN
	WaitDurable(ctx context.Context, lsn page.LSN) error
}

// MinFrames is the smallest pool, in frames: a few groups at a time, each at its largest.
const MinFrames = 256

// ErrClosed is returned by everything that would need a page after Close.
var ErrClosed = errors.New("the pool is closed")

// Config of a pool.
type Config struct {
	Region *region.Region
	Log    Log
	Source Source
	Logger *slog.Logger
}

// Pool is the buffer pool over the frames of a region.
type Pool struct {
	region *region.Region
	log    Log
	src    Source
	logger *slog.Logger

	n      int          // frames that have a descriptor
	size   atomic.Int64 // of them, those that the pool has or is to get: all, unless memory ran out
	frames []frame
	table  table

	uncounted atomic.Bool // see CountUses
	repl      replacement
	copies    sync.Pool // *copyBuf for write-back

	gate  gate
	grown chan struct{} // closed when no frame is to come any more
	ahead chan struct{} // slots for read-ahead
	runs  sync.Pool     // *Run, for misses with companions

	companions atomic.Pointer[Companions]

	closed    atomic.Bool
	stop      context.CancelFunc
	ctx       context.Context
	wg        sync.WaitGroup
	wantClean chan struct{}
	stats     counters
}

// frame is the part of a frame that does not survive.
type frame struct {
	latch sync.RWMutex
	// pins counts users; evicting while one evictor owns the frame. A pinner who sees a negative count backs out.
	pins atomic.Int32
	// flushing is set while a copy of the page is on its way to the file; redirtied is then a lower bound of the
	// first group that changed it after the copy (0: none). Both change under the latch: flushing shared by its
	// one owner, redirtied exclusive.
	flushing  atomic.Bool
	queue     uint8 // which replacement queue holds the frame; guarded by replacement.mu
	redirtied page.LSN
}

const evicting = -1 << 30

// New makes a pool over a region whose descriptors already say what survived: frames in state Unverified are
// taken over, all others must be free. Frames that the region has not reserved yet come behind it.
func New(cfg Config) (*Pool, error) {
	n := cfg.Region.Frames()
	if min(n, cfg.Region.Reserved()) < MinFrames {
		return nil, fmt.Errorf("a pool of %d pages is too small: give it at least %d (%d MiB)", n, MinFrames, MinFrames*page.Size>>20)
	}
	p := &Pool{
		region: cfg.Region, log: cfg.Log, src: cfg.Source, logger: cfg.Logger,
		n: n, frames: make([]frame, n), ahead: make(chan struct{}, readAheadDepth),
		wantClean: make(chan struct{}, 1), grown: make(chan struct{}),
	}
	p.copies.New = func() any { return newCopyBuf() }
	p.runs.New = func() any { return new(Run) }
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.size.Store(int64(n))
	p.table.init(n)
	p.repl.init(n, n-cfg.Region.Reserved())
	p.gate.init()
	if err := p.adopt(); err != nil {
		return nil, err
	}
	p.wg.Go(p.cleaner)
	p.wg.Go(p.cool)
	if p.repl.coming > 0 {
		p.wg.Go(p.grow)
	} else {
		close(p.grown)
	}
	return p, nil
}

// adopt enters the survivors into the table and the rest into the free list, in parallel: each worker looks at all
// descriptors and takes those whose chains are its own.
func (p *Pool) adopt() error {
	workers := runtime.GOMAXPROCS(0)
	reserved := uint32(p.region.Reserved())
	free := make([][]uint32, workers)
	kept := make([]survivors, workers)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			kept[w].init(p.n/workers + p.n/16)
			for f := range uint32(p.n) {
				d := p.desc(f)
				id := page.ID(d.ID.Load())
				if p.table.part(id, workers) != w {
					continue
				}
				switch d.State.Load() {
				case region.StateFree:
					if f < reserved {
						free[w] = append(free[w], f)
					}
				case region.StateUnverified:
					if p.table.pushUnique(p, id, f) {
						h := d.Heat.Load()
						if h&(markUnused|markUsed) != 0 { // by an earlier life
							d.Heat.Store(h &^ (markUnused | markUsed))
						}
						kept[w].add(f, heatClass(h))
						continue
					}
					// A death while the pool shrank left the page in two frames, the same in both.
					d.Begin()
					d.First.Store(0)
					d.State.Store(region.StateFree)
					d.SetID(int(f), 0)
					d.End(int(f))
					free[w] = append(free[w], f)
				default:
					errs[w] = fmt.Errorf("BUG: frame %d has state %d at start, want free or unverified", f, d.State.Load())
				}
			}
		})
	}
	wg.Wait()
	for w := range workers {
		p.repl.free = append(p.repl.free, free[w]...)
	}
	p.repl.main.n = enqueue(p.repl.main.at, kept)
	return errors.Join(errs...)
}

// Close stops the background work. The region keeps what it has.
func (p *Pool) Close() {
	p.closed.Store(true)
	p.stop()
	p.SetLogLimit(NoLogLimit)
	p.repl.wakeAll()
	p.wg.Wait()
	for range readAheadDepth { // wait for read-ahead under way
		p.ahead <- struct{}{}
	}
}

func (p *Pool) desc(f uint32) *region.Desc { return p.region.Desc(int(f)) }
func (p *Pool) page(f uint32) *page.Page   { return p.region.Page(int(f)) }

// Frames is the size of the pool in pages, those included that are still to come.
func (p *Pool) Frames() int { return int(p.size.Load()) }

// tryPin pins a frame unless it is being evicted.
func (fr *frame) tryPin() bool {
	if fr.pins.Add(1) > 0 {
		return true
	}
	fr.pins.Add(-1)
	return false
}

func (fr *frame) unpin() {
	if n := fr.pins.Add(-1); n < 0 {
		panic(fmt.Sprintf("BUG: unpin: pins is %d, want at least 0", n))
	}
}

// pin returns the frame that holds id, pinned, reading the page when it is not there. However many ask for a
// page that is missing, one of them reads it: it holds the latch, and the others wait for the latch.
func (p *Pool) pin(ctx context.Context, id page.ID, class Class) (uint32, error) {
	for {
		if p.closed.Load() {
			return 0, ErrClosed
		}
		f, ok := p.table.find(p, id)
		if !ok {
			f, done, err := p.load(ctx, id, class)
			if done || err != nil {
				return f, err
			}
			continue
		}
		fr := &p.frames[f]
		if !fr.tryPin() {
			runtime.Gosched()
			continue
		}
		d := p.desc(f)
		if page.ID(d.ID.Load()) != id {
			fr.unpin()
			continue
		}
		switch d.State.Load() {
		case region.StateReady:
			return f, nil
		case region.StateLoading:
			fr.latch.RLock() // the reader holds it until the page is there
			ok := d.State.Load() == region.StateReady && page.ID(d.ID.Load()) == id
			odd := d.Version.Load()&1 != 0
			fr.latch.RUnlock()
			if ok {
				return f, nil
			}
			if odd { // a fresh page whose group met a dead log: it never happened, and stays so
				fr.unpin()
				return 0, wal.ErrDead
			}
		case region.StateUnverified:
			if err := p.verify(ctx, f, id); err != nil {
				fr.unpin()
				return 0, err
			}
			return f, nil
		}
		fr.unpin()
	}
}

// ReadsKey is under what a context has an *atomic.Int64 that counts the missing pages which were read for it.
type ReadsKey struct{}

// load reads a missing page into a frame. done is false when somebody else was faster.
func (p *Pool) load(ctx context.Context, id page.ID, class Class) (f uint32, done bool, err error) {
	f, err = p.takeFree(ctx)
	if err != nil {
		return 0, false, err
	}
	if !p.claim(f, id) {
		p.giveBack(f)
		return 0, false, nil
	}
	start := time.Now()
	pg := p.page(f)
	var (
		first page.LSN
		heat  uint32
		ok    bool
	)
	if class == ClassMiss {
		first, heat, ok = p.readAround(ctx, f, id)
	}
	if !ok {
		first, err = p.src.ReadPage(ctx, id, pg, class)
	}
	p.stats.missNanos.Add(int64(time.Since(start)))
	p.stats.misses.Add(1)
	if n, ok := ctx.Value(ReadsKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
	if err != nil {
		p.unclaim(f, id)
		return 0, false, err
	}
	p.show(f, pg, first, heat)
	p.repl.enter(f, id)
	return f, true, nil
}

// claim enters a free frame as the loading place of id: pinned once and latched exclusively. False: id is there already.
func (p *Pool) claim(f uint32, id page.ID) bool {
	fr, d := &p.frames[f], p.desc(f)
	fr.latch.Lock()
	stripe := p.table.stripe(id)
	stripe.Lock()
	if _, ok := p.table.findLocked(p, id); ok {
		stripe.Unlock()
		fr.latch.Unlock()
		return false
	}
	d.Begin()
	d.SetID(int(f), id)
	d.LSN.Store(0)
	d.First.Store(0)
	d.State.Store(region.StateLoading)
	d.Heat.Store(0)
	d.End(int(f))
	fr.pins.Add(1)
	p.table.push(p, id, f)
	stripe.Unlock()
	return true
}

// unclaim undoes claim: the page could not be read, or a fresh page was not wanted after all.
func (p *Pool) unclaim(f uint32, id page.ID) {
	fr := &p.frames[f]
	p.forget(f, id)
	fr.latch.Unlock()
	for !fr.pins.CompareAndSwap(1, 0) { // others who waited for the page see that it is not there and go
		runtime.Gosched()
	}
	p.giveBack(f)
}

// forget takes a frame out of the table and makes it free. The caller owns the frame.
func (p *Pool) forget(f uint32, id page.ID) {
	d := p.desc(f)
	if d.Heat.Load()&markUnused != 0 {
		p.stats.prewarmedLost.Add(1)
	}
	stripe := p.table.stripe(id)
	stripe.Lock()
	p.table.remove(p, id, f)
	d.Begin()
	d.First.Store(0)
	d.State.Store(region.StateFree)
	d.SetID(int(f), 0)
	d.End(int(f))
	stripe.Unlock()
}

// verify looks at a survivor before its first use: a clean page by its checksum, a changed one by its structure.
func (p *Pool) verify(ctx context.Context, f uint32, id page.ID) error {
	fr, d, pg := &p.frames[f], p.desc(f), p.page(f)
	fr.latch.Lock()
	defer fr.latch.Unlock()
	if d.State.Load() != region.StateUnverified {
		return nil
	}
	var first page.LSN
	if first = page.LSN(d.First.Load()); first == 0 {
		if pg.Verify(id) != nil {
			p.stats.survivorsReread.Add(1)
			return p.replaceSurvivor(ctx, f, id, func() (page.LSN, error) { return p.src.ReadPage(ctx, id, pg, ClassMiss) })
		}
	} else if err := pg.Check(id); err != nil || uint64(pg.LSN()) != d.LSN.Load() {
		p.logger.Warn("a changed page that survived in memory is damaged; rebuilding it from its file and the log", "page", id.String(), "damage", err)
		p.stats.survivorsRebuilt.Add(1)
		return p.replaceSurvivor(ctx, f, id, func() (page.LSN, error) {
			_, err := p.src.Repair(ctx, id, pg)
			return first, err // it stays as dirty as it was
		})
	}
	d.Begin()
	d.State.Store(region.StateReady)
	d.End(int(f))
	return nil
}

// replaceSurvivor gets a survivor's page anew. The version is odd while the bytes are wrong, so that a death now does
// not keep them.
func (p *Pool) replaceSurvivor(ctx context.Context, f uint32, id page.ID, get func() (page.LSN, error)) error {
	d, pg := p.desc(f), p.page(f)
	d.Begin()
	defer d.End(int(f))
	first, err := get()
	if err != nil {
		spoil(pg)
		return err
	}
	d.LSN.Store(uint64(pg.LSN()))
	d.First.Store(uint64(first))
	d.State.Store(region.StateReady)
	return nil
}

// spoil leaves bytes that neither a checksum nor a structural check accepts, so that the next touch, or the next
// start, tries again to get the page.
func spoil(pg *page.Page) {
	clear(pg[:])
	pg.SetID(^page.ID(0))
}

// Await makes sure that id is in the pool and that whoever was changing it is done: for an optimistic reader
// whose Peek failed.
func (p *Pool) Await(ctx context.Context, id page.ID) error {
	f, err := p.pin(ctx, id, ClassMiss)
	if err != nil {
		return err
	}
	fr := &p.frames[f]
	fr.latch.RLock()
	odd := p.desc(f).Version.Load()&1 != 0
	fr.latch.RUnlock()
	fr.unpin()
	if odd { // only a dead log leaves a page odd without its latch
		return wal.ErrDead
	}
	return nil
}
