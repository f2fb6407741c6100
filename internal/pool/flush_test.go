package pool

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// endlessLog takes everything and has it durable at once.
type endlessLog struct{ tail atomic.Uint64 }

func (l *endlessLog) Append(body []byte) (start, end page.LSN, err error) {
	e := l.tail.Add(uint64(len(body)+7) &^ 7)
	return page.LSN(e) - page.LSN(len(body)+7)&^7, page.LSN(e), nil
}
func (l *endlessLog) Tail() page.LSN                              { return page.LSN(l.tail.Load()) }
func (l *endlessLog) WaitDurable(context.Context, page.LSN) error { return nil }

// slowSource has empty pages, and holds a write until it may go on.
type slowSource struct{ writing, goOn chan struct{} }

func (s *slowSource) ReadPage(_ context.Context, _ page.ID, p *page.Page, _ Class) (page.LSN, error) {
	clear(p[:])
	return 0, nil
}

func (s *slowSource) ReadPages(_ context.Context, _ page.ID, pages []*page.Page, _ []Read, _ Class) error {
	for _, p := range pages {
		if p != nil {
			clear(p[:])
		}
	}
	return nil
}

func (s *slowSource) Repair(ctx context.Context, id page.ID, p *page.Page) (page.LSN, error) {
	return s.ReadPage(ctx, id, p, ClassMiss)
}

func (s *slowSource) WritePages(context.Context, []Write) error {
	s.writing <- struct{}{}
	<-s.goOn
	return nil
}

// TestFlushWaitsForNobody: a write-back ends although somebody holds one of its pages, who may be waiting for a frame that
// only the cleaner can free. The page is clean, or dirty since that change, once it is let go.
func TestFlushWaitsForNobody(t *testing.T) {
	r, err := region.Plain(region.Config{RingBytes: region.RingUnit, Frames: MinFrames})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, src := &endlessLog{}, &slowSource{make(chan struct{}), make(chan struct{})}
	l.tail.Store(4096)
	p, err := New(Config{Region: r, Log: l, Source: src, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	id := page.MakeID(7, 1)
	change := func(g *Group) *Held {
		h, err := g.Fetch(id, Exclusive)
		if err != nil {
			t.Fatal(err)
		}
		g.Edit(h, page.AppendFormat(g.Scratch(), page.KindOverflow))
		return h
	}
	g := p.Begin(t.Context())
	f := change(g).frame
	if _, err := g.Commit(); err != nil {
		t.Fatal(err)
	}

	for _, changed := range []bool{false, true} {
		done := make(chan error)
		go func() {
			_, err := p.flush(context.Background(), []uint32{f})
			done <- err
		}()
		<-src.writing
		g := p.Begin(t.Context())
		if _, err := g.Fetch(id, Exclusive); err != nil {
			t.Fatal(err)
		}
		src.goOn <- struct{}{}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the write-back waits for a page that a group holds")
		}
		before := l.Tail()
		if changed {
			change(g)
		}
		if _, err := g.Commit(); err != nil {
			t.Fatal(err)
		}
		for p.frames[f].flushing.Load() {
			time.Sleep(time.Millisecond)
		}
		want := page.LSN(0)
		if changed {
			want = before
		}
		if first := page.LSN(p.desc(f).First.Load()); first != want {
			t.Errorf("changed while it was written: %v; first change is %d, want %d", changed, first, want)
		}
		g = p.Begin(t.Context()) // dirty for the next round
		change(g)
		if _, err := g.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}
