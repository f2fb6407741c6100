package bench

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth"
)

// stallsAbove is from how long on a read that needs no disk counts as stalled.
const stallsAbove = time.Millisecond

// DumpStall fills a pool and looks for the longest read of a cached row while a dump of it is written, and, by turns, in as long a
// time without one: what the machine does to readers is in both.
func DumpStall(ctx context.Context, cfg WarmthConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	start := time.Now()
	s, err := hearthWithout(ctx, filepath.Join(dir, "db"), rows{n: int(cfg.Bytes / (keySize + valueSize))}, warmthPool(cfg.Bytes))
	if err != nil {
		return err
	}
	defer s.close()
	pool := s.db.Stats().Pool
	out.Progress("%s: a pool of %d MiB, %d of its pages in use, made in %.1f s", ours, int64(pool.Frames)*hearth.PageSize>>20, pool.Frames-pool.Free, time.Since(start).Seconds())
	if _, err := run(ctx, cfg.Threads, cfg.RunTime, readWorker(s, s.rows, mix(cfg.Seed))); err != nil { // warms up
		return err
	}

	var took time.Duration
	var with, without, stalls, calm, onCore, pages, long []float64
	for n := range cfg.Runs {
		look := stallsOf{s: s, seed: mix(cfg.Seed + uint64(n))}
		_, _, err := runWhile(ctx, cfg.Threads, look.worker, func(ctx context.Context) error {
			i, err := s.db.Warmth().Dump(ctx, hearth.DumpOptions{Path: filepath.Join(dir, "dump")})
			took = i.Took
			onCore, pages, long = append(onCore, 1e3*i.LongestStall.Seconds()), append(pages, float64(i.Pages)), append(long, 1e3*took.Seconds())
			return err
		})
		if err != nil {
			return err
		}
		with, stalls = append(with, look.longest()), append(stalls, float64(look.stalled.Load()))
		look = stallsOf{s: s, seed: mix(cfg.Seed + uint64(n))}
		if _, _, err := runWhile(ctx, cfg.Threads, look.worker, after(took)); err != nil {
			return err
		}
		without, calm = append(without, look.longest()), append(calm, float64(look.stalled.Load()))
		out.Progress("longest read: run %d of %d: %.2f ms beside a dump, %.2f ms without", n+1, cfg.Runs, with[n], without[n])
	}
	put := func(name, unit string, v []float64) {
		out.Result(NewResult(warmthMeasure, ours, name, cfg.Threads, unit, v))
	}
	put("pages in a dump", "pages", pages)
	put("a dump takes", "ms", long)
	put("longest cached read beside a dump", "ms", with)
	put("longest cached read in as long without", "ms", without)
	put("cached reads above 1 ms beside a dump", "reads", stalls)
	put("cached reads above 1 ms in as long without", "reads", calm)
	put("longest time a dump kept a core", "ms", onCore)
	return nil
}

// stallsOf finds the longest of the reads of some workers.
type stallsOf struct {
	s       *hearthSystem
	seed    uint64
	most    atomic.Int64 // nanoseconds
	stalled atomic.Int64
}

func (x *stallsOf) longest() float64 { return float64(x.most.Load()) / 1e6 }

func (x *stallsOf) worker(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error) {
	rnd := newRand(x.seed, w)
	key, value := make([]byte, keySize), make([]byte, 0, valueSize)
	var most, stalled int64
	for ; !stop.Load() && err == nil; ops++ {
		i := rnd.IntN(x.s.rows.n)
		k := x.s.rows.key(key, i)
		began := time.Now()
		value, err = x.s.get(ctx, k, value[:0])
		d := time.Since(began)
		if d > stallsAbove {
			stalled++
		}
		if most = max(most, int64(d)); err == nil {
			err = x.s.rows.check(value, i)
		}
	}
	x.stalled.Add(stalled)
	for {
		old := x.most.Load()
		if most <= old || x.most.CompareAndSwap(old, most) {
			return ops, err
		}
	}
}
