package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth"
)

// ScanConfig says how the resistance of the pool against a scan is measured.
type ScanConfig struct {
	Dir     string
	Pool    int64 // bytes
	Times   int   // how much larger than the pool the scanned table is
	Threads int   // of the zipf load
	Runs    int
	RunTime time.Duration // of one look at the undisturbed load; the scan takes what it takes
	Seed    uint64
}

const (
	// zipfTheta is the skew of the load, that of YCSB.
	zipfTheta = 0.99
	// hotTimes is the size of the table under the zipf load in pools: its hot part fits.
	hotTimes = 2
	// missTime parts hits from misses: a hit takes a microsecond or two, a page from a
	// disk at least fifty. A reader that other processes kept from the CPU for a moment
	// looks like a miss, with and without the scan.
	missTime = 20 * time.Microsecond
	// missTolerance is by how many points the hit ratio by the clock may differ from that
	// by the pool's own count while the load is alone. Beyond it, the measurement ends with
	// an error (rule 4). A machine that compiles beside it was off by 1.5.
	missTolerance = 3.0

	scannedTree = "scanned"
)

// ScanResistance measures which part of a zipf load is answered from memory, alone and
// while one scan goes through a table much larger than the pool.
//
// The pool counts hits and misses of everybody; whose they were only the clock of the
// reader knows, hence missTime.
func ScanResistance(ctx context.Context, cfg ScanConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	const rowSize = keySize + valueSize
	s := &hearthSystem{rows: rows{n: int(cfg.Pool * hotTimes / rowSize)}}
	if err := s.openSmall(ctx, filepath.Join(dir, "db"), cfg.Pool); err != nil {
		return err
	}
	defer s.close()
	start := time.Now()
	scanned := rows{n: int(cfg.Pool * int64(cfg.Times) / rowSize)}
	if err := loadTree(ctx, s.db, scannedTree, scanned); err != nil {
		return err
	}
	if err := loadTree(ctx, s.db, hearthTree, s.rows); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	out.Progress("%s: %d rows loaded in %.1f s", s.name(), s.rows.n+scanned.n, time.Since(start).Seconds())

	z := newZipf(s.rows.n, zipfTheta)
	var alone, byPool, beside, fall []float64
	for n := range cfg.Runs {
		seed := mix(cfg.Seed + uint64(n))
		if _, err := s.hitRatio(ctx, cfg.Threads, z, seed, after(cfg.RunTime)); err != nil { // warms up
			return err
		}
		before := s.db.Stats().Pool.Misses
		quiet, err := s.hitRatio(ctx, cfg.Threads, z, mix(seed), after(cfg.RunTime))
		if err != nil {
			return err
		}
		counted := 100 * (1 - float64(s.db.Stats().Pool.Misses-before)/float64(quiet.reads))
		if d := counted - quiet.percent(); d > missTolerance || d < -missTolerance {
			return fmt.Errorf("hit ratio is %.2f%% by the clock and %.2f%% by the pool: this disk is too fast or this machine too busy to tell them apart", quiet.percent(), counted)
		}
		disturbed, err := s.hitRatio(ctx, cfg.Threads, z, mix(seed+1), func(ctx context.Context) error {
			return s.scanAll(ctx, scanned)
		})
		if err != nil {
			return err
		}
		alone = append(alone, quiet.percent())
		byPool = append(byPool, counted)
		beside = append(beside, disturbed.percent())
		fall = append(fall, quiet.percent()-disturbed.percent())
		out.Progress("zipf load and a scan of %d times the pool: run %d of %d", cfg.Times, n+1, cfg.Runs)
	}
	const measure = "scan-resistance"
	out.Result(NewResult(measure, ours, "hit-ratio-alone", cfg.Threads, "%", alone))
	out.Result(NewResult(measure, ours, "hit-ratio-alone, by the pool's count", cfg.Threads, "%", byPool))
	out.Result(NewResult(measure, ours, "hit-ratio-beside-scan", cfg.Threads, "%", beside))
	out.Result(NewResult(measure, ours, "fall", cfg.Threads, "points", fall))
	return nil
}

// hitCount is what a load saw.
type hitCount struct{ reads, misses int64 }

func (h hitCount) percent() float64 { return 100 * (1 - float64(h.misses)/float64(h.reads)) }

// hitRatio runs the zipf load for as long as meanwhile takes.
func (s *hearthSystem) hitRatio(ctx context.Context, threads int, z *zipf, seed uint64, meanwhile func(context.Context) error) (hitCount, error) {
	var misses atomic.Int64
	work := func(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error) {
		rnd := newRand(seed, w)
		key, value := make([]byte, keySize), make([]byte, 0, valueSize)
		for ; !stop.Load(); ops++ {
			i := z.draw(rnd)
			start := time.Now()
			value, err = s.get(ctx, s.rows.key(key, i), value[:0])
			if time.Since(start) > missTime {
				misses.Add(1)
			}
			if err == nil {
				err = s.rows.check(value, i)
			}
			if err != nil {
				return ops, err
			}
		}
		return ops, nil
	}
	reads, _, err := runWhile(ctx, threads, work, meanwhile)
	return hitCount{int64(reads), misses.Load()}, err
}

// scanAll goes once through the large table.
func (s *hearthSystem) scanAll(ctx context.Context, r rows) error {
	i, bad := 0, error(nil)
	err := s.db.View(ctx, func(tx *hearth.Tx) error {
		return scanTree(tx, scannedTree, nil, func(k, v []byte) bool {
			if bad = r.check(v, i); bad == nil {
				bad = ctx.Err()
			}
			i++
			return bad == nil
		})
	})
	switch {
	case err != nil:
		return err
	case bad != nil:
		return bad
	case i != r.n:
		return fmt.Errorf("scan: %d rows, want %d", i, r.n)
	}
	return nil
}
