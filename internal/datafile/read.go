package datafile

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// ReadPage reads one page; what lies beyond the end of the file is zero. ctx is heard while waiting for the turn, not
// on the disk.
func (s *Set) ReadPage(ctx context.Context, id page.ID, p *page.Page, class Class) error {
	if !file.Aligned(p[:]) {
		panic(fmt.Sprintf("BUG: read page %v to %p, want a multiple of %d", id, p, file.Alignment))
	}
	sp, f, err := s.find(id.Space())
	if err != nil {
		return pageError("read", id, err)
	}
	begun, err := s.begin(ctx, class)
	if err != nil {
		return err
	}
	suspect := s.suspect(id) // before the read: what was torn then may be mended, and above suspicion, at once after it
	n, err := f.ReadAt(p[:], offset(id))
	s.end(class, begun, n, 0)
	if n < page.Size {
		if err := sp.readEnd(id, err, p[n:]); err != nil {
			return err
		}
	}
	if suspect {
		return s.restore.Load().settle(ctx, id, p)
	}
	return nil
}

// unwanted is where bytes go that lie between pages somebody wants.
var unwanted = sync.Pool{New: func() any { return (*page.Page)(file.AlignedBuf(page.Size)) }}

// ReadPages is ReadPage for a run of neighbours, the first of which is id, in one operation. Nobody wants those that are nil.
// It waits for nothing: who reads for a class that may be held back does so in a Turn.
func (s *Set) ReadPages(ctx context.Context, id page.ID, pages []*page.Page, class Class) error {
	sp, f, err := s.find(id.Space())
	if err != nil {
		return pageError("read", id, err)
	}
	var scratch *page.Page
	bufs := make([][]byte, len(pages))
	for i, p := range pages {
		if p == nil {
			if scratch == nil {
				scratch = unwanted.Get().(*page.Page)
				defer unwanted.Put(scratch)
			}
			p = scratch
		}
		if !file.Aligned(p[:]) {
			panic(fmt.Sprintf("BUG: read page %v to %p, want a multiple of %d", id+page.ID(i), p, file.Alignment))
		}
		bufs[i] = p[:]
	}
	begun := s.count(class)
	suspicious := s.suspicious.Load() // before the read, as in ReadPage
	n, err := f.ReadVecAt(bufs, offset(id))
	s.counted(class, begun, n)
	if err != nil {
		if err := sp.readEnd(id+page.ID(n/page.Size), err, nil); err != nil {
			return err
		}
	}
	for i, p := range pages {
		if p == nil {
			continue
		}
		clear(p[min(max(n-i*page.Size, 0), page.Size):])
		if id := id + page.ID(i); suspicious && s.restore.Load().suspects[id] {
			if err := s.restore.Load().settle(ctx, id, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEnd says what a read that ended early means: rest is zero at the end of the file.
func (sp *space) readEnd(id page.ID, err error, rest []byte) error {
	if err == io.EOF {
		clear(rest)
		return nil
	}
	if sp.wasRemoved(err) {
		err = ErrNoSpace{sp.no}
	}
	return pageError("read", id, err)
}

func offset(id page.ID) int64 { return int64(id.No()) * page.Size }

// begin waits for the turn of an operation. Every begin without error is followed by end.
func (s *Set) begin(ctx context.Context, class Class) (time.Time, error) {
	if bounds[class].most == 0 {
		return time.Now(), s.sched.enter(ctx, class)
	}
	came := time.Now()
	if err := s.sched.enter(ctx, class); err != nil {
		return came, err
	}
	begun := time.Now()
	s.counters[class].waited.Add(int64(begun.Sub(came)))
	return begun, nil
}

// count and counted are begin and end for who has a turn already, or needs none.
func (s *Set) count(class Class) time.Time {
	if bounds[class].most == 0 {
		s.sched.lanes[class].inFlight.Add(1)
	}
	return time.Now()
}

func (s *Set) counted(class Class, begun time.Time, read int) {
	if bounds[class].most == 0 {
		s.sched.leave(class)
	}
	s.note(class, begun, read, 0)
}

func (s *Set) end(class Class, begun time.Time, read, written int) {
	s.sched.leave(class)
	s.note(class, begun, read, written)
}

func (s *Set) note(class Class, begun time.Time, read, written int) {
	c := &s.counters[class]
	c.busy.Add(int64(time.Since(begun)))
	if read > 0 {
		c.reads.Add(1)
		c.bytesRead.Add(uint64(read))
	}
	if written > 0 {
		c.writes.Add(1)
		c.bytesWritten.Add(uint64(written))
	}
}
