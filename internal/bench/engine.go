package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// EngineConfig says how large the comparison with the peers is.
type EngineConfig struct {
	Dir     string        // where the data goes; empty: a temporary folder
	Rows    int           // rows in the table
	Runs    int           // runs of each case
	RunTime time.Duration // of one run
	Threads []int         // how many readers, scanners and non-waiting writers
	Systems []string      // names to measure; empty: all
	Seed    uint64
}

// durableWriters commit at once in the case that waits for the disk, where what counts
// is how many of them share one sync.
const durableWriters = 16

const engineMeasure = "engine"

// Cases of the comparison. Each works on the whole table, in memory.
const (
	casePointRead     = "point-read"     // random rows, one transaction each
	caseScan          = "scan"           // rows in order, one transaction a pass
	caseCommitProcess = "commit-nosync"  // overwrite one random row, do not wait for the disk
	caseCommitDurable = "commit-durable" // overwrite one random row, wait for the disk
)

// engineCase is one column of the comparison.
type engineCase struct {
	name    string
	unit    string
	threads int
	work    func(s system, r rows, seed uint64) worker
}

// Engine measures the systems on the same rows.
func Engine(ctx context.Context, cfg EngineConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()

	r := rows{n: cfg.Rows}
	systems, err := openSystems(ctx, dir, r, cfg.Systems, out)
	defer func() {
		for _, s := range systems {
			s.close()
		}
	}()
	if err != nil {
		return err
	}

	measure := func(systems []system, c engineCase) error {
		return measureCase(ctx, cfg, systems, r, c, out)
	}
	for _, threads := range cfg.Threads {
		if err := measure(systems, engineCase{casePointRead, "reads/s", threads, readWorker}); err != nil {
			return err
		}
	}
	for _, threads := range cfg.Threads {
		if err := measure(systems, engineCase{caseScan, "rows/s", threads, scanWorker(threads)}); err != nil {
			return err
		}
	}
	if err := setDurable(ctx, systems, false); err != nil {
		return err
	}
	for _, threads := range cfg.Threads {
		if err := measure(systems, engineCase{caseCommitProcess, "commits/s", threads, commitWorker}); err != nil {
			return err
		}
	}
	if err := setDurable(ctx, systems, true); err != nil {
		return err
	}
	return measure(withBatch(systems), engineCase{caseCommitDurable, "commits/s", durableWriters, commitWorker})
}

// openSystems returns what it opened even when a later one fails, for closing.
func openSystems(ctx context.Context, dir string, r rows, names []string, out Output) (opened []system, err error) {
	for _, s := range []system{&hearthSystem{rows: r}, &bboltSystem{}, &badgerSystem{}, &pebbleSystem{}} {
		if len(names) > 0 && !slices.Contains(names, s.name()) {
			continue
		}
		sub := filepath.Join(dir, s.name())
		if err := os.Mkdir(sub, 0o755); err != nil {
			return opened, err
		}
		start := time.Now()
		if err := s.open(ctx, sub); err != nil {
			return opened, fmt.Errorf("%s: open: %w", s.name(), err)
		}
		opened = append(opened, s)
		if err := s.load(ctx, r); err != nil {
			return opened, fmt.Errorf("%s: load: %w", s.name(), err)
		}
		out.Progress("%s: %d rows loaded in %.1f s", s.name(), r.n, time.Since(start).Seconds())
	}
	if len(opened) == 0 {
		return nil, fmt.Errorf("no system has one of the names %q", names)
	}
	return opened, nil
}

// withBatch adds bbolt's second way to commit.
func withBatch(systems []system) []system {
	systems = slices.Clone(systems)
	for i, s := range systems {
		if b, ok := s.(*bboltSystem); ok {
			return slices.Insert(systems, i+1, system(bboltBatch{b}))
		}
	}
	return systems
}

func setDurable(ctx context.Context, systems []system, durable bool) error {
	for _, s := range systems {
		if err := s.setDurable(ctx, durable); err != nil {
			return fmt.Errorf("%s: change durability: %w", s.name(), err)
		}
	}
	return nil
}

// measureCase lets the systems take turns.
func measureCase(ctx context.Context, cfg EngineConfig, systems []system, r rows, c engineCase, out Output) error {
	runs := make([][]float64, len(systems))
	for n := range cfg.Runs {
		for i, s := range systems {
			runtime.GC() // nobody pays for what another left
			v, err := run(ctx, c.threads, cfg.RunTime, c.work(s, r, mix(cfg.Seed+uint64(n))))
			if err != nil {
				return fmt.Errorf("%s: %s: %w", s.name(), c.name, err)
			}
			runs[i] = append(runs[i], v)
			if err := s.settle(ctx); err != nil {
				return fmt.Errorf("%s: %s: %w", s.name(), c.name, err)
			}
		}
		out.Progress("%s, %d threads: run %d of %d", c.name, c.threads, n+1, cfg.Runs)
	}
	for i, s := range systems {
		out.Result(NewResult(engineMeasure, s.name(), c.name, c.threads, c.unit, runs[i]))
	}
	return nil
}

func readWorker(s system, r rows, seed uint64) worker {
	return func(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error) {
		rnd := newRand(seed, w)
		key, value := make([]byte, keySize), make([]byte, 0, valueSize)
		for ; !stop.Load(); ops++ {
			i := rnd.IntN(r.n)
			value, err = s.get(ctx, r.key(key, i), value[:0])
			if err == nil {
				err = r.check(value, i)
			}
			if err != nil {
				return ops, err
			}
		}
		return ops, nil
	}
}

// scanWorker lets every thread start at another place of the table, go to its end, and
// then over the whole table again and again. It copies each row out, as one who wanted
// the rows would: without that, a store that hands out pointers into a map would be
// measured without ever looking at its data.
func scanWorker(threads int) func(system, rows, uint64) worker {
	return func(s system, r rows, seed uint64) worker {
		return func(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error) {
			row := make([]byte, 0, keySize+valueSize)
			for from := w * r.n / threads; !stop.Load(); from = 0 {
				i, bad := from, error(nil)
				err := s.scan(ctx, r.key(make([]byte, keySize), from), func(k, v []byte) bool {
					row = append(append(row[:0], k...), v...)
					bad = r.check(row[len(k):], i)
					i++
					return bad == nil && !stop.Load()
				})
				switch {
				case err != nil:
					return ops, err
				case bad != nil:
					return ops, bad
				case i != r.n && !stop.Load():
					return ops, fmt.Errorf("scan from row %d ended at row %d of %d", from, i, r.n)
				}
				ops += i - from
			}
			return ops, nil
		}
	}
}

func commitWorker(s system, r rows, seed uint64) worker {
	return func(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error) {
		rnd := newRand(seed, w)
		for ; !stop.Load(); ops++ {
			// Fresh slices: some of the systems keep them until they have written.
			i := rnd.IntN(r.n)
			key, value := r.key(make([]byte, keySize), i), r.value(make([]byte, valueSize), i, rnd.Uint64())
			if err := s.commit(ctx, key, value); err != nil {
				return ops, err
			}
		}
		return ops, nil
	}
}
