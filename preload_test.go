package hearth

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/testbed"
)

// passReads calls f for each read of the one pass over the log behind a start, with its number from 1. Whoever builds the index of a
// segment that has none reads as much at once and is counted, too.
func passReads(disk *file.Mem, o *Options, f func(n int64) error) (reads *atomic.Int64) {
	reads = new(atomic.Int64)
	behind := new(atomic.Bool)
	o.OnPhase = func(phase string, _ int) { behind.Store(phase == "transactions") } // the last; the log was read for the others
	disk.OnOp(func(op file.Op) error {
		if op.Kind == file.OpRead && behind.Load() && strings.Contains(op.Name, "log/") && op.Len > 4*PageSize {
			return f(reads.Add(1))
		}
		return nil
	})
	return reads
}

// TestLogReadFailsAtEveryRead: the pass over the log behind a start meets a bad spot. Whoever asks for pages is served all the same, the
// log stays, and the next start redoes it.
func TestLogReadFailsAtEveryRead(t *testing.T) {
	const rows = 8_000
	ctx := context.Background()
	whole := dirtyDisk(t, rows)
	broken := errors.New("the disk does not answer")
	failed := 0
	for n, more := int64(1), true; more; n++ {
		disk := whole.Clone(file.KeepAll)
		o := dirtyOptions(disk)
		reads := passReads(disk, o, func(i int64) error {
			if i == n {
				return broken
			}
			return nil
		})
		db, err := Open(ctx, memDir, o)
		if err != nil {
			t.Fatal(err)
		}
		awaitRedo(t, db)
		more = reads.Load() >= n
		if db.startErr != nil {
			failed++
			if !errors.Is(db.startErr, broken) {
				t.Errorf("read %d of %d fails: the work behind the start ends with %v", n, reads.Load(), db.startErr)
			}
		}
		kept := db.startErr != nil
		for i := 0; i < rows; i += 397 {
			readRow(t, db, i)
		}
		died := disk.Clone(file.DropUnsynced)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if db, err = Open(ctx, memDir, dirtyOptions(died)); err != nil {
			t.Fatal(err)
		}
		awaitRedo(t, db)
		if r := db.StartReport(); kept && r.RedoBytes < rows*300 {
			t.Errorf("read %d failed: the next start finds %d bytes to redo", n, r.RedoBytes)
		}
		for i := 0; i < rows; i += 397 {
			readRow(t, db, i)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if failed < 8 {
		t.Errorf("%d passes failed: the test is too small", failed)
	}
}

// TestCloseDuringLogRead: with memory that survives nothing has to be written first, and Close waits for the read of the log that is under
// way only.
func TestCloseDuringLogRead(t *testing.T) {
	disk := dirtyDisk(t, 20_000)
	o := dirtyOptions(disk)
	o.Memory, o.MemoryDir = MemoryRequire, testbed.MemoryDir(t)
	held, free := make(chan struct{}), make(chan struct{})
	reads := passReads(disk, o, func(n int64) error {
		if n == 2 {
			close(held)
			<-free
		}
		return nil
	})
	db, err := Open(context.Background(), memDir, o)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-held:
	case <-time.After(watchdogAfter):
		t.Fatal("nobody reads the log")
	}
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	<-db.ctx.Done()
	close(free)
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(watchdogAfter):
		t.Fatal("Close does not return")
	}
	if n := reads.Load(); n > 3 { // the third is of what was asked for with the second, in the next segment
		t.Errorf("%d reads of the log, want no more after the second", n)
	}
}
