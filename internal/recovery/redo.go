package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

const (
	// redoWorkers read and replay at a time. Replaying is work for a core, reading is not: more than there are cores.
	redoWorkers = 32
	// redoGap, in pages, is how much is read through at least rather than to read twice.
	redoGap = 2
)

// Progress of a redo behind the first answer.
type Progress struct {
	Total int64 // pages to redo; 0 while they are not known
	Done  int64
}

// Progress says how far RedoRest is.
func (s *Source) Progress() Progress { return Progress{s.total.Load(), s.redone.Load()} }

// Preload brings the log that any page may need into the system's memory, as fast as the disk gives it. Until it has returned a changed
// page costs many small reads of the log when it is first read, so reads that miss are worth little before, whoever reads pages that
// nobody waits for should wait for it, and loads get no turn meanwhile.
func (s *Source) Preload(ctx context.Context) error {
	release, err := s.files.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.hist.preload(ctx); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// RedoRest touches every page that the plan wants redone, so that the checkpoint may move again. Pages that somebody needs do not
// wait for it: they are redone when they are first read.
func RedoRest(ctx context.Context, p *pool.Pool, s *Source, plan *Plan) error {
	var ids []page.ID
	for id := range plan.Redo {
		ids = append(ids, id)
	}
	if plan.Named {
		named, err := s.hist.pages()
		if err != nil {
			return err
		}
		ids = append(ids, named...)
	}
	slices.Sort(ids)
	x := &rest{ids: slices.Compact(ids)}
	s.total.Store(int64(len(x.ids)))
	var wg sync.WaitGroup
	for range min(redoWorkers, len(x.ids)) {
		wg.Go(func() { x.work(ctx, p, s) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := x.failed.Load(); err != nil {
		return *err
	}
	s.done()
	return nil
}

// rest is the pages that are left to redo.
type rest struct {
	mu     sync.Mutex
	ids    []page.ID // ascending; guarded by mu
	failed atomic.Pointer[error]
}

// next takes the neighbours that one read should bring.
func (x *rest) next(most, gap int) []page.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := min(1, len(x.ids))
	for n > 0 && n < len(x.ids) && x.ids[n].Space() == x.ids[0].Space() &&
		int(x.ids[n]-x.ids[0]) < min(most, pool.MaxRun) && int(x.ids[n]-x.ids[n-1]) <= gap+1 {
		n++
	}
	part := x.ids[:n]
	x.ids = x.ids[n:]
	return part
}

// work redoes pages until none is left. What cannot be redone does not keep the others from it.
func (x *rest) work(ctx context.Context, p *pool.Pool, s *Source) {
	r := new(pool.Run)
	for {
		turn, err := s.files.Turn(ctx, 1)
		if err != nil {
			return
		}
		ids := x.next(max(turn.Pages, 1), max(turn.Free, redoGap))
		if len(ids) == 0 {
			turn.Done(0)
			return
		}
		r.Reset(ids[0], int(ids[len(ids)-1]-ids[0])+1)
		r.Redo = true
		for _, id := range ids {
			r.Want(int(id-ids[0]), 0)
		}
		turn.Done(p.Load(ctx, r, pool.ClassPrewarm))
		for _, id := range ids {
			// Those that are on their way in are waited for, those for which there is no frame get one now.
			if o := r.Pages[id-ids[0]].Outcome; o != pool.Loaded && o != pool.Gone {
				err := p.Redo(ctx, id)
				if err != nil && !errors.As(err, new(datafile.ErrNoSpace)) && ctx.Err() == nil {
					err = fmt.Errorf("redo of page %v: %w", id, err)
					x.failed.CompareAndSwap(nil, &err)
				}
			}
			s.redone.Add(1)
		}
	}
}
