package wal

import (
	"fmt"
	"runtime"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

const (
	// gatherShare and gatherMax bound how long the writer waits for those it has just woken to come back with their next
	// group: a share of what a sync takes, since that is what a group too late has to wait.
	gatherShare = 4
	gatherMax   = 200 * time.Microsecond
)

// writer is the goroutine that moves the log from the ring to the segments. All of it belongs to that goroutine.
//
//	park ──somebody waits, ring a quarter full, FlushInterval──▶ gather ──▶ flush ──▶ park
//
// Group commit is what happens during a sync: those who come meanwhile share the next one. When all committers are woken
// at once, the first to return would begin a sync for himself alone and the others would share the one after, so that every
// second sync is nearly empty. So the writer expects as many as it knows of and yields to them, gather. It needs no timer.
type writer struct {
	drain
	cur       *segment
	unsynced  []*segment // left behind, oldest first; cur comes last and is not among them
	dirty     bool       // cur has unsynced bytes
	collected collector
	expect    int           // waiters that may come back at once
	syncTime  time.Duration // of one flush, smoothed
	due       bool          // FlushInterval is over
	failed    error
}

func (w *writer) init(d drain, cur *segment, start page.LSN) {
	w.drain = d
	w.cur = cur
	w.collected.init(d.layout, start)
}

// settle makes what a life builds on durable: all segments unsynced bytes may be in, and zeroes behind start.
func (w *writer) settle(start, back page.LSN) error {
	if err := w.fill(w.cur.f, start); err != nil {
		return err
	}
	if _, err := w.write(w.cur, down(start), start, true); err != nil {
		return err
	}
	first := page.LSN(0)
	if start > back {
		first = start - back
	}
	for n := w.segmentOf(first); n < w.cur.n; n++ {
		f, err := w.open(n, file.ReadWrite|file.Direct)
		if absent(err) {
			continue // not kept any more
		}
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		if err != nil {
			return err
		}
	}
	return w.cur.f.Sync()
}

func (l *Log) run() {
	defer close(l.done)
	tick := time.NewTicker(l.cfg.FlushInterval)
	defer tick.Stop()
	for {
		sync, write := l.demand()
		switch {
		case sync:
			l.gather()
		case write:
		case l.stopping.Load():
			return
		default:
			l.park(tick.C)
			continue
		}
		if err := l.flush(sync); err != nil {
			l.fail(err)
			return
		}
	}
}

// demand says what is to be done now.
func (l *Log) demand() (sync, write bool) {
	tail, durable := l.Tail(), l.durable.at()
	if tail > durable && (l.due() || l.stopping.Load() || tail-durable >= l.quarter) {
		return true, true
	}
	return l.durable.wanted(), l.written.wanted()
}

func (l *Log) due() bool {
	due := l.w.due
	l.w.due = false
	return due
}

// park sleeps until somebody kicks or the tick comes.
func (l *Log) park(tick <-chan time.Time) {
	l.asleep.Store(true)
	if sync, write := l.demand(); sync || write || l.stopping.Load() {
		l.asleep.Store(false)
		return
	}
	began := time.Now()
	select {
	case <-l.wake:
	case <-tick:
		l.w.due = true
	}
	l.asleep.Store(false)
	if time.Since(began) > l.w.syncTime {
		l.w.expect = 0 // they are busy with something else
	}
}

// kick wakes the writer if it sleeps. Whoever changed what demand looks at must kick afterwards.
func (l *Log) kick() {
	if l.asleep.Load() && l.asleep.CompareAndSwap(true, false) {
		select {
		case l.wake <- struct{}{}:
		default: // left from a park that the tick ended
		}
	}
}

// gather yields to committers that are on their way.
func (l *Log) gather() {
	if int(l.durable.pending.Load()) >= l.w.expect {
		return
	}
	patience := min(l.w.syncTime/gatherShare, gatherMax)
	for began := time.Now(); int(l.durable.pending.Load()) < l.w.expect && time.Since(began) < patience; {
		runtime.Gosched()
	}
}

// flush writes everything below the tail, and syncs it if sync.
func (l *Log) flush(sync bool) error {
	w := &l.w
	began := time.Now()
	var to page.LSN
	if sync {
		to = l.durable.launch(l.Tail) // first: all that becomes durable is written
	}
	if err := l.writeUpTo(l.written.launch(l.Tail)); err != nil {
		return err
	}
	l.written.release()
	if !sync {
		return nil
	}
	if err := l.sync(); err != nil {
		return err
	}
	took := time.Since(began)
	w.syncTime += (took - w.syncTime) / 8
	l.stats.syncNanos.Add(uint64(took))

	l.cfg.OnDurable(to)
	woken := l.durable.release()
	w.expect = woken + int(l.durable.pending.Load())
	for _, done := range w.collected.take(l.ring, to) {
		l.index.add(done)
	}
	l.freed.Store(uint64(down(to)))
	if l.crowd.Load() > 0 {
		l.mu.Lock()
		l.room.Broadcast()
		l.mu.Unlock()
	}
	return nil
}

// writeUpTo gives the files everything below to.
func (l *Log) writeUpTo(to page.LSN) error {
	w := &l.w
	if to == l.written.at() {
		return nil
	}
	for pos := down(l.written.at()); pos < to; {
		if pos == w.cur.to {
			if err := l.nextSegment(); err != nil {
				return err
			}
		}
		end := min(to, w.cur.to, pos+maxWrite)
		n, err := w.write(w.cur, pos, end, end == to)
		if err != nil {
			return err
		}
		w.dirty = true
		l.stats.written.Add(uint64(n))
		l.stats.writes.Add(1)
		pos = end
	}
	return nil
}

func (l *Log) nextSegment() error {
	w := &l.w
	next, err := l.segs.take(w.cur.n + 1)
	if err != nil {
		return err
	}
	w.unsynced = append(w.unsynced, w.cur)
	w.cur = next
	w.dirty = false
	return nil
}

// sync makes what was written durable, oldest first, and closes what is full.
func (l *Log) sync() error {
	w := &l.w
	for _, s := range w.unsynced {
		l.stats.syncs.Add(1)
		if err := s.f.Sync(); err != nil {
			return err
		}
		if err := s.f.Close(); err != nil {
			l.cfg.Logger.Warn("closing a log segment failed; it is synced", "err", err)
		}
	}
	w.unsynced = w.unsynced[:0]
	if !w.dirty {
		return nil
	}
	w.dirty = false
	l.stats.syncs.Add(1)
	return w.cur.f.Sync()
}

// fail is rule 8.
func (l *Log) fail(err error) {
	err = fmt.Errorf("log in %s cannot be written, so nothing can be made durable any more; see to the disk and start again: %w", l.cfg.Dir, err)
	l.w.failed = err
	dead := fmt.Errorf("%w: %w", ErrDead, err)
	l.mu.Lock()
	l.dead = dead
	l.room.Broadcast()
	l.mu.Unlock()
	l.written.kill(dead)
	l.durable.kill(dead)
	l.cfg.Logger.Error("log failed", "err", err)
	l.cfg.OnFatal(err)
}

func (w *writer) close() error {
	for _, s := range w.unsynced {
		s.f.Close()
	}
	return w.cur.f.Close()
}
