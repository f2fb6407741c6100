package hearth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/page"
)

// Tests of warmth on the whole engine: a database on the in-memory disk is warm, stops, and the next life finds no memory.

// warmRows is so many that their pages are about three quarters of warmPool.
const (
	warmRows = 22_000
	warmPool = 16 << 20
)

func warmOptions(disk *file.Mem) *Options {
	o := smallOptions(disk)
	o.PoolSize, o.LogSize, o.HeatDumpInterval, o.Prewarm = warmPool, 16<<20, -1, PrewarmOff
	return o
}

func openWarm(t testing.TB, disk *file.Mem, set func(*Options)) *DB {
	t.Helper()
	o := warmOptions(disk)
	if set != nil {
		set(o)
	}
	db, err := Open(context.Background(), memDir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() }) // most tests close it themselves
	return db
}

func closeDB(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func warmKey(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

// fillTree makes a tree of rows.
func fillTree(t testing.TB, db *DB, name string, rows int) {
	t.Helper()
	err := db.Update(context.Background(), func(tx *Tx) error {
		tree, err := tx.CreateTree(name)
		for i := 0; i < rows && err == nil; i++ {
			err = tree.Put(warmKey(i), []byte(fmt.Sprintf("%0500d", i)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readTree reads rows [from, to).
func readTree(t testing.TB, db *DB, name string, from, to int) {
	t.Helper()
	err := db.View(context.Background(), func(tx *Tx) error {
		tree, err := tx.Tree(name)
		for i := from; i < to && err == nil; i++ {
			var v []byte
			if v, err = tree.Get(warmKey(i)); err == nil && string(v) != fmt.Sprintf("%0500d", i) {
				err = fmt.Errorf("row %d is %.20q", i, v)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// warmDisk is the disk of a database that was warm and stopped in order: one dump is there, of about so many pages.
func warmDisk(t testing.TB) (disk *file.Mem, pages int64) {
	t.Helper()
	disk = file.NewMem(1)
	db := openWarm(t, disk, nil)
	fillTree(t, db, "rows", warmRows)
	readTree(t, db, "rows", 0, warmRows)
	closeDB(t, db)
	return disk, dumps(t, disk)[0]
}

// dumps are the pages of the dumps in the data directory, the newest first.
func dumps(t testing.TB, disk *file.Mem) (pages []int64) {
	t.Helper()
	entries, err := disk.ReadDir(filepath.Join(memDir, heatDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".new") { // being written
			continue
		}
		h, err := heat.ReadFile(disk, filepath.Join(memDir, heatDir, e.Name()), func(int, page.ID) {})
		if errors.Is(err, os.ErrNotExist) { // gone meanwhile for a newer one
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, int64(h.Pages))
	}
	slices.Reverse(pages)
	return pages
}

// await waits until a load has come to a state.
func await(t testing.TB, db *DB, state WarmthState) WarmthStatus {
	t.Helper()
	for deadline := time.Now().Add(watchdogAfter); ; time.Sleep(time.Millisecond) {
		s := db.Warmth().Status()
		checkCounts(t, s)
		if s.State == state {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the load is %s, want %s: %+v", s.State, state, s)
		}
	}
}

// checkCounts: every page has one outcome.
func checkCounts(t testing.TB, s WarmthStatus) {
	t.Helper()
	if s.Loaded+s.Present+s.Gone+s.NoRoom+s.Failed+s.Left != s.Total || s.Left < 0 {
		t.Errorf("the counts do not add up: %+v", s)
	}
	if a := s.Accounting; a.Unused < 0 || a.Used+a.Unused+a.EvictedUnused != a.Pages {
		t.Errorf("the accounting does not add up: %+v", a)
	}
}

// TestPrewarm: the next life has all pages that the last one had, and misses nothing.
func TestPrewarm(t *testing.T) {
	for _, order := range []LoadOrder{OrderHeat, OrderPhysical} {
		disk, pages := warmDisk(t)
		db := openWarm(t, disk, func(o *Options) { o.Prewarm, o.PrewarmOrder = PrewarmBlocking, order })
		s := db.Warmth().Status()
		checkCounts(t, s)
		if s.State != WarmthDone || s.Total != pages || s.Loaded < pages*9/10 || s.Failed+s.NoRoom+s.Left != 0 || s.Order != order {
			t.Errorf("%s: %+v, want all of %d pages", order, s, pages)
		}
		if last := map[LoadOrder]int{OrderHeat: s.Bands - 1, OrderPhysical: 0}[order]; s.Bands < 2 || s.Band != last { // by place all bands are one
			t.Errorf("%s: band %d of %d, want %d", order, s.Band, s.Bands, last)
		}
		if s.BytesRead < s.Loaded*PageSize || s.Reads == 0 || s.Reads > s.Loaded {
			t.Errorf("%s: %d pages were loaded by %d bytes in %d reads", order, s.Loaded, s.BytesRead, s.Reads)
		}
		before := db.Stats().Pool
		readTree(t, db, "rows", 0, warmRows)
		after := db.Stats().Pool
		if after.Misses != before.Misses {
			t.Errorf("%s: %d misses after the load, want none", order, after.Misses-before.Misses)
		}
		if a := db.Warmth().Status().Accounting; a.Pages != s.Loaded || a.Used < a.Pages*8/10 || a.Hits == 0 {
			t.Errorf("%s: %+v, want most of the pages used", order, a)
		}
		closeDB(t, db)
	}
}

// TestPrewarmWorth: of what a load brought in, it is known what was used, and what was gone before it was.
func TestPrewarmWorth(t *testing.T) {
	disk, _ := warmDisk(t)
	db := openWarm(t, disk, func(o *Options) { o.Prewarm, o.HeatDumpAtShutdown = PrewarmBlocking, Off })
	worth := func() WarmthWorth {
		s := db.Warmth().Status()
		checkCounts(t, s)
		return s.Accounting
	}
	before := worth()
	if before.Pages == 0 || before.EvictedUnused != 0 || before.Used > before.Pages/10 {
		t.Errorf("nobody has read anything yet: %+v", before)
	}
	readTree(t, db, "rows", 0, warmRows/4)
	read := worth()
	if part := float64(read.Used) / float64(read.Pages); part < 0.15 || part > 0.4 || read.EvictedUnused != 0 || read.Hits == 0 {
		t.Errorf("a quarter was read: %+v", read)
	}
	fillTree(t, db, "fresh", warmRows)
	for range 3 {
		readTree(t, db, "fresh", 0, warmRows)
	}
	if now := worth(); now.Pages != read.Pages || now.EvictedUnused < 100 || now.Unused > read.Unused-100 {
		t.Errorf("others took the place: %+v, before that %+v", now, read)
	}
}

// TestPrewarmLimit: a start, and whoever asks for a load, waits for it so long and no longer; it goes on behind them.
func TestPrewarmLimit(t *testing.T) {
	const limit = 10 * time.Millisecond
	warm, pages := warmDisk(t)
	for _, mode := range []PrewarmMode{PrewarmBlocking, PrewarmOff} {
		disk := warm.Clone(file.KeepAll)
		var gate slow
		disk.OnOp(func(op file.Op) error {
			if !strings.HasSuffix(op.Name, "00000010.hs") { // a start needs the undo space and the catalog, and no tree
				return nil
			}
			return gate.hook(op)
		})
		gate.close()
		open := sync.OnceFunc(gate.open)
		watchdog := time.AfterFunc(watchdogAfter, open) // who waits for the end of the load sees it then
		db := openWarm(t, disk, func(o *Options) { o.Prewarm, o.PrewarmLimit, o.HeatDumpAtShutdown = mode, limit, Off })
		if mode == PrewarmOff {
			if err := db.Warmth().Load(context.Background(), LoadOptions{Blocking: true, Limit: limit}); err != nil {
				t.Error(err)
			}
		}
		if s := db.Warmth().Status(); s.State != WarmthWaiting && (s.State != WarmthLoading || s.Left == 0) {
			t.Errorf("prewarm %s: %+v, want a load that is under way", mode, s)
		}
		r := db.StartReport()
		if last := r.Phases[len(r.Phases)-1]; (last.Name == "prewarm" && last.Took >= limit && r.Took >= limit) != (mode == PrewarmBlocking) {
			t.Errorf("prewarm %s: the start's phases are %v, of %v in all", mode, r.Phases, r.Took)
		}
		open()
		watchdog.Stop()
		if s := await(t, db, WarmthDone); s.Total != pages || s.Left != 0 {
			t.Errorf("prewarm %s: %+v, want all of %d pages", mode, s, pages)
		}
		closeDB(t, db)
	}
}

// TestPrewarmIntoSmallerPool: the hottest fit, nothing is evicted for the others.
func TestPrewarmIntoSmallerPool(t *testing.T) {
	disk := file.NewMem(1)
	db := openWarm(t, disk, nil)
	fillTree(t, db, "rows", warmRows)
	for range 60 {
		readTree(t, db, "rows", 5000, 6000) // hot
	}
	closeDB(t, db)
	db = openWarm(t, disk, func(o *Options) { o.PoolSize, o.Prewarm = warmPool/2, PrewarmBlocking })
	s := db.Warmth().Status()
	checkCounts(t, s)
	if s.State != WarmthDone || s.NoRoom == 0 || s.Loaded == 0 || db.Stats().Pool.Evictions != 0 {
		t.Errorf("%+v, %d evictions: want some pages without room, and none evicted", s, db.Stats().Pool.Evictions)
	}
	before := db.Stats().Pool.Misses
	readTree(t, db, "rows", 5000, 6000)
	if n := db.Stats().Pool.Misses - before; n > 1 {
		t.Errorf("%d misses on the hottest rows", n)
	}
	closeDB(t, db)
	// And into one of twice the size.
	db = openWarm(t, disk, func(o *Options) { o.PoolSize, o.Prewarm = 2*warmPool, PrewarmBlocking })
	if s := db.Warmth().Status(); s.State != WarmthDone || s.NoRoom != 0 {
		t.Errorf("twice the pool: %+v", s)
	}
}

// TestPrewarmKeepsFreshPages: what came in since the start is not evicted for what was hot before it.
func TestPrewarmKeepsFreshPages(t *testing.T) {
	disk, _ := warmDisk(t)
	db := openWarm(t, disk, func(o *Options) { o.PoolSize, o.HeatDumpAtShutdown = warmPool/2, Off })
	ctx := context.Background()
	fillTree(t, db, "fresh", 4000)
	readTree(t, db, "fresh", 0, 4000)
	evicted, misses := db.Stats().Pool.Evictions, db.Stats().Pool.Misses
	if err := db.Warmth().Load(ctx, LoadOptions{Blocking: true}); err != nil {
		t.Fatal(err)
	}
	if s := db.Stats().Pool; s.Evictions != evicted {
		t.Errorf("the load evicted %d pages", s.Evictions-evicted)
	}
	readTree(t, db, "fresh", 0, 4000)
	if s := db.Stats().Pool; s.Misses != misses {
		t.Errorf("%d misses on pages that came in since the start", s.Misses-misses)
	}
}

// TestDroppedSinceTheDump: pages of trees that are no more are counted and skipped, also when their place is somebody else's.
func TestDroppedSinceTheDump(t *testing.T) {
	disk := file.NewMem(1)
	db := openWarm(t, disk, nil)
	ctx := context.Background()
	fillTree(t, db, "old", warmRows/2)
	fillTree(t, db, "rows", warmRows/4)
	if err := db.Update(ctx, func(tx *Tx) error { // emptied pages are given back to the tree, and used again
		tree, err := tx.Tree("rows")
		for i := 0; i < warmRows/8 && err == nil; i++ {
			_, err = tree.Delete(warmKey(i))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	i, err := db.Warmth().Dump(ctx, DumpOptions{Path: memDir + "/list"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(ctx, func(tx *Tx) error { return tx.DropTree("old") }); err != nil {
		t.Fatal(err)
	}
	if err := db.txns.WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	fillTree(t, db, "new", warmRows/2)
	closeDB(t, db)
	db = openWarm(t, disk, func(o *Options) { o.Prewarm, o.PrewarmFile = PrewarmBlocking, i.File })
	s := db.Warmth().Status()
	checkCounts(t, s)
	if s.State != WarmthDone || s.Total != i.Pages || s.Gone < 100 || s.Failed != 0 {
		t.Errorf("%+v, want some hundred pages gone", s)
	}
	readTree(t, db, "new", 0, warmRows/2)
	readTree(t, db, "rows", warmRows/8, warmRows/4)
	if err := checkSound(ctx, db); err != nil {
		t.Error(err)
	}
}

// slow makes reads of data files wait while it is closed.
type slow struct {
	mu   sync.Mutex
	gate chan struct{} // nil: open
}

func (s *slow) close() { s.mu.Lock(); s.gate = make(chan struct{}); s.mu.Unlock() }
func (s *slow) open()  { s.mu.Lock(); close(s.gate); s.gate = nil; s.mu.Unlock() }

func (s *slow) hook(op file.Op) error {
	if op.Kind != file.OpRead || !strings.HasSuffix(op.Name, ".hs") {
		return nil
	}
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return nil
}

// gatedLoad begins a load whose reads wait for the gate.
func gatedLoad(t *testing.T, db *DB) *slow {
	t.Helper()
	gate := new(slow)
	db.opts.fs.(*file.Mem).OnOp(gate.hook)
	gate.close()
	if err := db.Warmth().Load(context.Background(), LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, db, WarmthLoading)
	return gate
}

// TestPauseResumeCancel: reads under way end, nothing begins; after a cancel what was read stays.
func TestPauseResumeCancel(t *testing.T) {
	disk, _ := warmDisk(t)
	db := openWarm(t, disk, func(o *Options) { o.HeatDumpAtShutdown = Off })
	ctx, w := context.Background(), db.Warmth()
	gate := gatedLoad(t, db)
	w.Pause()
	if s := w.Status(); s.State != WarmthPaused {
		t.Fatalf("%s, want paused", s.State)
	}
	gate.open()
	var still WarmthStatus
	for quiet := 0; quiet < 50; quiet++ { // until the reads that were under way have ended
		s := w.Status()
		if s.Left != still.Left {
			still, quiet = s, 0
		}
		time.Sleep(time.Millisecond)
	}
	if still.Left == 0 {
		t.Fatal("nothing is left of a load that was paused at its first reads")
	}
	w.Resume()
	s := await(t, db, WarmthDone)
	if s.Left != 0 || s.Loaded == 0 {
		t.Errorf("%+v, want all done", s)
	}

	gate.close()
	db.pool.SetCompanions(nil)
	closeGate := sync.OnceFunc(gate.open)
	defer closeGate()
	fresh := openWarm(t, disk.Clone(file.KeepAll), func(o *Options) { o.HeatDumpAtShutdown = Off })
	fresh.opts.fs.(*file.Mem).OnOp(gate.hook)
	if err := fresh.Warmth().Load(ctx, LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, fresh, WarmthLoading)
	fresh.Warmth().Pause() // or all could be read before the cancel is
	ended := make(chan struct{})
	go func() { fresh.Warmth().Cancel(); close(ended) }()
	closeGate()
	<-ended
	s = await(t, fresh, WarmthCancelled)
	if s.Left == 0 {
		t.Errorf("%+v: want something left of a cancelled load", s)
	}
	readTree(t, fresh, "rows", 0, warmRows)
	if err := checkSound(ctx, fresh); err != nil {
		t.Error(err)
	}
}

// TestRefusedLoad: a load that does not begin, because its dump is of no use, leaves the one that is under way alone, and what is said of it.
func TestRefusedLoad(t *testing.T) {
	disk, pages := warmDisk(t)
	db := openWarm(t, disk, func(o *Options) { o.HeatDumpAtShutdown = Off })
	ctx, w := context.Background(), db.Warmth()
	gate := gatedLoad(t, db)
	refused := func(state WarmthState) {
		t.Helper()
		if err := w.Load(ctx, LoadOptions{Path: memDir + "/nothing"}); !errors.Is(err, ErrNoDump) {
			t.Errorf("load of nothing: %v", err)
		}
		if err := w.Load(ctx, LoadOptions{Path: memDir + "/control"}); !errors.Is(err, ErrNotDump) || strings.Contains(err.Error(), "delete") {
			t.Errorf("load of the control file: %v", err)
		}
		if s := w.Status(); s.State != state || s.Error != "" || s.Total != pages {
			t.Errorf("%+v, want the load of %d pages, %s", s, pages, state)
		}
	}
	refused(WarmthLoading)
	w.Pause()
	refused(WarmthPaused)
	w.Resume()
	gate.open()
	if s := await(t, db, WarmthDone); s.Total != pages || s.Left != 0 {
		t.Errorf("%+v, want all of %d pages", s, pages)
	}
	if err := w.Load(ctx, LoadOptions{Path: memDir + "/nothing"}); err == nil || w.Status().State != WarmthFailed {
		t.Errorf("nothing is under way: %v, %+v", err, w.Status())
	}
}

// TestComingLoad: the load of a start that has not begun, because the log is read first, is told of and steered like any other.
func TestComingLoad(t *testing.T) {
	ctx := context.Background()
	disk, pages := warmDisk(t)
	// one is a life in which a load is expected, steered and then begun.
	one := func(steer func(w *Warmth)) (db *DB, end func()) {
		db = openWarm(t, disk.Clone(file.KeepAll), nil)
		<-db.warming // its own, which expects none
		db.warmer.Expect()
		if s := db.Warmth().Status(); s.State != WarmthWaiting || s.Started.IsZero() {
			t.Errorf("%+v, want it to wait", s)
		}
		steer(db.Warmth())
		running, stop := context.WithCancel(ctx)
		began, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			db.warmer.Run(running, &heat.LoadOptions{}, began)
		}()
		<-began
		return db, func() { stop(); <-ended; closeDB(t, db) }
	}
	state := func(w *Warmth, want WarmthState) {
		t.Helper()
		if s := w.Status(); s.State != want {
			t.Errorf("it is %s, want %s", s.State, want)
		}
	}

	db, end := one(func(w *Warmth) {
		w.Pause()
		state(w, WarmthPaused)
		w.Resume()
		state(w, WarmthWaiting)
		w.Pause()
		if err := w.Load(ctx, LoadOptions{Path: memDir + "/nothing"}); err == nil {
			t.Error("nothing is loaded")
		}
		state(w, WarmthPaused)
	})
	if s := db.Warmth().Status(); s.State != WarmthPaused || s.Left != pages {
		t.Errorf("paused before it began: %+v", s)
	}
	db.Warmth().Resume()
	await(t, db, WarmthDone)
	end()

	db, end = one(func(w *Warmth) { w.Cancel() })
	if s := db.Warmth().Status(); s.State != WarmthCancelled || s.Total != 0 {
		t.Errorf("cancelled before it began: %+v", s)
	}
	end()

	var began time.Time
	db, end = one(func(w *Warmth) {
		if err := w.Load(ctx, LoadOptions{Blocking: true}); err != nil {
			t.Fatal(err)
		}
		began = w.Status().Started
	})
	if s := db.Warmth().Status(); s.State != WarmthDone || !s.Started.Equal(began) {
		t.Errorf("after another load it still began: %+v", s)
	}
	end()
}

// TestCancelDoesNotSpoilTheDump: after a load that was cut off, or none, no automatic dump replaces a good one; after one that
// ended well, or when the pool is as full as it was, it does.
func TestCancelDoesNotSpoilTheDump(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(t *testing.T, db *DB)
		new  bool
	}{
		{"no load", func(*testing.T, *DB) {}, false},
		{"little read", func(t *testing.T, db *DB) { readTree(t, db, "rows", 0, 100) }, false},
		{"cancelled", func(t *testing.T, db *DB) {
			gate := gatedLoad(t, db)
			db.Warmth().Pause() // or all could be read before the cancel is
			go func() { time.Sleep(time.Millisecond); gate.open() }()
			db.Warmth().Cancel()
		}, false},
		{"under way", func(t *testing.T, db *DB) {
			gate := gatedLoad(t, db)
			db.Warmth().Pause()
			gate.open()
		}, false},
		{"done", func(t *testing.T, db *DB) {
			if err := db.Warmth().Load(ctx, LoadOptions{Blocking: true}); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a short list, done", func(t *testing.T, db *DB) { loadPart(t, db, memDir+"/short") }, false},
		{"all read", func(t *testing.T, db *DB) { readTree(t, db, "rows", 0, warmRows) }, true},
		{"on demand", func(t *testing.T, db *DB) {
			if _, err := db.Warmth().Dump(ctx, DumpOptions{}); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk, _ := warmDisk(t)
			db := openWarm(t, disk, nil)
			c.do(t, db)
			db.warmer.Automatic(ctx)
			withheld := db.Warmth().Status().DumpWithheld
			closeDB(t, db)
			disk.OnOp(nil)
			if n := len(dumps(t, disk)); (n > 1) != c.new {
				t.Errorf("%d dumps, want another one: %v", n, c.new)
			}
			if (withheld == "") != c.new && c.name != "on demand" && c.name != "all read" {
				t.Errorf("the reason for withholding is %q", withheld)
			}
		})
	}
}

// TestPartialDumpOnDemand: who asks for the list of a pool that is not warm gets it, is told so, and loses none of the good ones by it.
func TestPartialDumpOnDemand(t *testing.T) {
	ctx := context.Background()
	disk, pages := warmDisk(t)
	good := dumpNames(t, disk)
	var said strings.Builder
	db := openWarm(t, disk, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	ask := func(o DumpOptions, partial, kept bool) {
		t.Helper()
		i, err := db.Warmth().Dump(ctx, o)
		if err != nil || (i.Partial != "") != partial || i.EarlierKept != kept || partial && i.Pages > pages/2 {
			t.Errorf("%+v, %v: want one that is partial: %v, the earlier ones kept: %v", i, err, partial, kept)
		}
		if last := db.Warmth().Status().LastDump; last == nil || *last != i {
			t.Errorf("last dump %+v, want %+v", last, i)
		}
	}
	for range DefaultHeatDumpsKept {
		ask(DumpOptions{}, true, true)
	}
	ask(DumpOptions{Path: memDir + "/list"}, true, false)
	closeDB(t, db)
	if n := strings.Count(said.String(), "is partial"); n != DefaultHeatDumpsKept+1 {
		t.Errorf("the log says so %d times:\n%s", n, said.String())
	}
	db = openWarm(t, disk, func(o *Options) { o.Prewarm = PrewarmBlocking }) // the newest, which is partial
	if s := db.Warmth().Status(); s.State != WarmthDone || s.Total > pages/2 {
		t.Errorf("%+v, want the newest loaded, of less than %d pages", s, pages/2)
	}
	db.warmer.Automatic(ctx)
	names := dumpNames(t, disk)
	if !slices.Contains(names, good[0]) || len(names) != 1+DefaultHeatDumpsKept || db.Warmth().Status().DumpWithheld == "" {
		t.Errorf("%q, withheld because %q; want %s among them and no other one", names, db.Warmth().Status().DumpWithheld, good[0])
	}
	if err := db.Warmth().Load(ctx, LoadOptions{Path: filepath.Join(memDir, heatDir, good[0]), Blocking: true}); err != nil {
		t.Fatal(err)
	}
	ask(DumpOptions{}, false, false)
	if n := len(dumpNames(t, disk)); n != DefaultHeatDumpsKept {
		t.Errorf("the pool is warm, and %d dumps are left, want %d", n, DefaultHeatDumpsKept)
	}
}

// dumpNames are the files of the dumps in the data directory.
func dumpNames(t *testing.T, disk *file.Mem) (names []string) {
	t.Helper()
	entries, err := disk.ReadDir(filepath.Join(memDir, heatDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// loadPart loads some of the pages of the newest dump, to the end.
func loadPart(t *testing.T, db *DB, name string) {
	t.Helper()
	ctx := context.Background()
	if _, err := db.Warmth().Dump(ctx, DumpOptions{Path: name}); err != nil { // of what a start takes
		t.Fatal(err)
	}
	if err := db.Warmth().Load(ctx, LoadOptions{Path: name, Blocking: true}); err != nil {
		t.Fatal(err)
	}
	if s := db.Warmth().Status(); s.State != WarmthDone || s.Total == 0 || s.Left+s.Failed+s.NoRoom != 0 {
		t.Fatalf("%+v, want a short list that is done", s)
	}
}

// TestBadDumpAtStart: one message, no load, and a start like any other.
func TestBadDumpAtStart(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		make func(t *testing.T, b []byte) []byte
		want string
	}{
		{"damaged", func(_ *testing.T, b []byte) []byte { b[len(b)/2] ^= 1; return b }, "is damaged"},
		{"truncated", func(_ *testing.T, b []byte) []byte { return b[:len(b)-10] }, "is damaged"},
		{"empty", func(*testing.T, []byte) []byte { return nil }, "is damaged"},
		{"nonsense", func(*testing.T, []byte) []byte { return []byte(strings.Repeat("nonsense", 50)) }, "is no heat dump"},
		{"foreign", func(t *testing.T, _ []byte) []byte { return foreignDump(t) }, "another database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk, _ := warmDisk(t)
			name := memDir + "/bad"
			db := openWarm(t, disk, func(o *Options) { o.HeatDumpAtShutdown = Off })
			if _, err := db.Warmth().Dump(ctx, DumpOptions{Path: name}); err != nil {
				t.Fatal(err)
			}
			closeDB(t, db)
			rewrite(t, disk, name, func(b []byte) []byte { return c.make(t, b) })
			db = openWarm(t, disk, func(o *Options) { o.Prewarm, o.PrewarmFile = PrewarmBlocking, name })
			s := db.Warmth().Status()
			if s.State != WarmthFailed || !strings.Contains(s.Error, c.want) || s.Loaded != 0 {
				t.Errorf("%+v, want an error with %q", s, c.want)
			}
			if err := db.Warmth().Load(ctx, LoadOptions{Path: name}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("load: %v", err)
			}
			readTree(t, db, "rows", 0, warmRows)
			if err := db.Warmth().Load(ctx, LoadOptions{Blocking: true}); err != nil { // of the whole one
				t.Errorf("load the newest: %v", err)
			}
		})
	}
}

// foreignDump is a dump of another database.
func foreignDump(t *testing.T) []byte {
	disk, _ := warmDisk(t)
	var b []byte
	entries, err := disk.ReadDir(filepath.Join(memDir, heatDir))
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, disk, filepath.Join(memDir, heatDir, entries[0].Name()), func(old []byte) []byte { b = slices.Clone(old); return old })
	return b
}

// rewrite changes a file.
func rewrite(t *testing.T, disk *file.Mem, name string, change func([]byte) []byte) {
	t.Helper()
	f, err := disk.OpenFile(name, file.ReadWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	b = change(b)
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil && len(b) > 0 {
		t.Fatal(err)
	}
}

// TestDumpServesTheReplica: the dump of one server, of some percent of its pool, is loaded by another one of the same data, which has
// gone on by itself and has another pool.
func TestDumpServesTheReplica(t *testing.T) {
	ctx := context.Background()
	disk, pages := warmDisk(t)
	replica := disk.Clone(file.KeepAll)
	db := openWarm(t, disk, func(o *Options) { o.HeatDumpPercent = 25 })
	readTree(t, db, "rows", 0, warmRows)
	name := memDir + "/list"
	const frames = warmPool / PageSize
	for percent, want := range map[int]int64{50: frames / 2, 0: frames / 4, 1: frames / 100, 100: pages} { // 0: as configured
		i, err := db.Warmth().Dump(ctx, DumpOptions{Percent: percent, Path: name})
		if err != nil || i.Pages > want || i.Pages < want*9/10 || percent < 100 && i.Pages != want {
			t.Errorf("%d %%: %+v, %v, want %d pages", percent, i, err, want)
		}
	}
	if _, err := db.Warmth().Dump(ctx, DumpOptions{Percent: 50, Path: name}); err != nil {
		t.Fatal(err)
	}
	if h, err := heat.ReadFile(disk, name, func(int, page.ID) {}); err != nil || h.Frames != frames || h.LSN == 0 || h.LSN > db.log.Tail() {
		t.Errorf("%+v, %v, want %d frames and the end of the log, %d at most", h, err, frames, db.log.Tail())
	}
	var sent []byte
	rewrite(t, disk, name, func(b []byte) []byte { sent = slices.Clone(b); return b })
	closeDB(t, db)

	db = openWarm(t, replica, func(o *Options) { o.PoolSize = 2 * warmPool })
	fillTree(t, db, "of the replica", 100)
	f, err := replica.OpenFile(name, file.ReadWrite|file.Create, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(sent, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Warmth().Load(ctx, LoadOptions{Path: name, Blocking: true}); err != nil {
		t.Fatal(err)
	}
	s := db.Warmth().Status()
	checkCounts(t, s)
	if s.State != WarmthDone || s.File != name || s.Total != frames/2 || s.Loaded < s.Total*9/10 || s.Failed+s.NoRoom != 0 {
		t.Errorf("%+v, want %d pages loaded", s, frames/2)
	}
	readTree(t, db, "rows", 0, warmRows)
}

// TestDumpEveryInterval: dumps come by themselves, and the settings may change meanwhile.
func TestDumpEveryInterval(t *testing.T) {
	disk := file.NewMem(1)
	db := openWarm(t, disk, func(o *Options) { o.HeatDumpInterval, o.HeatDumpAtShutdown = time.Hour, Off })
	fillTree(t, db, "rows", 1000)
	s := db.Warmth().Settings()
	s.DumpInterval = time.Millisecond
	if err := db.Warmth().Change(s); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(watchdogAfter); len(dumps(t, disk)) < DefaultHeatDumpsKept; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d dumps", len(dumps(t, disk)))
		}
	}
	s.DumpPercent = 0
	if err := db.Warmth().Change(s); err == nil {
		t.Error("a dump of 0 percent is allowed")
	}
	now := db.Warmth().Status()
	if i := now.LastDump; i == nil || !i.Automatic || i.Pages == 0 || i.LongestStall <= 0 || i.LongestStall > now.LongestStall {
		t.Errorf("last dump %+v, longest stall of all %v", i, now.LongestStall)
	}
}

// TestPrewarmBringsRedo: after a crash the load reads pages whose changes only the log has, and gets them right.
func TestPrewarmBringsRedo(t *testing.T) {
	ctx := context.Background()
	disk, _ := warmDisk(t)
	db := openWarm(t, disk, func(o *Options) { o.HeatDumpAtShutdown = Off })
	if err := db.Update(ctx, func(tx *Tx) error {
		tree, err := tx.Tree("rows")
		for i := 0; i < warmRows && err == nil; i += 40 {
			err = tree.Put(warmKey(i), []byte("changed"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	crashed := disk.Clone(file.DropUnsynced)
	closeDB(t, db)
	db = openWarm(t, crashed, func(o *Options) { o.Prewarm = PrewarmBlocking })
	if s := db.Warmth().Status(); s.State != WarmthDone || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	err := db.View(ctx, func(tx *Tx) error {
		tree, err := tx.Tree("rows")
		for i := 0; i < warmRows && err == nil; i++ {
			var v []byte
			if v, err = tree.Get(warmKey(i)); err == nil && (string(v) == "changed") != (i%40 == 0) {
				err = fmt.Errorf("row %d is %.20q", i, v)
			}
		}
		return err
	})
	if err == nil {
		err = checkSound(ctx, db)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestPowerCutWarm cuts the power while dumps are written, and loads them while what was lost is redone.
func TestPowerCutWarm(t *testing.T) {
	v := powerCuts{name: "warm", crashes: 25, set: func(o *Options) {
		o.PoolSize, o.RingSize, o.HeatDumpInterval = 32<<20, 4<<20, 5*time.Millisecond
	}}
	v.run(t, seedOf(t))
}

// TestRegionKeepsHeat: a clean stop leaves heat with its pages, whatever size the pool has then; the load finds them there.
func TestRegionKeepsHeat(t *testing.T) {
	ctx := context.Background()
	dir, memory := t.TempDir(), t.TempDir()
	options := func(size int64) *Options {
		return &Options{PoolSize: size, MemoryDir: memory, Memory: MemoryRequire, SegmentSize: 4 << 20, LogSize: 16 << 20, Logger: testLogger()}
	}
	db, err := Open(ctx, dir, options(warmPool))
	if err != nil {
		t.Fatal(err)
	}
	fillTree(t, db, "rows", warmRows)
	for range 200 {
		readTree(t, db, "rows", 0, 500)
	}
	if err := db.Checkpoint(ctx); err != nil { // changed pages stay before hot ones
		t.Fatal(err)
	}
	before, err := db.Warmth().Dump(ctx, DumpOptions{Path: filepath.Join(dir, "before")})
	if err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	for _, size := range []int64{2 * warmPool, warmPool / 2, warmPool} {
		db, err := Open(ctx, dir, options(size))
		if err != nil {
			t.Fatal(err)
		}
		if k := db.StartReport().Kind; k != StartCleanRegion {
			t.Fatalf("start: %s", k)
		}
		s := await(t, db, WarmthDone)
		after, err := db.Warmth().Dump(ctx, DumpOptions{Path: filepath.Join(dir, "after")})
		if err != nil {
			t.Fatal(err)
		}
		hot, now := hottest(t, before.File, 1), hottest(t, after.File, 100)
		for _, id := range hot {
			if !slices.Contains(now, id) {
				t.Errorf("a pool of %d MiB: page %v was among the hottest and is not any more", size>>20, id)
			}
		}
		if size == 2*warmPool && (s.Present < s.Total*9/10 || s.Loaded > s.Total/10) {
			t.Errorf("the pool was kept, but the load says %+v", s)
		}
		closeDB(t, db)
	}
}

// hottest is pages from the top of a dump, so many and the rest of their band.
func hottest(t *testing.T, name string, most int) (ids []page.ID) {
	t.Helper()
	last := -1
	_, err := heat.ReadFile(file.OS, name, func(band int, id page.ID) {
		if len(ids) < most || band == last {
			ids, last = append(ids, id), band
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
