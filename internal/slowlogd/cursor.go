package slowlogd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// cursor is where a client is in the log, and the log from there on as a stream of bytes. Comments of the daemon are in the
// stream, between entries (rule 6).
type cursor struct {
	f         *follower
	maxBehind int64 // bytes, 0: any

	mu      sync.Mutex
	seg     *segment // held
	at      mark     // what was read, in seg
	mid     bool     // inside an entry: at.entries is that of its start
	tail    []byte   // the last bytes before at.offset, once some were read
	zip     io.ReadCloser
	pending []byte // a comment that is to be read next
	stream  int64  // bytes read
	pieces  []piece
	changed <-chan struct{} // closed when something has changed since the last look at the log; of the reader alone

	skippedEntries, skippedBytes int64 // for ever
	uncounted                    bool  // entries were skipped that could not be counted
}

// piece says where a part of the stream came from.
type piece struct {
	stream int64
	seg    *segment // nil: a comment
	offset int64
}

// newCursor begins at a place in the log. The segment is held by the caller, and from now on by the cursor. A client that asked
// for what is far behind may have it: its bound is counted from there.
func newCursor(f *follower, seg *segment, at mark, maxBehind int64) *cursor {
	c := &cursor{f: f, seg: seg, at: at}
	f.enter()
	if maxBehind > 0 {
		c.maxBehind = maxBehind + max(c.behind(), 0)
	}
	return c
}

// close lets go of the log.
func (c *cursor) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave()
	c.seg.release()
	c.f.leave()
}

// leave ends what belongs to one segment.
func (c *cursor) leave() {
	if c.zip != nil {
		c.zip.Close()
		c.zip = nil
	}
	c.tail = c.tail[:0]
	c.mid = false
}

// token is where a client would go on that has everything up to now.
func (c *cursor) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seg.token(c.at)
}

func tokenOf(p print, offset int64) string { return fmt.Sprintf("%v:%d", p, offset) }

// tokenAt is the token for the place in the log that is at a position of the stream.
func (c *cursor) tokenAt(stream int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := len(c.pieces) - 1
	for i > 0 && c.pieces[i].stream >= stream {
		i--
	}
	for i > 0 && c.pieces[i].seg == nil {
		i--
	}
	if i < 0 || c.pieces[i].seg == nil {
		return c.seg.token(c.at)
	}
	p := c.pieces[i]
	c.pieces = append(c.pieces[:0], c.pieces[i:]...)
	return p.seg.token(mark{p.offset + stream - p.stream, uncounted})
}

// behind is how many bytes of the log the client has not read.
func (c *cursor) behind() int64 {
	cur, _ := c.f.current()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behindLocked(cur)
}

func (c *cursor) behindLocked(cur *segment) int64 {
	return cur.base + cur.limit().offset - c.seg.base - c.at.offset
}

// overrun makes a client skip that is too far behind (rule 7), even while it is stalled, so that files it held are let go. Inside
// an entry that waits until the entry is over.
func (c *cursor) overrun() {
	cur, _ := c.f.current()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.maxBehind > 0 && !c.mid && c.behindLocked(cur) > c.maxBehind {
		c.skipTo(cur)
	}
}

// skipTo goes to the end of the log.
func (c *cursor) skipTo(cur *segment) {
	limit := cur.limit()
	size, entries, known := int64(0), int64(0), true
	for s := c.seg; ; {
		from, to := s.start(), s.limit()
		if s == c.seg {
			from = c.at
		}
		if s == cur {
			to = limit
		}
		n, ok := s.between(from, to)
		entries, known = entries+n, known && ok
		if to.entries == uncounted { // of an older file
			to.offset = s.size()
		}
		if s == cur {
			size += max(to.offset-from.offset, 0)
			break
		}
		size += max(to.offset-from.offset, 0)
		s.mu.Lock()
		next := s.next
		s.mu.Unlock()
		if next == nil {
			panic("BUG: slowlogd: a client is not behind the follower")
		}
		s = next
	}
	cur.hold()
	c.leave()
	c.seg.release()
	c.seg, c.at = cur, limit
	c.skipped(entries, size, known, "behind")
}

// between counts entries between two marks of a segment; ok is false when it cannot be told.
func (s *segment) between(from, to mark) (n int64, ok bool) {
	if from.entries != uncounted && to.entries != uncounted {
		return to.entries - from.entries, true
	}
	s.mu.Lock()
	file := s.file
	first := mark{0, uncounted}
	if len(s.marks) > 0 {
		first = s.marks[0]
	}
	s.mu.Unlock()
	if file == nil || s.packed != "" {
		return 0, false
	}
	if to.entries == uncounted {
		return countEntries(file, from.offset, s.size())
	}
	n, ok = countEntries(file, from.offset, first.offset)
	return n + to.entries, ok
}

// skipped notes what the client did not get, for its status and its stream.
func (c *cursor) skipped(entries, size int64, known bool, why string) {
	c.skippedEntries += entries
	c.skippedBytes += size
	count := fmt.Sprint(entries)
	if !known {
		c.uncounted = true
		count = "at least " + count
	}
	c.comment("skipped %s entries %d bytes: %s", count, size, why)
}

// comment puts a line into the stream.
func (c *cursor) comment(format string, args ...any) {
	c.pending = append(c.pending, slowlog.CommentPrefix...)
	c.pending = fmt.Appendf(c.pending, format, args...)
	c.pending = append(c.pending, '\n')
}

// read returns bytes up to a boundary between entries where p has room for it, and slowlog.ErrQuiet when the client has all.
func (c *cursor) read(p []byte) (int, error) {
	_, c.changed = c.f.current() // before the look, so that no change falls between the two
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if len(c.pending) > 0 && !c.mid {
			n := copy(p, c.pending)
			c.pending = c.pending[:copy(c.pending, c.pending[n:])]
			c.came(n, nil, 0)
			return n, nil
		}
		n, err := c.readFile(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		// The segment is over.
		c.seg.mu.Lock()
		next, torn, note := c.seg.next, c.seg.torn, c.seg.note
		c.seg.mu.Unlock()
		if next == nil {
			panic("BUG: slowlogd: a segment that is over has no successor")
		}
		next.hold()
		c.leave()
		c.seg.release()
		c.seg, c.at = next, next.start()
		if torn {
			c.pending = append(c.pending, '\n')
			c.comment("the file ends inside an entry")
		}
		if note != "" {
			c.comment("%s", note)
		}
	}
}

// came notes n bytes of the stream.
func (c *cursor) came(n int, seg *segment, offset int64) {
	last := len(c.pieces) - 1
	if last < 0 || c.pieces[last].seg != seg || seg != nil && c.pieces[last].offset+c.stream-c.pieces[last].stream != offset {
		c.pieces = append(c.pieces, piece{stream: c.stream, seg: seg, offset: offset})
		if len(c.pieces) > 64 {
			c.pieces = append(c.pieces[:0], c.pieces[32:]...)
		}
	}
	c.stream += int64(n)
}

// errMoved: the file is not what it was; the follower will notice.
var errMoved = errors.New("slowlogd: the file was truncated under a client")

// readFile reads from the segment. EOF: it is over.
func (c *cursor) readFile(p []byte) (int, error) {
	s := c.seg
	if s.packed != "" {
		return c.readPacked(p)
	}
	s.mu.Lock()
	limit, final, first := s.limitLocked(), s.final, mark{0, uncounted}
	if len(s.marks) > 0 {
		first = s.marks[0]
	}
	s.mu.Unlock()

	size, to := int64(len(p)), mark{0, uncounted}
	switch {
	case limit.entries == uncounted: // an older file, to its end
		size = min(size, s.size()-c.at.offset)
	case c.at.offset < first.offset: // before what was taken apart
		if size = min(size, first.offset-c.at.offset); c.at.offset+size == first.offset {
			to = first
		}
	default:
		if m, ok := s.boundary(c.at.offset, size); ok {
			to, size = m, m.offset-c.at.offset
		} else {
			size = min(size, limit.offset-c.at.offset)
		}
	}
	if size <= 0 {
		if final {
			return 0, io.EOF
		}
		return 0, slowlog.ErrQuiet
	}
	n, err := c.pread(p[:size])
	if err != nil {
		return c.lost(limit, final, err)
	}
	p = p[:n]
	switch {
	case to.entries != uncounted:
		c.at, c.mid = to, false
	case limit.entries != uncounted && c.at.offset >= first.offset: // a piece of an entry longer than p
		c.at.offset += int64(n)
		c.mid = true
	default:
		if keep := lastBoundary(p); keep < n {
			n, c.mid = keep, false
		} else {
			c.mid = true
		}
		c.at = mark{c.at.offset + int64(n), uncounted}
		if c.at.offset == s.size() && limit.entries == uncounted {
			c.mid = false
		}
	}
	p = p[:n]
	if k := min(len(p), tailBytes); k == tailBytes {
		c.tail = append(c.tail[:0], p[n-k:]...)
	} else {
		c.tail = append(c.tail, p...)
		if extra := len(c.tail) - tailBytes; extra > 0 {
			c.tail = c.tail[:copy(c.tail, c.tail[extra:])]
		}
	}
	c.came(n, s, c.at.offset-int64(n))
	return n, nil
}

// pread reads all of p, if the file still has before it what the client has read.
func (c *cursor) pread(p []byte) (int, error) {
	n, err := c.seg.readAt(p, c.at.offset)
	if n < len(p) {
		if err == io.EOF || err == nil {
			err = errMoved
		}
		return 0, err
	}
	var before [tailBytes]byte
	k, _ := c.seg.readAt(before[:len(c.tail)], c.at.offset-int64(len(c.tail)))
	if !bytes.Equal(before[:k], c.tail) || c.seg.size() < c.at.offset+int64(n) {
		return 0, errMoved
	}
	return n, nil
}

// lost is told that the file cannot be read. Once the follower knows, too, what is missing is gone.
func (c *cursor) lost(limit mark, final bool, err error) (int, error) {
	if !final {
		return 0, slowlog.ErrQuiet
	}
	entries, known := int64(0), limit.entries != uncounted && c.at.entries != uncounted
	if known {
		entries = limit.entries - c.at.entries
	}
	size := limit.offset - c.at.offset
	if c.mid {
		c.pending = append(c.pending, '\n')
	}
	c.at, c.mid = limit, false
	why := "truncated before they were read"
	if !errors.Is(err, errMoved) {
		why = err.Error()
	}
	c.skipped(entries, size, known, why)
	return 0, io.EOF
}

// readPacked reads a compressed file, which is over when it ends.
func (c *cursor) readPacked(p []byte) (int, error) {
	if c.zip == nil {
		z, err := unpack(readerAt{c.seg}, c.seg.packed)
		if err != nil {
			c.comment("skipped %s: %v", "a compressed file", err)
			return 0, io.EOF
		}
		c.zip = z
		if n, err := io.CopyN(io.Discard, z, c.at.offset); err != nil {
			c.comment("a compressed file has %d bytes, not %d", n, c.at.offset)
			return 0, io.EOF
		}
	}
	n, err := io.ReadFull(c.zip, p)
	if n > 0 {
		c.at = mark{c.at.offset + int64(n), uncounted}
		c.mid = true
		c.came(n, c.seg, c.at.offset-int64(n))
		return n, nil
	}
	c.mid = false
	if err != io.EOF {
		c.comment("a compressed file is damaged behind %d bytes: %v", c.at.offset, err)
	}
	return 0, io.EOF
}

// wait returns when something has changed since the last read, or after d.
func (c *cursor) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.changed:
		return nil
	case <-t.C:
		return errHeartbeat
	}
}

// errHeartbeat: nothing came for as long as was to be waited.
var errHeartbeat = errors.New("slowlogd: heartbeat")
