package hearth

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
)

// What the tests of the whole engine share: a small database on the in-memory disk, seeds, and a dog that barks.

// long is whether tests look everywhere instead of at a spread sample: HEARTH_LONG=1 go test -timeout 3h .
var long = os.Getenv("HEARTH_LONG") == "1"

// seedOf is the seed of a test: another one each run, printed, and repeatable by HEARTH_SEED.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("HEARTH_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("HEARTH_SEED: %v", err)
		}
	}
	t.Logf("HEARTH_SEED=%d", seed)
	return seed
}

func rngOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

// testLogger says nothing, or with HEARTH_LOG=1 everything.
func testLogger() *slog.Logger {
	if os.Getenv("HEARTH_LOG") == "1" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// memDir is where databases lie on the in-memory disk.
const memDir = "/db"

// smallOptions are of a database so small that write-back, checkpoints, doublewrite and recycling of segments happen all the
// time. Its memory does not survive.
func smallOptions(disk *file.Mem) *Options {
	return &Options{
		PoolSize: MinPoolSize, LogSize: 4 << 20, RingSize: 1 << 20, SegmentSize: 1 << 20,
		Memory: MemoryOff, Durability: DurabilityCommit, LockWait: 20 * time.Second,
		Logger: testLogger(), OnFatal: func(error) {}, fs: disk,
	}
}

// openMem opens the database on disk; it is closed when the test ends.
func openMem(t testing.TB, disk *file.Mem) *DB {
	t.Helper()
	db, err := Open(context.Background(), memDir, smallOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// checkSound is what every test of a crash ends with.
func checkSound(ctx context.Context, db *DB) error {
	problems, err := db.Check(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("check: %d problems: %.20q", len(problems), problems)
	}
	return nil
}

// watchdogAfter is how long anything in these tests may take at the worst, the race detector on a busy machine included.
const watchdogAfter = 90 * time.Second

// watch runs f and brings the whole process down, with all stacks, when it hangs: there is no other way to see where.
func watch(what string, f func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
		case <-time.After(watchdogAfter):
			buf := make([]byte, 1<<20)
			panic(fmt.Sprintf("%s hangs for %v\n%s", what, watchdogAfter, buf[:runtime.Stack(buf, true)]))
		}
	}()
	defer close(done)
	f()
}

// keepDisk writes a disk's files below the directory in HEARTH_KEEP, so that a failure can be looked at with tools.
func keepDisk(t testing.TB, disk *file.Mem, name string) {
	dir := os.Getenv("HEARTH_KEEP")
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, name)
	if err := copyOut(disk, memDir, dir); err != nil {
		t.Errorf("keep the disk: %v", err)
		return
	}
	t.Logf("the disk is kept in %s", dir)
}

func copyOut(disk *file.Mem, from, to string) error {
	entries, err := disk.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		src, dst := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			err = copyOut(disk, src, dst)
		} else {
			err = copyFileOut(disk, src, dst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFileOut(disk *file.Mem, src, dst string) error {
	f, err := disk.OpenFile(src, file.ReadOnly, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return err
	}
	return os.WriteFile(dst, b, 0o600)
}
