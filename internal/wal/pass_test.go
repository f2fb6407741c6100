package wal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// passWorld is a log of one segment whose disk lets the reads of a pass, longer than others, begin one by one.
type passWorld struct {
	rd     *Reader
	groups []Group
	to     page.LSN
	step   chan struct{} // one for each read of the pass; closed: all
	long   atomic.Int64  // reads that began
	small  atomic.Int64
	broken atomic.Int64 // the long read that fails, from 1; 0: none
}

var errBroken = errors.New("the disk does not answer")

func newPassWorld(t *testing.T) *passWorld {
	t.Helper()
	disk := file.NewMem(1)
	cfg := testConfig(disk)
	cfg.SegmentBytes = 16 << 20
	l := mustOpen(t, cfg)
	for i := range 10_000 {
		end := mustAppend(t, l, bodyFor(i, 500))
		if i%100 == 0 {
			mustWait(t, l, end)
		}
	}
	mustClose(t, l)
	rcfg := readerConfig(disk)
	rcfg.SegmentBytes = cfg.SegmentBytes
	w := &passWorld{step: make(chan struct{})}
	w.groups, w.to = readAll(t, rcfg, FirstLSN)
	var err error
	if w.rd, err = NewReader(rcfg, FirstLSN); err != nil {
		t.Fatal(err)
	}
	disk.OnOp(func(op file.Op) error {
		switch {
		case op.Kind != file.OpRead || op.Off == 0: // of the segment's header, when it is opened
		case op.Len <= window:
			w.small.Add(1)
		default:
			n := w.long.Add(1)
			<-w.step
			if n == w.broken.Load() {
				return errBroken
			}
		}
		return nil
	})
	t.Cleanup(func() { w.rd.Close() })
	return w
}

// starts of every nth group.
func (w *passWorld) starts(n int) (l []page.LSN) {
	for i := 0; i < len(w.groups); i += n {
		l = append(l, w.groups[i].Start)
	}
	return l
}

// begin a pass over all of the log, and wait until its first read has begun.
func (w *passWorld) begin(ctx context.Context) (err chan error) {
	err = make(chan error, 1)
	go func() { err <- w.rd.Pass(ctx, FirstLSN, w.to) }()
	synctest.Wait()
	return err
}

// backward reads groups behind the test, and says how many it has until it ends.
func (w *passWorld) backward(t *testing.T, starts []page.LSN, most int) (got *atomic.Int64, err chan error) {
	got, err = new(atomic.Int64), make(chan error, 1)
	go func() {
		left := starts
		err <- w.rd.ReadBackward(starts, func(g Group) bool {
			if want := left[len(left)-1]; g.Start != want {
				t.Errorf("group at %d, want %d", g.Start, want)
			}
			left = left[:len(left)-1]
			return got.Add(1) < int64(most)
		})
	}()
	synctest.Wait()
	return got, err
}

// TestPassReadsEachByteOnce, from the end to the beginning.
func TestPassReadsEachByteOnce(t *testing.T) {
	w := newPassWorld(t)
	close(w.step)
	var mu sync.Mutex
	var reads []file.Op
	disk := w.rd.y.fs.(*file.Mem)
	disk.OnOp(func(op file.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind == file.OpRead && op.Off > 0 {
			reads = append(reads, op)
		}
		return nil
	})
	if err := w.rd.Pass(t.Context(), FirstLSN, w.to); err != nil {
		t.Fatal(err)
	}
	at := w.rd.y.offsetOf(w.to)
	for _, op := range reads {
		if op.Off+op.Len != at || op.Len > passRead {
			t.Errorf("%d bytes are read at %d, want %d that end at %d", op.Len, op.Off, passRead, at)
		}
		at = op.Off
	}
	if want := w.rd.y.offsetOf(FirstLSN); at != want {
		t.Errorf("the pass ends at %d, want %d", at, want)
	}
}

// TestReadBackwardWaitsForThePass: a page with groups all over the log has few of them read for itself, and gets the others as the pass
// comes to them.
func TestReadBackwardWaitsForThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPassWorld(t)
		passed := w.begin(t.Context())
		starts := w.starts(7)
		got, err := w.backward(t, starts, len(starts))
		if n := w.small.Load(); n != direct {
			t.Errorf("%d small reads beside the pass, want %d", n, direct)
		}
		w.step <- struct{}{} // of what was read for the page itself
		synctest.Wait()
		for before := got.Load(); before < int64(len(starts)); before = got.Load() {
			w.step <- struct{}{}
			synctest.Wait()
			if got.Load() <= before {
				t.Fatalf("%d groups of %d, and no more after another read of the pass", before, len(starts))
			}
		}
		if e := <-err; e != nil {
			t.Error(e)
		}
		close(w.step)
		if e := <-passed; e != nil {
			t.Error(e)
		}
	})
}

// TestReadBackwardGoesOn beside a pass that stands still, when it wants little, when it has what it wanted, and when the pass has ended.
func TestReadBackwardGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPassWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		passed := w.begin(ctx)
		all := w.starts(7)
		few := w.starts(len(w.groups) / 4)
		for _, c := range []struct {
			what   string
			starts []page.LSN
			most   int
		}{{"few groups", few, len(few)}, {"many, of which the last do", all, (direct - windows/2) * 8}} {
			got, err := w.backward(t, c.starts, c.most)
			select {
			case e := <-err:
				if e != nil || got.Load() != int64(c.most) {
					t.Errorf("%s: %d read, want %d (%v)", c.what, got.Load(), c.most, e)
				}
			default:
				t.Fatalf("%s: waits for the pass after %d", c.what, got.Load())
			}
		}
		if n := w.small.Load(); n > int64(len(few)+direct) {
			t.Errorf("%d small reads, want %d at most: nobody wants the others", n, len(few)+direct)
		}
		got, err := w.backward(t, all, len(all))
		cancel()
		synctest.Wait()
		if got.Load() == int64(len(all)) {
			t.Fatal("it did not wait for the pass, so nothing was tried")
		}
		close(w.step)
		if e := <-err; e != nil || got.Load() != int64(len(all)) {
			t.Errorf("%d groups read, want %d (%v)", got.Load(), len(all), e)
		}
		if e := <-passed; !errors.Is(e, context.Canceled) || w.long.Load() != 1 {
			t.Errorf("the pass that was cancelled in its first read ends with %v after %d", e, w.long.Load())
		}
	})
}

// TestPassFailsAtEveryRead: it says so, and who waited for it reads for itself.
func TestPassFailsAtEveryRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPassWorld(t)
		all := w.starts(7)
		reads := (int64(w.to-FirstLSN) + passRead - 1) / passRead
		for n := range reads {
			w.long.Store(0)
			w.broken.Store(n + 1)
			passed := w.begin(t.Context())
			got, err := w.backward(t, all, len(all))
			for range n + 1 {
				w.step <- struct{}{}
			}
			if e := <-passed; !errors.Is(e, errBroken) || w.long.Load() != n+1 {
				t.Errorf("read %d fails: the pass ends with %v after %d", n+1, e, w.long.Load())
			}
			if e := <-err; e != nil || got.Load() != int64(len(all)) {
				t.Errorf("read %d fails: %d groups read, want %d (%v)", n+1, got.Load(), len(all), e)
			}
		}
		if reads < 4 {
			t.Errorf("%d reads: the test is too small", reads)
		}
	})
}
