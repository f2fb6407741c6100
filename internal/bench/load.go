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
	var (
		wg    sync.WaitGroup
		stop  atomic.Bool
		total atomic.Int64
		first error
		once  sync.Once
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	for w := range threads {
		wg.Go(func() {
			n, err := work(ctx, w, &stop)
			if err != nil {
				once.Do(func() { first = err })
				stop.Store(true)
				cancel()
			}
			total.Add(int64(n))
		})
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	stop.Store(true)
	wg.Wait()
	elapsed := time.Since(start)
	if first != nil {
		return 0, first
	}
	return rate(int(total.Load()), elapsed), ctx.Err()
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
