package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth"
)

// BeyondConfig says how random reads of data that memory cannot hold are measured.
type BeyondConfig struct {
	Dir     string
	Pool    int64 // bytes
	Times   int   // how much larger than the pool the data is
	Readers int
	Runs    int
	RunTime time.Duration
	Seed    uint64
}

// Beyond reads random rows of a table larger than the pool, in turns with fio, which
// reads random pages of the same file.
func Beyond(ctx context.Context, cfg BeyondConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	s := &hearthSystem{rows: rows{n: int(cfg.Pool * int64(cfg.Times) / (keySize + valueSize))}}
	if err := s.openSmall(ctx, filepath.Join(dir, "db"), cfg.Pool); err != nil {
		return err
	}
	defer s.close()
	start := time.Now()
	if err := s.load(ctx, s.rows); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil { // write-back is over before reads are measured
		return err
	}
	out.Progress("%s: %d rows loaded in %.1f s", s.name(), s.rows.n, time.Since(start).Seconds())

	file, err := largestFile(dir)
	if err != nil {
		return err
	}
	var rowReads, pageReads, fioReads []float64
	withFio := true
	for n := range cfg.Runs {
		before, began := s.db.Stats(), time.Now()
		reads, err := run(ctx, cfg.Readers, cfg.RunTime, readWorker(s, s.rows, mix(cfg.Seed+uint64(n))))
		if err != nil {
			return err
		}
		after := s.db.Stats()
		rowReads = append(rowReads, reads)
		pageReads = append(pageReads, rate(int(after.Pool.Misses-before.Pool.Misses), time.Since(began)))
		if withFio {
			iops, err := fioRandomReads(ctx, file, cfg.Readers, max(cfg.RunTime, time.Second))
			switch {
			case errors.Is(err, errNoFio):
				withFio = false
				out.Progress("%v", err)
			case err != nil:
				return err
			default:
				fioReads = append(fioReads, iops)
			}
		}
		out.Progress("random reads, data %d times the pool: run %d of %d", cfg.Times, n+1, cfg.Runs)
	}
	const measure = "beyond-memory"
	out.Result(NewResult(measure, ours, "row-reads", cfg.Readers, "reads/s", rowReads))
	out.Result(NewResult(measure, ours, "page-reads", cfg.Readers, "reads/s", pageReads))
	if withFio {
		out.Result(NewResult(measure, "fio", "page-reads", cfg.Readers, "reads/s", fioReads))
		share := 100 * median(pageReads) / median(fioReads)
		out.Result(NewResult(measure, ours, "share-of-fio", cfg.Readers, "%", []float64{share}))
	}
	return nil
}

// openSmall opens hearth with a pool of the given size in a fresh folder.
func (s *hearthSystem) openSmall(ctx context.Context, dir string, pool int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := s.openWith(ctx, dir, hearth.Options{PoolSize: pool}); err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	return nil
}
