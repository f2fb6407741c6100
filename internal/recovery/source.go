package recovery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// Source is the files with redo on first touch over them: what the pool reads from.
type Source struct {
	files   *datafile.Set
	hist    *history
	onFatal func(error)

	total, redone atomic.Int64 // see Progress

	mu    sync.RWMutex         // guards what follows
	redo  map[page.ID]struct{} // pages whose image in the file lacks records of the kept log
	named bool                 // besides, any page that the kept log names may lack some
}

// NewSource is the source for a plan: pages that it wants redone are brought forward when they are first read. onFatal hears of
// it when a write failed in a way that leaves unknown what the files hold.
func NewSource(files *datafile.Set, p *Plan, onFatal func(error)) *Source {
	return &Source{files: files, hist: p.hist, redo: p.Redo, named: p.Named, onFatal: onFatal}
}

var classes = [...]datafile.Class{
	pool.ClassMiss: datafile.ClassMiss, pool.ClassWriteBack: datafile.ClassWriteBack,
	pool.ClassRedo: datafile.ClassRedo, pool.ClassPrewarm: datafile.ClassPrewarm,
	pool.ClassReadAhead: datafile.ClassReadAhead,
}

// ReadPage implements pool.Source.
func (s *Source) ReadPage(ctx context.Context, id page.ID, p *page.Page, class pool.Class) (page.LSN, error) {
	if err := s.files.ReadPage(ctx, id, p, classes[class]); err != nil {
		return 0, err
	}
	return s.complete(id, p)
}

// ReadPages implements pool.Source.
func (s *Source) ReadPages(ctx context.Context, id page.ID, pages []*page.Page, reads []pool.Read, class pool.Class) error {
	if err := s.files.ReadPages(ctx, id, pages, classes[class]); err != nil {
		if errors.As(err, new(datafile.ErrNoSpace)) {
			return pool.ErrGone
		}
		return err
	}
	for i, p := range pages {
		if p != nil {
			reads[i].First, reads[i].Err = s.complete(id+page.ID(i), p)
		}
	}
	return nil
}

// complete makes the image of a page, as its file has it, the page as it has to be.
func (s *Source) complete(id page.ID, p *page.Page) (page.LSN, error) {
	if err := p.Verify(id); err != nil {
		return s.rebuild(id, p, err)
	}
	s.mu.RLock()
	_, redo := s.redo[id]
	redo = redo || s.named
	s.mu.RUnlock()
	if !redo {
		return 0, nil
	}
	return s.hist.replay(id, p)
}

// Repair implements pool.Source.
func (s *Source) Repair(ctx context.Context, id page.ID, p *page.Page) (page.LSN, error) {
	if err := s.files.ReadPage(ctx, id, p, datafile.ClassMiss); err != nil {
		return 0, err
	}
	if err := p.Verify(id); err != nil {
		return s.rebuild(id, p, err)
	}
	return s.hist.replay(id, p)
}

// rebuild makes a page from the log alone, for want of an image. That needs the record that made the page.
func (s *Source) rebuild(id page.ID, p *page.Page, damage error) (page.LSN, error) {
	clear(p[:])
	first, err := s.hist.replay(id, p)
	if err == nil && first != 0 {
		return first, nil
	}
	var c *page.CorruptError
	if errors.As(damage, &c) {
		c.File = s.files.Path(id.Space())
	}
	return 0, damage
}

// WritePages implements pool.Source. Pages of a space that was dropped meanwhile have nowhere to go and are done.
func (s *Source) WritePages(ctx context.Context, writes []pool.Write) error {
	out := make([]datafile.Write, 0, len(writes))
	for _, w := range writes {
		out = append(out, datafile.Write(w))
	}
	for {
		err := s.files.WritePages(ctx, out)
		var gone datafile.ErrNoSpace
		if errors.As(err, &gone) {
			out = slices.DeleteFunc(out, func(w datafile.Write) bool { return w.ID.Space() == gone.Space })
			if len(out) > 0 {
				continue
			}
			return nil
		}
		if errors.As(err, new(*datafile.StoppedError)) {
			s.onFatal(err)
		}
		return err
	}
}

// done forgets the plan's pages, when all of them are in the pool or written.
func (s *Source) done() {
	s.mu.Lock()
	s.redo, s.named = nil, false
	s.mu.Unlock()
}

// Close lets go of the log files it reads.
func (s *Source) Close() error { return s.hist.close() }
