package heat

import (
	"context"
	"log/slog"
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

	Interval time.Duration // between automatic dumps; below 0: none
	Percent  int           // of the pool's frames in a dump
	Kept     int           // automatic dumps that are kept
	Floor    int           // percent of the device's throughput that a load gets at least
	Order    Order
}

// Warmer dumps the heat of a pool and loads dumps into it.
type Warmer struct{ cfg Config }

// New is a Warmer that does nothing yet.
func New(cfg Config) *Warmer { return &Warmer{cfg: cfg} }

// Dump writes a dump.
func (w *Warmer) Dump(ctx context.Context, o DumpOptions) (DumpInfo, error) {
	return DumpInfo{}, ctx.Err()
}

// Load begins to load a dump.
func (w *Warmer) Load(ctx context.Context, o LoadOptions) error { return ctx.Err() }

func (w *Warmer) Pause()         {}
func (w *Warmer) Resume()        {}
func (w *Warmer) Cancel()        {}
func (w *Warmer) Status() Status { return Status{State: StateIdle} }
