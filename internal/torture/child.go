package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hearthdb/hearth"
)

const (
	// lockWait is short, so that waits time out at all within a life of a second.
	lockWait = 150 * time.Millisecond
	// logFlush is how long a commit that does not wait for the disk is only in memory: long enough to be killed in.
	logFlush = 300 * time.Millisecond
)

// life is a child at work.
type life struct {
	order order
	db    *hearth.DB
	teller
	failure sync.Once
}

// Child is the process that is killed. It returns when it has closed in order, or when it failed.
func Child(in io.Reader, out io.Writer) error {
	c := &life{teller: teller{w: out}}
	if err := json.NewDecoder(in).Decode(&c.order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		io.Copy(io.Discard, in) // ends when the parent says so, or is gone
		if c.order.Ending == endKilled {
			os.Exit(1)
		}
		stop()
	}()
	if err := c.live(ctx); err != nil {
		c.fail(err)
	}
	return nil
}

// fail ends the life with what should not have happened.
func (c *life) fail(err error) {
	c.failure.Do(func() {
		c.tell(toldFailure, []byte(err.Error()))
		os.Exit(1)
	})
	select {} // another goroutine was first
}

func (c *life) live(ctx context.Context) error {
	o := &c.order
	opts := &hearth.Options{
		PoolSize: o.Pool, RingSize: o.Ring, LogSize: o.Log, SegmentSize: o.Segment,
		MemoryDir: o.Memory, Memory: hearth.MemoryRequire, Durability: o.Durability,
		LockWait: lockWait, LogFlushInterval: logFlush,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if o.MemoryOff {
		opts.Memory = hearth.MemoryOff
	}
	if err := c.tell(toldStart, nil); err != nil {
		return err
	}
	// What follows the open must not be cut short by the wish to close in order, hence the other context.
	var err error
	if c.db, err = hearth.Open(context.Background(), o.Dir, opts); err != nil {
		return err
	}
	if err := c.tellJSON(toldOpen, c.db.StartReport()); err != nil {
		return err
	}
	found, err := c.tellAll(context.Background())
	if err != nil {
		return fmt.Errorf("read all rows: %w", err)
	}
	if o.Check {
		problems, err := c.db.Check(context.Background())
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		if err := c.tellJSON(toldCheck, problems); err != nil {
			return err
		}
	}
	if err := c.load(ctx, found); err != nil {
		return err
	}
	if o.Ending == endFlushed {
		err = c.db.CloseFlush(context.Background())
	} else {
		err = c.db.Close()
	}
	if err != nil {
		return err
	}
	return c.tell(toldClosed, nil)
}

// load lets the writers work until ctx ends.
func (c *life) load(ctx context.Context, found *gathered) error {
	o := &c.order
	if found.bank == nil {
		w, err := c.writer(setupWriter, newState())
		if err != nil {
			return err
		}
		if err := w.setup(context.Background(), o.Accounts); err != nil {
			return fmt.Errorf("set up: %w", err)
		}
		for _, t := range fixedTrees {
			found.trees[t.name(0)] = map[string]stamp{}
		}
	}
	own := c.divide(&found.state)
	var writers []*writer
	for i, own := range own {
		w, err := c.writer(firstWriter+uint16(i), own)
		if err != nil {
			return err
		}
		w.seq = found.seqs[w.no]
		writers = append(writers, w)
	}
	watch, err := c.writer(firstWriter+uint16(o.Writers), nil)
	if err != nil {
		return err
	}
	if err := c.tell(toldLoad, nil); err != nil {
		return err
	}
	var wg sync.WaitGroup
	work := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && !(errors.Is(err, context.Canceled) && ctx.Err() != nil) {
				c.fail(err)
			}
		})
	}
	for _, w := range writers {
		work(w.run)
	}
	work((&watcher{watch}).run)
	wg.Wait()
	return nil
}

// divide gives each writer the rows of its own keys.
func (c *life) divide(all *state) []*state {
	own := make([]*state, c.order.Writers)
	for i := range own {
		own[i] = newState()
		for _, t := range fixedTrees {
			own[i].trees[t.name(0)] = map[string]stamp{}
		}
	}
	of := func(no uint16) *state {
		if i := int(no) - firstWriter; i >= 0 && i < len(own) {
			return own[i]
		}
		return newState() // of nobody; the parent complains
	}
	for name, rows := range all.trees {
		if owner, ok := ownerOf(name); ok {
			of(owner).trees[name] = rows
			continue
		}
		for key, s := range rows {
			no, ok := writerOf(name, []byte(key))
			if mine := of(no).trees[name]; ok && mine != nil {
				mine[key] = s
			}
		}
	}
	return own
}
