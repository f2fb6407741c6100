package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth"
)

// WarmthConfig says how what warmth costs, and what it gives, is measured.
type WarmthConfig struct {
	Dir     string
	Bytes   int64 // of rows
	Threads int   // readers of cached rows
	Readers int   // readers that saturate the disk
	Runs    int
	RunTime time.Duration
	Seed    uint64
}

const warmthMeasure = "warmth"

// turns is how often, in each run, two things to be compared take turns: what they differ by is a hundredth, and a machine
// drifts by more than that from second to second.
const turns = 8

// noDumps are the settings of a database without dumps of its own.
func noDumps(s hearth.WarmthSettings) hearth.WarmthSettings {
	s.DumpInterval, s.DumpAtShutdown = -1, false
	return s
}

// hearthWithout loads a database whose pool holds all rows, which writes no dumps of its own.
func hearthWithout(ctx context.Context, dir string, r rows, pool int64) (*hearthSystem, error) {
	s := &hearthSystem{rows: r}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	opts := hearth.Options{PoolSize: pool, HeatDumpInterval: -1, HeatDumpAtShutdown: hearth.Off, Prewarm: hearth.PrewarmOff}
	if err := s.openWith(ctx, dir, opts); err != nil {
		return nil, err
	}
	if err := s.load(ctx, r); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.settle(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// warmthPool is the pool for so many bytes of rows: half as much again, for what versions and half-full pages add.
func warmthPool(bytes int64) int64 { return bytes*3/2 + 64<<20 }

// shelf is a database on the disk, all of its pages written, and a heat dump of them all: what a start without memory finds.
type shelf struct {
	dir, dump, file string
	rows            rows
	pool            int64
}

func makeShelf(ctx context.Context, dir string, bytes int64, out Output) (*shelf, error) {
	h := &shelf{dir: filepath.Join(dir, "db"), dump: filepath.Join(dir, "dump"), rows: rows{n: int(bytes / (keySize + valueSize))}, pool: warmthPool(bytes)}
	start := time.Now()
	s, err := hearthWithout(ctx, h.dir, h.rows, h.pool)
	if err != nil {
		return nil, err
	}
	if _, err := s.db.Warmth().Dump(ctx, hearth.DumpOptions{Path: h.dump}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := h.put(ctx, s); err != nil {
		return nil, err
	}
	if h.file, err = largestFile(filepath.Join(h.dir, "spaces")); err != nil {
		return nil, err
	}
	out.Progress("%s: %d rows loaded and listed in %.1f s", ours, h.rows.n, time.Since(start).Seconds())
	return h, nil
}

// take opens the database with an empty pool, which has all its memory.
func (h *shelf) take(ctx context.Context) (*hearthSystem, error) {
	s := &hearthSystem{rows: h.rows}
	opts := hearth.Options{PoolSize: h.pool, HeatDumpInterval: -1, HeatDumpAtShutdown: hearth.Off, Prewarm: hearth.PrewarmOff}
	if err := s.openWith(ctx, h.dir, opts); err != nil {
		return nil, err
	}
	for s.db.Stats().Pool.Coming > 0 {
		if err := after(10 * time.Millisecond)(ctx); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// put closes it, with everything written and its memory gone.
func (h *shelf) put(ctx context.Context, s *hearthSystem) error {
	return errors.Join(s.db.CloseFlush(ctx), os.RemoveAll(s.memory))
}
