package hearth

import (
	"context"

	"github.com/hearthdb/hearth/internal/admin"
	"github.com/hearthdb/hearth/internal/heat"
)

// The vocabulary of Warmth.
type (
	DumpOptions    = heat.DumpOptions // Warmth.Dump
	DumpInfo       = heat.DumpInfo    // tells of a dump that was written
	LoadOptions    = heat.LoadOptions // Warmth.Load
	WarmthStatus   = heat.Status      // progress of a load, in exact numbers, and the last dump
	WarmthState    = heat.State       // of the load
	DeviceLimits   = heat.Device      // what the load found out about the disk
	WarmthWorth    = heat.Accounting  // what the pages were worth that loads brought in
	WarmthSettings = heat.Settings    // Warmth.Change
	LoadOrder      = heat.Order       // Options.PrewarmOrder, LoadOptions.Order
)

// Orders and states.
const (
	OrderHeat     = heat.OrderHeat
	OrderPhysical = heat.OrderPhysical

	WarmthIdle      = heat.StateIdle
	WarmthWaiting   = heat.StateWaiting
	WarmthLoading   = heat.StateLoading
	WarmthPaused    = heat.StatePaused
	WarmthDone      = heat.StateDone
	WarmthCancelled = heat.StateCancelled
	WarmthFailed    = heat.StateFailed
)

// PrewarmMode says what a start does with the newest dump.
type PrewarmMode string

const (
	PrewarmBackground PrewarmMode = "background" // load it behind the first answer
	PrewarmBlocking   PrewarmMode = "blocking"   // load it before Open returns, for PrewarmLimit at most, and the rest behind it
	PrewarmOff        PrewarmMode = "off"        // leave it
)

// Switch is a choice whose default is on.
type Switch string

const (
	On  Switch = "on"
	Off Switch = "off"
)

// Warmth keeps the list of wanted pages on the disk (the heat dump), so that a start that finds no memory knows which pages
// to read first, and reads them (prewarm). It may be used by many goroutines.
type Warmth struct{ db *DB }

// Warmth of the database.
func (db *DB) Warmth() *Warmth { return &Warmth{db} }

// Dump writes which pages are in memory, from hot to cold. It stalls nobody.
func (w *Warmth) Dump(ctx context.Context, o DumpOptions) (DumpInfo, error) {
	if w.db.closed.Load() {
		return DumpInfo{}, ErrClosed
	}
	i, err := w.db.warmer.Dump(ctx, o)
	return i, mapError(err)
}

// Load begins to read the pages of a dump into free memory, behind what it returns to, unless o says otherwise. A load that is
// under way, or that the start has yet to begin, ends as cancelled. A dump of other data is ErrForeignDump, a damaged one
// DamagedDumpError, and neither disturbs a load that is under way.
func (w *Warmth) Load(ctx context.Context, o LoadOptions) error {
	if w.db.closed.Load() {
		return ErrClosed
	}
	return mapError(w.db.warmer.Load(ctx, o))
}

// Pause holds the load until Resume. Reads under way end.
func (w *Warmth) Pause() { w.db.warmer.Pause() }

// Resume goes on where Pause stopped.
func (w *Warmth) Resume() { w.db.warmer.Resume() }

// Cancel ends the load. What it brought in stays.
func (w *Warmth) Cancel() { w.db.warmer.Cancel() }

// Settings as they are.
func (w *Warmth) Settings() WarmthSettings { return w.db.warmer.Settings() }

// Change makes the settings others, from now on; they are the options' at the next start.
func (w *Warmth) Change(s WarmthSettings) error { return w.db.warmer.Change(s) }

// Status of the load and the dumps.
func (w *Warmth) Status() WarmthStatus { return w.db.warmer.Status() }

// ServeAdmin answers the commands of `hearth warm` from other processes of the same user, over the socket admin.sock in the data
// directory, until ctx ends or the database is closed.
func (db *DB) ServeAdmin(ctx context.Context) error {
	if db.closed.Load() {
		return ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(db.ctx, cancel)
	defer stop()
	err := make(chan error, 1)
	db.wg.Go(func() { err <- admin.Serve(ctx, db.dir, db.Warmth()) })
	return <-err
}

// prewarm starts the warmer: the load of the newest dump, then dumps. With PrewarmBlocking it returns when the load has ended, or
// after PrewarmLimit.
func (s *start) prewarm(ctx context.Context) {
	db := s.db
	var load *heat.LoadOptions
	if db.opts.Prewarm != PrewarmOff {
		load = &heat.LoadOptions{Path: db.opts.PrewarmFile}
		db.warmer.Expect()
	}
	db.wg.Go(func() {
		<-db.logRead
		db.warmer.Run(db.ctx, load, db.warming)
	})
	if !db.opts.SmallPages {
		db.wg.Go(func() {
			<-db.warming
			db.hugePages()
		})
	}
	if db.opts.Prewarm == PrewarmBlocking {
		ctx, cancel := context.WithTimeout(ctx, db.opts.PrewarmLimit)
		defer cancel()
		db.opts.Logger.Info("the prewarm comes before the first answer", "limit", db.opts.PrewarmLimit)
		select { // the log is read first, which is within the limit, too
		case <-db.warming:
			db.warmer.Wait(ctx, db.opts.PrewarmLimit)
		case <-ctx.Done():
		}
	}
}

// hugePages are made of the pool's memory when it is all there and no load is under way: whoever reads into a piece of memory waits
// while it is copied, and readers who already wait for the disk are not to wait for that too.
func (db *DB) hugePages() {
	if db.pool.Grown(db.ctx) != nil {
		return
	}
	for db.warmer.Status().State == heat.StateLoading && db.ctx.Err() == nil {
		db.warmer.Wait(db.ctx, warmingLook)
	}
	db.region.Collapse(db.ctx)
}
