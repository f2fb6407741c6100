package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/peer"
	"github.com/hearthdb/hearth/internal/replay"
)

// step is what is done to a server before a measurement, or is measured.
type step func(context.Context, *peer.Server) (played, error)

// played is what a step was.
type played struct {
	sent int64 // statements
	took time.Duration
	p99  time.Duration // of a statement; 0: not known
}

// warmthRun is one measurement.
type warmthRun struct {
	server ReplayWarmthServer
	name   string
	reads  float64      // pages that somebody waited for
	bytes  float64      // that the process had from its disks
	each   []warmthTick // of each second
}

// warmthTick is one second, or the rest of one.
type warmthTick struct {
	at           float64 // seconds since the begin, its end
	reads, bytes float64 // a second
}

// run restores the data, starts cold, warms, and measures.
func (w *replayWarmth) run(ctx context.Context, name string, warm, measured step) error {
	s, remove, err := w.restore(ctx, "")
	if err != nil {
		return err
	}
	defer remove()
	var warmed played
	if warm != nil {
		if warmed, err = warm(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.observe(ctx, name, s, warmed.sent, measured)
}

// observe counts what the server reads while something is done, each second.
func (w *replayWarmth) observe(ctx context.Context, name string, s *peer.Server, warmed int64, measured step) error {
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	start, err := diskReads(ctx, s, db)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	var done played
	go func() {
		var err error
		done, err = measured(ctx, s)
		ended <- err
	}()
	r := warmthRun{server: w.server, name: name}
	last := start
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			running = false
		case <-time.After(time.Second - time.Since(last.at)):
		}
		now, err := diskReads(ctx, s, db)
		if err != nil {
			if !running {
				return err
			}
			return errors.Join(err, <-ended)
		}
		span := now.at.Sub(last.at).Seconds()
		r.each = append(r.each, warmthTick{at: now.at.Sub(start.at).Seconds(), reads: (now.reads - last.reads) / span, bytes: (now.bytes - last.bytes) / span})
		last = now
	}
	r.reads, r.bytes = last.reads-start.reads, last.bytes-start.bytes
	w.runs = append(w.runs, r)
	w.tell("%s: %.0f pages read, %.1f MiB of the disk, in %.1f s", name, r.reads, r.bytes/(1<<20), done.took.Seconds())
	result := NewResult(replayWarmthMeasure, w.server.Name, name, w.Clients, "disk reads", []float64{r.reads})
	result.Config = w.config()
	result.Also = map[string]float64{
		"MiB read": r.bytes / (1 << 20), "statements to warm": float64(warmed), "statements": float64(done.sent), "seconds": done.took.Seconds(),
	}
	if done.p99 > 0 {
		result.Also["p99 ms"] = done.p99.Seconds() * 1e3
	}
	result.Series = map[string][]float64{}
	for _, t := range r.each {
		for name, v := range map[string]float64{"second": t.at, "disk reads/s": t.reads, "bytes read/s": t.bytes} {
			result.Series[name] = append(result.Series[name], v)
		}
	}
	w.out.Result(result)
	return nil
}

// diskCount is what a server has read so far.
type diskCount struct {
	at    time.Time
	reads float64 // Innodb_buffer_pool_reads, which hearth counts, too
	bytes float64
}

func diskReads(ctx context.Context, s *peer.Server, db *sql.DB) (c diskCount, err error) {
	status, err := s.Status(ctx, db)
	if err != nil {
		return c, err
	}
	reads, ok := status["Innodb_buffer_pool_reads"]
	if !ok {
		return c, fmt.Errorf("%s has no Innodb_buffer_pool_reads", s.Name)
	}
	bytes, err := bytesFromDisk(s.Pid())
	return diskCount{time.Now(), reads, bytes}, err
}

// bytesFromDisk is what a process has had from block devices so far.
func bytesFromDisk(pid int) (float64, error) {
	name := fmt.Sprintf("/proc/%d/io", pid)
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "read_bytes: "); ok {
			return strconv.ParseFloat(strings.TrimSpace(v), 64)
		}
	}
	return 0, fmt.Errorf("%s has no read_bytes", name)
}

// play replays a chunk; change makes another replay of it.
func (w *replayWarmth) play(k int, change func(*replay.Config)) step {
	return func(ctx context.Context, s *peer.Server) (done played, err error) {
		c := replay.Config{
			Target:      replay.TargetConfig{DSN: s.DSN(""), Limits: replay.DefaultLimits, Writes: w.server.writes, MayWrite: true, AccountWrite: true},
			Connections: w.Clients, QueueBytes: replay.DefaultQueueBytes, Policy: replay.PolicyBlock,
		}
		if change != nil {
			change(&c)
		}
		p, err := replay.New(ctx, c)
		if err != nil {
			return done, err
		}
		defer p.Close()
		f, err := replay.OpenLog(w.chunk(k), 0)
		if err != nil {
			return done, err
		}
		defer f.Close()
		began := time.Now()
		if err := p.Run(ctx, replay.NewLogSource(f, replay.Place{}, false)); err != nil {
			return done, err
		}
		status := p.Status()
		t := status.Totals
		if t.Sum(replay.Run)+t.Sum(replay.Rewritten) == 0 && change == nil {
			return done, fmt.Errorf("nothing of chunk %d was replayed: %s", k+1, t)
		}
		if t.Sum(replay.Failed) > t.Received/100 {
			return done, fmt.Errorf("the target refused much of chunk %d: %s", k+1, t)
		}
		return played{sent: status.Sent, took: time.Since(began), p99: status.P99}, nil
	}
}

// scanAll reads all of the table, by its rows and by its indexes.
func scanAll(ctx context.Context, s *peer.Server) (played, error) {
	scans := []string{"SELECT COUNT(pad) FROM item", "SELECT COUNT(*) FROM item FORCE INDEX (name) WHERE name > ''", "SELECT COUNT(*) FROM item FORCE INDEX (grp) WHERE grp >= 0"}
	return played{sent: int64(len(scans))}, inSession(s, func(db *sql.DB) error {
		for _, q := range scans {
			if err := drain(ctx, db, q); err != nil {
				return err
			}
		}
		return nil
	})
}

// makeDump lists the pages that a server has after chunk 1.
func (w *replayWarmth) makeDump(ctx context.Context) error {
	s, remove, err := w.restore(ctx, "")
	if err != nil {
		return err
	}
	defer remove()
	if _, err := w.play(0, nil)(ctx, s); err != nil {
		return err
	}
	w.dump = filepath.Join(w.dir, "chunk1-pool")
	return w.dumpPool(ctx, s, w.dump)
}

// loadDump loads that list.
func (w *replayWarmth) loadDump(ctx context.Context, s *peer.Server) (played, error) {
	to := filepath.Join(s.Data(), poolFile)
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) { // the copy may have an old one
		return played{}, err
	}
	if err := copyFile(w.dump, to); err != nil {
		return played{}, err
	}
	return played{}, dumpOrLoad(ctx, s, "innodb_buffer_pool_load_now", "Innodb_buffer_pool_load_status", "load completed")
}

// pair says how much of the active server's pool a standby holds that has its data and has replayed all of its log.
func (w *replayWarmth) pair(ctx context.Context) error {
	s, remove, err := w.start(ctx, w.successor(), "")
	if err != nil {
		return err
	}
	defer remove()
	for k := range w.Chunks {
		if _, err := w.play(k, nil)(ctx, s); err != nil {
			return err
		}
	}
	standby := filepath.Join(w.dir, "standby-pool")
	if err := w.dumpPool(ctx, s, standby); err != nil {
		return err
	}
	a, err := w.server.pool(w.activePool())
	if err != nil {
		return err
	}
	b, err := w.server.pool(standby)
	if err != nil {
		return err
	}
	w.compare(casePair, a, b)
	for _, set := range []replay.PageSet{a, b} {
		maps.DeleteFunc(set, func(id uint64, _ struct{}) bool { return uint32(id>>32) == w.server.undo })
	}
	w.compare(casePair+", without undo logs", a, b)
	return nil
}

const casePair = "pages of the active server that the standby holds"

func (w *replayWarmth) compare(name string, active, standby replay.PageSet) {
	c := replay.Compare(active, standby)
	w.tell("%s: %d of %d", name, c.Both, c.Primary)
	result := NewResult(replayWarmthMeasure, w.server.Name, name, w.Clients, "%", []float64{100 * c.Share})
	result.Config = w.config()
	result.Also = map[string]float64{"pages of the active server": float64(c.Primary), "of them on the standby": float64(c.Both), "pages of the standby": float64(c.Standby)}
	w.out.Result(result)
}
