package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// history is what was appended, by start.
type history struct {
	sync.Mutex
	starts []page.LSN
	bodies map[page.LSN][]byte
}

func (h *history) append(t testing.TB, l *Log, body []byte) (end page.LSN, err error) {
	h.Lock()
	defer h.Unlock()
	start, end, err := l.Append(body)
	if err == nil {
		h.starts = append(h.starts, start)
		h.bodies[start] = body
	}
	return end, err
}

// check says whether a log read from keep is what was appended, gapless, and reaches acked.
func (h *history) check(groups []Group, keep, end, acked page.LSN) error {
	at := keep
	for _, g := range groups {
		if g.Start != at {
			return fmt.Errorf("group at %d, want one at %d", g.Start, at)
		}
		h.Lock()
		body, ok := h.bodies[g.Start]
		h.Unlock()
		if ok && !bytes.Equal(body, g.Body) {
			return fmt.Errorf("group at %d is not what was appended there", g.Start)
		}
		at = g.End
	}
	if at != end || end < acked {
		return fmt.Errorf("log ends at %d (groups to %d), acknowledged up to %d", end, at, acked)
	}
	return nil
}

// The power is cut before every call that changes the disk: what was acknowledged is found, nothing else is, the next life goes on behind it,
// and another power cut in that is survived too.
func TestPowerCutEverywhere(t *testing.T) {
	for _, mode := range []file.CrashMode{file.KeepAll, file.DropUnsynced, file.Random} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			t.Parallel()
			r := rng(t)
			disk := file.NewMem(r.Uint64())
			h := &history{bodies: map[page.LSN][]byte{}}
			var acked, keep atomic.Uint64
			acked.Store(uint64(FirstLSN))
			keep.Store(uint64(FirstLSN))
			crashes, seed := 0, r.Uint64()
			var mu sync.Mutex
			disk.OnOp(func(op file.Op) error {
				if !op.Kind.Changes() {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				from, least := page.LSN(keep.Load()), page.LSN(acked.Load())
				clone := disk.Clone(mode)
				crashes++
				if err := afterCrash(t, h, clone, from, least, 2, crashes%13 == 0, seed+uint64(crashes), mode); err != nil {
					t.Errorf("crash before call %d (%s %s at %d): %v", op.N, op.Kind, op.Name, op.Off, err)
				}
				return nil
			})
			cfg := testConfig(disk)
			cfg.OnDurable = func(lsn page.LSN) { acked.Store(uint64(lsn)) }
			l := mustOpen(t, cfg)
			for i := range 40 {
				n := r.IntN(3000)
				if i%9 == 0 {
					n = 12000
				}
				end, err := h.append(t, l, bodyFor(i, n))
				if err != nil {
					t.Fatal(err)
				}
				if i%3 == 0 {
					mustWait(t, l, end)
				}
				if i%10 == 9 {
					h.Lock()
					k := h.starts[len(h.starts)-5]
					h.Unlock()
					mustWait(t, l, k)
					keep.Store(uint64(k))
					l.SetKeep(k)
				}
			}
			mustClose(t, l)
			t.Logf("%d crashes", crashes)
		})
	}
}

// afterCrash is a start on what a crash left. In depth, the crash happens again while it runs.
func afterCrash(t *testing.T, h *history, disk *file.Mem, keep, acked page.LSN, life uint64, deep bool, seed uint64, mode file.CrashMode) error {
	if _, err := disk.Stat("log"); errors.Is(err, fs.ErrNotExist) && acked == FirstLSN {
		return nil
	}
	groups, end := readAll(t, readerConfig(disk), keep)
	if err := h.check(groups, keep, end, acked); err != nil {
		return err
	}
	var told atomic.Uint64
	told.Store(uint64(acked))
	mine := &history{bodies: map[page.LSN][]byte{}}
	for _, g := range groups {
		mine.bodies[g.Start] = g.Body
	}
	var second error
	if deep {
		n := 0
		var mu sync.Mutex
		disk.OnOp(func(op file.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if n++; op.Kind.Changes() && n%4 == 0 {
				least := page.LSN(told.Load())
				if err := afterCrash(t, mine, disk.Clone(mode), keep, least, life+1, false, seed+1, mode); err != nil && second == nil {
					second = fmt.Errorf("then crash before call %d (%s %s): %w", op.N, op.Kind, op.Name, err)
				}
			}
			return nil
		})
	}
	cfg := testConfig(disk)
	cfg.Start, cfg.Incarnation = end, life
	cfg.OnDurable = func(lsn page.LSN) { told.Store(uint64(lsn)) }
	l, err := Open(cfg)
	if err != nil {
		return err
	}
	for i := range 5 {
		end, err := mine.append(t, l, bodyFor(1000+i, 500*int(seed%7)))
		if err == nil && i%2 == 0 {
			err = l.WaitDurable(context.Background(), end)
		}
		if err != nil {
			return err
		}
	}
	end = l.Tail()
	if err := l.Close(); err != nil {
		return err
	}
	groups, got := readAll(t, readerConfig(disk), keep)
	if got != end {
		return fmt.Errorf("second life wrote to %d, read to %d", end, got)
	}
	if err := mine.check(groups, keep, got, end); err != nil {
		return fmt.Errorf("second life: %w", err)
	}
	return second
}

// Whole older groups lie behind a hole, exactly where a later life stops: they are not its continuation.
func TestOlderGroupsBehindHole(t *testing.T) {
	for name, viaCrash := range map[string]bool{"read through": true, "read from the end": false} {
		t.Run(name, func(t *testing.T) {
			disk := file.NewMem(1)
			cfg := testConfig(disk)
			l := mustOpen(t, cfg)
			var ends []page.LSN
			// Groups of one block each, so that an end is the end of a block, where no zeroes of the writer follow by themselves.
			body := bodyFor(1, blockSize-groupHeader-8-2)
			if groupSize(len(body)) != blockSize {
				t.Fatalf("group of %d bytes, want a block", groupSize(len(body)))
			}
			for range 6 {
				ends = append(ends, mustAppend(t, l, body))
			}
			mustClose(t, l)

			// The power cut eats the third group. The fourth and later ones stay whole.
			spoil(t, disk, ends[1], make([]byte, blockSize))
			groups, end := readAll(t, readerConfig(disk), FirstLSN)
			if len(groups) != 2 || end != ends[1] {
				t.Fatalf("%d groups to %d, want 2 to %d", len(groups), end, ends[1])
			}
			if g, _ := readAll(t, readerConfig(disk), ends[2]); len(g) != 3 {
				t.Fatalf("%d whole groups behind the hole, want 3", len(g))
			}

			// The next life fills exactly the hole.
			if viaCrash {
				// Its zeroes behind the end do not reach the disk: keep the block that they would overwrite.
				fourth := peek(t, disk, ends[2])
				cfg.Start, cfg.Incarnation = end, 2
				cfg.Ring = file.AlignedBuf(MinRing)
				l = mustOpen(t, cfg)
				mustAppend(t, l, body)
				mustClose(t, l)
				spoil(t, disk, ends[2], fourth)
				groups, end = readAll(t, readerConfig(disk), FirstLSN)
				if len(groups) != 3 || end != ends[2] || groups[2].Incarnation != 2 {
					t.Fatalf("%d groups to %d, want 3 to %d", len(groups), end, ends[2])
				}
				return
			}
			cfg.Start, cfg.Incarnation = end, 2
			cfg.Ring = file.AlignedBuf(MinRing)
			l = mustOpen(t, cfg)
			mustWait(t, l, mustAppend(t, l, body))
			// A reader that starts at the durable end knows no incarnation before: only rule 5 helps him.
			if g, at := readAll(t, readerConfig(disk.Clone(file.DropUnsynced)), ends[2]); len(g) != 0 || at != ends[2] {
				t.Fatalf("%d groups of an earlier life taken for the continuation", len(g))
			}
			mustClose(t, l)
		})
	}
}

// spoil overwrites the log at an LSN on disk, durably.
func spoil(t *testing.T, disk *file.Mem, lsn page.LSN, b []byte) {
	t.Helper()
	y := layout{disk, "log", testUUID, testSegment}
	f, err := y.open(y.segmentOf(lsn), file.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, y.offsetOf(lsn)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func peek(t *testing.T, disk *file.Mem, lsn page.LSN) []byte {
	t.Helper()
	y := layout{disk, "log", testUUID, testSegment}
	f, err := y.open(y.segmentOf(lsn), file.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, blockSize)
	if _, err := f.ReadAt(b, y.offsetOf(lsn)); err != nil {
		t.Fatal(err)
	}
	return b
}

// The Nth call fails: either nobody notices, or the log dies once, for everyone, and what it acknowledged is there.
func TestErrorAtEveryCall(t *testing.T) {
	for n := 1; !t.Failed(); n++ {
		for _, errno := range []error{syscall.EIO, syscall.ENOSPC} {
			if !failAt(t, n, errno) {
				t.Logf("%d calls", n-1)
				return
			}
		}
	}
}

// failAt says whether there was an Nth call.
func failAt(t *testing.T, nth int, errno error) bool {
	t.Helper()
	disk := file.NewMem(uint64(nth))
	var calls, fatal atomic.Int32
	var syncsAfter atomic.Int32
	var failedSync atomic.Value
	disk.OnOp(func(op file.Op) error {
		if int(calls.Add(1)) == nth {
			if op.Kind == file.OpSync {
				failedSync.Store(op.Name)
			}
			if op.Kind == file.OpWrite && nth%2 == 0 {
				return &file.ShortError{Done: int(op.Len / 2), Err: errno}
			}
			return errno
		}
		if name, _ := failedSync.Load().(string); op.Kind == file.OpSync && op.Name == name && fatal.Load() > 0 {
			syncsAfter.Add(1)
		}
		return nil
	})
	cfg := testConfig(disk)
	var acked atomic.Uint64
	cfg.OnDurable = func(lsn page.LSN) { acked.Store(uint64(lsn)) }
	cfg.OnFatal = func(err error) {
		if fatal.Add(1); !errors.Is(err, errno) {
			t.Errorf("call %d: fatal with %v, want %v", nth, err, errno)
		}
	}
	l, err := Open(cfg)
	if err != nil {
		if !errors.Is(err, errno) {
			t.Errorf("call %d: open: %v, want %v", nth, err, errno)
		}
		return true
	}
	h := &history{bodies: map[page.LSN][]byte{}}
	var wg sync.WaitGroup
	var deaths atomic.Int32
	for w := range 3 {
		wg.Go(func() {
			for i := range 12 {
				end, err := h.append(t, l, bodyFor(i, 2000+w*1000))
				if err == nil {
					err = l.WaitDurable(context.Background(), end)
				}
				if err == nil && end > page.LSN(acked.Load()) {
					t.Errorf("call %d: wait for %d returned, told only %v", nth, end, acked.Load())
				}
				if err != nil {
					if !errors.Is(err, ErrDead) || !errors.Is(err, errno) {
						t.Errorf("call %d: got %v, want ErrDead and %v", nth, err, errno)
					}
					deaths.Add(1)
				}
			}
		})
	}
	wg.Wait()
	l.SetKeep(page.LSN(acked.Load()))
	closed := l.Close()
	switch fatal.Load() {
	case 0:
		if deaths.Load() != 0 || closed != nil && !strings.Contains(closed.Error(), errno.Error()) {
			t.Errorf("call %d: %d calls died and close said %v, but nothing was fatal", nth, deaths.Load(), closed)
		}
	case 1:
		if closed == nil || syncsAfter.Load() != 0 {
			t.Errorf("call %d: after the death close said %v, and %d syncs were tried", nth, closed, syncsAfter.Load())
		}
	default:
		t.Errorf("call %d: fatal %d times", nth, fatal.Load())
	}
	disk.OnOp(nil)
	clone := disk.Clone(file.DropUnsynced)
	r := readerConfig(clone)
	live, err := Segments(r)
	if err != nil || len(live) == 0 {
		t.Errorf("call %d: segments %v, %v", nth, live, err)
		return true
	}
	// Keep was at acked, so only what comes from there on is promised.
	if fatal.Load() > 0 {
		groups, end := readAll(t, r, page.LSN(acked.Load()))
		if err := h.check(groups, page.LSN(acked.Load()), end, page.LSN(acked.Load())); err != nil {
			t.Errorf("call %d: %v", nth, err)
		}
	}
	return int(calls.Load()) >= nth
}
