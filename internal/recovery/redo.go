package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/wal"
)

// RedoStats counts what a redo did.
type RedoStats struct {
	Groups  int64
	Records int64 // applied
	Bytes   int64 // of log read
}

// redoWorkers is how many goroutines apply records, per core: more than one, since they also wait for reads.
const redoWorkers = 8

// RedoAll brings every page named in [plan.Checkpoint, plan.End) forward: one goroutine reads the log, others apply it,
// each to the pages that hash to it, in the order of the log. progress is told how far it is, in percent of the log that was
// handed out, from one goroutine and never the same twice; it may be nil.
func RedoAll(ctx context.Context, p *pool.Pool, plan *Plan, progress func(percent int)) (RedoStats, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := redoWorkers * runtime.GOMAXPROCS(0)
	in := make([]chan wal.Group, n)
	var wg sync.WaitGroup
	var records atomic.Int64
	for w := range n {
		in[w] = make(chan wal.Group, 64)
		wg.Go(func() {
			for g := range in[w] {
				if ctx.Err() != nil {
					continue
				}
				applied, err := redoGroup(ctx, p, g, func(id page.ID) bool { return workerOf(id, n) == w })
				records.Add(applied)
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	stats, err := readInto(ctx, plan, in, progress)
	for _, c := range in {
		close(c)
	}
	wg.Wait()
	stats.Records = records.Load()
	if cause := context.Cause(ctx); cause != nil {
		return stats, fmt.Errorf("redo: %w", cause)
	}
	return stats, err
}

func workerOf(id page.ID, n int) int { return int(uint64(id) * 0x9E3779B97F4A7C15 >> 32 % uint64(n)) }

// readInto reads the log and hands each group to the workers that have pages in it.
func readInto(ctx context.Context, plan *Plan, in []chan wal.Group, progress func(percent int)) (RedoStats, error) {
	var s RedoStats
	told := -1
	tell := func(at page.LSN) {
		percent := int(100 * uint64(at-plan.Checkpoint) / uint64(plan.End-plan.Checkpoint))
		if percent > told && progress != nil {
			told = percent
			progress(percent)
		}
	}
	tell(plan.Checkpoint)
	r, err := wal.NewReader(plan.log, plan.Checkpoint)
	if err != nil {
		return s, err
	}
	defer r.Close()
	wanted := make([]bool, len(in))
	for ctx.Err() == nil {
		g, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && g.Start >= plan.End {
			return s, nil
		} else if err != nil {
			return s, err
		}
		if err := wal.CheckRecords(g.Body); err != nil {
			return s, fmt.Errorf("the log at %d: %w", g.Start, err)
		}
		clear(wanted)
		for id := range wal.Records(g.Body) {
			wanted[workerOf(id, len(in))] = true
		}
		g.Body = append([]byte(nil), g.Body...) // the reader's bytes are valid until the next call
		for w, yes := range wanted {
			if yes {
				in[w] <- g
			}
		}
		s.Groups++
		s.Bytes += int64(g.End - g.Start)
		tell(g.End)
	}
	return s, nil
}

// redoGroup applies the records of a group to the pages that are mine.
func redoGroup(ctx context.Context, p *pool.Pool, lg wal.Group, mine func(page.ID) bool) (applied int64, err error) {
	g := p.BeginRead(ctx)
	var newer, gone []page.ID // pages that have the group already; pages of spaces that were dropped later
	defer func() { g.EndRedo(lg.End, err != nil) }()
	for id, edit := range wal.Records(lg.Body) {
		if !mine(id) || has(newer, id) || has(gone, id) {
			continue
		}
		h, err := g.Fetch(id, pool.Exclusive)
		if err != nil {
			if errors.As(err, new(datafile.ErrNoSpace)) {
				gone = append(gone, id)
				continue
			}
			return applied, err
		}
		if h.Page.LSN() >= lg.End {
			newer = append(newer, id)
			continue
		}
		if err := g.Redo(h, edit, lg.Start); err != nil {
			return applied, &page.CorruptError{Page: id, What: fmt.Sprintf("the log at %d does not fit it: %v", lg.Start, err)}
		}
		applied++
	}
	return applied, nil
}

func has(ids []page.ID, id page.ID) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}

// RedoRest touches every page that the plan wants redone, so that the checkpoint may move again.
func RedoRest(ctx context.Context, p *pool.Pool, s *Source, plan *Plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ids := make(chan page.ID)
	var wg sync.WaitGroup
	for range redoWorkers {
		wg.Go(func() {
			for id := range ids {
				if err := p.Await(ctx, id); err != nil && !errors.As(err, new(datafile.ErrNoSpace)) {
					cancel(fmt.Errorf("redo of page %v: %w", id, err))
				}
			}
		})
	}
	for id := range plan.Redo {
		if ctx.Err() != nil {
			break
		}
		ids <- id
	}
	close(ids)
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	s.done()
	return nil
}
