package bench

import (
	"context"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth"
)

// dumpsEvery is how often dumps are written by default: what one costs is told as a part of that.
const dumpsEvery = 60 * time.Second

// HeatCost reads cached rows, by turns with and without counting uses, then with and without a dump under way, and tells what
// part of the reads that costs. Reads are held against the time that the process has had on cores: others do not count.
func HeatCost(ctx context.Context, cfg WarmthConfig, out Output) error {
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
	out.Progress("%s: %d rows loaded in %.1f s", ours, s.rows.n, time.Since(start).Seconds())
	if _, err := run(ctx, cfg.Threads, cfg.RunTime, readWorker(s, s.rows, mix(cfg.Seed))); err != nil { // warms up
		return err
	}

	w := s.db.Warmth()
	count := func(yes bool) error {
		settings := noDumps(w.Settings())
		settings.NoHeat = !yes
		return w.Change(settings)
	}
	window := cfg.RunTime / turns * 2
	read := func(seed int, meanwhile func(context.Context) error) (ops int, took time.Duration, err error) {
		began := cpuTime()
		ops, _, err = runWhile(ctx, cfg.Threads, readWorker(s, s.rows, mix(cfg.Seed+uint64(seed))), meanwhile)
		return ops, cpuTime() - began, err
	}
	var off, on, heat []float64
	for n := range cfg.Runs {
		var rates [2]float64 // summed: without, with
		for k := range 2 * turns {
			with := (k + k/2) % 2 // without with, with without
			if err := count(with == 1); err != nil {
				return err
			}
			ops, took, err := read(n*turns*2+k, after(window))
			if err != nil {
				return err
			}
			rates[with] += rate(ops, took) / turns
		}
		off, on, heat = append(off, rates[0]), append(on, rates[1]), append(heat, 100*(1-rates[1]/rates[0]))
		out.Progress("cost of counting uses: run %d of %d: %.2f %%", n+1, cfg.Runs, heat[n])
	}
	if err := count(true); err != nil {
		return err
	}

	var dumps, each []float64
	file := filepath.Join(dir, "dump")
	for n := range cfg.Runs {
		var alone, beside float64 // reads a second of cores
		var lost, long time.Duration
		for range turns {
			ops, took, err := read(n, after(window))
			if err != nil {
				return err
			}
			alone = rate(ops, took)
			ops, took, err = read(n, func(ctx context.Context) error {
				i, err := w.Dump(ctx, hearth.DumpOptions{Path: file})
				if err != nil {
					return err
				}
				long += i.Took / turns
				return after(window - i.Took)(ctx)
			})
			if err != nil {
				return err
			}
			beside = rate(ops, took)
			lost += time.Duration((1 - beside/alone) * float64(took) / turns)
		}
		dumps = append(dumps, 100*lost.Seconds()/dumpsEvery.Seconds()/float64(cfg.Threads))
		each = append(each, 1e3*long.Seconds())
		out.Progress("cost of dumps: run %d of %d: %v of reading lost for each", n+1, cfg.Runs, lost.Round(time.Microsecond))
	}
	put := func(name, unit string, v []float64) {
		out.Result(NewResult(warmthMeasure, ours, name, cfg.Threads, unit, v))
	}
	put("cached point reads, uses not counted", "reads/s of a core", off)
	put("cached point reads, uses counted", "reads/s of a core", on)
	put("cost of counting uses", "%", heat)
	put("a dump takes", "ms", each)
	put("cost of a dump every 60 s", "%", dumps)
	put("cost of heat and dumps", "%", []float64{median(heat) + median(dumps)})
	return nil
}

// cpuTime is how long this process has had cores.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic("BUG: no clock of the process: " + err.Error())
	}
	return time.Duration(t.Nano())
}
