package wal

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
)

// Groups of all sizes go round the ring many times and over many segments; all are found, also by the next life.
func TestAppendAndRead(t *testing.T) {
	r := rng(t)
	fs := file.NewMem(1)
	cfg := testConfig(fs)
	var want [][]byte
	for life := range 3 {
		cfg.Incarnation = uint64(life + 1)
		l := mustOpen(t, cfg)
		for i := range 300 {
			b := bodyFor(i, r.IntN(4000))
			if i%50 == 0 {
				b = bodyFor(i, l.MaxBody()-20)
			}
			want = append(want, b)
			end := mustAppend(t, l, b)
			if i%10 == 0 {
				mustWait(t, l, end)
			}
		}
		tail := l.Tail()
		mustClose(t, l)
		groups, end := readAll(t, readerConfig(fs), FirstLSN)
		if end != tail {
			t.Fatalf("life %d: read to %d, want %d", life, end, tail)
		}
		wantBodies(t, groups, want)
		cfg.Start = end
	}
	if st, _ := Segments(readerConfig(fs)); len(st) < 20 {
		t.Fatalf("%d segments: the test is too small", len(st))
	}
	groups, _ := readAll(t, readerConfig(fs), FirstLSN)
	rd, _ := NewReader(readerConfig(fs), FirstLSN)
	defer rd.Close()
	for _, gap := range []int{1, 2, 13, 200} { // close together, and far apart
		var wanted []int
		for i := r.IntN(gap); i < len(groups); i += 1 + r.IntN(gap) {
			wanted = append(wanted, i)
		}
		starts := make([]page.LSN, len(wanted))
		for i, w := range wanted {
			starts[i] = groups[w].Start
		}
		err := rd.ReadBackward(starts, func(g Group) bool {
			w := wanted[len(wanted)-1]
			wanted = wanted[:len(wanted)-1]
			if g.Start != groups[w].Start || g.End != groups[w].End || g.Incarnation != groups[w].Incarnation {
				t.Fatalf("group %d to %d, want %d to %d", g.Start, g.End, groups[w].Start, groups[w].End)
			}
			wantBodies(t, []Group{g}, want[w:w+1])
			return len(wanted) != 3
		})
		if err != nil || len(wanted) != 3 {
			t.Fatalf("%d groups are left that were not asked for, want 3 (%v)", len(wanted), err)
		}
	}
	if err := rd.ReadBackward([]page.LSN{groups[3].Start + 8}, func(Group) bool { return true }); err == nil {
		t.Fatal("a group was read where none starts")
	}
}

func TestConcurrent(t *testing.T) {
	fs := file.NewMem(1)
	var told page.LSN
	cfg := testConfig(fs)
	cfg.OnDurable = func(lsn page.LSN) {
		if lsn < told {
			t.Errorf("durable falls from %d to %d", told, lsn)
		}
		told = lsn
	}
	l := mustOpen(t, cfg)
	var wg sync.WaitGroup
	const each = 200
	for w := range 8 {
		wg.Go(func() {
			for i := range each {
				_, end, err := l.Append(bodyFor(w*each+i, 10*i))
				if err != nil {
					t.Error(err)
					return
				}
				switch i % 4 {
				case 0:
					err = l.WaitDurable(context.Background(), end)
				case 1:
					err = l.WaitWritten(context.Background(), end)
				case 2:
					l.Kick()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	tail := l.Tail()
	mustClose(t, l)
	if told != tail {
		t.Errorf("told durable to %d, want %d", told, tail)
	}
	groups, end := readAll(t, readerConfig(fs), FirstLSN)
	if len(groups) != 8*each || end != tail {
		t.Fatalf("%d groups to %d, want %d to %d", len(groups), end, 8*each, tail)
	}
}

// A group nobody waits for is durable after the flush interval.
func TestFlushInterval(t *testing.T) {
	cfg := testConfig(file.NewMem(1))
	cfg.FlushInterval = time.Millisecond
	l := mustOpen(t, cfg)
	end := mustAppend(t, l, bodyFor(1, 100))
	for deadline := time.Now().Add(time.Minute); l.Durable() < end; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not flushed")
		}
	}
	mustClose(t, l)
}

func TestCancelledWait(t *testing.T) {
	fs := file.NewMem(1)
	block := make(chan struct{})
	l := mustOpen(t, testConfig(fs))
	fs.OnOp(func(op file.Op) error {
		if op.Kind == file.OpSync {
			<-block
		}
		return nil
	})
	end := mustAppend(t, l, bodyFor(1, 100))
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := l.WaitDurable(ctx, end); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	close(block)
	mustWait(t, l, end)
	mustClose(t, l)
	if _, _, err := l.Append(nil); !errors.Is(err, ErrDead) {
		t.Fatalf("append after close: %v", err)
	}
	if err := l.WaitDurable(context.Background(), end); err != nil {
		t.Fatalf("wait for what is durable, after close: %v", err)
	}
}

// A ring that nobody may empty stops appenders, and they go on when it is emptied.
func TestRingFull(t *testing.T) {
	fs := file.NewMem(1)
	l := mustOpen(t, testConfig(fs))
	block := make(chan struct{})
	fs.OnOp(func(op file.Op) error {
		if op.Kind == file.OpSync {
			<-block
		}
		return nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			l.Append(bodyFor(i, 2000))
		}
	}()
	for l.Stats().RingFull == 0 {
		time.Sleep(time.Millisecond)
	}
	if tail := l.Tail(); tail > FirstLSN+MinRing {
		t.Fatalf("tail %d beyond the ring", tail)
	}
	close(block)
	<-done
	mustClose(t, l)
	if groups, _ := readAll(t, readerConfig(fs), FirstLSN); len(groups) != 100 {
		t.Fatalf("%d groups, want 100", len(groups))
	}
}

func TestBadConfig(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"small ring":       func(c *Config) { c.Ring = c.Ring[:blockSize] },
		"odd ring":         func(c *Config) { c.Ring = file.AlignedBuf(MinRing + 8) },
		"odd segment":      func(c *Config) { c.SegmentBytes = 12345 },
		"start at nothing": func(c *Config) { c.Start = 0 },
		"no such segment":  func(c *Config) { c.Start = 10*testSegment + 8 },
	} {
		cfg := testConfig(file.NewMem(1))
		spoil(&cfg)
		if l, err := Open(cfg); err == nil {
			l.Close()
			t.Errorf("%s: opened", name)
		}
	}
	fs := file.NewMem(1)
	l := mustOpen(t, testConfig(fs))
	mustClose(t, l)
	cfg := testConfig(fs)
	cfg.SegmentBytes *= 2
	if _, err := Open(cfg); err == nil {
		t.Error("opened with another segment size")
	}
	cfg = testConfig(fs)
	cfg.UUID[0]++
	if _, err := Open(cfg); err == nil {
		t.Error("opened the log of another database")
	}
}
