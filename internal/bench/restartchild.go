package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/restart"
)

// RestartChild is the process that Restart restarts. It returns when it is told to stop, when it fails, or when the process
// that started it is gone.
func RestartChild(ctx context.Context, in io.Reader, to io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return fmt.Errorf("read the order: %w", errors.Join(lines.Err(), io.ErrUnexpectedEOF))
	}
	c := &restartChild{}
	if err := json.Unmarshal(lines.Bytes(), &c.order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	var mu sync.Mutex
	enc := json.NewEncoder(to)
	c.tell = func(t restartTold) {
		mu.Lock()
		defer mu.Unlock()
		enc.Encode(t)
	}
	commands := make(chan string)
	go func() {
		defer close(commands)
		for lines.Scan() {
			commands <- lines.Text()
		}
	}()
	return c.run(ctx, commands)
}

type restartChild struct {
	order restartOrder
	tell  func(restartTold)
	db    *hearth.DB

	first   sync.Once
	looks   int64
	failure atomic.Pointer[error]
}

func (c *restartChild) run(ctx context.Context, commands <-chan string) (err error) {
	o := c.order
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	opts := &hearth.Options{
		PoolSize: o.Pool, MemoryDir: o.Memory, Memory: hearth.MemoryRequire, Durability: hearth.DurabilityProcess, Logger: warnings,
		Prewarm: hearth.PrewarmBackground,
	}
	switch o.Prewarm {
	case MemoryCold:
		opts.Prewarm = hearth.PrewarmOff
	case MemoryPhysical:
		opts.PrewarmOrder = hearth.OrderPhysical
	}
	if c.db, err = hearth.Open(ctx, o.Dir, opts); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.db.Close()) }()
	if o.Fill {
		if err := c.fill(ctx); err != nil {
			return err
		}
	}
	if o.WarmAll {
		if err := c.warmAll(ctx); err != nil {
			return err
		}
	}

	ctx, cancel := context.WithCancel(ctx)
	var load sync.WaitGroup
	defer load.Wait()
	defer cancel()
	if !o.Fill {
		load.Go(func() { c.load(ctx) })
		if o.WarmAll {
			c.tell(restartTold{Ready: true})
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case command, ok := <-commands:
			switch {
			case !ok:
				return errors.New("not stopped: the parent is gone")
			case command == commandStop:
				return c.failed()
			case command == commandDump:
				if _, err := c.db.Warmth().Dump(ctx, hearth.DumpOptions{}); err != nil {
					return err
				}
				c.tell(restartTold{Dumped: true})
			default:
				return fmt.Errorf("unknown command %q", command)
			}
		}
	}
}

func (c *restartChild) failed() error {
	if err := c.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *restartChild) fill(ctx context.Context) error {
	if err := loadTree(ctx, c.db, hearthTree, rows{n: c.order.Rows}); err != nil {
		return err
	}
	if err := c.db.Checkpoint(ctx); err != nil {
		return err
	}
	s := c.db.Stats().Pool
	c.tell(restartTold{Ready: true, Pages: int64(s.Frames - s.Free)})
	return nil
}

// warmAll reads every page of the table.
func (c *restartChild) warmAll(ctx context.Context) error {
	return c.db.View(ctx, func(tx *hearth.Tx) error {
		t, err := tx.Tree(hearthTree)
		if err != nil {
			return err
		}
		cur, n, told := t.Cursor(), 0, time.Now()
		defer cur.Close()
		for ok := cur.First(); ok && ctx.Err() == nil; ok = cur.Next() {
			if n++; n%100_000 == 0 && time.Since(told) > 2*time.Second {
				told = time.Now()
				c.tell(restartTold{Progress: fmt.Sprintf("warming: %d %%", 100*n/c.order.Rows)})
			}
		}
		return errors.Join(cur.Err(), ctx.Err())
	})
}

// load reads until ctx ends, and tells a tick at a time.
func (c *restartChild) load(ctx context.Context) {
	o := c.order
	r := rows{n: o.Rows}
	z := newSpread(o.Spread, o.Rows)
	readers := o.Readers
	if o.Rate > 0 {
		readers = max(readers, openReaders)
	}
	ops := make([]restart.Op, readers)
	for w := range ops {
		rnd := newRand(o.Seed, os.Getpid()+w)
		key, value := make([]byte, keySize), make([]byte, 0, valueSize)
		ops[w] = func(ctx context.Context) error {
			i := rnd.IntN(r.n)
			if z != nil {
				i = z.draw(rnd)
			}
			err := c.db.View(ctx, func(tx *hearth.Tx) error {
				v, err := getRow(tx, hearthTree, r.key(key, i), value[:0])
				if err != nil {
					return err
				}
				return r.check(v, i)
			})
			if err != nil {
				if ctx.Err() == nil {
					c.failure.CompareAndSwap(nil, &err)
				}
				return err
			}
			c.first.Do(func() {
				c.tell(restartTold{First: time.Now().UnixNano(), Report: c.db.StartReport().String()})
			})
			return nil
		}
	}
	restart.Load{Rate: o.Rate, Patience: o.Patience, Facts: c.facts}.Run(ctx, ops, func(k restart.Tick) { c.tell(restartTold{Tick: &k}) })
}

const (
	restartTheta = 0.99
	// openReaders take the reads that arrive in an open loop: more than a disk answers at a time.
	openReaders = 64
	// factEvery: facts are looked up every so many ticks, since that walks over all descriptors.
	factEvery = 10
)

// Facts that the child tells.
const (
	factPages   = "pool pages"
	factMisses  = "misses" // since the start
	factLoaded  = "loaded" // pages, by the prewarm
	factTotal   = "total"  // pages, in its dump
	factPrewarm = "prewarm bytes/s"
	factBudget  = "budget bytes/s"     // that the prewarm gives itself and the readers
	factAlone   = "miss alone, us"     // how long a miss took when the prewarm paused
	factBeside  = "miss beside, us"    // how long it takes beside the prewarm
	factMost    = "most bytes/s"       // that the disk has shown
	factOp      = "bytes an operation" // takes as long as
)

func (c *restartChild) facts() map[string]float64 {
	if c.looks++; c.looks%factEvery != 0 {
		return nil
	}
	s, w := c.db.Stats(), c.db.Warmth().Status()
	return map[string]float64{
		factPages: float64(s.Pool.Frames - s.Pool.Free), factMisses: float64(s.Pool.Misses),
		factLoaded: float64(w.Loaded), factTotal: float64(w.Total), factPrewarm: w.BytesPerSecond,
		factBudget: w.Device.Budget, factAlone: 1e6 * w.Device.MissAlone, factBeside: 1e6 * w.Device.MissLatency,
		factMost: w.Device.BytesPerSecond, factOp: w.Device.OpBytes,
	}
}
