package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A worker does operations until stop says so, and returns how many it did.
type worker func(ctx context.Context, w int, stop *atomic.Bool) (ops int, err error)

// run starts the workers together, stops them after d and returns their common rate.
func run(ctx context.Context, threads int, d time.Duration, work worker) (opsPerSecond float64, err error) {
	ops, elapsed, err := runWhile(ctx, threads, work, after(d))
	return rate(ops, elapsed), err
}

// after waits for d.
func after(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
}

// runWhile starts the workers together and stops them when meanwhile returns. The first
// worker that fails stops all.
func runWhile(ctx context.Context, threads int, work worker, meanwhile func(context.Context) error) (ops int, elapsed time.Duration, err error) {
	var (
		wg    sync.WaitGroup
		stop  atomic.Bool
		total atomic.Int64
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	for w := range threads {
		wg.Go(func() {
			n, err := work(ctx, w, &stop)
			if err != nil {
				cancel(err)
			}
			total.Add(int64(n))
		})
	}
	err = meanwhile(ctx)
	stop.Store(true)
	wg.Wait()
	elapsed = time.Since(start)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // why meanwhile was cut short
	}
	return int(total.Load()), elapsed, err
}

// touchAll reads the whole table once, and so brings it into memory, and checks that it
// is complete and in order.
func touchAll(ctx context.Context, s system, r rows) error {
	i, bad := 0, error(nil)
	key := make([]byte, keySize)
	err := s.scan(ctx, nil, func(k, v []byte) bool {
		if bad = r.check(v, i); bad == nil && string(k) != string(r.key(key, i)) {
			bad = fmt.Errorf("row %d: wrong key %x", i, k)
		}
		i++
		return bad == nil
	})
	switch {
	case err != nil:
		return err
	case bad != nil:
		return fmt.Errorf("%s: after load: %w", s.name(), bad)
	case i != r.n:
		return fmt.Errorf("%s: after load: %d rows, want %d", s.name(), i, r.n)
	}
	return nil
}
