package slowlogd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// errSince is of a place that a client asked for and that does not exist.
type errSince struct{ text string }

func (e errSince) Error() string { return e.text }

// sinceStart asks for all there is.
const sinceStart = "start"

// join finds the place a client asked for: "" (now), "start", "-10m" (as long ago), or a token. The segment is held.
func (f *follower) join(since string, now time.Time) (seg *segment, at mark, st state, err error) {
	for range joins {
		if seg, at, st, err = f.tryJoin(since, now); !errors.Is(err, errMovedNow) {
			break
		}
		time.Sleep(minLook)
	}
	return seg, at, st, err
}

// joins is how often a place is looked for in files that are rotated or truncated meanwhile.
const joins = 100

var errMovedNow = errors.New("the log is rotated faster than it can be read")

func (f *follower) tryJoin(since string, now time.Time) (seg *segment, at mark, st state, err error) {
	cur := f.holdCurrent()
	if cur == nil {
		return nil, mark{}, state{}, errNoLog
	}
	if since == "" {
		cur.mu.Lock()
		defer cur.mu.Unlock()
		return cur, cur.limitLocked(), cur.at, nil
	}
	defer cur.release()
	var find func(chain []*segment) (*segment, int64, error)
	if since == sinceStart {
		find = func(chain []*segment) (*segment, int64, error) { return chain[0], 0, nil }
	} else if strings.HasPrefix(since, "-") {
		ago, err := time.ParseDuration(since[1:])
		if err != nil || ago < 0 {
			return nil, mark{}, state{}, errSince{fmt.Sprintf("since=%s: write for example -10m, start, or a token", since)}
		}
		find = func(chain []*segment) (*segment, int64, error) { return findTime(chain, now.Add(-ago)) }
	} else {
		name, offset, ok := strings.Cut(since, ":")
		p, err := parsePrint(name)
		n, errN := strconv.ParseInt(offset, 10, 64)
		if !ok || err != nil || errN != nil || n < 0 {
			return nil, mark{}, state{}, errSince{fmt.Sprintf("since=%s is no token; tokens are in the header %s and in comments", since, cursorHeader)}
		}
		find = func(chain []*segment) (*segment, int64, error) { return findToken(chain, p, n) }
	}
	file := cur.opened()
	chain, err := f.chain()
	if err != nil {
		return nil, mark{}, state{}, err
	}
	defer chain[0].release()
	seg, offset, err := find(chain)
	if err == nil {
		st, err = stateIn(chain, seg, offset)
	}
	// A file that was truncated while we read it can be whole again, for the follower puts the copy in its place.
	if last := chain[len(chain)-1]; last != cur || cur.opened() != file || !cur.intact() {
		err = errMovedNow
	}
	if err != nil {
		return nil, mark{}, state{}, err
	}
	seg.hold()
	at = mark{offset, uncounted}
	seg.mu.Lock()
	defer seg.mu.Unlock()
	for _, m := range seg.marks {
		if m.offset == offset {
			at = m
		}
	}
	return seg, at, st, nil
}

// cursorHeader is the header of an answer that says where in the log it begins.
const cursorHeader = "Slowlog-Cursor"

// holdCurrent is the file that is followed now, held; nil: there has been none.
func (f *follower) holdCurrent() *segment {
	for {
		cur, _ := f.current()
		if cur == nil {
			return nil
		}
		cur.mu.Lock()
		alive := cur.users > 0 // else the follower has left it since
		if alive {
			cur.users++
		}
		cur.mu.Unlock()
		if alive {
			return cur
		}
	}
}

// errNoLog: the file is not there yet.
var errNoLog = errors.New("the log is not there yet")

// chain is all there is of the log, the oldest file first, which is held. The last is the file that is followed.
func (f *follower) chain() ([]*segment, error) {
	for range 100 {
		cur := f.holdCurrent()
		all, err := siblings(f.path)
		if err != nil {
			cur.release()
			return nil, err
		}
		mine := -1
		for i, s := range all {
			if inodeOf(s.info) == cur.inode {
				mine = i
			}
		}
		// Else it is rotated, or was truncated, right now, and the follower does not know it yet.
		if mine >= 0 && cur.intact() {
			if chain, ok := openChain(all[:mine], cur); ok {
				return chain, nil
			}
		}
		cur.release()
		time.Sleep(minLook)
	}
	return nil, fmt.Errorf("%s is rotated faster than its files can be opened", f.path)
}

// openChain opens files and links them. It fails when one was renamed since it was listed. A copy of cur, which is about to be
// truncated, is no file before it, be it half made. That files begin alike does not make them copies: before its first entry cur
// has a banner only, as all of them. One of which no more can be seen has its place in the chain, for the tokens that name it,
// but nothing is read from it: it may be a copy that is about to grow.
func openChain(all []sibling, cur *segment) (chain []*segment, ok bool) {
	defer func() {
		if !ok {
			for _, s := range chain {
				s.file.Close()
			}
		}
	}()
	for _, s := range all {
		file, err := os.Open(s.path)
		if errors.Is(err, os.ErrPermission) {
			continue // as good as deleted
		}
		if err != nil {
			return chain, false
		}
		seg := &segment{inode: inodeOf(s.info), packed: s.packed, file: file, final: true, users: 1}
		chain = append(chain, seg)
		if info, err := file.Stat(); err != nil || !os.SameFile(info, s.info) {
			return chain, false
		}
		if seg.head, err = seg.readHead(); err != nil && s.packed == "" {
			return chain, false
		} // a damaged compressed one keeps its place, where clients are told
		if !cur.beginsWith(seg.head) {
			continue
		}
		if hasEntry(seg.head) {
			file.Close()
			chain = chain[:len(chain)-1]
		} else {
			seg.marks = []mark{{0, 0}}
		}
	}
	chain = append(chain, cur)
	for i := len(chain) - 2; i >= 0; i-- {
		s := chain[i]
		s.next = chain[i+1]
		s.base = s.next.base - s.size()
		s.torn = len(s.marks) == 0 && !s.endsLine()
	}
	for i, s := range chain[:len(chain)-1] {
		if i > 0 && chain[i-1].packed == "" {
			s.before = chain[i-1].token(mark{chain[i-1].size(), uncounted})
		}
	}
	return chain, true
}

func (s *segment) readHead() ([]byte, error) {
	r, err := unpack(s.file, s.packed)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readHead(r)
}

// endsLine says whether the file ends with a newline, or is empty. A compressed one is believed to.
func (s *segment) endsLine() bool {
	size := s.size()
	if s.packed != "" || size == 0 {
		return true
	}
	var last [1]byte
	n, _ := s.readAt(last[:], size-1)
	return n == 1 && last[0] == '\n'
}

// intact says whether the file still is what the follower takes it for.
func (s *segment) intact() bool {
	if s.size() < s.limit().offset {
		return false
	}
	var now [headBytes]byte
	n, _ := s.readAt(now[:], 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.HasPrefix(now[:n], s.head)
}

// beginsWith says whether the first bytes of another file, all it has or headBytes of them, are those of this one.
func (s *segment) beginsWith(head []byte) bool {
	s.print() // reads them as far as they are there by now
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.HasPrefix(s.head, head)
}

// is says whether the file is the one that p names.
func (s *segment) is(p print) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.matches(s.head)
}

// findToken finds the file a token names. Of several that begin alike the inode decides; where it is none of theirs, for files
// are copied and compressed, equal fingerprints of full length are of copies, and shorter ones are of a file that had a banner
// only, as all of them.
func findToken(chain []*segment, p print, offset int64) (*segment, int64, error) {
	var found *segment
	alike := 0
	for _, s := range chain {
		if !s.is(p) {
			continue
		}
		if alike++; found == nil || s.inode == p.inode || found.inode != p.inode {
			found = s
		}
	}
	switch {
	case found == nil:
		return nil, 0, errSince{fmt.Sprintf("since=%v:%d: that file is gone; the oldest there is begins with since=%s", p, offset, sinceStart)}
	case alike > 1 && found.inode != p.inode && p.length < headBytes:
		return nil, 0, errSince{fmt.Sprintf("since=%v:%d: that file is gone, or is one of %d that begin alike; the oldest there is begins with since=%s", p, offset, alike, sinceStart)}
	case found.packed == "" && offset > max(found.size(), found.limit().offset):
		return nil, 0, errSince{fmt.Sprintf("since=%v:%d: the file has only %d bytes", p, offset, found.size())}
	}
	return found, offset, nil
}

// stream reads a file from a boundary on, or from the first line behind any other place.
func (s *segment) stream(offset int64) (r io.ReadCloser, start int64, err error) {
	if s.packed != "" {
		r, err := unpack(s.file, s.packed)
		return r, 0, err
	}
	if offset > 0 {
		buf := make([]byte, markSpacing)
		n, _ := s.readAt(buf, offset-1)
		offset += int64(bytes.IndexByte(buf[:n], '\n'))
	}
	return io.NopCloser(io.NewSectionReader(readerAt{s}, offset, math.MaxInt64-offset)), offset, nil
}

type readerAt struct{ *segment }

func (r readerAt) ReadAt(p []byte, offset int64) (int, error) { return r.readAt(p, offset) }

// probe is how much is read to find an entry with a time.
const probe = 1 << 20

// entryAfter is the first entry at or behind an offset whose end is known and not before t.
func (s *segment) entryAfter(offset int64, t time.Time, limit int64) (at int64, ended time.Time, ok bool) {
	src, start, err := s.stream(offset)
	if err != nil {
		return 0, time.Time{}, false
	}
	defer src.Close()
	r := slowlog.NewReader(io.LimitReader(src, limit), slowlog.Options{Offset: start, MaxText: markSpacing, Buffer: markSpacing})
	var e slowlog.Entry
	for r.Next(&e) == nil {
		if e.Offset >= offset && !e.Ended.IsZero() && !e.Ended.Before(t) && e.Kind != slowlog.Partial {
			return e.Offset, e.Ended, true
		}
	}
	return 0, time.Time{}, false
}

// findTime finds the first entry that ended at t or later, believing that times grow.
func findTime(chain []*segment, t time.Time) (*segment, int64, error) {
	i := len(chain) - 1
	for ; i > 0; i-- {
		if _, first, ok := chain[i].entryAfter(0, time.Time{}, probe); ok && first.Before(t) {
			break
		}
	}
	seg := chain[i]
	lo, hi := int64(0), int64(0)
	if seg.packed == "" {
		hi = seg.size()
	}
	for hi-lo > probe {
		mid := lo + (hi-lo)/2
		if _, ended, ok := seg.entryAfter(mid, time.Time{}, probe); ok && ended.Before(t) {
			lo = mid
		} else {
			hi = mid
		}
	}
	if at, _, ok := seg.entryAfter(lo, t, math.MaxInt64); ok {
		return seg, at, nil
	}
	if i+1 < len(chain) {
		return chain[i+1], 0, nil
	}
	return seg, seg.limit().offset, nil
}

// stateIn is what a reader of the log knows at a place: what the file says before it, else the files before that one.
func stateIn(chain []*segment, seg *segment, offset int64) (st state, err error) {
	i := len(chain) - 1
	for chain[i] != seg {
		i--
	}
	for back := 0; i >= 0 && back < maxFilesBack && (!st.known || st.time == ""); i, back = i-1, back+1 {
		at, err := chain[i].stateAt(offset)
		if err != nil && chain[i].packed != "" {
			break // it is damaged, and what held before it need not hold behind it
		}
		if err != nil {
			return state{}, err
		}
		if !st.known {
			st.schema, st.known = at.schema, at.known
		}
		if st.time == "" {
			st.time = at.time
		}
		if offset = math.MaxInt64; i > 0 && chain[i-1].packed == "" {
			offset = chain[i-1].size()
		}
	}
	return st, nil
}

// maxFilesBack is in how many files the last "use" and "# Time:" lines are looked for.
const maxFilesBack = 64

// stateAt is what a reader of the log knows at an offset of the file.
func (s *segment) stateAt(offset int64) (state, error) {
	if offset == 0 {
		return state{}, nil
	}
	if s.packed == "" {
		_, st, err := stateAt(readerAt{s}, offset)
		return st, err
	}
	src, _, err := s.stream(0)
	if err != nil {
		return state{}, err
	}
	defer src.Close()
	_, st, err := stateOf(io.LimitReader(src, offset), 0)
	return st, err
}
