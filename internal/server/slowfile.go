package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// slowFile is the file of the slow query log, and the goroutine that writes it.
//
//  1. A statement copies its entry into the queue and goes on. It never waits for the disk: the lock is held for the copy.
//  2. Entries are written whole and in their order. What the disk did not take is tried again, so that a half entry is completed
//     before another begins.
//  3. The queue has a bound. What does not fit is lost, and counted; that it is, and that it is no more, is said once.
//  4. The file is opened for appending and never rewritten. Who truncates it behind a copy loses what came in between, and nothing
//     else.
//  5. Another file takes its turn in the queue: what was queued before goes to the old one.
type slowFile struct {
	log *slog.Logger

	mu struct {
		sync.Mutex
		queue   []slowItem
		bytes   int      // in the queue
		spare   [][]byte // chunks to use again, slowSpare at most
		waiting bool     // the writer waits for work
		open    bool     // entries are taken
		closed  bool
		lost    bool // an entry was lost since the file last took what it was given
	}
	work  chan struct{} // the writer has some, after it waited
	hurry chan struct{} // it is not to wait for more
	done  chan struct{} // it has ended

	written, writtenBytes, lost atomic.Uint64 // entries, bytes, entries

	// Of the writer.
	file   io.WriteCloser // nil: none
	failed bool           // and it was said
}

// slowItem is something for the writer: entries, or another file.
type slowItem struct {
	entries []byte
	count   int
	file    io.WriteCloser // from now on, nil: none
	turn    bool           // file holds
	passed  chan struct{}  // closed when the writer is through with it
}

const (
	slowQueueBytes = 16 << 20               // entries that wait for the disk
	slowChunkBytes = 256 << 10              // of one write; an entry that is longer is one alone
	slowSpare      = 8                      // chunks that are kept
	slowLinger     = 5 * time.Millisecond   // for which the writer waits for more entries, to write them at once
	slowRetry      = 100 * time.Millisecond // until a write that failed is tried again
	slowFileMode   = 0o640
)

func newSlowFile(log *slog.Logger) *slowFile {
	f := &slowFile{log: log, work: make(chan struct{}, 1), hurry: make(chan struct{}, 1), done: make(chan struct{})}
	f.mu.waiting = true
	go f.run()
	return f
}

// add takes an entry, or counts it as lost. If it says so, the slice is its own from now on.
func (f *slowFile) add(entry []byte) (kept bool) {
	f.mu.Lock()
	if !f.mu.open {
		f.mu.Unlock()
		return false
	}
	if f.mu.bytes > 0 && f.mu.bytes+len(entry) > slowQueueBytes {
		first := !f.mu.lost
		f.mu.lost = true
		f.mu.Unlock()
		f.lost.Add(1)
		if first {
			f.log.Error("slow query log: entries are lost, for the disk does not take them as fast as they come", "bytes waiting", slowQueueBytes)
		}
		return false
	}
	f.mu.bytes += len(entry)
	if last := len(f.mu.queue) - 1; last >= 0 && !f.mu.queue[last].turn && len(entry) <= cap(f.mu.queue[last].entries)-len(f.mu.queue[last].entries) {
		i := &f.mu.queue[last]
		i.entries, i.count = append(i.entries, entry...), i.count+1
	} else if len(entry) >= slowChunkBytes {
		f.mu.queue = append(f.mu.queue, slowItem{entries: entry[:len(entry):len(entry)], count: 1})
		kept = true
	} else {
		var chunk []byte
		if n := len(f.mu.spare); n > 0 {
			chunk, f.mu.spare = f.mu.spare[n-1], f.mu.spare[:n-1]
		} else {
			chunk = make([]byte, 0, slowChunkBytes)
		}
		f.mu.queue = append(f.mu.queue, slowItem{entries: append(chunk[:0], entry...), count: 1})
	}
	wake, full := f.mu.waiting, f.mu.bytes > slowQueueBytes/2
	f.mu.waiting = false
	f.mu.Unlock()
	if wake {
		f.work <- struct{}{}
	}
	if full {
		f.hasten()
	}
	return kept
}

func (f *slowFile) hasten() {
	select {
	case f.hurry <- struct{}{}:
	default:
	}
}

// turnTo makes file the one that entries go to from now on; nil: none, they are not taken any more. The channel is closed when what was
// queued before is written, or given up.
func (f *slowFile) turnTo(file io.WriteCloser) <-chan struct{} { return f.queueTurn(file, false) }

func (f *slowFile) queueTurn(file io.WriteCloser, last bool) <-chan struct{} {
	passed := make(chan struct{})
	f.mu.Lock()
	if f.mu.closed {
		f.mu.Unlock()
		if file != nil {
			file.Close()
		}
		close(passed)
		return passed
	}
	f.mu.open, f.mu.closed = file != nil, last
	f.mu.queue = append(f.mu.queue, slowItem{file: file, turn: true, passed: passed})
	wake := f.mu.waiting
	f.mu.waiting = false
	f.mu.Unlock()
	if wake {
		f.work <- struct{}{}
	}
	f.hasten()
	return passed
}

// close writes what is queued, as far as the disk takes it, and ends the writer. It is called once.
func (f *slowFile) close() {
	<-f.queueTurn(nil, true)
	close(f.work)
	<-f.done
}

// run is the writer.
func (f *slowFile) run() {
	defer close(f.done)
	for range f.work {
		for {
			f.linger(slowLinger)
			items := f.take()
			if len(items) == 0 {
				break
			}
			f.write(items)
		}
	}
}

func (f *slowFile) linger(most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.hurry:
	}
}

// take empties the queue. If it was empty, the writer is to wait.
func (f *slowFile) take() []slowItem {
	f.mu.Lock()
	defer f.mu.Unlock()
	items := f.mu.queue
	f.mu.queue = nil
	f.mu.waiting = len(items) == 0
	return items
}

// turnIsQueued: another file waits for its turn.
func (f *slowFile) turnIsQueued() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.mu.queue {
		if i.turn {
			return true
		}
	}
	return false
}

// write does what the items say.
func (f *slowFile) write(items []slowItem) {
	for n := range items {
		i := &items[n]
		if !i.turn {
			f.entries(i.entries, i.count, func() bool {
				for _, later := range items[n+1:] {
					if later.turn {
						return true
					}
				}
				return f.turnIsQueued()
			})
			continue
		}
		if f.file != nil {
			if err := f.file.Close(); err != nil {
				f.log.Error("slow query log: close", "err", err)
			}
		}
		f.file, f.failed = i.file, false
		close(i.passed)
	}
}

// entries writes a chunk of them. While the disk does not take it, it is tried again, until another file is to have its turn.
func (f *slowFile) entries(b []byte, count int, turn func() bool) {
	size := len(b)
	chunk := b
	for f.file != nil {
		n, err := f.file.Write(b)
		b = b[n:]
		f.writtenBytes.Add(uint64(n))
		if err == nil {
			break
		}
		if !f.failed {
			f.failed = true
			f.log.Error("slow query log: entries wait for the disk, and will be lost when there are too many: make room, or choose another file", "err", err)
		}
		if turn() {
			break
		}
		time.Sleep(slowRetry)
	}
	if f.file == nil || len(b) > 0 {
		f.lost.Add(uint64(count)) // some of them were written, perhaps; that is not known
	} else {
		f.written.Add(uint64(count))
	}
	f.mu.Lock()
	f.mu.bytes -= size
	over := f.mu.lost && f.mu.bytes < slowQueueBytes/2 && len(b) == 0
	if over {
		f.mu.lost = false
	}
	if cap(chunk) == slowChunkBytes && len(f.mu.spare) < slowSpare {
		f.mu.spare = append(f.mu.spare, chunk[:0])
	}
	f.mu.Unlock()
	if over || f.failed && len(b) == 0 {
		f.failed = false
		f.log.Warn("slow query log: entries are written again", "lost since the start", f.lost.Load())
	}
}

// openSlowFile opens a file to append entries to, and makes it if there is none.
func openSlowFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, slowFileMode)
}

// await a turn, for as long as ctx lasts.
func await(ctx context.Context, passed <-chan struct{}) error {
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), ctx.Err())
	}
}
