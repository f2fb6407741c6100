package datafile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

const (
	// maxRun, in pages, is how many neighbours one write takes (512 KiB). Disks reach their full speed below that, and a
	// miss must not wait behind more.
	maxRun = 32
	// maxHomeWriters is how many runs of a batch are on their way home at a time. The scheduler bounds the sum over batches.
	maxHomeWriters = 8
)

// Write is a page to be written, stamped. Its bytes must stay as they are until WritePages returns.
type Write struct {
	ID   page.ID
	Page *page.Page
}

// WritePages writes pages home and makes them durable (rule 1). When a space is missing nothing is written.
func (s *Set) WritePages(ctx context.Context, writes []Write) error {
	if !s.restored.Load() || s.cfg.ReadOnly {
		panic("BUG: WritePages before RestoreTorn, or read-only")
	}
	if _, err := s.Torn(ctx); err != nil { // rule 3
		return err
	}
	if stopped := s.stopped.Load(); stopped != nil {
		return stopped
	}
	writes = slices.Clone(writes)
	slices.SortFunc(writes, func(a, b Write) int { return cmp.Compare(a.ID, b.ID) })
	validate(writes)
	atomics, others, err := s.makeRoom(writes)
	if err != nil {
		return err
	}
	if err := s.writeHome(ctx, atomics); err != nil {
		return err
	}
	for batch := range slices.Chunk(others, maxBatch) {
		if err := s.writeBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// validate panics on pages that must not come here: our bug found here does not reach the disk.
func validate(writes []Write) {
	for i, w := range writes {
		if i > 0 && w.ID == writes[i-1].ID {
			panic(fmt.Sprintf("BUG: page %v twice in one WritePages", w.ID))
		}
		if !file.Aligned(w.Page[:]) {
			panic(fmt.Sprintf("BUG: write page %v from %p, want a multiple of %d", w.ID, w.Page, file.Alignment))
		}
		if err := w.Page.Verify(w.ID); err != nil {
			panic(fmt.Sprintf("BUG: write page %v, which is not stamped or not it: %v", w.ID, err))
		}
	}
}

// makeRoom opens and grows the files, so that a full disk shows before anything is written, and divides the pages by
// how their files guard them. Both parts stay sorted.
func (s *Set) makeRoom(writes []Write) (atomics, others []Write, err error) {
	for of := range groups(writes, sameSpace) {
		last := of[len(of)-1].ID
		err := s.with(last.Space(), func(sp *space, f file.File) error {
			if err := sp.grow(f, offset(last)+page.Size); err != nil {
				return err
			}
			if f.AtomicUnit() >= page.Size {
				atomics = append(atomics, of...)
			} else {
				others = append(others, of...)
			}
			return nil
		})
		if err != nil {
			return nil, nil, pageError("make room for", last, err)
		}
	}
	return atomics, others, nil
}

func sameSpace(a, b Write) bool { return a.ID.Space() == b.ID.Space() }

// groups cuts writes wherever two neighbours do not join.
func groups(writes []Write, join func(a, b Write) bool) iter.Seq[[]Write] {
	return func(yield func([]Write) bool) {
		for len(writes) > 0 {
			n := 1
			for n < len(writes) && join(writes[n-1], writes[n]) {
				n++
			}
			if !yield(writes[:n]) {
				return
			}
			writes = writes[n:]
		}
	}
}

// writeBatch is rule 4 for files that know no atomic writes.
func (s *Set) writeBatch(ctx context.Context, batch []Write) error {
	slot, err := s.dw.take(ctx)
	if err != nil {
		return err
	}
	// Also after a failure at home, when the slot must stay: whoever takes it next sees that writing has stopped.
	defer s.dw.give(slot)
	if err := s.dw.write(ctx, slot, batch); err != nil {
		return err
	}
	return s.writeHome(ctx, batch)
}

// writeHome writes pages in place and syncs their files. Once begun it does not stop for ctx: the slot may only be
// given back when home is durable.
func (s *Set) writeHome(ctx context.Context, writes []Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	var runs [][]Write
	for run := range groups(writes, func(a, b Write) bool { return sameSpace(a, b) && a.ID+1 == b.ID }) {
		runs = slices.AppendSeq(runs, slices.Chunk(run, maxRun))
	}
	if err := together(len(runs), func(i int) error { return s.writeRun(ctx, runs[i]) }); err != nil {
		return err
	}
	files := slices.Collect(groups(writes, sameSpace))
	return together(len(files), func(i int) error { return s.syncSpace(files[i][0].ID.Space()) })
}

// writeRun writes neighbours home. That a space was removed meanwhile is no failure: nobody will ask for its pages.
func (s *Set) writeRun(ctx context.Context, run []Write) error {
	err := s.with(run[0].ID.Space(), func(_ *space, f file.File) error {
		if f.AtomicUnit() >= page.Size {
			return s.writeAtomics(ctx, f, run)
		}
		return s.writeVec(ctx, f, bytesOf(run), offset(run[0].ID))
	})
	if err == nil || errors.As(err, new(ErrNoSpace)) {
		return nil
	}
	return s.stop(pageError("write", run[0].ID, err))
}

func (s *Set) writeAtomics(ctx context.Context, f file.File, run []Write) error {
	for _, w := range run {
		begun, err := s.begin(ctx, ClassWriteBack)
		if err != nil {
			return err
		}
		err = f.WriteAtomic(w.Page[:], offset(w.ID))
		s.end(ClassWriteBack, begun, 0, page.Size)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeVec is one write in its turn.
func (s *Set) writeVec(ctx context.Context, f file.File, bufs [][]byte, off int64) error {
	begun, err := s.begin(ctx, ClassWriteBack)
	if err != nil {
		return err
	}
	n, err := f.WriteVecAt(bufs, off)
	s.end(ClassWriteBack, begun, 0, n)
	return err
}

func bytesOf(run []Write) [][]byte {
	bufs := make([][]byte, len(run))
	for i, w := range run {
		bufs[i] = w.Page[:]
	}
	return bufs
}

func (s *Set) syncSpace(no uint32) error {
	err := s.with(no, func(sp *space, f file.File) error { return sp.syncer.sync(s, f, &s.syncs.files) })
	if errors.As(err, new(ErrNoSpace)) {
		return nil
	}
	return err
}

// together does n things, up to maxHomeWriters at a time, all of them whatever fails, and returns the first error.
func together(n int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	var (
		next  atomic.Int32
		first atomic.Pointer[error]
		wg    sync.WaitGroup
	)
	for range min(n, maxHomeWriters) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	return nil
}
