package hearth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/file"
)

// Failing disks: the Nth call fails, while clients work and while a database recovers. Whatever the engine makes of it, it says so,
// it does not hang, and on a disk that is well again nothing acknowledged is missing.

// fault is what goes wrong.
type fault struct {
	name string
	err  error
	hits func(file.OpKind) bool
	// short lets a part of the bytes through.
	short bool
	// lasting: every later call fails too.
	lasting bool
}

func writing(k file.OpKind) bool { return k.Changes() && k != file.OpOpen }
func reading(k file.OpKind) bool { return k == file.OpRead }
func growing(k file.OpKind) bool {
	return k == file.OpWrite || k == file.OpAllocate || k == file.OpMkdir
}
func syncing(k file.OpKind) bool { return k == file.OpSync || k == file.OpSyncDir }
func anything(file.OpKind) bool  { return true }

var faults = []fault{
	{name: "write error", err: unix.EIO, hits: writing},
	{name: "write errors from then on", err: unix.EIO, hits: writing, lasting: true},
	{name: "sync error", err: unix.EIO, hits: syncing},
	{name: "disk full", err: unix.ENOSPC, hits: growing},
	{name: "disk full from then on", err: unix.ENOSPC, hits: growing, lasting: true},
	{name: "short write", err: unix.EIO, hits: func(k file.OpKind) bool { return k == file.OpWrite }, short: true},
	{name: "read error", err: unix.EIO, hits: reading},
	{name: "short read", err: unix.EIO, hits: reading, short: true},
	{name: "read errors from then on", err: unix.EIO, hits: reading, lasting: true},
	{name: "any call", err: unix.EIO, hits: anything},
	{name: "all calls from then on", err: unix.EIO, hits: anything, lasting: true},
}

// injector fails the nth call of a kind.
type injector struct {
	fault fault
	nth   int

	mu    sync.Mutex // guards the rest
	seen  int
	fired file.Op // the first call that failed
}

func (i *injector) hook(op file.Op) error {
	if !i.fault.hits(op.Kind) {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen++
	if i.seen < i.nth || i.seen > i.nth && !i.fault.lasting {
		return nil
	}
	if i.seen == i.nth {
		i.fired = op
	}
	if i.fault.short {
		return &file.ShortError{Done: int(op.Len / 2), Err: i.fault.err}
	}
	return i.fault.err
}

func (i *injector) String() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.seen < i.nth {
		return fmt.Sprintf("%s: call %d, not reached", i.fault.name, i.nth)
	}
	return fmt.Sprintf("%s: call %d: %s %s at %d, %d bytes", i.fault.name, i.nth, i.fired.Kind, i.fired.Name, i.fired.Off, i.fired.Len)
}

// spread is n numbers from 1 to most, closer together where they are small.
func spread(n, most int) []int {
	var list []int
	for i := range n {
		x := int(math.Pow(float64(most), float64(i)/float64(max(1, n-1))))
		if len(list) > 0 {
			x = max(x, list[len(list)-1]+1)
		}
		list = append(list, x)
	}
	return list
}

// worked is a disk with a database, and who worked on it.
type worked struct {
	disk *file.Mem
	w    *workload
	must bounds
}

// prepare lets clients work for a while. With crashed, the power then fails.
func prepare(t *testing.T, seed uint64, transactions int, crashed bool) worked {
	t.Helper()
	ctx := context.Background()
	disk := file.NewMem(seed)
	db, err := Open(ctx, memDir, smallOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkload(seed, 2)
	if err := w.setUp(ctx, db); err != nil {
		t.Fatal(err)
	}
	var clone *file.Mem
	var must bounds
	if crashed {
		// The cut comes while transactions are open.
		var acked atomic.Int64
		stop := func() bool {
			if acked.Add(1) == int64(2*transactions) {
				must = w.least()
				clone = disk.Clone(file.Random)
				w.most(must)
			}
			return false
		}
		err = w.run(ctx, db, transactions+2, stop)
	} else {
		err = w.run(ctx, db, transactions, func() bool { return false })
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !crashed {
		clone, must = disk, w.most(w.least())
	}
	return worked{clone, w, must}
}

// TestFaultsAtWork: calls fail while clients work.
func TestFaultsAtWork(t *testing.T) {
	seed := seedOf(t)
	base := prepare(t, seed, 40, false)
	per := 4
	if testing.Short() {
		per = 2
	}
	if long {
		per = 120
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for i, nth := range spread(per, 600) {
				in := &injector{fault: f, nth: nth}
				watch(f.name, func() { faultAtWork(t, base, in, seed+uint64(i)) })
				if t.Failed() {
					return
				}
			}
		})
	}
}

func faultAtWork(t *testing.T, base worked, in *injector, seed uint64) {
	ctx := context.Background()
	disk := base.disk.Clone(file.KeepAll)
	w := base.w.clone(seed)
	opts := smallOptions(disk)
	var fatal atomic.Pointer[error]
	opts.OnFatal = func(err error) {
		if !fatal.CompareAndSwap(nil, &err) {
			t.Errorf("%v: OnFatal is called twice", in)
		}
	}
	db, err := Open(ctx, memDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	disk.OnOp(in.hook)
	runErr := w.run(ctx, db, 25, func() bool { return fatal.Load() != nil })
	if fatal.Load() != nil {
		// The log may live on when the files do not: what is acknowledged now must be kept, too.
		runErr = errors.Join(runErr, w.clients[0].transaction(ctx, db))
	}
	if errors.As(runErr, new(*wrong)) {
		t.Errorf("%v: %v", in, runErr)
	}
	closeErr := db.Close()
	in.mu.Lock()
	fired := in.fired.N != 0
	in.mu.Unlock()
	if !fired && (runErr != nil || closeErr != nil || fatal.Load() != nil) {
		t.Errorf("%v: yet it failed: %v, close: %v", in, runErr, closeErr)
	}
	disk.OnOp(nil)
	must := w.most(w.least())
	// The machine goes on, or it loses its power as well.
	for _, mode := range []file.CrashMode{file.KeepAll, file.DropUnsynced} {
		after := crash{disk: disk.Clone(mode), after: must, seed: seed}
		if err := surviveStart(ctx, w, after); err != nil {
			t.Errorf("%v: afterwards (crash mode %d): %v; at work: %v; close: %v", in, mode, err, runErr, closeErr)
			keepDisk(t, disk.Clone(mode), t.Name())
			return
		}
	}
}

// TestFaultsAtStart: calls fail while a database recovers from a power cut.
func TestFaultsAtStart(t *testing.T) {
	seed := seedOf(t)
	base := prepare(t, seed, 60, true)
	per := 4
	if testing.Short() {
		per = 2
	}
	if long {
		per = 150
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for i, nth := range spread(per, 400) {
				in := &injector{fault: f, nth: nth}
				watch(f.name, func() { faultAtStart(t, base, in, seed+uint64(i)) })
				if t.Failed() {
					return
				}
			}
		})
	}
}

func faultAtStart(t *testing.T, base worked, in *injector, seed uint64) {
	ctx := context.Background()
	disk := base.disk.Clone(file.KeepAll)
	disk.OnOp(in.hook)
	db, openErr := Open(ctx, memDir, smallOptions(disk))
	var readErr, closeErr error
	if openErr == nil {
		_, readErr = base.w.verify(ctx, db, base.must)
		if errors.As(readErr, new(*wrong)) {
			t.Errorf("%v: %v", in, readErr)
		}
		closeErr = db.Close()
	}
	in.mu.Lock()
	fired := in.fired.N != 0
	in.mu.Unlock()
	if !fired && errors.Join(openErr, readErr, closeErr) != nil {
		t.Errorf("%v: yet it failed: open %v, read %v, close %v", in, openErr, readErr, closeErr)
	}
	disk.OnOp(nil)
	for _, mode := range []file.CrashMode{file.KeepAll, file.DropUnsynced} {
		after := crash{disk: disk.Clone(mode), after: base.must, seed: seed}
		if err := surviveStart(ctx, base.w, after); err != nil {
			t.Errorf("%v: afterwards (crash mode %d): %v; before: open %v, read %v, close %v", in, mode, err, openErr, readErr, closeErr)
			keepDisk(t, disk.Clone(mode), t.Name())
			return
		}
	}
}
