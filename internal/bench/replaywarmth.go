package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
)

// ReplayWarmthConfig says how the founding experiment is repeated: a log of real statements is cut into chunks; a cold server is
// warmed by one chunk, and what it then reads from its disk for the next one is counted.
type ReplayWarmthConfig struct {
	Dir        string
	Pool       int64 // bytes
	Rows       int
	Chunks     int
	Statements int // in each chunk
	Clients    int
	HotPercent float64 // of the rows, in runs of hotRun, that most statements are about
	Zipf       float64 // how uneven these are asked for, 0 to below 1
	Elsewhere  float64 // share of statements about any row
	Controls   []string
	Picture    string // base name of pictures; empty: none
	Seed       uint64
	Servers    []ReplayWarmthServer
}

// ReplayWarmthControls are what is measured besides one chunk warming the next.
var ReplayWarmthControls = []string{
	"self", "reads-only", "rewrite", "dedupe", "sample", "sample-sessions", "scan", "dump-load", "clients", "changes", "pair",
}

const replayWarmthMeasure = "replay-warmth"

// ReplayWarmth runs the experiment on one server after the other. Before each run the same copy of the data is restored, and the server
// starts cold.
func ReplayWarmth(ctx context.Context, cfg ReplayWarmthConfig, out Output) error {
	for _, c := range cfg.Controls {
		if !slices.Contains(ReplayWarmthControls, c) {
			return fmt.Errorf("control %q: want one of %s", c, strings.Join(ReplayWarmthControls, ", "))
		}
	}
	if cfg.Chunks < 2 || cfg.Clients < 1 || cfg.Rows < hotRun {
		return fmt.Errorf("%d chunks, %d clients, %d rows: want two chunks, a client and %d rows at least", cfg.Chunks, cfg.Clients, cfg.Rows, hotRun)
	}
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return err
	}
	defer remove()
	var all []warmthRun
	for i, server := range cfg.Servers {
		w := &replayWarmth{ReplayWarmthConfig: cfg, server: server, dir: filepath.Join(dir, strconv.Itoa(i)), out: out}
		if err := os.Mkdir(w.dir, 0o755); err != nil {
			return err
		}
		err := w.measure(ctx)
		if errors.Is(err, peer.ErrMissing) {
			out.Progress("warmth: %v; measuring without it", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", server.Name, err)
		}
		all = append(all, w.runs...)
		if err := os.RemoveAll(w.dir); err != nil { // room for the next one
			return err
		}
	}
	return drawReplayWarmth(cfg, all)
}

// replayWarmth is the experiment on one server.
type replayWarmth struct {
	ReplayWarmthConfig
	server ReplayWarmthServer
	dir    string
	out    Output

	version string
	dump    string // list of a pool after chunk 1
	runs    []warmthRun
}

// golden is the folder of the data that runs begin with, activePool the list of the pool of the server that the log was captured on, and
// successor the folder of the data as it left them: what a standby has that has replicated them.
func (w *replayWarmth) golden() string     { return filepath.Join(w.dir, "golden") }
func (w *replayWarmth) activePool() string { return filepath.Join(w.dir, "active-pool") }
func (w *replayWarmth) successor() string  { return filepath.Join(w.dir, "successor") }
func (w *replayWarmth) chunk(k int) string {
	return filepath.Join(w.dir, fmt.Sprintf("chunk%d.log", k+1))
}
func (w *replayWarmth) tell(f string, a ...any) {
	w.out.Progress("warmth, "+w.server.Name+": "+f, a...)
}

// Cases that pictures are made of.
const (
	caseCold = "chunk 2, cold"
	caseWarm = "chunk 2 after chunk 1"
)

// measure makes the log and replays every pair of chunks; the controls are about the first pair.
func (w *replayWarmth) measure(ctx context.Context) error {
	if err := w.prepare(ctx); err != nil {
		return err
	}
	for k := 1; k < w.Chunks; k++ {
		measured := w.play(k, nil)
		if err := w.run(ctx, fmt.Sprintf("chunk %d, cold", k+1), nil, measured); err != nil {
			return err
		}
		if err := w.run(ctx, fmt.Sprintf("chunk %d after chunk %d", k+1, k), w.play(k-1, nil), measured); err != nil {
			return err
		}
	}
	for _, c := range w.Controls {
		if err := w.control(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// dedupeResidency is how long a page surely stays: in the experiment, for all of a chunk.
const dedupeResidency = time.Minute

func (w *replayWarmth) control(ctx context.Context, control string) error {
	warm := func(change func(*replay.Config)) step { return w.play(0, change) }
	second := w.play(1, nil)
	switch control {
	case "self":
		return w.run(ctx, "chunk 2 after itself", second, second)
	case "reads-only":
		return w.run(ctx, caseWarm+", reads only", warm(func(c *replay.Config) { c.Target.Writes = replay.WritesSkip }), second)
	case "rewrite":
		if w.server.writes == replay.WritesRewrite {
			return nil // that is what every chunk is
		}
		return w.run(ctx, caseWarm+", changes rewritten", warm(func(c *replay.Config) { c.Target.Writes = replay.WritesRewrite }), second)
	case "dedupe":
		return w.run(ctx, caseWarm+", deduplicated", warm(func(c *replay.Config) { c.Dedupe, c.Residency = true, dedupeResidency }), second)
	case "sample":
		return w.run(ctx, caseWarm+", one entry in ten", warm(func(c *replay.Config) { c.Filter.Entries = 0.1 }), second)
	case "sample-sessions":
		return w.run(ctx, caseWarm+", one session in ten", warm(func(c *replay.Config) { c.Filter.Sessions = 0.1 }), second)
	case "scan":
		return w.run(ctx, "chunk 2 after full scans", scanAll, second)
	case "dump-load":
		if err := w.makeDump(ctx); err != nil {
			return err
		}
		return w.run(ctx, "chunk 2 after dump and load", w.loadDump, second)
	case "clients":
		clients := w.execute(1, nil)
		return errors.Join(
			w.run(ctx, "chunk 2 of clients, cold", nil, clients),
			w.run(ctx, "chunk 2 of clients after chunk 1", warm(nil), clients))
	case "changes":
		changes := w.execute(1, onlyChanges)
		return errors.Join(
			w.run(ctx, "changes of chunk 2, cold", w.stir, changes),
			w.run(ctx, "changes of chunk 2 after their replay", first(w.stir, w.play(1, func(c *replay.Config) { c.Filter.Match = onlyChanges })), changes))
	case "pair":
		return w.pair(ctx)
	}
	panic("BUG: control " + control)
}

// config is everything it took to measure.
func (w *replayWarmth) config() map[string]string {
	return map[string]string{
		"server version": w.version, "pool bytes": fmt.Sprint(w.Pool), "log bytes": fmt.Sprint(replayWarmthLog), "rows": fmt.Sprint(w.Rows),
		"chunks": fmt.Sprint(w.Chunks), "statements a chunk": fmt.Sprint(w.Statements), "clients": fmt.Sprint(w.Clients),
		"hot percent": fmt.Sprint(w.HotPercent), "hot run": fmt.Sprint(hotRun), "zipf": fmt.Sprint(w.Zipf), "elsewhere": fmt.Sprint(w.Elsewhere),
		"changes are": string(w.server.writes), "seed": fmt.Sprint(w.Seed), "CPUs": fmt.Sprint(runtime.NumCPU()), "go": runtime.Version(),
	}
}
