package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth"
)

// fioShapes are the large parallel reads that fio tries: it is held to the best of them.
var fioShapes = []struct {
	kib, depth int
}{{256, 16}, {512, 8}, {512, 16}, {1024, 8}}

// PrewarmAlone loads a heat dump while nobody reads, in turns with fio, which reads the same file in large pieces.
func PrewarmAlone(ctx context.Context, cfg WarmthConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	h, err := makeShelf(ctx, dir, cfg.Bytes, out)
	if err != nil {
		return err
	}
	var loads []float64
	fio := make([][]float64, len(fioShapes))
	withFio := true
	for n := range cfg.Runs {
		speed, err := h.load(ctx)
		if err != nil {
			return err
		}
		loads = append(loads, speed)
		for i, shape := range fioShapes {
			if !withFio {
				break
			}
			reads, err := fioReadsOf(ctx, h.file, shape.kib, shape.depth, max(cfg.RunTime, time.Second))
			switch {
			case errors.Is(err, errNoFio):
				withFio = false
				out.Progress("%v", err)
			case err != nil:
				return err
			default:
				fio[i] = append(fio[i], reads*float64(shape.kib<<10)/1e6)
			}
		}
		out.Progress("prewarm alone: run %d of %d: %.0f MB/s", n+1, cfg.Runs, speed)
	}
	out.Result(NewResult(warmthMeasure, ours, "prewarm alone", 0, "MB/s", loads))
	if !withFio {
		return nil
	}
	best := 0.0
	for i, shape := range fioShapes {
		best = max(best, median(fio[i]))
		out.Result(NewResult(warmthMeasure, "fio", fmt.Sprintf("reads of %d KiB", shape.kib), shape.depth, "MB/s", fio[i]))
	}
	out.Result(NewResult(warmthMeasure, ours, "prewarm alone, share of fio's best", 0, "%", []float64{100 * median(loads) / best}))
	return nil
}

// load loads the dump into an empty pool, and tells how fast that was, in MB of listed pages a second.
func (h *shelf) load(ctx context.Context) (speed float64, err error) {
	s, err := h.take(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, h.put(ctx, s)) }()
	if err := s.db.Warmth().Load(ctx, hearth.LoadOptions{Path: h.dump, Blocking: true}); err != nil {
		return 0, err
	}
	st := s.db.Warmth().Status()
	if st.State != hearth.WarmthDone || st.Loaded < st.Total*9/10 {
		return 0, fmt.Errorf("the load is %q, with %d of %d pages: want it done", st.State, st.Loaded, st.Total)
	}
	return float64(st.Loaded*hearth.PageSize) / 1e6 / st.Took.Seconds(), nil
}

const (
	// floorTick is how often is looked; floorWindow, in ticks, is what a share is of.
	floorTick   = 100 * time.Millisecond
	floorWindow = 10
	// floorRest: the last of so many parts of the pages is not looked at, when hardly anybody misses any more.
	floorRest = 10
	// floorLimit is how long a load beside readers is watched.
	floorLimit = 60 * time.Second
)

// PrewarmFloor loads a heat dump beside readers who miss as fast as the disk can answer, in turns with the same readers without
// it, and tells which part of the bytes the load gets, and which part of their reads the readers keep.
func PrewarmFloor(ctx context.Context, cfg WarmthConfig, out Output) error {
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	h, err := makeShelf(ctx, dir, cfg.Bytes, out)
	if err != nil {
		return err
	}
	var least, middle, kept []float64
	for n := range cfg.Runs {
		cold, err := h.beside(ctx, cfg, n, false)
		if err != nil {
			return err
		}
		warm, err := h.beside(ctx, cfg, n, true)
		if err != nil {
			return err
		}
		least, middle, kept = append(least, 100*warm.least), append(middle, 100*median(warm.shares)), append(kept, 100*warm.reads/cold.reads)
		out.Progress("prewarm beside readers: run %d of %d: at least %.1f %% of the bytes, %.0f %% of the reads", n+1, cfg.Runs, least[n], kept[n])
	}
	put := func(name string, v []float64) {
		out.Result(NewResult(warmthMeasure, ours, name, cfg.Readers, "%", v))
	}
	put("floor of the load", []float64{hearth.DefaultPrewarmFloor})
	put("least share of the bytes in any second, beside readers that saturate the disk", least)
	put("share of the bytes, the median second", middle)
	put("reads in the first second, of those of a cold start", kept)
	return nil
}

// besides is what was seen of a load beside readers.
type besides struct {
	reads  float64   // in the first second
	shares []float64 // of the bytes, that the load had, in each second, one beginning with each tick
	least  float64
}

// beside starts readers of random rows on an empty pool, and with load the load as well.
func (h *shelf) beside(ctx context.Context, cfg WarmthConfig, n int, load bool) (b besides, err error) {
	s, err := h.take(ctx)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, h.put(ctx, s)) }()
	work := readWorker(s, s.rows, mix(cfg.Seed+uint64(n)))
	if !load {
		b.reads, err = run(ctx, cfg.Readers, floorWindow*floorTick, work)
		return b, err
	}
	var reads atomic.Int64
	work = func(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error) {
		rnd, key, value := newRand(mix(cfg.Seed+uint64(n)), w), make([]byte, keySize), make([]byte, 0, valueSize)
		for ; !stop.Load() && err == nil; ops++ {
			value, err = s.get(ctx, s.rows.key(key, rnd.IntN(s.rows.n)), value[:0])
			reads.Add(1)
		}
		return ops, err
	}
	w := s.db.Warmth()
	b.least = math.Inf(1)
	_, _, err = runWhile(ctx, cfg.Readers, work, func(ctx context.Context) error {
		if err := w.Load(ctx, hearth.LoadOptions{Path: h.dump}); err != nil {
			return err
		}
		var loaded, missed []float64 // bytes, by tick
		tick := time.NewTicker(floorTick)
		defer tick.Stop()
		for end := time.Now().Add(floorLimit); time.Now().Before(end); {
			st := w.Status()
			if st.State != hearth.WarmthLoading || st.Left < st.Total/floorRest {
				if len(b.shares) == 0 {
					return fmt.Errorf("the load was over within %v: measure with more rows", floorWindow*floorTick)
				}
				return nil
			}
			loaded, missed = append(loaded, float64(st.BytesRead)), append(missed, float64(s.db.Stats().Pool.Misses*hearth.PageSize))
			if at := len(loaded) - 1 - floorWindow; at >= 0 {
				l, m := loaded[len(loaded)-1]-loaded[at], missed[len(missed)-1]-missed[at]
				b.shares = append(b.shares, l/max(l+m, 1))
				b.least = min(b.least, b.shares[len(b.shares)-1])
				if at == 0 {
					b.reads = float64(reads.Load())
				}
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		return fmt.Errorf("the load is not over after %v", floorLimit)
	})
	return b, err
}
