package pool

import (
	"cmp"
	"context"
	"slices"
	"time"
	"unsafe"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// flushBatch is how many pages one write-back carries: what the doublewrite file takes at once.
const flushBatch = 128

// copyBuf is room for the copies of one batch, aligned for direct I/O.
type copyBuf struct {
	raw    []byte
	writes []Write
	frames []uint32
}

func newCopyBuf() *copyBuf { return &copyBuf{raw: make([]byte, (flushBatch+1)*page.Size)} }

func (c *copyBuf) page(i int) *page.Page {
	const align = 4096 // what direct I/O asks for
	base := uintptr(unsafe.Pointer(&c.raw[0]))
	off := int((align-base%align)%align) + i*page.Size
	return (*page.Page)(c.raw[off : off+page.Size])
}

// flush writes the pages of up to flushBatch frames back. A frame that is clean, being changed at the moment, or
// already on its way is passed over. It returns how many were written.
func (p *Pool) flush(ctx context.Context, frames []uint32) (int, error) {
	c := p.copies.Get().(*copyBuf)
	defer p.copies.Put(c)
	c.writes, c.frames = c.writes[:0], c.frames[:0]
	var durable page.LSN
	for _, f := range frames {
		fr, d := &p.frames[f], p.desc(f)
		if !fr.tryPin() {
			continue
		}
		if !fr.latch.TryRLock() { // never wait for a latch here: its holder may be waiting for a free frame
			fr.unpin()
			continue
		}
		state := d.State.Load()
		if d.First.Load() == 0 || d.Version.Load()&1 != 0 || state != region.StateReady && state != region.StateUnverified ||
			!fr.flushing.CompareAndSwap(false, true) {
			fr.latch.RUnlock()
			fr.unpin()
			continue
		}
		fr.redirtied = 0 // nobody reads it while flushing was false, and changing pages is shut out by the latch
		id, lsn, cp := page.ID(d.ID.Load()), page.LSN(d.LSN.Load()), c.page(len(c.writes))
		*cp = *p.page(f)
		fr.latch.RUnlock()
		if state == region.StateUnverified && (cp.Check(id) != nil || cp.LSN() != lsn) {
			// A damaged survivor must not reach the file. Its first touch rebuilds it.
			fr.flushing.Store(false)
			fr.unpin()
			if g, err := p.pin(ctx, id, ClassRedo); err == nil {
				p.frames[g].unpin()
			} else {
				p.stats.noteError(err)
			}
			continue
		}
		durable = max(durable, lsn)
		c.writes = append(c.writes, Write{id, cp})
		c.frames = append(c.frames, f)
	}
	if len(c.writes) == 0 {
		return 0, nil
	}
	err := p.log.WaitDurable(ctx, durable)
	if err == nil {
		for _, w := range c.writes {
			w.Page.Stamp()
		}
		start := time.Now()
		err = p.src.WritePages(ctx, c.writes)
		p.stats.writeNanos.Add(int64(time.Since(start)))
	}
	for i, f := range c.frames {
		p.flushed(f, c.writes[i], err == nil)
	}
	if err != nil {
		p.stats.noteError(err)
		return 0, err
	}
	p.stats.writes.Add(int64(len(c.writes)))
	return len(c.writes), nil
}

// flushed ends a write-back as soon as nobody changes the page. It does not wait for that: who holds the page may be
// waiting for a frame that only the caller, the cleaner, can free.
func (p *Pool) flushed(f uint32, w Write, ok bool) {
	fr, sum := &p.frames[f], [4]byte(w.Page[:4])
	if fr.latch.TryLock() {
		p.settle(f, sum, ok)
		return
	}
	p.wg.Go(func() {
		fr.latch.Lock()
		p.settle(f, sum, ok)
	})
}

// settle makes a frame that was written clean, or dirty since the first change after the copy. It is latched exclusively;
// settle lets it go.
func (p *Pool) settle(f uint32, sum [4]byte, ok bool) {
	fr, d := &p.frames[f], p.desc(f)
	if ok && d.Version.Load()&1 == 0 {
		d.Begin()
		if fr.redirtied == 0 { // unchanged since: the checksum in the copy is the frame's too
			pg := p.page(f)
			copy(pg[:4], sum[:])
		}
		d.First.Store(uint64(fr.redirtied))
		d.End(int(f))
	}
	fr.flushing.Store(false)
	fr.latch.Unlock()
	fr.unpin()
}

// FlushBefore writes back up to most pages whose first change lies before lsn, oldest first, and returns how many.
func (p *Pool) FlushBefore(ctx context.Context, lsn page.LSN, most int) (int, error) {
	type dirty struct {
		first, id uint64
		frame     uint32
	}
	var found []dirty
	for f := range uint32(p.n) {
		d := p.desc(f)
		if first := d.First.Load(); first != 0 && page.LSN(first) < lsn {
			found = append(found, dirty{first, d.ID.Load(), f})
		}
	}
	if len(found) > most {
		slices.SortFunc(found, func(a, b dirty) int { return cmp.Compare(a.first, b.first) })
		found = found[:most]
	}
	slices.SortFunc(found, func(a, b dirty) int { return cmp.Compare(a.id, b.id) })
	total := 0
	for batch := range slices.Chunk(found, flushBatch) {
		frames := make([]uint32, len(batch))
		for i, d := range batch {
			frames[i] = d.frame
		}
		n, err := p.flush(ctx, frames)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// FlushHottest writes back, of the changed pages, up to most that are used most, as far as nobody is changing them at the moment.
func (p *Pool) FlushHottest(ctx context.Context, most int) error {
	type dirty struct{ heat, frame uint32 }
	var found []dirty
	for f := range uint32(p.n) {
		if d := p.desc(f); d.First.Load() != 0 {
			found = append(found, dirty{d.Heat.Load() & Heats, f})
		}
	}
	slices.SortFunc(found, func(a, b dirty) int { return cmp.Compare(b.heat, a.heat) })
	for batch := range slices.Chunk(found[:min(most, len(found))], flushBatch) {
		frames := make([]uint32, len(batch))
		for i, d := range batch {
			frames[i] = d.frame
		}
		if _, err := p.flush(ctx, frames); err != nil {
			return err
		}
	}
	return nil
}

// FlushAll writes back everything that was changed before the call.
func (p *Pool) FlushAll(ctx context.Context) error {
	upto := p.log.Tail()
	for p.MinFirst(upto) < upto {
		n, err := p.FlushBefore(ctx, upto, p.n)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if n == 0 { // what is left is being changed, or on its way
			time.Sleep(flushPause)
		}
	}
	return nil
}

// flushPause is how long FlushAll lets others end what they do with the last changed pages.
const flushPause = time.Millisecond

// MinFirst is the least First of all changed pages, or upto when that is less: with upto read from the log's tail
// before the call, no record before MinFirst is needed for any page of the pool (rule 7).
func (p *Pool) MinFirst(upto page.LSN) page.LSN {
	for f := range uint32(p.n) {
		if first := page.LSN(p.desc(f).First.Load()); first != 0 && first < upto {
			upto = first
		}
	}
	return upto
}

func (p *Pool) askCleaner() {
	select {
	case p.wantClean <- struct{}{}:
	default:
	}
}

// cleaner keeps the free list filled: evicts what is clean and writes back what is not.
func (p *Pool) cleaner() {
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wantClean:
		}
		for p.ctx.Err() == nil && p.clean() {
		}
	}
}

// clean makes one round, and says whether another one is wanted and of use.
func (p *Pool) clean() bool {
	r := &p.repl
	var dirty []uint32
	var wasSmall []bool
	freed := 0
	r.mu.Lock()
	for len(r.free)+r.coming+len(dirty) < r.high && len(dirty) < flushBatch {
		f, fromSmall, ok := r.victim(p)
		if !ok {
			break
		}
		if p.evict(f, fromSmall) {
			r.free = append(r.free, f)
			freed++
			r.cond.Signal()
			continue
		}
		dirty, wasSmall = append(dirty, f), append(wasSmall, fromSmall)
	}
	r.mu.Unlock()
	_, err := p.flush(p.ctx, dirty)
	r.mu.Lock()
	for i, f := range dirty {
		if p.evict(f, wasSmall[i]) {
			r.free = append(r.free, f)
			freed++
		} else {
			r.main.push(f)
		}
	}
	more := len(r.free)+r.coming < r.low
	r.cond.Broadcast()
	r.mu.Unlock()
	if err != nil && p.ctx.Err() == nil {
		p.logger.Error("write-back failed; the pages stay in memory and in the log, and are tried again", "error", err)
		select {
		case <-p.ctx.Done():
		case <-time.After(writeRetry):
		}
	}
	return more && freed > 0
}

// writeRetry is how long write-back rests after an error (a full disk may be given room).
const writeRetry = 200 * time.Millisecond
