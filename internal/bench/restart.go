package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
)

// RestartConfig says which restarts of the embedded engine are measured, and how.
type RestartConfig struct {
	Dir     string
	Bytes   int64 // of rows
	Pool    int64 // bytes; larger than the rows
	Readers int
	Rate    float64       // reads per second that arrive (open loop); 0: each reader reads without a pause
	Before  time.Duration // how long the load runs before the restart
	After   time.Duration // and after it, at most
	Disk    restart.Disk  // of the process after the restart
	Seed    uint64

	Stops    []string // StopKill, StopClean
	Memories []string // MemoryKept, MemoryDump, MemoryPhysical, MemoryCold
	Spreads  []string // SpreadUniform, SpreadZipf, SpreadLatest

	// Picture, when given, is the path, without an extension, of the pictures; the spread is added.
	Picture string
	// Timeline, when given, is told all that was measured of each restart.
	Timeline func(*restart.Timeline)

	// Child starts this program again so that it calls RestartChild and nothing else.
	Child func(context.Context) *exec.Cmd
}

// How a process ends.
const (
	StopKill  = "kill"  // kill -9
	StopClean = "clean" // DB.Close, which leaves the pool in place
)

// What the next process finds.
const (
	MemoryKept     = "kept"     // the region
	MemoryDump     = "dump"     // the region is thrown away, the heat dump is there
	MemoryPhysical = "physical" // the same, loaded by place on the disk instead of by heat
	MemoryCold     = "cold"     // neither
)

// Which rows are read.
const (
	SpreadUniform = "uniform"
	SpreadZipf    = "zipf"   // theta 0.99, the rows in demand anywhere in the table
	SpreadLatest  = "latest" // the same, the newest row the most in demand, as in YCSB
)

// punctual is how fast a read that arrives has to be answered, in the open loop.
const punctual = 10 * time.Millisecond

const restartMeasure = "restart"

// restartCase is one restart.
type restartCase struct{ stop, memory, spread string }

func (c restartCase) String() string {
	return fmt.Sprintf("%s, %s, %s", map[string]string{StopKill: "kill -9", StopClean: "clean stop"}[c.stop],
		map[string]string{
			MemoryKept: "memory kept", MemoryDump: "dump only", MemoryPhysical: "dump only, physical order", MemoryCold: "cold",
		}[c.memory], c.spread)
}

// Restart fills a database and restarts its process, again and again, under a load of reads that this process makes itself: all
// is warm before; what is answered after, second by second, is the result.
func Restart(ctx context.Context, cfg RestartConfig, out Output) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if err := drawableAt(cfg.Picture); err != nil {
		return err
	}
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	memory, err := MemoryDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(memory)
	r := &restarts{cfg: cfg, out: out, dir: filepath.Join(dir, "db"), memory: memory}
	if cfg.Disk != (restart.Disk{}) {
		if r.cage, err = restart.NewCage(dir, cfg.Disk); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.cage.Remove()) }()
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	for _, spread := range cfg.Spreads {
		r.heats, r.ideal = nil, nil
		var lines []*restart.Timeline
		var cases []restartCase
		for _, memory := range cfg.Memories {
			for _, stop := range cfg.Stops {
				c := restartCase{stop, memory, spread}
				t, err := r.restart(ctx, c)
				if err != nil {
					return fmt.Errorf("%s: %w", c, err)
				}
				if cfg.Timeline != nil {
					cfg.Timeline(t)
				}
				lines, cases = append(lines, t), append(cases, c)
				r.figures(c, t)
			}
		}
		r.compare(cases, lines)
		if err := r.picture(spread, cases, lines); err != nil {
			return err
		}
	}
	return nil
}

// drawableAt says why no picture could be written at base, before hours go into what it should show; "": none is wanted.
func drawableAt(base string) error {
	if base == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(base), filepath.Base(base)+"-*")
	if err != nil {
		return fmt.Errorf("pictures: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// restarts is one measurement under way.
type restarts struct {
	cfg         RestartConfig
	out         Output
	dir, memory string
	cage        *restart.Cage
	heats       []float64 // see pageHeats
	ideal       []float64 // see idealHits
	pageRows    float64   // rows a page
}

func (r *restarts) rows() rows { return rows{n: int(r.cfg.Bytes / (keySize + valueSize))} }

func (r *restarts) order() restartOrder {
	return restartOrder{
		Dir: r.dir, Memory: r.memory, Pool: r.cfg.Pool, Rows: r.rows().n, Readers: r.cfg.Readers,
		Rate: r.cfg.Rate, Patience: punctual, Seed: r.cfg.Seed,
	}
}

// fill makes the database.
func (r *restarts) fill(ctx context.Context) error {
	r.out.Progress("restart: loading %d rows", r.rows().n)
	order := r.order()
	order.Fill = true
	c, err := r.start(ctx, order, false)
	if err != nil {
		return err
	}
	defer c.end()
	ready, err := c.wait(ctx, func(t restartTold) bool { return t.Ready })
	if err != nil {
		return err
	}
	r.pageRows = float64(r.rows().n) / float64(ready.Pages)
	return c.stop(ctx, StopClean)
}

// restart measures one: a process with everything warm, its end, and the next one.
func (r *restarts) restart(ctx context.Context, c restartCase) (*restart.Timeline, error) {
	t := &restart.Timeline{Name: c.String(), System: ours, Rate: r.cfg.Rate, Config: map[string]string{
		"rows": strconv.Itoa(r.rows().n), "bytes": strconv.FormatInt(r.cfg.Bytes, 10), "pool": strconv.FormatInt(r.cfg.Pool, 10),
		"readers": strconv.Itoa(r.cfg.Readers), "rate": strconv.FormatFloat(r.cfg.Rate, 'f', -1, 64),
		"disk": r.cfg.Disk.String(), "seed": strconv.FormatUint(r.cfg.Seed, 10),
		"stop": c.stop, "memory": c.memory, "spread": c.spread,
	}}
	order := r.order()
	order.Spread, order.WarmAll, order.Prewarm = c.spread, true, MemoryCold
	r.out.Progress("restart, %s: warming", c)
	before, err := r.start(ctx, order, false)
	if err != nil {
		return nil, err
	}
	defer before.end()
	before.tick = func(k restart.Tick) { t.Ticks = append(t.Ticks, k) }
	if _, err := before.wait(ctx, func(t restartTold) bool { return t.Ready }); err != nil {
		return nil, err
	}
	if err := before.forget(ctx, r.cfg.Before); err != nil { // what warming was still doing, and the heat of the load
		return nil, err
	}
	if err := before.command(commandDump); err != nil {
		return nil, err
	}
	if _, err := before.wait(ctx, func(t restartTold) bool { return t.Dumped }); err != nil {
		return nil, err
	}
	t.Ticks = nil
	if err := before.listen(ctx, r.cfg.Before); err != nil {
		return nil, err
	}
	t.Stop = time.Now().UnixNano()
	if err := before.stop(ctx, c.stop); err != nil {
		return nil, err
	}
	if c.memory != MemoryKept {
		if err := loseMemory(r.memory, r.dir); err != nil {
			return nil, err
		}
	}
	order.WarmAll, order.Prewarm = false, c.memory
	t.Launched = time.Now().UnixNano()
	after, err := r.start(ctx, order, true)
	if err != nil {
		return nil, err
	}
	defer after.end()
	after.tick = func(k restart.Tick) { t.Ticks = append(t.Ticks, k) }
	ready, err := after.wait(ctx, func(t restartTold) bool { return t.First != 0 })
	if err != nil {
		return nil, err
	}
	t.First, t.Report = ready.First, ready.Report
	r.out.Progress("restart, %s: first answer after %v; %s", c, time.Duration(t.First-t.Stop).Round(time.Millisecond), ready.Report)
	for end := time.Now().Add(r.cfg.After); time.Now().Before(end) && !settled(t, settleSeconds, true); {
		if err := after.listen(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return t, after.stop(ctx, StopClean)
}

// What ends the measurement of a restart early.
const (
	settleSeconds = 3                // of the engine, as before in the mean
	settleServed  = 10               // the same of a server, one second of which differs from the next
	settleLeast   = 10 * time.Second // are measured in any case, and twice as long as it takes to settle
	settlePart    = 0.95             // of the throughput before is as before
)

// settled: there is nothing left to see, since the last whole seconds were as before, in the mean, and punctual if that is asked for.
func settled(t *restart.Timeline, seconds int, punctual bool) bool {
	all := t.Seconds()
	if time.Since(time.Unix(0, t.Launched)) < max(settleLeast, time.Duration(2*seconds)*time.Second) || len(all) < seconds+1 {
		return false
	}
	var done, measured float64
	for _, s := range all[len(all)-1-seconds : len(all)-1] {
		if s.Start < 0 || punctual && s.Late > 0 {
			return false
		}
		done, measured = done+float64(s.Done), measured+s.Measured
	}
	return done/measured >= settlePart*t.Warm()
}

// RestartStops, RestartMemories and RestartSpreads are all there are.
var (
	RestartStops    = []string{StopKill, StopClean}
	RestartMemories = []string{MemoryKept, MemoryDump, MemoryPhysical, MemoryCold}
	RestartSpreads  = []string{SpreadUniform, SpreadZipf, SpreadLatest}
)

// Validate says what cannot be measured.
func (cfg RestartConfig) Validate() error {
	for _, x := range []struct {
		what      string
		got, want []string
	}{{"stop", cfg.Stops, RestartStops}, {"memory", cfg.Memories, RestartMemories}, {"spread", cfg.Spreads, RestartSpreads}} {
		for _, g := range x.got {
			if !slices.Contains(x.want, g) {
				return fmt.Errorf("%s %q: want one of %v", x.what, g, x.want)
			}
		}
	}
	if cfg.Pool < cfg.Bytes+cfg.Bytes/5 {
		return fmt.Errorf("a pool of %d MiB is too small for %d MiB of rows, which need a fifth more", cfg.Pool>>20, cfg.Bytes>>20)
	}
	return nil
}
