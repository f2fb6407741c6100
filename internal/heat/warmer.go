package heat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// Config of a Warmer.
type Config struct {
	FS     file.FS
	Dir    string // where dumps are kept
	UUID   [16]byte
	Pool   *pool.Pool
	Files  *datafile.Set
	LSN    func() page.LSN // end of the log
	Logger *slog.Logger

	Kept     int // dumps that are kept
	Settings Settings
}

// Warmer dumps the heat of a pool and loads dumps into it.
type Warmer struct {
	cfg    Config
	folder folder
	began  time.Time

	loading sync.Mutex // one Load or Close at a time
	dumping sync.Mutex // one dump at a time

	remembered sync.Once
	changed    chan struct{} // has room for one: the interval may be another

	mu       sync.Mutex // guards what follows
	settings Settings
	closed   bool
	coming   coming   // the load of the start
	load     *load    // the last one
	wrong    error    // why nothing is loaded
	good     int64    // pages of the longest dump that an earlier life left
	last     DumpInfo // zero: none
	longest  time.Duration
	dumpErr  error
	withheld string
}

// New is a Warmer that does nothing yet.
func New(cfg Config) *Warmer {
	cfg.Files.SetFloor(cfg.Settings.Floor)
	return &Warmer{
		cfg: cfg, folder: folder{cfg.FS, cfg.Dir}, began: time.Now(), settings: cfg.Settings, changed: make(chan struct{}, 1),
	}
}

// Settings as they are.
func (w *Warmer) Settings() Settings {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.settings
}

// Change makes the settings others.
func (w *Warmer) Change(s Settings) error {
	if err := s.Validate(); err != nil {
		return err
	}
	w.mu.Lock()
	w.settings = s
	w.mu.Unlock()
	w.cfg.Files.SetFloor(s.Floor)
	w.cfg.Pool.CountUses(!s.NoHeat)
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return nil
}

// Run begins the load of a start, if there is one and nobody has cancelled it since Expect, and then writes a dump every interval
// until ctx ends. It closes began once the load has begun, or is not going to.
func (w *Warmer) Run(ctx context.Context, load *LoadOptions, began chan<- struct{}) {
	w.remembered.Do(w.remember)
	if load != nil && !w.is(StateCancelled) {
		_, err := w.begin(ctx, *load, true)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, ErrNoDump) && load.Path == "": // a new database, or one that was never warm: nothing went wrong
			w.mu.Lock()
			w.wrong = nil
			w.mu.Unlock()
		default:
			w.cfg.Logger.Warn("prewarm: nothing is loaded", "reason", err)
		}
	}
	close(began)
	last := time.Now()
	for {
		var due <-chan time.Time
		if i := w.Settings().DumpInterval; i > 0 {
			due = time.After(time.Until(last.Add(i)))
		}
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		case <-due:
			last = time.Now()
			w.Automatic(ctx)
		}
	}
}

// Automatic writes a dump unless that could spoil a good one.
func (w *Warmer) Automatic(ctx context.Context) {
	if w.whyWithheld() != "" {
		return
	}
	if _, err := w.dump(ctx, DumpOptions{}, true); err != nil && ctx.Err() == nil {
		w.cfg.Logger.Warn("the heat dump failed; the one before stays", "error", err)
	}
}

// Close ends a load and, unless the settings or the disk are against it, writes the last dump, as every interval does.
func (w *Warmer) Close(ctx context.Context, healthy bool) {
	w.loading.Lock()
	defer w.loading.Unlock()
	w.mu.Lock()
	w.closed = true
	l := w.load
	w.mu.Unlock()
	if l != nil {
		l.stop()
	}
	if healthy && w.Settings().DumpAtShutdown {
		w.Automatic(ctx)
	}
}

// Dump writes a dump.
func (w *Warmer) Dump(ctx context.Context, o DumpOptions) (DumpInfo, error) {
	if o.Percent < 0 || o.Percent > 100 {
		return DumpInfo{}, fmt.Errorf("heat dump: percent is %d, want 1 to 100", o.Percent)
	}
	return w.dump(ctx, o, false)
}

func (w *Warmer) dump(ctx context.Context, o DumpOptions, automatic bool) (DumpInfo, error) {
	w.dumping.Lock()
	defer w.dumping.Unlock()
	partial := ""
	if !automatic { // of those it is known
		partial = w.whyWithheld()
	}
	i, err := w.makeDump(ctx, o, partial == "")
	i.Automatic, i.Partial, i.EarlierKept = automatic, partial, partial != "" && o.Path == ""
	if err == nil && partial != "" { // over SQL nobody gets an answer
		w.cfg.Logger.Warn("a heat dump that was asked for is partial", "file", i.File, "pages", i.Pages, "reason", partial, "earlier_kept", i.EarlierKept)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dumpErr = err; err != nil {
		return DumpInfo{}, fmt.Errorf("heat dump: %w", err)
	}
	w.last, w.longest = i, max(w.longest, i.LongestStall)
	return i, nil
}

// makeDump writes a dump, and with prune removes those that are too many then.
func (w *Warmer) makeDump(ctx context.Context, o DumpOptions, prune bool) (i DumpInfo, err error) {
	began := time.Now()
	name := o.Path
	if name == "" {
		if name, err = w.folder.next(); err != nil {
			return DumpInfo{}, err
		}
	}
	if err := replaceable(w.cfg.FS, o.Path); err != nil {
		return DumpInfo{}, err
	}
	percent := o.Percent
	if percent == 0 {
		percent = w.Settings().DumpPercent
	}
	b := newBreath()
	defer func() {
		b.end()
		i.LongestStall = b.longest // with the last slice, which in a small dump is the only one
	}()
	s, err := take(ctx, w.cfg.Pool, b)
	if err != nil {
		return DumpInfo{}, err
	}
	frames := uint64(w.cfg.Pool.Frames())
	bands, ids := s.hottest(frames * uint64(percent) / 100)
	h := Header{UUID: w.cfg.UUID, LSN: w.cfg.LSN(), At: began, Frames: frames, Bands: bands}
	for _, b := range bands {
		h.Pages += b.Pages
	}
	if err := write(ctx, w.cfg.FS, name, &h, ids, b); err != nil {
		return DumpInfo{}, err
	}
	if o.Path == "" && prune {
		if err := w.folder.prune(w.cfg.Kept); err != nil {
			w.cfg.Logger.Warn("an old heat dump could not be removed", "error", err)
		}
	}
	return DumpInfo{File: name, At: began, Pages: int64(h.Pages), Bytes: h.size(), Took: time.Since(began)}, nil
}

// Load begins to load a dump, or with Blocking loads it. A load that is under way, or is to come, ends as cancelled; if the dump is
// of no use it goes on.
func (w *Warmer) Load(ctx context.Context, o LoadOptions) error {
	l, err := w.begin(ctx, o, false)
	if err != nil || !o.Blocking {
		return err
	}
	return l.wait(ctx, o.Limit)
}

// begin begins a load. That of the start, ofStart, is nil if it was cancelled before.
func (w *Warmer) begin(ctx context.Context, o LoadOptions, ofStart bool) (*load, error) {
	w.loading.Lock()
	defer w.loading.Unlock()
	list, err := w.find(o.Path, usefulPages*w.cfg.Pool.Frames())
	w.mu.Lock()
	before, closed := w.load, w.closed
	if ofStart && err != nil && !w.arrive(nil) {
		w.mu.Unlock()
		return nil, nil
	}
	if !w.underWay() { // Status is about the load that goes on; why there is no other is for who asked
		w.wrong = err
	}
	w.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case closed:
		return nil, pool.ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case before != nil:
		before.stop()
	}
	order := o.Order
	if order == "" {
		order = w.Settings().Order
	}
	l := newLoad(w.cfg.Pool, w.cfg.Files, list, order)
	if !ofStart {
		w.steer(StateCancelled, StateWaiting, StatePaused) // this one is instead
	}
	w.mu.Lock()
	if ofStart && !w.arrive(l) {
		w.mu.Unlock()
		return nil, nil
	}
	w.load, w.wrong = l, nil
	w.mu.Unlock()
	w.cfg.Logger.Info("prewarm begins", "file", list.file, "made", list.header.At, "pages", len(l.plan.list.pages)+list.over, "order", string(order))
	go func() {
		l.run()
		w.report(l)
	}()
	return l, nil
}

// underWay says whether a load runs, is paused or is to come; w.mu is held.
func (w *Warmer) underWay() bool {
	if w.coming.state == StateWaiting || w.coming.state == StatePaused {
		return true
	}
	if w.load == nil {
		return false
	}
	state := w.load.now()
	return state == StateLoading || state == StatePaused
}

// usefulPages of a dump for each frame of the pool are kept of it: some will be in memory already, and some gone. So a dump of a pool that is much
// larger than this one does not become memory of this process.
const usefulPages = 2

// find reads a dump, its hottest pages, or the newest whole one.
func (w *Warmer) find(name string, most int) (*list, error) {
	if name != "" {
		return readFor(w.cfg.FS, name, w.cfg.UUID, most)
	}
	nos, err := w.folder.numbers()
	if err != nil {
		return nil, err
	}
	var first error
	for _, no := range nos {
		l, err := readFor(w.cfg.FS, w.folder.path(no), w.cfg.UUID, most)
		if err == nil {
			return l, nil
		}
		w.cfg.Logger.Warn("a heat dump is of no use; looking for an older one", "reason", err)
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("%w in %s", ErrNoDump, w.folder.dir)
	}
	return nil, first
}

func (w *Warmer) report(l *load) {
	s := Status{}
	l.fill(&s)
	w.cfg.Logger.Info("prewarm ended", "state", string(s.State), "file", s.File, "took", s.Took, "pages", s.Total, "loaded", s.Loaded,
		"present", s.Present, "gone", s.Gone, "no_room", s.NoRoom, "failed", s.Failed, "left", s.Left, "bytes", s.BytesRead)
}

func (w *Warmer) current() *load {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.load
}

// Pause holds the load until Resume. Reads under way end.
func (w *Warmer) Pause() {
	if w.steer(StatePaused, StateWaiting) {
		return
	}
	if l := w.current(); l != nil {
		l.pause()
	}
}

// Resume goes on where Pause stopped.
func (w *Warmer) Resume() {
	if w.steer(StateWaiting, StatePaused) {
		return
	}
	if l := w.current(); l != nil {
		l.resume()
	}
}

// Cancel ends the load, and waits for its reads.
func (w *Warmer) Cancel() {
	w.steer(StateCancelled, StateWaiting, StatePaused)
	if l := w.current(); l != nil {
		l.stop()
	}
}

// Wait waits for the end of the load, if there is one, for limit at most.
func (w *Warmer) Wait(ctx context.Context, limit time.Duration) {
	if l := w.current(); l != nil {
		l.wait(ctx, limit)
	}
}

// Status tells how things are.
func (w *Warmer) Status() Status {
	w.mu.Lock()
	l := w.load
	s := Status{State: StateIdle, LongestStall: w.longest, DumpWithheld: w.withheld}
	switch {
	case w.wrong != nil:
		s.State, s.Error = StateFailed, w.wrong.Error()
	case l == nil && w.coming.state != "":
		w.coming.fill(&s, w.began)
	}
	if w.dumpErr != nil {
		s.DumpError = w.dumpErr.Error()
	}
	if !w.last.At.IsZero() {
		last := w.last
		s.LastDump = &last
	}
	w.mu.Unlock()
	if l != nil && s.Error == "" {
		l.fill(&s)
	}
	s.Device = deviceOf(w.cfg.Files.Device())
	p := w.cfg.Pool.Prewarmed()
	s.Accounting = Accounting{Pages: p.Pages, Used: p.Used, Unused: p.Pages - p.Used - p.Evicted, EvictedUnused: p.Evicted, Hits: p.Hits}
	return s
}
