package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"sync"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// maxBacklog is how many segments' notes wait for the indexer, about 20 MiB each at most. Those that come when it is full are
// thrown away, and the segment is read again instead.
const maxBacklog = 3

// indexer is the goroutine that writes indexes beside sealed segments.
type indexer struct {
	y    *layout
	segs *segments
	log  *slog.Logger
	gone chan struct{}

	mu      sync.Mutex // guards everything below
	changed sync.Cond
	queue   []*notes
	busy    bool // with one taken from queue
	stopped bool
}

func (x *indexer) init(y *layout, segs *segments, have listing, start page.LSN, log *slog.Logger) {
	x.y, x.segs, x.log = y, segs, log
	x.gone = make(chan struct{})
	x.changed.L = &x.mu
	for _, n := range have.segments {
		if n < y.segmentOf(start) && !have.indexes[n] {
			x.queue = append(x.queue, &notes{segment: n, partial: true})
		}
	}
}

// add hands over the notes of a sealed segment, everything of which is durable.
func (x *indexer) add(n *notes) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) >= maxBacklog {
		n = &notes{segment: n.segment, partial: true}
	}
	x.queue = append(x.queue, n)
	x.changed.Broadcast()
}

func (x *indexer) run() {
	defer close(x.gone)
	for {
		x.mu.Lock()
		for len(x.queue) == 0 && !x.stopped {
			x.changed.Wait()
		}
		if x.stopped {
			x.mu.Unlock()
			return
		}
		n := x.queue[0]
		x.queue = x.queue[1:]
		x.busy = true
		x.mu.Unlock()
		x.one(n)
		x.mu.Lock()
		x.busy = false
		x.mu.Unlock()
	}
}

func (x *indexer) one(n *notes) {
	if !x.segs.pin(n.segment) {
		return // no longer needed
	}
	defer x.segs.unpin(n.segment)
	var err error
	ix := (*Index)(nil)
	if n.partial {
		ix, err = x.y.buildIndex(n.segment)
	} else {
		ix = n.index()
	}
	if err == nil && ix.End >= x.y.startOf(n.segment+1) {
		err = x.y.writeIndex(ix)
	}
	if err != nil {
		x.log.Warn("the index of a log segment could not be written; it will be built when it is needed", "segment", x.y.segmentPath(n.segment), "err", err)
	}
}

// close stops the goroutine. Indexes not yet written are built at the next start.
func (x *indexer) close() {
	x.mu.Lock()
	x.stopped = true
	x.changed.Broadcast()
	x.mu.Unlock()
	<-x.gone
}

// LoadIndex is the index of segment n, from its file or built again. It writes nothing. If the log ends in the segment,
// so does the index: see Index.End.
func LoadIndex(cfg ReaderConfig, n uint64) (*Index, error) {
	y, err := cfg.layout()
	if err != nil {
		return nil, err
	}
	return y.loadIndex(n)
}

// ReadIndex reads the index of segment n if it has one that is whole.
func ReadIndex(cfg ReaderConfig, n uint64) (*Index, error) {
	y, err := cfg.layout()
	if err != nil {
		return nil, err
	}
	return y.readIndex(n)
}

func (y *layout) loadIndex(n uint64) (*Index, error) {
	x, err := y.readIndex(n)
	if err == nil {
		return x, nil
	}
	x, buildErr := y.buildIndex(n)
	if buildErr != nil {
		return nil, errors.Join(buildErr, err)
	}
	return x, nil
}

func (y *layout) readIndex(n uint64) (*Index, error) {
	f, err := y.fs.OpenFile(y.path(indexName(n)), file.ReadOnly, filePerm)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > y.bytes {
		return nil, fmt.Errorf("log index %s: %d bytes, longer than its segment", f.Name(), size)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return y.decodeIndex(b, n)
}

// buildIndex reads segment n.
func (y *layout) buildIndex(n uint64) (*Index, error) {
	first, err := y.firstGroup(n)
	if err != nil {
		return nil, fmt.Errorf("build the index of log segment %d: %w", n, err)
	}
	found := newNotes(n)
	r := y.reader(nil, 0, first)
	defer r.Close()
	for r.End() < y.startOf(n+1) {
		g, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("build the index of log segment %d: %w", n, err)
		}
		found.add(g.Start, g.Body)
	}
	found.end = r.End()
	return found.index(), nil
}

// firstGroup finds where the first group of segment n starts: behind a group that began earlier, as the index of the
// segment before knows. Without that, the first position counts from which whole groups lead out of the segment.
// A value that looks like a group is not mistaken for one unless its author knew where in the log it would come to lie.
// When no group at all starts in n, those of the segment before lead to where one will.
func (y *layout) firstGroup(n uint64) (page.LSN, error) {
	if n == 0 {
		return FirstLSN, nil
	}
	if before, err := y.readIndex(n - 1); err == nil {
		return before.End, nil
	}
	first, found, err := y.scan(n)
	if err != nil || found {
		return first, err
	}
	if _, err := y.fs.Stat(y.segmentPath(n - 1)); err != nil {
		return y.startOf(n), nil
	}
	before, err := y.firstGroup(n - 1)
	if err != nil {
		return 0, err
	}
	end, err := y.chain(before, y.startOf(n))
	return max(end, y.startOf(n)), err
}

// scan looks at every position in segment n for the first group from which the chain leads furthest.
func (y *layout) scan(n uint64) (first page.LSN, found bool, err error) {
	from, to := y.startOf(n), y.startOf(n+1)
	r := y.reader(nil, 0, from)
	defer r.Close()
	b := make([]byte, to-from)
	got, err := r.read(b, from)
	if err != nil {
		return 0, false, err
	}
	reach := from
	for off := 0; off+groupHeader <= got && reach < to; {
		at := from + page.LSN(off)
		if _, why := decodeHeader(b[off:], at); why != "" {
			off += groupAlign
			continue
		}
		end, err := y.chain(at, to)
		if err != nil {
			return 0, false, err
		}
		if end > reach {
			first, found, reach = at, end > at, end
		}
		off = int(max(end, at+groupAlign) - from)
	}
	return first, found, nil
}

// chain is where the whole groups from at on end, or the first end at or above stop.
func (y *layout) chain(at, stop page.LSN) (page.LSN, error) {
	r := y.reader(nil, 0, at)
	defer r.Close()
	for r.End() < stop {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
	}
	return r.End(), nil
}

// writeIndex writes x beside its segment: a whole file or none.
func (y *layout) writeIndex(x *Index) error {
	tmp := y.path(indexTmp)
	f, err := y.fs.OpenFile(tmp, file.ReadWrite|file.Create, filePerm)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(x.encode(y.uuid), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = y.fs.Rename(tmp, y.path(indexName(x.Segment)))
	}
	return err
}

// removeIndex removes the index of segment n if there is one.
func (y *layout) removeIndex(n uint64) error {
	if err := y.fs.Remove(y.path(indexName(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
