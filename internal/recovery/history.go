package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/wal"
)

// history finds the records of single pages in the part of the log that is kept, [from, to): from the indexes of
// sealed segments, and by reading the last one, which has none.
type history struct {
	cfg      wal.ReaderConfig
	from, to page.LSN
	ringTail map[page.ID][]wal.Group // of the plan's pages, all that lies behind the last index; nil if it was not collected

	mu      sync.Mutex
	indexes []*wal.Index           // of the sealed segments, once wanted
	rest    page.LSN               // where they end
	tail    map[page.ID][]page.LSN // groups from rest on, once wanted
	reader  *wal.Reader
}

// loadIndexes reads the indexes of the sealed segments, some at a time. Under mu, or before anybody else has h.
func (h *history) loadIndexes() error {
	if h.reader != nil {
		return nil
	}
	r, err := wal.NewReader(h.cfg, h.from)
	if err != nil {
		return err
	}
	first, last := h.cfg.SegmentOf(h.from), h.cfg.SegmentOf(h.to)
	indexes := make([]*wal.Index, last-first)
	errs := make([]error, last-first)
	var wg sync.WaitGroup
	slots := make(chan struct{}, indexReaders)
	for i := range indexes {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			indexes[i], errs[i] = wal.LoadIndex(h.cfg, first+uint64(i))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		r.Close()
		return fmt.Errorf("read the indexes of log segments %d to %d: %w", first, last-1, err)
	}
	h.rest = h.from
	for _, x := range indexes {
		h.rest = max(h.rest, x.End)
	}
	h.indexes, h.reader = indexes, r
	return nil
}

// indexReaders is how many indexes are read at a time: they are read once, at a start, before anybody else reads.
const indexReaders = 8

// collect notes what a ring that survived holds for some pages behind the last index, while it still holds it. It does
// nothing when that is more than the ring.
func (h *history) collect(ring []byte, ids map[page.ID]struct{}) error {
	if err := h.loadIndexes(); err != nil {
		return err
	}
	if h.to-h.rest > page.LSN(len(ring)-ringSlack) {
		return nil
	}
	cfg := h.cfg
	cfg.Ring, cfg.Durable = ring, h.rest
	found := map[page.ID][]wal.Group{}
	err := h.groups(cfg, func(g wal.Group, id page.ID) {
		if _, ok := ids[id]; !ok {
			return
		}
		l := found[id]
		if len(l) > 0 && l[len(l)-1].Start == g.Start {
			return
		}
		g.Body = bytes.Clone(g.Body)
		found[id] = append(l, g)
	})
	if err != nil {
		return err
	}
	for id := range ids {
		found[id] = append(found[id], []wal.Group(nil)...) // present, so that an empty list says: nothing there
	}
	h.ringTail = found
	return nil
}

// ringSlack is how much less than its length a ring is trusted to hold, in bytes: its last block may be written anew.
const ringSlack = 8192

// groups calls note for each record behind the indexes.
func (h *history) groups(cfg wal.ReaderConfig, note func(g wal.Group, id page.ID)) error {
	r, err := wal.NewReader(cfg, h.rest)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		g, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && g.Start >= h.to {
			return nil
		} else if err != nil {
			return err
		}
		for id := range wal.Records(g.Body) {
			note(g, id)
		}
	}
}

// loadTail reads what lies behind the indexes. Under mu.
func (h *history) loadTail() error {
	if h.tail != nil {
		return nil
	}
	tail := map[page.ID][]page.LSN{}
	err := h.groups(h.cfg, func(g wal.Group, id page.ID) {
		if l := tail[id]; len(l) == 0 || l[len(l)-1] != g.Start {
			tail[id] = append(l, g.Start)
		}
	})
	if err == nil {
		h.tail = tail
	}
	return err
}

// load reads the indexes, and what lies behind them.
func (h *history) load() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.loadIndexes(); err != nil {
		return err
	}
	return h.loadTail()
}

// pages is what the kept log names, ascending.
func (h *history) pages() ([]page.ID, error) {
	if err := h.load(); err != nil {
		return nil, err
	}
	var ids []page.ID
	for _, x := range h.indexes {
		ids = append(ids, x.Pages()...)
	}
	for id := range h.tail {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// preload brings the kept log into the system's memory.
func (h *history) preload(ctx context.Context) error {
	if err := h.load(); err != nil {
		return err
	}
	return h.reader.Pass(ctx, h.from, h.to)
}

// since lists, ascending, the groups that name a page and start at or after an LSN: where they start, and behind those the ones that are
// in memory. A group that starts before the LSN of a page ends no later, and is in the page.
func (h *history) since(id page.ID, lsn page.LSN) (starts []page.LSN, ring []wal.Group, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.loadIndexes(); err != nil {
		return nil, nil, err
	}
	for _, x := range h.indexes {
		if x.End > lsn {
			starts = x.AppendLSNs(starts, id)
		}
	}
	ring, inMemory := h.ringTail[id]
	if !inMemory {
		if err := h.loadTail(); err != nil {
			return nil, nil, err
		}
		starts = append(starts, h.tail[id]...)
	}
	from, _ := slices.BinarySearch(starts, max(h.from, lsn))
	to, _ := slices.BinarySearch(starts, h.to)
	ring = slices.DeleteFunc(slices.Clone(ring), func(g wal.Group) bool { return g.Start < max(h.from, lsn) || g.Start >= h.to })
	return starts[from:to], ring, nil
}

// replay brings p, the image of page id, to the end of the log (rule 2). It returns the start of the first group
// that changed it, 0 if none did.
func (h *history) replay(id page.ID, p *page.Page) (first page.LSN, err error) {
	starts, groups, err := h.since(id, p.LSN())
	switch {
	case err != nil:
		return 0, err
	case len(starts) > 0:
		first = starts[0]
	case len(groups) > 0:
		first = groups[0].Start
	default:
		return 0, nil
	}
	// Backward to where the page was made, or made anew: undo pages are, thousands of times in one log.
	slices.Reverse(groups)
	made := slices.IndexFunc(groups, func(g wal.Group) bool { return makes(g, id) })
	if made >= 0 {
		groups = groups[:made+1]
	} else {
		err := h.reader.ReadBackward(starts, func(g wal.Group) bool { // not under mu: many pages are replayed at a time
			groups = append(groups, g)
			return !makes(g, id)
		})
		if err != nil {
			return 0, fmt.Errorf("read the log: %w", err)
		}
	}
	for i, g := range slices.Backward(groups) {
		if p.Kind() == page.KindZero {
			p.SetID(id)
		}
		skip := i == len(groups)-1 && makes(g, id) // what comes before the edit that makes the page is of its life before
		for rid, edit := range wal.Records(g.Body) {
			if skip = skip && !(rid == id && page.Resets(edit)); skip || rid != id {
				continue
			}
			if err := page.Apply(p, edit); err != nil {
				return 0, &page.CorruptError{Page: id, What: fmt.Sprintf("the log at %d does not fit it: %v", g.Start, err)}
			}
		}
		p.SetLSN(g.End)
	}
	return first, nil
}

// makes says whether a group has an edit that makes the whole content of a page.
func makes(g wal.Group, id page.ID) bool {
	for rid, edit := range wal.Records(g.Body) {
		if rid == id && page.Resets(edit) {
			return true
		}
	}
	return false
}

func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reader == nil {
		return nil
	}
	return h.reader.Close()
}
