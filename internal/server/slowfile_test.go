package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// disk is a file on a disk that is full for a while, takes what it takes in pieces, or does not answer.
type disk struct {
	mu     sync.Mutex
	b      bytes.Buffer
	room   int           // bytes; below 0: no end
	stuck  chan struct{} // writes wait for it; nil: they do not
	writes int
	closed atomic.Bool
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	stuck := d.stuck
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	n := len(p)
	if d.room >= 0 {
		n = min(n, d.room)
		d.room -= n
	}
	d.b.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Close() error { d.closed.Store(true); return nil }

func (d *disk) content() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.String()
}

// entriesOf a number of lines.
func entriesOf(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "entry %d;\n", i)
	}
	return b.String()
}

func passes(t *testing.T, c <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := await(ctx, c); err != nil {
		t.Fatal(err)
	}
}

// A full disk stops nobody. What it did not take it gets when there is room, without a gap and without a half entry.
func TestSlowFileFullDisk(t *testing.T) {
	var said bytes.Buffer
	f := newSlowFile(slog.New(slog.NewTextHandler(&said, nil)))
	d := &disk{room: 25}
	f.turnTo(d)
	for i := range 100 {
		f.add(fmt.Appendf(nil, "entry %d;\n", i))
	}
	eventually(t, "the disk is full", func() bool { return len(d.content()) == 25 })
	for i := 100; i < 200; i++ {
		f.add(fmt.Appendf(nil, "entry %d;\n", i))
	}
	d.mu.Lock()
	d.room = -1
	d.mu.Unlock()
	next := &disk{room: -1}
	eventually(t, "all entries are written", func() bool { return d.content() == entriesOf(0, 200) })
	passes(t, f.turnTo(next))
	f.add([]byte("in the next file;\n"))
	f.close()
	if got := next.content(); got != "in the next file;\n" || !d.closed.Load() || !next.closed.Load() {
		t.Errorf("the next file has %q; closed: %v, %v", got, d.closed.Load(), next.closed.Load())
	}
	if f.lost.Load() != 0 || f.written.Load() != 201 {
		t.Errorf("%d entries lost, %d written", f.lost.Load(), f.written.Load())
	}
	if n := strings.Count(said.String(), "level=ERROR"); n != 1 {
		t.Errorf("it was said %d times, want once:\n%s", n, said.String())
	}
}

// From a full disk one can go to another file, or stop: then what waited is lost, and counted.
func TestSlowFileGivesUp(t *testing.T) {
	f := newSlowFile(slog.New(slog.DiscardHandler))
	full := &disk{}
	f.turnTo(full)
	for i := range 10 {
		f.add(fmt.Appendf(nil, "entry %d;\n", i))
	}
	eventually(t, "it was tried", func() bool { full.mu.Lock(); defer full.mu.Unlock(); return full.writes > 0 })
	next := &disk{room: -1}
	passes(t, f.turnTo(next))
	f.add([]byte("entry;\n"))
	f.close()
	if got := next.content(); got != "entry;\n" || f.lost.Load() != 10 || f.written.Load() != 1 {
		t.Errorf("%q, %d lost, %d written", got, f.lost.Load(), f.written.Load())
	}
	f.add([]byte("too late;\n"))
	passes(t, f.turnTo(&disk{}))
}

// A disk that does not answer holds up nobody who adds entries. They wait up to a bound, the rest is counted.
func TestSlowFileStuckDisk(t *testing.T) {
	var said bytes.Buffer
	f := newSlowFile(slog.New(slog.NewTextHandler(&said, nil)))
	stuck := make(chan struct{})
	d := &disk{room: -1, stuck: stuck}
	f.turnTo(d)
	entry := []byte(strings.Repeat("x", 1<<20-2) + ";\n")
	const n = 40
	for range n {
		f.add(bytes.Clone(entry)) // what is large it keeps
	}
	kept := slowQueueBytes / len(entry)
	if lost := f.lost.Load(); lost != uint64(n-kept) {
		t.Errorf("%d entries lost, want %d", lost, n-kept)
	}
	d.mu.Lock()
	d.stuck = nil
	d.mu.Unlock()
	close(stuck)
	eventually(t, "what waited is written", func() bool { return f.written.Load() == uint64(kept) })
	f.add([]byte("entry;\n"))
	f.close()
	if got := len(d.content()); got != kept*len(entry)+len("entry;\n") {
		t.Errorf("%d bytes are written, want %d entries", got, kept)
	}
	if n := strings.Count(said.String(), "level=ERROR"); n != 1 {
		t.Errorf("it was said %d times, want once:\n%s", n, said.String())
	}
}

// Many add at once: each entry is whole, those of one in order, and many go in one write.
func TestSlowFileTogether(t *testing.T) {
	f := newSlowFile(slog.New(slog.DiscardHandler))
	d := &disk{room: -1}
	f.turnTo(d)
	const adders, each = 8, 2000
	var wg sync.WaitGroup
	for a := range adders {
		wg.Go(func() {
			var b []byte
			for i := range each {
				b = fmt.Appendf(b[:0], "%d %d %s;\n", a, i, strings.Repeat("y", i%300))
				f.add(b)
			}
		})
	}
	wg.Wait()
	f.close()
	next := make([]int, adders)
	for line := range strings.Lines(d.content()) {
		var a, i int
		if _, err := fmt.Sscanf(line, "%d %d ", &a, &i); err != nil || i != next[a] || line != fmt.Sprintf("%d %d %s;\n", a, i, strings.Repeat("y", i%300)) {
			t.Fatalf("line %q: want entry %d of it", line, next[a])
		}
		next[a]++
	}
	if f.lost.Load() != 0 || f.written.Load() != adders*each || d.writes >= adders*each/2 {
		t.Errorf("%d lost, %d written in %d writes", f.lost.Load(), f.written.Load(), d.writes)
	}
}
