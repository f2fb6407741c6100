package recovery

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/wal"
)

// TestLogEnd: the search that begins with the last index ends where reading the whole log ends, whatever several lives and power cuts
// between them left on the disk, and reads no more than a few segments.
func TestLogEnd(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("HEARTH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("HEARTH_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const segment, lives = 64 << 10, 60
	dir := filepath.Join("/db", "log")
	cfg := wal.ReaderConfig{UUID: [16]byte{1}, SegmentBytes: segment, Dir: dir}
	disk := file.NewMem(seed)
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(disk.SyncDir("/"), disk.SyncDir("/db")); err != nil {
		t.Fatal(err)
	}
	end, indexed := page.LSN(wal.FirstLSN), 0
	for life := range uint64(lives) {
		cfg.FS = disk
		crashed := liveAndDie(t, rng, cfg, disk, life+1, end)
		cfg.FS, disk = crashed, crashed
		want := scanned(t, cfg)
		from, err := lastIndexed(cfg, wal.FirstLSN)
		if err != nil {
			t.Fatal(err)
		}
		if from > wal.FirstLSN {
			indexed++
		}
		var read int64
		var mu sync.Mutex
		crashed.OnOp(func(op file.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind == file.OpRead {
				read += op.Len
			}
			return nil
		})
		end, err = logEnd(cfg, wal.FirstLSN, nil)
		crashed.OnOp(nil)
		if err != nil || end != want {
			t.Fatalf("life %d: the log ends at %d (%v), read from its beginning at %d; the last index leads to %d", life+1, end, err, want, from)
		}
		if most := int64(want-from) + 8<<20; read > most { // the reader takes a MiB at a time, of each segment
			t.Errorf("life %d: %d bytes were read to find the end at %d from %d", life+1, read, want, from)
		}
	}
	if indexed < lives/2 {
		t.Errorf("only %d of %d searches began with an index", indexed, lives)
	}
}

// groupOverhead is what a group of one long record takes besides its edit.
const groupOverhead = 42

// liveAndDie appends to the log of a life and returns the disk as a power cut left it.
func liveAndDie(t *testing.T, rng *rand.Rand, cfg wal.ReaderConfig, disk *file.Mem, life uint64, start page.LSN) *file.Mem {
	t.Helper()
	l, err := wal.Open(wal.Config{FS: disk, Dir: cfg.Dir, UUID: cfg.UUID, SegmentBytes: cfg.SegmentBytes, Ring: file.AlignedBuf(1 << 20), Incarnation: life, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var crashed *file.Mem
	at := 1 + rng.IntN(120)
	mode := []file.CrashMode{file.Random, file.Random, file.DropUnsynced, file.KeepAll}[rng.IntN(4)]
	disk.OnOp(func(op file.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if at--; at == 0 && op.Kind.Changes() {
			crashed = disk.Clone(mode)
		}
		return nil
	})
	// Groups of one size that divides a segment end at the same places in all lives, so that an older life's may follow a newer one's.
	value := make([]byte, 4096-groupOverhead)
	for range 1 + rng.IntN(60) {
		from, to, err := l.Append(wal.AppendRecord(nil, page.MakeID(16, 5), value))
		if err != nil {
			t.Fatal(err)
		}
		if to-from != 4096 {
			t.Fatalf("a group takes %d bytes, want 4096", to-from)
		}
		if rng.IntN(10) == 0 {
			if err := l.WaitDurable(context.Background(), l.Tail()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	disk.OnOp(nil)
	mu.Lock()
	defer mu.Unlock()
	if crashed == nil {
		crashed = disk.Clone(mode)
	}
	return crashed
}

// scanned is where reading everything ends.
func scanned(t *testing.T, cfg wal.ReaderConfig) page.LSN {
	t.Helper()
	r, err := wal.NewReader(cfg, wal.FirstLSN)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r.End()
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
