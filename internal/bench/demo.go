package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/restart"
)

// DemoConfig says how large the demonstration is.
type DemoConfig struct {
	Dir    string // where the database and its memory live; "": temporary folders
	Bytes  int64  // of rows; 0: fitted to the machine, see DemoBytes
	Before time.Duration
	After  time.Duration // at most
	Page   string        // the HTML file to write; its pictures lie beside it
	Binary string        // hearth, to be started as a server
	Seed   uint64
}

// pictures is the name of those beside the page, without what tells them apart; "": none.
func (c DemoConfig) pictures() string { return strings.TrimSuffix(c.Page, filepath.Ext(c.Page)) }

// Sizes of the demonstration.
const (
	demoMost    = 256 << 20 // bytes of rows, when nobody asks for another size
	demoLeast   = 16 << 20
	demoClients = 16
	demoPool    = 1.6 // times the rows
	demoLog     = 512 << 20
)

// demoDisk is a common cloud volume.
var demoDisk = restart.Disk{IOPS: 3000, BytesPerSecond: 125e6}

// demoScene is one restart of the demonstration.
type demoScene struct {
	title   string // "kill -9"
	profile string // of ServerProfiles
	stop    string
	color   chart.Color
}

var demoScenes = []demoScene{
	{"kill -9", "hearth-kept", StopKill, chart.Hearth},
	{"clean restart", "hearth-kept", StopClean, chart.Hearth},
	{"kill -9, memory lost as in a reboot, heat dump there", "hearth-dump", StopKill, chart.Dump},
	{"kill -9, memory lost and no dump (cold)", "hearth-cold", StopKill, chart.Cold},
}

// DemoResult is what one restart of the demonstration showed.
type DemoResult struct {
	Title        string  `json:"title"`
	Blackout     float64 `json:"blackout_s"`
	Before       float64 `json:"before_per_s"`
	FifthSecond  float64 `json:"fifth_second_percent"`  // of Before; -1: not within the time
	Recovered    float64 `json:"seconds_to_90_percent"` // after the first answer; -1: not within the time
	Acknowledged int64   `json:"acknowledged_commits"`
	Lost         int64   `json:"lost_commits"`
	Start        string  `json:"start_report"`

	line *restart.Timeline
}

// Demo makes a database, starts a server on it as a process of its own, and restarts that under load in four ways. It draws the
// throughput into out while it runs, a line a second, and returns what it saw. A lost commit is an error.
func Demo(ctx context.Context, cfg DemoConfig, out io.Writer) (results []DemoResult, err error) {
	if err := drawableAt(cfg.pictures()); err != nil {
		return nil, err
	}
	dir, remove, err := workDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer remove()
	memory, err := MemoryDir()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(memory)
	if cfg.Bytes == 0 {
		if cfg.Bytes, err = demoBytes(dir); err != nil {
			return nil, err
		}
	}
	disk := demoDisk
	if err := restart.CanHold(dir, disk); err == nil {
		fmt.Fprintf(out, "Under the load the server has a %s, as a common cloud volume is.\n", disk)
	} else if !errors.Is(err, restart.ErrNoCage) {
		return nil, err
	} else {
		disk = restart.Disk{}
		fmt.Fprintf(out, "The disk is as fast as it is: holding it back to a cloud volume's speed takes root.\n")
	}
	d := &demo{cfg: cfg, out: out, server: ServerRestartConfig{
		Dir: dir, Bytes: cfg.Bytes, Pool: int64(demoPool * float64(cfg.Bytes)), LogSize: demoLog, Clients: demoClients,
		Before: cfg.Before, After: cfg.After, Disk: disk, Runs: 1, Seed: cfg.Seed,
	}}
	profiles := ServerProfiles(cfg.Binary, memory)
	s, err := profiles["hearth-kept"].Make(peer.Config{Dir: filepath.Join(dir, "s"), Pool: d.server.Pool, LogSize: demoLog, Durable: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	if err := loadServer(ctx, d.server, WorkloadReadWrite, peerSubject(s), Output{Progress: d.say}); err != nil {
		return nil, err
	}
	if err := s.Stop(); err != nil {
		return nil, err
	}
	for n, scene := range demoScenes {
		fmt.Fprintf(out, "\n%d/%d  %s\n", n+1, len(demoScenes), scene.title)
		r, err := d.play(ctx, s, scene, profiles[scene.profile])
		if err != nil {
			return results, fmt.Errorf("%s: %w", scene.title, err)
		}
		results = append(results, r)
		fmt.Fprintf(out, "     %s\n", r)
	}
	return results, d.draw(results)
}

// Fifth is FifthSecond for people.
func (r DemoResult) Fifth() string { return seen(r.FifthSecond, "%") }

// Back is Recovered for people.
func (r DemoResult) Back() string { return seen(r.Recovered, "s") }

func seen(v float64, unit string) string {
	if v < 0 {
		return "not seen"
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// String is the verdict in one line.
func (r DemoResult) String() string {
	return fmt.Sprintf("blackout %.2f s; fifth second, of before: %s; back at 90 %%: %s; %d commits acknowledged, %d lost",
		r.Blackout, r.Fifth(), r.Back(), r.Acknowledged, r.Lost)
}

type demo struct {
	cfg    DemoConfig
	server ServerRestartConfig
	out    io.Writer

	mu   sync.Mutex // guards what follows, and out while a scene plays
	full float64    // what a full bar stands for, a second
}

func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, "     "+format+"\n", args...)
}

// play shows one restart.
func (d *demo) play(ctx context.Context, s *peer.Server, scene demoScene, p ServerProfile) (r DemoResult, err error) {
	c := ServerCase{Workload: WorkloadReadWrite, Spread: SpreadUniform, Stop: scene.stop}
	b := newBed(d.server, c, p, peerSubject(s), Output{Progress: func(string, ...any) {}})
	t := &restart.Timeline{Name: scene.title, System: s.Name, Config: b.config()}
	seconds := d.lines()
	b.tick = func(k restart.Tick) { seconds(k, t) }
	b.stopped = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		fmt.Fprintf(d.out, "     %s %s\n", strings.Repeat("─", 24), scene.title)
	}
	if err = b.measure(ctx, t); err == nil {
		err = s.Stop()
	}
	r = DemoResult{
		Title: scene.title, Before: t.Warm(), FifthSecond: -1, Recovered: -1, Start: t.Report,
		Acknowledged: b.work.acknowledged(), line: t,
	}
	var lost *LostError
	if errors.As(err, &lost) {
		r.Lost = lost.Commits
	}
	if len(t.After()) >= 5 {
		r.FifthSecond = 100 * t.FifthSecond()
	}
	if blackout, ok := t.Blackout(); ok {
		r.Blackout = blackout.Seconds()
	}
	if back, ok := t.Recovered(0.9); ok {
		r.Recovered = back.Seconds()
	}
	return r, err
}

// demoBar is how wide a full bar is, in characters.
const demoBar = 40

// fullBar is what a full bar stands for where so much is answered in a second: 1, 2 or 5 and zeros, so that it seldom changes.
func fullBar(rate float64) float64 {
	for scale := 1.0; ; scale *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if rate <= n*scale {
				return n * scale
			}
		}
	}
}

// lines returns a function that takes ticks and writes a bar a second.
func (d *demo) lines() func(restart.Tick, *restart.Timeline) {
	var done int64
	var length float64
	return func(k restart.Tick, t *restart.Timeline) {
		done += k.Done
		length += float64(k.End-k.Begin) / 1e9
		if length < 0.95 {
			return
		}
		rate := float64(done) / length
		d.mu.Lock()
		defer d.mu.Unlock()
		if rate > d.full {
			d.full = fullBar(rate)
			fmt.Fprintf(d.out, "     %18s %s %.0f/s\n", "a full bar:", bar(1), d.full)
		}
		when := "warm"
		if t.Stop != 0 && k.End > t.Stop {
			when = fmt.Sprintf("+%d s", int(math.Round(float64(k.End-t.Stop)/1e9)))
		}
		fmt.Fprintf(d.out, "     %5s %8.0f/s  %s\n", when, rate, bar(rate/d.full))
		done, length = 0, 0
	}
}

// bar draws a part of demoBar with eighths of a character.
func bar(part float64) string {
	eighths := int(math.Round(part * demoBar * 8))
	return strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}

// demoBytes fits the rows to the machine: an eighth of the free memory, of the free shared memory and of the free disk, since a
// pool, a log and two generations of files want room too.
func demoBytes(dir string) (int64, error) {
	size := int64(demoMost)
	for _, path := range []string{dir, sharedMemory} {
		var st unix.Statfs_t
		if err := unix.Statfs(path, &st); err != nil {
			return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		size = min(size, int64(st.Bavail)*st.Bsize/8)
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("sysinfo: %w", err)
	}
	size = min(size, int64(info.Totalram)*int64(info.Unit)/8)
	if size < demoLeast {
		return 0, fmt.Errorf("too little room for a demonstration: it takes %d MiB of memory, of %s and of %s", demoLeast*8>>20, sharedMemory, dir)
	}
	return size, nil
}
