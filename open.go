package hearth

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/heat"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/recovery"
	"github.com/hearthdb/hearth/internal/region"
	"github.com/hearthdb/hearth/internal/txn"
	"github.com/hearthdb/hearth/internal/wal"
)

// Names in a data directory.
const (
	lockFile = "lock"
	logDir   = "log"
	heatDir  = "heat"
)

// start is a start under way: what it has opened so far, and what it will tell.
type start struct {
	db     *DB
	dir    string
	opts   Options
	report StartReport
	since  time.Time // when the running phase began
	undo   []func() error

	control recovery.Control
	nonce   uint64
	found   region.Found
	plan    *recovery.Plan
	ring    bool // the ring holds the end of the log
}

// Open opens the database in dir, or makes one when there is none. It returns when the first transaction can begin;
// what is left to do (rolling back transactions that were open at a death, redo of pages nobody has asked for) goes on
// behind it. Only one process at a time can have a database open: ErrInUse.
func Open(ctx context.Context, dir string, opts *Options) (*DB, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &start{dir: dir, opts: o, since: now, report: StartReport{At: now}}
	s.db = &DB{dir: dir, opts: o}
	s.db.ctx, s.db.stop = context.WithCancel(context.Background())
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"lock", s.lock},
		{"files", s.openFiles},
		{"region", s.openRegion},
		{"analysis", s.analyze},
		{"control", s.beginLife},
		{"pool", s.openPool},
		{"checkpoint", s.checkpoint},
		{"transactions", s.openTransactions},
	} {
		err := ctx.Err()
		if err == nil {
			s.tell(step.name, -1)
			err = step.do(ctx)
		}
		if err != nil {
			s.db.stop()
			for i := len(s.undo) - 1; i >= 0; i-- {
				if uerr := s.undo[i](); uerr != nil {
					o.Logger.Warn("a start that failed did not clean up", "error", uerr)
				}
			}
			return nil, fmt.Errorf("open %s: %s: %w", dir, step.name, err)
		}
		s.report.phase(step.name, &s.since)
	}
	s.ready()
	if o.Prewarm == PrewarmBlocking {
		s.tell("prewarm", -1)
	}
	s.prewarm(ctx)
	if o.Prewarm == PrewarmBlocking {
		s.report.phase("prewarm", &s.since)
	}
	s.report.Took = time.Since(now)
	s.report.log(o.Logger)
	s.db.report = s.report
	return s.db, nil
}

// tell whoever waits for the start what it is doing.
func (s *start) tell(phase string, percent int) {
	if s.opts.OnPhase != nil {
		s.opts.OnPhase(phase, percent)
	}
}

func (s *start) onFailure(f func() error) { s.undo = append(s.undo, f) }

// lock takes the directory, and makes a database in it when it has none.
func (s *start) lock(context.Context) error {
	fsys := s.opts.fs
	if err := fsys.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(filepath.Clean(s.dir))); err != nil {
		return err
	}
	l, err := fsys.Lock(filepath.Join(s.dir, lockFile))
	if errors.Is(err, file.ErrInUse) {
		return fmt.Errorf("%w: another process has the database open (stop it, or use another directory)", ErrInUse)
	} else if err != nil {
		return err
	}
	s.db.lock = l
	s.onFailure(l.Close)
	s.control, err = recovery.ReadControl(fsys, s.dir)
	if errors.Is(err, recovery.ErrNoControl) {
		s.report.Kind = StartNew
		return s.create()
	}
	return err
}

// create makes the files of a new database. The control file comes last: without it there is no database, and what a
// death before it left is made anew.
func (s *start) create() error {
	fsys := s.opts.fs
	entries, err := fsys.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case lockFile, logDir, "spaces", "doublewrite", recovery.ControlFile + recovery.NewSuffix:
		default:
			return fmt.Errorf("the directory is not empty and holds no database (it has %q): use an empty one", e.Name())
		}
	}
	for _, sub := range []string{logDir, "spaces"} {
		old, err := fsys.ReadDir(filepath.Join(s.dir, sub))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range old {
			if err := fsys.Remove(filepath.Join(s.dir, sub, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := fsys.MkdirAll(filepath.Join(s.dir, logDir), 0o700); err != nil {
		return err
	}
	files, err := datafile.Open(datafile.Config{FS: fsys, Dir: s.dir, Logger: s.opts.Logger})
	if err != nil {
		return err
	}
	for _, no := range []uint32{txn.UndoSpace, txn.CatalogSpace} {
		if err := files.Create(no); err != nil {
			return errors.Join(err, files.Close())
		}
	}
	if err := files.Close(); err != nil {
		return err
	}
	s.control = recovery.Control{Checkpoint: wal.FirstLSN, SegmentBytes: s.opts.SegmentSize, Nonce: randomNonce()}
	if _, err := rand.Read(s.control.UUID[:]); err != nil {
		return err
	}
	return recovery.CreateControl(fsys, s.dir, &s.control)
}

func randomNonce() uint64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(fmt.Sprintf("FATAL: no random bytes from the kernel: %v", err))
	}
	return binary.LittleEndian.Uint64(b[:]) | 1
}

func (s *start) openFiles(context.Context) error {
	files, err := datafile.Open(datafile.Config{FS: s.opts.fs, Dir: s.dir, Logger: s.opts.Logger})
	if err != nil {
		return err
	}
	s.db.files = files
	s.onFailure(files.Close)
	return files.RestoreTorn() // goes on behind the first answer
}

// firstFrames are those that a new region has before the first answer, 32 MiB: some 10 ms of a core. The others come behind it, a
// faster than a disk could fill them.
const firstFrames = 2048

// openRegion attaches to the memory of the life before, or gets new memory.
func (s *start) openRegion(context.Context) error {
	cfg := region.Config{
		Dir: s.opts.MemoryDir, UUID: s.control.UUID, RingBytes: s.opts.RingSize,
		Frames: s.opts.frames(), FirstFrames: firstFrames, SmallPages: s.opts.SmallPages, Logger: s.opts.Logger,
	}
	var r *region.Region
	var err error
	if s.opts.Memory != MemoryOff {
		r, s.found, err = region.Open(cfg)
		if err != nil && s.opts.Memory == MemoryRequire {
			return fmt.Errorf("memory that survives is required: %w", err)
		}
		if errors.Is(err, region.ErrInUse) {
			return fmt.Errorf("%w: %w", ErrInUse, err)
		}
		if err != nil {
			s.opts.Logger.Warn("no memory that survives the process: the pages of this life will be lost with it, and its restart is slow",
				"memory-dir", s.opts.MemoryDir, "reason", err)
		}
	}
	if r == nil {
		s.found = region.Found{Fresh: true}
		cfg.FirstFrames = 0 // ordinary memory comes when it is touched
		if r, err = region.Plain(cfg); err != nil {
			return err
		}
	}
	s.db.region = r
	s.onFailure(r.Close)
	s.report.Survives = r.Survives()
	s.report.Why = string(s.found.Why)
	if s.found.Short != nil {
		s.report.PoolShort = s.found.Short.Error()
		s.opts.Logger.Warn("there is no memory for the pool to grow; it stays as large as what survived",
			"pages", r.Frames(), "wanted", s.opts.frames(), "reason", s.found.Short)
	}
	if !s.found.Fresh && s.control.Nonce != s.found.LifeNonce && s.control.Nonce != s.found.AttachNonce {
		r.Discard(region.ReasonStaleIncarnation)
		s.report.Why = string(region.ReasonStaleIncarnation)
		s.found = region.Found{Fresh: true}
	}
	if !s.found.Fresh {
		r.Accept(s.control.Nonce)
	}
	s.nonce = randomNonce()
	r.BeginAttach(s.nonce)
	return nil
}

func (s *start) logConfig() wal.ReaderConfig {
	return wal.ReaderConfig{FS: s.opts.fs, Dir: filepath.Join(s.dir, logDir), UUID: s.control.UUID, SegmentBytes: s.control.SegmentBytes}
}

// analyze finishes the ring into the log, before anything can fail, and makes the plan.
func (s *start) analyze(context.Context) error {
	in := recovery.Input{Control: s.control, Log: s.logConfig(), Region: s.db.region, Frames: s.found.FramesValid,
		Tell: func(percent int) { s.tell("analysis", percent) }}
	if s.found.RingValid {
		end, written, err := wal.FinishRing(s.logConfig(), s.db.region.Ring(), s.found.Durable)
		if err != nil {
			return err
		}
		in.End, in.Ring, s.ring, s.report.RingBytes = end, s.db.region.Ring(), true, written
	}
	plan, err := recovery.Analyze(in)
	if err != nil {
		return err
	}
	if s.found.FramesValid && !plan.FramesKept {
		s.db.region.Discard(region.ReasonDamagedDescriptors)
		s.report.Why = string(region.ReasonDamagedDescriptors)
	}
	s.plan = plan
	s.report.Checkpoint, s.report.LogEnd = uint64(plan.Checkpoint), uint64(plan.End)
	if plan.Named {
		s.report.RedoBytes = int64(plan.End - plan.Checkpoint)
	}
	s.report.Frames = plan.Verdicts()
	if s.report.Kind == "" {
		switch {
		case plan.FramesKept && s.found.Clean:
			s.report.Kind = StartCleanRegion
		case plan.FramesKept:
			s.report.Kind = StartCrashRegion
		case s.control.Flushed && plan.End == plan.Checkpoint:
			s.report.Kind = StartCleanFlushed
		case s.ring:
			s.report.Kind = StartFramesLost
		default:
			s.report.Kind = StartRegionLost
		}
	}
	return nil
}

// beginLife makes this start the last one that ran, before it writes its first record.
func (s *start) beginLife(context.Context) error {
	s.control.Incarnation++
	s.control.Nonce = s.nonce
	s.control.Flushed = false
	s.control.Redoing = s.plan.NeedsRedo(s.frames())
	s.control.RingBytes = s.opts.RingSize
	s.report.Incarnation = s.control.Incarnation
	return recovery.WriteControl(s.opts.fs, s.dir, &s.control)
}

// frames is how many frames the pool gets.
func (s *start) frames() int {
	if s.opts.KeepPool && s.plan.FramesKept {
		return s.db.region.Frames()
	}
	return min(s.opts.frames(), s.db.region.Frames()) // fewer than wanted: there was no room to grow
}

// openPool carries the verdicts out and puts log and pool over the region.
func (s *start) openPool(context.Context) error {
	db, r := s.db, s.db.region
	if err := s.plan.Apply(r, s.frames()); err != nil {
		return err
	}
	s.report.RedoPages, s.report.PoolFrames, s.report.PoolReserved = len(s.plan.Redo), r.Frames(), r.Reserved()
	if int64(len(r.Ring())) != s.opts.RingSize { // finished above, so nothing is lost
		r.SetDurable(s.plan.End)
		if err := r.ResizeRing(s.opts.RingSize); err != nil {
			return err
		}
		s.ring = false
	}
	l, err := wal.Open(wal.Config{
		FS: s.opts.fs, Dir: filepath.Join(s.dir, logDir), UUID: s.control.UUID, SegmentBytes: s.control.SegmentBytes,
		Ring: r.Ring(), RingSurvived: s.ring, Incarnation: s.control.Incarnation, Start: s.plan.End,
		OnDurable: r.SetDurable, OnFatal: db.fatal, FlushInterval: s.opts.LogFlushInterval, Logger: s.opts.Logger,
	})
	if err != nil {
		return err
	}
	db.log = l
	s.onFailure(l.Close)
	db.source = recovery.NewSource(db.files, s.plan, db.fatal)
	s.onFailure(db.source.Close)
	db.pool, err = pool.New(pool.Config{Region: r, Log: l, Source: db.source, Logger: s.opts.Logger})
	if err != nil {
		return err
	}
	s.onFailure(func() error { db.pool.Close(); return nil })
	db.warmer = heat.New(heat.Config{
		FS: s.opts.fs, Dir: filepath.Join(s.dir, heatDir), UUID: s.control.UUID, Pool: db.pool, Files: db.files,
		LSN: l.Tail, Logger: s.opts.Logger, Kept: s.opts.HeatDumpsKept, Settings: s.opts.warmthSettings(),
	})
	return nil
}

// checkpoint begins checkpointing. Pages that are left to redo hold it where it is: each is redone when it is first read, and
// afterStart sees to the rest.
func (s *start) checkpoint(context.Context) error {
	db := s.db
	db.checkpointer = recovery.NewCheckpointer(s.opts.fs, s.dir, s.control, db.pool, db.log, s.opts.LogSize, s.control.Redoing, s.opts.Logger)
	s.onFailure(func() error { return db.checkpointer.Close(false) })
	return nil
}

// openTransactions makes the system spaces if this is their first start, and learns who was open at the death.
func (s *start) openTransactions(ctx context.Context) error {
	db := s.db
	if err := db.formatSystem(ctx); err != nil {
		return err
	}
	db.catalog = btree.Open(db.pool, txn.CatalogSpace)
	db.trees.Store(uint32(txn.CatalogSpace), &treeState{tree: db.catalog})
	m, err := txn.Open(ctx, txn.Config{
		Pool: db.pool, Log: db.log, LockWaitTimeout: s.opts.LockWait, MaxWriters: s.opts.MaxWriters,
		OnDropSpace: db.dropSpace, Trees: db.treeOf, Logger: s.opts.Logger, Survives: db.region.Survives(),
	})
	if err != nil {
		return err
	}
	db.txns = m
	s.report.Losers = m.Losers()
	return nil
}

// ready opens the doors and starts what goes on behind them.
func (s *start) ready() {
	db := s.db
	db.region.Ready(s.control.Incarnation, s.nonce)
	db.started, db.redone, db.ddlOpen = make(chan struct{}), make(chan struct{}), make(chan struct{})
	db.logRead, db.warming = make(chan struct{}), make(chan struct{})
	db.txns.Start()
	db.wg.Go(func() {
		if err := file.RingError(); err != nil {
			db.opts.Logger.Warn("pages are read by one system call each, which a fast disk will feel, instead of io_uring", "reason", err)
		}
	})
	db.wg.Go(func() {
		defer close(db.started)
		if db.startErr = db.afterStart(s.plan); db.startErr != nil && db.ctx.Err() == nil {
			db.opts.Logger.Error("work left over from the start failed; the database serves, but its log cannot be shortened until the next start", "error", db.startErr)
		}
	})
}

// afterStart finishes, behind the first answer, what the start left.
func (db *DB) afterStart(plan *recovery.Plan) error {
	// Both at once: removing orphans may wait for losers, their rollback for room in the log, and that for the redo.
	orphans := make(chan error, 1)
	go func() {
		defer close(db.ddlOpen) // also on an error: what is not removed now is at the next start
		orphans <- db.removeOrphans(db.ctx)
	}()
	began := time.Now()
	err := db.readLog(plan)
	if err == nil {
		err = recovery.RedoRest(db.ctx, db.pool, db.source, plan)
	}
	if err == nil {
		err = db.checkpointer.Release()
	}
	close(db.redone)
	if err == nil && plan.Named {
		db.opts.Logger.Info("redo is through", "pages", db.source.Progress().Total, "took", time.Since(began))
	}
	return errors.Join(err, <-orphans)
}

// readLog brings the log that any page may need into memory, and then lets the load of the heat dump begin: each page that it
// read before would cost many small reads of the log, and whoever wants one of its pages waits for all that are read with it.
func (db *DB) readLog(plan *recovery.Plan) error {
	var err error
	if plan.Named {
		err = db.source.Preload(db.ctx)
	}
	close(db.logRead)
	if plan.Named && err == nil {
		db.whileWarming()
	}
	return err
}

// whileWarming waits for the load of the heat dump: it redoes the pages that it brings, hot ones first. It is not waited for when it
// is held, nor for so long that writers would have to wait for room in the log.
func (db *DB) whileWarming() {
	select {
	case <-db.warming:
	case <-db.ctx.Done():
	}
	for db.warmer.Status().State == heat.StateLoading && db.checkpointer.Age() < db.opts.LogSize && db.ctx.Err() == nil {
		db.warmer.Wait(db.ctx, warmingLook)
	}
}

// warmingLook is how often whileWarming looks.
const warmingLook = 100 * time.Millisecond

// formatSystem makes the first pages of the undo space and the catalog if they are not there yet: this is the first
// start, or one before died in it.
func (db *DB) formatSystem(ctx context.Context) error {
	zero := func(space uint32) (bool, error) {
		g := db.pool.BeginRead(ctx)
		defer g.Abort()
		h, err := g.Fetch(page.MakeID(space, 0), pool.Shared)
		if err != nil {
			return false, err
		}
		return h.Page.Kind() == page.KindZero, nil
	}
	if fresh, err := zero(txn.UndoSpace); err != nil {
		return err
	} else if fresh {
		if err := txn.Format(ctx, db.pool); err != nil {
			return err
		}
	}
	fresh, err := zero(txn.CatalogSpace)
	if err == nil && fresh {
		_, err = btree.Create(ctx, db.pool, txn.CatalogSpace)
	}
	return err
}

// fatal is called once, when the log or the files can no longer be trusted to keep what they are given. The process
// restarts from what is known to be durable.
func (db *DB) fatal(err error) {
	db.fatalOnce.Do(func() {
		db.dead.Store(&err)
		db.stop() // nothing that waits behind the start will come to an end now
		if db.opts.OnFatal != nil {
			db.opts.OnFatal(err)
			return
		}
		db.opts.Logger.Error("FATAL: the disk failed; stopping, so that the next start begins from what is known to be durable", "error", err)
		os.Exit(2)
	})
}
