package recovery

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/wal"
)

// history finds the records of single pages in the part of the log that is kept, [from, to): from the indexes of
// sealed segments, and by reading the last one, which has none.
type history struct {
	cfg      wal.ReaderConfig
	from, to page.LSN

	mu      sync.Mutex
	indexes []*wal.Index           // of the sealed segments, once wanted
	tail    map[page.ID][]page.LSN // groups of the unsealed rest, once wanted
	reader  *wal.Reader
}

// load reads the indexes and the tail. Under mu.
func (h *history) load() error {
	if h.reader != nil {
		return nil
	}
	r, err := wal.NewReader(h.cfg, h.from)
	if err != nil {
		return err
	}
	last := h.cfg.SegmentOf(h.to)
	var indexes []*wal.Index
	at := h.from
	for n := h.cfg.SegmentOf(h.from); n < last; n++ {
		x, err := wal.LoadIndex(h.cfg, n)
		if err != nil {
			r.Close()
			return fmt.Errorf("read the index of log segment %d: %w", n, err)
		}
		indexes = append(indexes, x)
		at = max(at, x.End)
	}
	tail := map[page.ID][]page.LSN{}
	t, err := wal.NewReader(h.cfg, at)
	if err != nil {
		r.Close()
		return err
	}
	defer t.Close()
	for {
		g, err := t.Next()
		if errors.Is(err, io.EOF) || err == nil && g.Start >= h.to {
			break
		} else if err != nil {
			r.Close()
			return err
		}
		for id := range wal.Records(g.Body) {
			if l := tail[id]; len(l) == 0 || l[len(l)-1] != g.Start {
				tail[id] = append(l, g.Start)
			}
		}
	}
	h.indexes, h.tail, h.reader = indexes, tail, r
	return nil
}

// pages tells the pages that the kept log names, some of them more than once.
func (h *history) pages(tell func(page.ID)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(); err != nil {
		return err
	}
	for _, x := range h.indexes {
		for _, id := range x.Pages() {
			tell(id)
		}
	}
	for id := range h.tail {
		tell(id)
	}
	return nil
}

// replay brings p, the image of page id, to the end of the log (rule 2). It returns the start of the first group
// that changed it, 0 if none did, and whether the first record it met makes the page whole by itself.
func (h *history) replay(id page.ID, p *page.Page) (first page.LSN, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(); err != nil {
		return 0, err
	}
	var starts []page.LSN
	for _, x := range h.indexes {
		starts = x.AppendLSNs(starts, id)
	}
	starts = append(starts, h.tail[id]...)
	for _, lsn := range starts {
		if lsn < h.from || lsn >= h.to {
			continue
		}
		g, err := h.reader.ReadGroup(lsn)
		if err != nil {
			return 0, fmt.Errorf("read the log at %d: %w", lsn, err)
		}
		if g.End <= p.LSN() {
			continue
		}
		if p.Kind() == page.KindZero {
			p.SetID(id)
		}
		for rid, edit := range wal.Records(g.Body) {
			if rid != id {
				continue
			}
			if err := page.Apply(p, edit); err != nil {
				return 0, &page.CorruptError{Page: id, What: fmt.Sprintf("the log at %d does not fit it: %v", lsn, err)}
			}
		}
		p.SetLSN(g.End)
		if first == 0 {
			first = lsn
		}
	}
	return first, nil
}

func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reader == nil {
		return nil
	}
	return h.reader.Close()
}
