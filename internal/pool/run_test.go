package pool_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/testbed"
)

var ctx = context.Background()

const space = 5

// fill writes n formatted pages of the space home and returns a pool of frames frames that has none of them.
func fill(t *testing.T, frames, n int) *testbed.Bed {
	t.Helper()
	writer := testbed.New(t, max(2*n, pool.MinFrames))
	if err := writer.Files.Create(space); err != nil {
		t.Fatal(err)
	}
	for no := range n {
		format(t, writer.Pool, page.MakeID(space, uint32(no)), page.KindSpace)
	}
	if err := writer.Pool.FlushAll(ctx); err != nil {
		t.Fatal(err)
	}
	return writer.Reopen(t, frames)
}

func format(t *testing.T, p *pool.Pool, id page.ID, kind page.Kind) {
	t.Helper()
	g := p.Begin(ctx)
	h, err := g.Fresh(id)
	if err != nil {
		t.Fatal(err)
	}
	g.Edit(h, page.AppendFormat(nil, kind))
	if _, err := g.Commit(); err != nil {
		t.Fatal(err)
	}
}

// touch reads a page.
func touch(t *testing.T, p *pool.Pool, no uint32) {
	t.Helper()
	g := p.BeginRead(ctx)
	defer g.Abort()
	h, err := g.Fetch(page.MakeID(space, no), pool.Shared)
	if err != nil {
		t.Fatal(err)
	}
	if h.Page.ID() != h.ID {
		t.Errorf("page %v says it is %v", h.ID, h.Page.ID())
	}
}

// load wants n pages from first on and returns their outcomes.
func load(p *pool.Pool, first uint32, n int) []pool.Outcome {
	r := new(pool.Run)
	r.Reset(page.MakeID(space, first), n)
	for i := range n {
		r.Want(i, 40)
	}
	p.Load(ctx, r, pool.ClassPrewarm)
	return outcomes(r)
}

func outcomes(r *pool.Run) (all []pool.Outcome) {
	for _, p := range r.Pages {
		all = append(all, p.Outcome)
	}
	return all
}

func has(p *pool.Pool, no uint32) bool { return p.Has(page.MakeID(space, no)) }

func TestLoadOutcomes(t *testing.T) {
	b := fill(t, pool.MinFrames, 20)
	touch(t, b.Pool, 3)
	if n := b.Pool.Stats().Misses; n != 1 {
		t.Fatalf("%d misses, want 1", n)
	}
	damage(t, b, 5)
	got := load(b.Pool, 2, 6)
	want := []pool.Outcome{pool.Loaded, pool.Present, pool.Loaded, pool.Failed, pool.Loaded, pool.Loaded}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if has(b.Pool, 5) || !has(b.Pool, 7) {
		t.Error("what failed is in the pool, or what was loaded is not")
	}
	if got := load(b.Pool, 18, 5); !slices.Equal(got, []pool.Outcome{pool.Loaded, pool.Loaded, pool.Gone, pool.Gone, pool.Gone}) {
		t.Errorf("at the end of the file: %v", got)
	}
	if has(b.Pool, 20) {
		t.Error("a page that was never written is in the pool")
	}
	touch(t, b.Pool, 4) // whole and readable
	if n := b.Pool.Stats().Misses; n != 1 {
		t.Errorf("%d misses after a hit on a loaded page, want 1", n)
	}
}

// damage breaks a page in its file.
func damage(t *testing.T, b *testbed.Bed, no uint32) {
	t.Helper()
	f, err := b.Disk.OpenFile(b.Files.Path(space), file.ReadWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("damage"), int64(no)*page.Size+500); err != nil {
		t.Fatal(err)
	}
}

func TestLoadOfFreedAndDroppedPages(t *testing.T) {
	b := fill(t, pool.MinFrames, 8)
	format(t, b.Pool, page.MakeID(space, 9), page.KindFree)
	if err := b.Pool.FlushAll(ctx); err != nil {
		t.Fatal(err)
	}
	b = b.Reopen(t, pool.MinFrames)
	if got := load(b.Pool, 7, 3); !slices.Equal(got, []pool.Outcome{pool.Loaded, pool.Gone, pool.Gone}) {
		t.Errorf("a page, one never written, one freed: %v", got)
	}
	if err := b.Files.Remove(space); err != nil {
		t.Fatal(err)
	}
	b.Pool.DiscardSpace(space)
	if got := load(b.Pool, 0, 2); !slices.Equal(got, []pool.Outcome{pool.Gone, pool.Gone}) {
		t.Errorf("pages of a dropped space: %v", got)
	}
	if p := b.Pool.Prewarmed(); p.Pages != 1 || p.Evicted != 1 {
		t.Errorf("%+v, want one page that left unused", p)
	}
}

// TestLoadReadsThroughGaps: one read, and what lies between the wanted pages does not take a frame.
func TestLoadReadsThroughGaps(t *testing.T) {
	b := fill(t, pool.MinFrames, 20)
	r := new(pool.Run)
	r.Reset(page.MakeID(space, 2), 10)
	for _, i := range []int{1, 4, 7} {
		r.Want(i, 40)
	}
	if n := b.Pool.Load(ctx, r, pool.ClassPrewarm); n != 7*page.Size {
		t.Errorf("read %d bytes, want 7 pages: from the first to the last that is wanted", n)
	}
	for no := range uint32(20) {
		if want := no == 3 || no == 6 || no == 9; has(b.Pool, no) != want {
			t.Errorf("page %d in the pool: %v", no, !want)
		}
	}
}

// TestLoadEvictsNothing: what came in since the start stays, and misses keep their free frames.
func TestLoadEvictsNothing(t *testing.T) {
	const pages = 400
	b := fill(t, pool.MinFrames, pages)
	for no := range uint32(150) {
		touch(t, b.Pool, no)
	}
	var counts [pool.Outcomes]int
	for first := uint32(0); first < pages; first += 16 {
		for _, o := range load(b.Pool, first, 16) {
			counts[o]++
		}
	}
	for no := range uint32(150) {
		if !has(b.Pool, no) {
			t.Errorf("page %d, which was in use, is gone", no)
		}
	}
	s := b.Pool.Stats()
	if s.Evictions != 0 || s.Free == 0 {
		t.Errorf("%d evictions, %d free frames: want none, and some", s.Evictions, s.Free)
	}
	if counts[pool.Present] != 150 || counts[pool.Loaded] != pool.MinFrames-150-s.Free || counts[pool.NoRoom] != pages-150-counts[pool.Loaded] {
		t.Errorf("outcomes %v with %d free frames", counts, s.Free)
	}
	if got := load(b.Pool, 390, 4); !slices.Equal(got, []pool.Outcome{pool.NoRoom, pool.NoRoom, pool.NoRoom, pool.NoRoom}) {
		t.Errorf("into a full pool: %v", got)
	}
}

// TestWorth: used pages, unused ones, and those that leave unused.
func TestWorth(t *testing.T) {
	b := fill(t, pool.MinFrames, 600)
	load(b.Pool, 0, 64)
	for no := range uint32(10) {
		for range 3 {
			touch(t, b.Pool, no)
		}
	}
	if p := b.Pool.Prewarmed(); p.Pages != 64 || p.Used != 10 || p.Evicted != 0 {
		t.Errorf("%+v, want 64 pages, 10 used", p)
	}
	for i := range 20_000 {
		touch(t, b.Pool, uint32(i%10))
	}
	if p := b.Pool.Prewarmed(); p.Hits < 10_000 || p.Hits > 40_000 {
		t.Errorf("about %d hits of 20000", p.Hits)
	}
	for no := uint32(100); no < 600; no++ {
		touch(t, b.Pool, no)
		touch(t, b.Pool, no)
		touch(t, b.Pool, no)
	}
	if p := b.Pool.Prewarmed(); p.Pages != 64 || p.Used != 10 || p.Evicted == 0 || p.Evicted > 54 {
		t.Errorf("%+v, want some of the 54 unused pages gone", p)
	}
}

// companions wants the neighbours of every missing page.
type companions struct {
	mu   sync.Mutex
	came [pool.Outcomes]int
}

func (c *companions) Around(id page.ID, r *pool.Run) (uint32, bool) {
	r.Reset(id-page.ID(id.No()%4), 4)
	for i := range 4 {
		r.Want(i, 40)
	}
	return 40, true
}

func (c *companions) Came(r *pool.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range outcomes(r) {
		c.came[o]++
	}
}

// TestCompanions: a miss brings its neighbours along, and is itself as good as without them.
func TestCompanions(t *testing.T) {
	b := fill(t, pool.MinFrames, 40)
	c := new(companions)
	b.Pool.SetCompanions(c)
	damage(t, b, 2)
	touch(t, b.Pool, 1)
	if !has(b.Pool, 0) || has(b.Pool, 2) || !has(b.Pool, 3) {
		t.Error("want the neighbours, but not the damaged one")
	}
	if c.came != [pool.Outcomes]int{pool.Unwanted: 1, pool.Loaded: 2, pool.Failed: 1} {
		t.Errorf("outcomes %v", c.came)
	}
	g := b.Pool.BeginRead(ctx)
	if _, err := g.Fetch(page.MakeID(space, 2), pool.Shared); err == nil {
		t.Error("the damaged page can be read")
	}
	g.Abort()
	touch(t, b.Pool, 39) // the others are beyond the end
	b.Pool.SetCompanions(nil)
	touch(t, b.Pool, 20)
	if has(b.Pool, 21) {
		t.Error("companions come though nobody wants them any more")
	}
	if p := b.Pool.Prewarmed(); p.Pages != 5 {
		t.Errorf("%+v, want 5 pages", p)
	}
}

// TestLoadUnderReaders: loads, misses with companions and evictions at once leave every page whole and counted once.
func TestLoadUnderReaders(t *testing.T) {
	const pages = 1000
	b := fill(t, 2*pool.MinFrames, pages)
	b.Pool.SetCompanions(new(companions))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for range 400 {
				no := uint32(rng.IntN(pages))
				if w%3 == 0 {
					load(b.Pool, no, min(1+rng.IntN(20), pages-int(no)))
					continue
				}
				touch(t, b.Pool, no)
			}
		})
	}
	wg.Wait()
	in := 0
	for slice := range b.Pool.Snapshot() {
		in += len(slice)
	}
	if s := b.Pool.Stats(); in != s.Frames-s.Free {
		t.Errorf("%d pages are told, %d frames of %d are not free", in, s.Frames-s.Free, s.Frames)
	}
	if p := b.Pool.Prewarmed(); p.Used+p.Evicted > p.Pages {
		t.Errorf("%+v", p)
	}
}

// TestSnapshotLeavesFreePagesOut: what was given back to its space is wanted by nobody, until it is used again.
func TestSnapshotLeavesFreePagesOut(t *testing.T) {
	b := fill(t, pool.MinFrames, 4)
	touch(t, b.Pool, 1)
	edit := func(kind page.Kind) {
		g := b.Pool.Begin(ctx)
		h, err := g.Fetch(page.MakeID(space, 1), pool.Exclusive)
		if err != nil {
			t.Fatal(err)
		}
		g.Edit(h, page.AppendFormat(nil, kind))
		if _, err := g.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	told := func() (n int) {
		for slice := range b.Pool.Snapshot() {
			n += len(slice)
		}
		return n
	}
	if n := told(); n != 1 {
		t.Errorf("%d pages told, want 1", n)
	}
	edit(page.KindFree)
	if n := told(); n != 0 {
		t.Errorf("%d pages told, want none: it is free", n)
	}
	edit(page.KindSpace)
	if n := told(); n != 1 {
		t.Errorf("%d pages told, want the one that is in use again", n)
	}
}
