package slowlogd

import (
	"bytes"
	"io"
	"os"
	"sort"
	"sync"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// markSpacing is how far apart marks are, in bytes: no client needs a larger buffer to go from one to the next, save in an entry
// that is longer.
const markSpacing = 64 << 10

// uncounted is the number of entries before a boundary that nobody counted up to.
const uncounted = -1

// mark is a boundary between entries.
type mark struct {
	offset  int64
	entries int64 // before it, counted from the segment's first mark, or uncounted
}

// state is what a reader of the log knows at a boundary.
type state struct {
	schema string
	known  bool
	time   string
}

// segment is one file of the log, from its creation to its end. A file that was truncated is another one afterwards.
type segment struct {
	inode  uint64
	packed string // the ending of a compressed file
	base   int64  // bytes of the log before it, counted from the first file that was followed
	before string // the token of the end of the file before it; empty: none is known

	mu    sync.Mutex
	file  *os.File // nil: nobody uses it, or it was truncated and there is no copy
	head  []byte   // the first bytes, as far as they are known
	sum   uint64   // of them, once they are all that is needed; 0: not yet known
	marks []mark   // some boundaries, the last of them how far clients may read; none: an older file, to be read to its end
	at    state    // at the last mark
	final bool     // nothing will come behind the last mark
	torn  bool     // it ends inside an entry
	note  string   // what clients are told at its end
	next  *segment // the file after it, when final
	users int      // see hold
}

// print is what the file is known by now.
func (s *segment) print() print {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.printLocked()
}

func (s *segment) printLocked() print {
	if len(s.head) < headBytes && s.file != nil && s.packed == "" {
		if head, err := headOf(s.file); err == nil && bytes.HasPrefix(head, s.head) {
			s.head = head
		}
	}
	if len(s.head) < headBytes {
		return print{len(s.head), sum(s.head), s.inode}
	}
	if s.sum == 0 { // a token is made for each piece that a client gets
		s.sum = sum(s.head)
	}
	return print{len(s.head), s.sum, s.inode}
}

// token names a boundary in the file. Before its first entry the file looks like any other, so that the end of the one before
// it is named instead.
func (s *segment) token(at mark) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != "" && (at.offset == 0 || at.entries == 0) {
		return s.before
	}
	return tokenOf(s.printLocked(), at.offset)
}

// limit is how far clients may read.
func (s *segment) limit() mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limitLocked()
}

func (s *segment) limitLocked() mark {
	if len(s.marks) == 0 {
		return mark{0, uncounted}
	}
	return s.marks[len(s.marks)-1]
}

// start is the mark at the first byte.
func (s *segment) start() mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.marks) > 0 && s.marks[0].offset == 0 {
		return s.marks[0]
	}
	return mark{0, uncounted}
}

// boundary is the last mark in (offset, offset+size]; ok is false when there is none.
func (s *segment) boundary(offset, size int64) (m mark, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].offset > offset+size })
	if i == 0 || s.marks[i-1].offset <= offset {
		return mark{}, false
	}
	return s.marks[i-1], true
}

// publish moves the limit. Marks in between are thinned out to one in markSpacing.
func (s *segment) publish(m mark, at state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.marks); n >= 2 && m.offset-s.marks[n-2].offset < markSpacing {
		s.marks[n-1] = m
	} else {
		s.marks = append(s.marks, m)
	}
	s.at = at
}

// hold and release count who uses the segment: the follower, clients, and the segment before it, for whoever is there will come
// here. The last one closes the file.
func (s *segment) hold() *segment {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
	return s
}

func (s *segment) release() {
	for s != nil {
		s.mu.Lock()
		s.users--
		if s.users < 0 {
			panic("BUG: slowlogd: a segment was released once too often")
		}
		if s.users > 0 {
			s.mu.Unlock()
			return
		}
		if s.file != nil {
			s.file.Close()
			s.file = nil
		}
		next := s.next
		s.mu.Unlock()
		s = next
	}
}

// readAt reads a piece of the file as it is on the disk.
func (s *segment) readAt(p []byte, offset int64) (int, error) {
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	if f == nil {
		return 0, os.ErrClosed
	}
	return f.ReadAt(p, offset)
}

// replace puts another file in the place of the one that was truncated: its copy, or nothing.
func (s *segment) replace(f *os.File) (old *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.file = s.file, f
	return old
}

// opened is what is read now; replace changes it.
func (s *segment) opened() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}

// size of the file as it is on the disk.
func (s *segment) size() int64 {
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	if f == nil {
		return 0
	}
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// countEntries counts the entries in a piece of a log by reading it; ok is false when it cannot be read.
func countEntries(src io.ReaderAt, from, to int64) (n int64, ok bool) {
	r := slowlog.NewReader(io.NewSectionReader(src, from, to-from), slowlog.Options{Buffer: markSpacing, MaxText: markSpacing, Frames: true})
	var e slowlog.Entry
	for {
		switch err := r.Next(&e); err {
		case nil:
			n++
		case io.EOF:
			return n, true
		default:
			return 0, false
		}
	}
}

// lastBoundary is where the last entry of b begins, if another one is before it; else len(b). It looks only at the last lines,
// for files that nobody has taken apart. Line by line from the end, for bytes.LastIndex would hash all of b for what is not there.
func lastBoundary(b []byte) int {
	for end := len(b); ; {
		nl := bytes.LastIndexByte(b[:end], '\n')
		if nl < 1 {
			return len(b)
		}
		if line := b[nl+1:]; b[nl-1] == ';' && (bytes.HasPrefix(line, timeLine) || bytes.HasPrefix(line, userLine)) {
			return nl + 1
		}
		end = nl
	}
}
