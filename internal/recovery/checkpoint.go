package recovery

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/wal"
)

const (
	// checkpointEvery is the rhythm of write-back by age, and of looking whether the checkpoint can move.
	checkpointEvery = 50 * time.Millisecond
	// beginShare of the log size, in percent, is the age at which a changed page is written back; the pace rises from
	// there, from goShare on without rest, so that stopShare is reached only by writers faster than the disk, who then wait.
	beginShare, stopShare, goShare = 60, 90, 80
	// moveShare: the control file is written when the checkpoint moves by so many percent of the log size, or after
	// moveAfter.
	moveShare = 2
	moveAfter = 5 * time.Second
	// flushMost is how many pages one round of write-back takes.
	flushMost = 4096
	// refreshEvery is how many bytes of log go by until refreshPages of the changed pages, the hottest, are written back, young as they
	// may be. Every start reads them, and they change all the time (counters, inner pages, the only page of a small tree): without
	// its memory it would look for thousands of records of each, all over the log, while everybody waits for the page.
	refreshEvery, refreshPages = 32 << 20, 512
)

// Checkpointer writes old changes back at the pace of the log's growth and moves the checkpoint behind them.
type Checkpointer struct {
	fs      file.FS
	dir     string
	pool    *pool.Pool
	log     *wal.Log
	logger  *slog.Logger
	logSize page.LSN
	fresh   page.LSN // where the log was when hot pages were written back; of run

	hold atomic.Bool // rule 4: the plan's pages are not all redone

	mu       sync.Mutex // one move at a time; guards what follows
	control  Control
	moved    time.Time
	failed   bool // the last round failed, and said so
	stop     context.CancelFunc
	finished chan struct{}
}

// NewCheckpointer begins checkpointing. control is the value in the file. With hold the checkpoint stays until Release.
func NewCheckpointer(fsys file.FS, dir string, control Control, p *pool.Pool, l *wal.Log, logSize int64, hold bool, logger *slog.Logger) *Checkpointer {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Checkpointer{
		fs: fsys, dir: dir, pool: p, log: l, logger: logger, logSize: page.LSN(logSize),
		fresh: l.Tail(), control: control, moved: time.Now(), stop: cancel, finished: make(chan struct{}),
	}
	c.hold.Store(hold)
	c.limitLog()
	go c.run(ctx)
	return c
}

// Release lets the checkpoint move: the plan is done. The control file says so too.
func (c *Checkpointer) Release() error {
	c.hold.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.control.Redoing {
		next := c.control
		next.Redoing = false
		if err := WriteControl(c.fs, c.dir, &next); err != nil {
			return err
		}
		c.control = next
	}
	c.limitLog()
	return nil
}

// Age of the checkpoint, in bytes of log.
func (c *Checkpointer) Age() int64 { return int64(c.log.Tail() - c.LSN()) }

// LSN before which no record is needed.
func (c *Checkpointer) LSN() page.LSN {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.control.Checkpoint
}

func (c *Checkpointer) run(ctx context.Context) {
	defer close(c.finished)
	t := time.NewTicker(checkpointEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		err := c.round(ctx)
		c.mu.Lock()
		if err != nil && !c.failed && ctx.Err() == nil {
			c.logger.Error("the checkpoint cannot move; it is tried again", "error", err)
		}
		c.failed = err != nil
		c.mu.Unlock()
	}
}

// round writes back what is too old and moves the checkpoint if that is worth a write.
func (c *Checkpointer) round(ctx context.Context) error {
	tail := c.log.Tail()
	age := page.LSN(c.Age())
	if tail-c.fresh >= refreshEvery {
		if err := c.pool.FlushHottest(ctx, refreshPages); err != nil {
			return err
		}
		c.fresh = tail
	}
	begin := c.logSize * beginShare / 100
	if age > begin && !c.hold.Load() {
		// The further the age is beyond the beginning, the younger the changes that are written.
		over := age - begin
		target := tail - begin + over*2
		if _, err := c.pool.FlushBefore(ctx, min(target, tail), flushMost); err != nil {
			return err
		}
	}
	if err := c.move(false); err != nil {
		return err
	}
	for page.LSN(c.Age()) > c.logSize*goShare/100 && !c.hold.Load() && ctx.Err() == nil {
		n, err := c.pool.FlushBefore(ctx, c.log.Tail()-c.logSize*beginShare/100, flushMost)
		if err != nil {
			return err
		}
		if err := c.move(true); err != nil {
			return err
		}
		if n == 0 { // what holds the checkpoint back is being changed or on its way
			return nil
		}
	}
	return nil
}

// limitLog tells the pool how far the log may grow: while the checkpoint is held by twice as much, or writers would wait for the redo
// of a log that was nearly full. Under mu, or before anybody else has c.
func (c *Checkpointer) limitLog() {
	size := c.logSize
	if c.hold.Load() {
		size *= 2
	}
	c.pool.SetLogLimit(c.control.Checkpoint + size*stopShare/100)
}

// move writes the control file if the checkpoint can go on by enough, or at all with force.
func (c *Checkpointer) move(force bool) error {
	if c.hold.Load() {
		return nil
	}
	upto := min(c.log.Tail(), c.log.Durable()) // never beyond what the file has of the log
	at := c.pool.MinFirst(upto)
	c.mu.Lock()
	defer c.mu.Unlock()
	by := at - min(at, c.control.Checkpoint)
	if by == 0 || !force && by < c.logSize*moveShare/100 && time.Since(c.moved) < moveAfter {
		return nil
	}
	next := c.control
	next.Checkpoint = at
	if err := WriteControl(c.fs, c.dir, &next); err != nil {
		return err
	}
	c.control, c.moved = next, time.Now()
	c.limitLog()
	c.log.SetKeep(at)
	return nil
}

// Now writes back everything changed before the call and moves the checkpoint there.
func (c *Checkpointer) Now(ctx context.Context) error {
	if err := c.pool.FlushAll(ctx); err != nil {
		return err
	}
	if err := c.log.WaitDurable(ctx, c.log.Tail()); err != nil {
		return err
	}
	return c.move(true)
}

// Close stops checkpointing. With flushed, everything was written (Now), nobody changed anything since, and the control
// file says so.
func (c *Checkpointer) Close(flushed bool) error {
	c.stop()
	<-c.finished
	c.pool.SetLogLimit(pool.NoLogLimit)
	if !flushed {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.control.Flushed = true
	return WriteControl(c.fs, c.dir, &c.control)
}
