package wal

import (
	"context"
	"sync"

	"github.com/hearthdb/hearth/internal/page"
)

// passRead, in bytes, is how much of the log a pass reads at a time, one read after the other: on a disk that is held to 125 MB/s, beside 16
// readers who wait for a page each, that is three quarters of the bytes.
const passRead = 1 << 20

// pass is how far a Pass has come.
type pass struct {
	mu    sync.Mutex
	from  page.LSN      // all from here to its end has been read; while moved is not nil
	moved chan struct{} // closed when from has moved, or the pass has ended; nil when none is under way
}

// Pass reads the log of [from, to) and forgets it: the system has it in its cache then, so that the thousands of small reads of
// ReadBackward, of a slow disk, become some long ones. It begins at the end, for what is wanted of the log most is what changed last: of
// pages that were written back, and of pages that were made anew. One Pass at a time; ReadBackward waits for it where that is faster.
func (r *Reader) Pass(ctx context.Context, from, to page.LSN) error {
	defer r.pass.end()
	b := make([]byte, passRead)
	for at := to; at > from; {
		r.pass.cameTo(at)
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(passRead, at-from)
		at -= n
		if _, err := r.read(b[:n], at); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) cameTo(lsn page.LSN) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moved != nil {
		close(p.moved)
	}
	p.from, p.moved = lsn, make(chan struct{})
}

func (p *pass) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moved != nil {
		close(p.moved)
	}
	p.moved = nil
}

// await waits until the pass that is under way has come to lsn, or ends. False: nobody wants to know any more.
func (p *pass) await(lsn page.LSN, unwanted <-chan struct{}) bool {
	for {
		p.mu.Lock()
		from, moved := p.from, p.moved
		p.mu.Unlock()
		if moved == nil || from <= lsn {
			return true
		}
		select {
		case <-moved:
		case <-unwanted:
			return false
		}
	}
}
