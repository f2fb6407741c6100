package hearth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// dirtyOptions have room for all of dirtyDisk, in the pool and in the log.
func dirtyOptions(disk *file.Mem) *Options {
	o := smallOptions(disk)
	o.PoolSize, o.LogSize = 32<<20, 64<<20
	return o
}

// dirtyDisk is a disk with a tree of so many rows, each of its pages changed since the checkpoint, as the loss of memory leaves it.
func dirtyDisk(t *testing.T, rows int) *file.Mem {
	t.Helper()
	ctx := context.Background()
	disk := file.NewMem(1)
	db, err := Open(ctx, memDir, dirtyOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	put := func(value string) {
		for from := 0; from < rows; from += 200 {
			err := db.Update(ctx, func(tx *Tx) error {
				tree, err := tx.Tree("t")
				if errors.Is(err, ErrTreeNotFound) {
					tree, err = tx.CreateTree("t")
				}
				for i := from; err == nil && i < min(from+200, rows); i++ {
					err = tree.Put(fmt.Appendf(nil, "%06d", i), fmt.Appendf(nil, "%s %d", value, i))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	put(strings.Repeat("old", 100))
	if err := db.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	put(strings.Repeat("new", 100))
	crashed := disk.Clone(file.DropUnsynced)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return crashed
}

func readRow(t *testing.T, db *DB, i int) {
	t.Helper()
	ctx := context.Background()
	err := db.View(ctx, func(tx *Tx) error {
		tree, err := tx.Tree("t")
		if err != nil {
			return err
		}
		v, err := tree.Get(fmt.Appendf(nil, "%06d", i))
		if want := fmt.Sprintf("%s %d", strings.Repeat("new", 100), i); err == nil && string(v) != want {
			return fmt.Errorf("row %d is %.20q..., want %.20q...", i, v, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func awaitRedo(t *testing.T, db *DB) {
	t.Helper()
	select {
	case <-db.started:
	case <-time.After(time.Minute):
		t.Fatalf("redo is not through after a minute: %+v", db.Redo())
	}
}

// openHeld opens a database whose memory was lost, holds the redo behind the open until goOn, and tells read of the reads of data files.
func openHeld(t *testing.T, disk *file.Mem, read func(op file.Op) error) (db *DB, goOn func()) {
	t.Helper()
	held, behind := make(chan struct{}), new(atomic.Bool)
	disk.OnOp(func(op file.Op) error {
		switch {
		case op.Kind != file.OpRead:
		case strings.Contains(op.Name, "spaces/"):
			return read(op)
		case behind.Load() && strings.Contains(op.Name, "log/") && op.Len > 4*PageSize: // all of the log, and not the groups of a page
			<-held
		}
		return nil
	})
	opts := dirtyOptions(disk)
	opts.OnPhase = func(phase string, _ int) { behind.Store(phase == "transactions") } // the last; the log was read for the others
	db, err := Open(context.Background(), memDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return db, func() { close(held) }
}

// TestOpenBeforeRedo: after lost memory the first answers wait for the pages that they need and for no other, the rest follows, and
// then the log is let go.
func TestOpenBeforeRedo(t *testing.T) {
	const rows = 20_000
	ctx := context.Background()
	disk := dirtyDisk(t, rows)
	var pages atomic.Int64
	db, goOn := openHeld(t, disk, func(op file.Op) error {
		pages.Add(op.Len / PageSize)
		return nil
	})
	if _, err := db.files.Torn(ctx); err != nil { // it reads pages too, to mend them
		t.Fatal(err)
	}
	pages.Store(0)
	readRow(t, db, rows/2)
	before := pages.Load()
	if r := db.StartReport(); r.Kind != StartRegionLost || r.RedoBytes < rows*300 {
		t.Errorf("report: %+v", r)
	}
	if age := db.Stats().CheckpointAge; age == 0 {
		t.Error("the checkpoint moved before the redo was through")
	}
	goOn()
	awaitRedo(t, db)
	r := db.Redo()
	if r.Done != r.Total || r.Total < rows*300/PageSize {
		t.Errorf("redone: %+v", r)
	}
	if before > r.Total/4 {
		t.Errorf("%d pages were read for the first row, %d have to be redone", before, r.Total)
	}
	for i := 0; i < rows; i += 97 {
		readRow(t, db, i)
	}
	if err := checkSound(ctx, db); err != nil {
		t.Error(err)
	}
	if err := db.Checkpoint(ctx); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestRedoOfDamage: a page that cannot be redone is an error for whoever reads it. All others are redone, and the log stays.
func TestRedoOfDamage(t *testing.T) {
	const rows = 5_000
	ctx := context.Background()
	disk := dirtyDisk(t, rows)
	broken := errors.New("the disk does not answer")
	var failing atomic.Bool
	name := largestSpace(t, disk)
	db, goOn := openHeld(t, disk, func(op file.Op) error {
		if failing.Load() && op.Name == name && op.Off <= 100*PageSize && op.Off+op.Len > 100*PageSize { // a leaf
			return broken
		}
		return nil
	})
	if _, err := db.files.Torn(ctx); err != nil { // it reads pages too, to mend them
		t.Fatal(err)
	}
	failing.Store(true)
	goOn()
	awaitRedo(t, db)
	if !errors.Is(db.startErr, broken) {
		t.Errorf("the redo ends with %v", db.startErr)
	}
	if r := db.Redo(); r.Done != r.Total || r.Total == 0 {
		t.Errorf("redone: %+v", r)
	}
	failing.Store(false)
	for i := 0; i < rows; i += 13 {
		readRow(t, db, i)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	disk.OnOp(nil)
	db, err := Open(ctx, memDir, dirtyOptions(disk)) // the log was kept, and the disk answers again
	if err != nil {
		t.Fatal(err)
	}
	awaitRedo(t, db)
	for i := 0; i < rows; i += 13 {
		readRow(t, db, i)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// largestSpace is the data file with the most bytes.
func largestSpace(t *testing.T, disk *file.Mem) (name string) {
	t.Helper()
	dir := memDir + "/spaces"
	entries, err := disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	most := int64(-1)
	for _, e := range entries {
		f, err := disk.OpenFile(dir+"/"+e.Name(), file.ReadOnly, 0)
		if err != nil {
			t.Fatal(err)
		}
		if size, _ := f.Size(); size > most {
			name, most = dir+"/"+e.Name(), size
		}
		f.Close()
	}
	return name
}

// heldPass is a disk on which the one pass over a log stands still: it comes behind all phases of a start, and reads more at once than
// the redo of a page does.
type heldPass struct {
	*file.Mem
	behind *atomic.Bool  // the phases that read the log are over
	held   chan struct{} // closed when such a read came
	once   *sync.Once
	free   chan struct{} // closed when they may go on
}

type heldFile struct {
	file.File
	d heldPass
}

func (d heldPass) OpenFile(name string, flag file.OpenFlag, perm fs.FileMode) (file.File, error) {
	f, err := d.Mem.OpenFile(name, flag, perm)
	if err == nil && flag&file.Exact != 0 {
		f = heldFile{f, d}
	}
	return f, err
}

func (f heldFile) ReadAt(p []byte, off int64) (int, error) {
	if f.d.behind.Load() && len(p) > 4*PageSize {
		f.d.once.Do(func() { close(f.d.held) })
		<-f.d.free
	}
	return f.File.ReadAt(p, off)
}

// TestBlockingPrewarmKeepsItsLimit: a log that takes long to read, which is done before the load, is within the limit.
func TestBlockingPrewarmKeepsItsLimit(t *testing.T) {
	d := heldPass{dirtyDisk(t, 4000), new(atomic.Bool), make(chan struct{}), new(sync.Once), make(chan struct{})}
	o := dirtyOptions(d.Mem)
	o.fs, o.Prewarm, o.PrewarmLimit = d, PrewarmBlocking, 10*time.Millisecond
	o.OnPhase = func(phase string, _ int) { d.behind.Store(phase == "transactions" || phase == "prewarm") }
	go func() { // a start that waits for the pass all the same fails here, instead of never
		select {
		case <-time.After(watchdogAfter):
			t.Error("the start waits for the log beyond its limit")
		case <-t.Context().Done():
		}
		close(d.free)
	}()
	db, err := Open(context.Background(), memDir, o)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-db.logRead:
		t.Error("the log has been read, so nothing was held")
	case <-d.held:
	case <-time.After(watchdogAfter):
		t.Error("nobody reads the log")
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
