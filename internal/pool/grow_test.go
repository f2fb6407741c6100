package pool

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// formatted is a source of pages that hold something.
type formatted struct{ slowSource }

func (s *formatted) ReadPage(_ context.Context, id page.ID, p *page.Page, _ Class) (page.LSN, error) {
	clear(p[:])
	p.SetID(id)
	return 0, page.Apply(p, page.AppendFormat(nil, page.KindSpace))
}

func (s *formatted) ReadPages(ctx context.Context, id page.ID, pages []*page.Page, reads []Read, class Class) error {
	for i, p := range pages {
		if p != nil {
			reads[i].First, reads[i].Err = s.ReadPage(ctx, id+page.ID(i), p, class)
		}
	}
	return nil
}

// TestGrowth: most frames come behind the start. A load and misses use them as they come: nothing finds no room, nothing is evicted, and at
// the end each page has a frame of its own. A frame touched before its time would end the process: its memory is not there.
func TestGrowth(t *testing.T) {
	const frames, loaded, missed = 12000, 6400, 4000
	r, err := region.Plain(region.Config{RingBytes: region.RingUnit, Frames: frames, FirstFrames: MinFrames})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := New(Config{Region: r, Log: &endlessLog{}, Source: &formatted{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Frames() != frames || p.Free() != frames || p.Spare() != frames-p.repl.high {
		t.Errorf("at first: %d frames, %d free, %d spare", p.Frames(), p.Free(), p.Spare())
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for from := 0; from < loaded; from += MaxRun {
			run := new(Run)
			run.Reset(page.MakeID(5, uint32(from)), MaxRun)
			for i := range MaxRun {
				run.Want(i, 4)
			}
			p.Load(t.Context(), run, ClassPrewarm)
			for i, rp := range run.Pages {
				if rp.Outcome != Loaded {
					t.Errorf("page %d: outcome %d, want loaded", from+i, rp.Outcome)
				}
			}
		}
	})
	wg.Go(func() {
		for no := range missed {
			if err := p.Await(t.Context(), page.MakeID(6, uint32(no))); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if err := p.Grown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := p.Stats()
	if s.Evictions != 0 || s.Frames != frames || s.Free != frames-loaded-missed || s.Coming != 0 || s.Short != nil {
		t.Errorf("at last: %+v", s)
	}
	for no := range loaded {
		if !p.Has(page.MakeID(5, uint32(no))) {
			t.Fatalf("page %d is not there", no)
		}
	}
}

// TestCloseWhileGrowing: neither the growth nor a load that waits for it holds Close up.
func TestCloseWhileGrowing(t *testing.T) {
	r, err := region.Plain(region.Config{RingBytes: region.RingUnit, Frames: 1 << 20, FirstFrames: MinFrames})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := New(Config{Region: r, Log: &endlessLog{}, Source: &formatted{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			run := new(Run)
			for at := uint32(0); !p.closed.Load(); at += MaxRun {
				run.Reset(page.MakeID(uint32(5+n), at), MaxRun)
				for i := range MaxRun {
					run.Want(i, 4)
				}
				p.Load(t.Context(), run, ClassPrewarm)
			}
		})
	}
	p.Close()
	wg.Wait()
	if err := p.Grown(t.Context()); err != nil {
		t.Error(err)
	}
}
