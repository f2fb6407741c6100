package recovery

import (
	"testing"

	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// plain is a region of plain memory with some frames.
func plain(tb testing.TB, frames int) *region.Region {
	r, err := region.Plain(region.Config{RingBytes: region.RingUnit, Frames: frames})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close() })
	return r
}

// hold puts a page into a frame as a life would leave it.
func hold(r *region.Region, f int, id page.ID, lsn, first page.LSN, state uint32) {
	d := r.Desc(f)
	d.Begin()
	d.SetID(f, id)
	d.LSN.Store(uint64(lsn))
	d.First.Store(uint64(first))
	d.State.Store(state)
	d.End(f)
	r.Page(f).SetID(id)
	r.Page(f).SetLSN(lsn)
}

// The rows of the verdict table, by name.
func TestVerdicts(t *testing.T) {
	const end = 10000
	id := page.MakeID(16, 7)
	for _, c := range []struct {
		name  string
		leave func(r *region.Region)
		want  Verdict
		redo  bool
	}{
		{"free", func(r *region.Region) {}, Free, false},
		{"clean", func(r *region.Region) { hold(r, 0, id, 9000, 0, region.StateReady) }, KeepClean, false},
		{"clean, at the end of the log", func(r *region.Region) { hold(r, 0, id, end, 0, region.StateReady) }, KeepClean, false},
		{"clean, a survivor nobody touched", func(r *region.Region) { hold(r, 0, id, 9000, 0, region.StateUnverified) }, KeepClean, false},
		{"dirty", func(r *region.Region) { hold(r, 0, id, 9000, 8000, region.StateReady) }, KeepDirty, false},
		{"loading", func(r *region.Region) { hold(r, 0, id, 0, 0, region.StateLoading) }, DropLoading, false},
		{"torn", func(r *region.Region) {
			hold(r, 0, id, 9000, 0, region.StateReady)
			r.Desc(0).Begin()
		}, DropTorn, true},
		{"torn, changed before and not written", func(r *region.Region) {
			hold(r, 0, id, 9000, 8000, region.StateReady)
			r.Desc(0).Begin()
			r.Desc(0).LSN.Store(end + 1)
		}, DropTorn, true},
		{"torn, between two pages", func(r *region.Region) { r.Desc(0).Begin() }, Free, false},
		{"ahead", func(r *region.Region) { hold(r, 0, id, end+1, 9000, region.StateReady) }, DropAhead, true},
		{"nonsense: changed after its LSN", func(r *region.Region) { hold(r, 0, id, 8000, 9000, region.StateReady) }, DropNonsense, true},
		{"distrust: a field changed behind our back", func(r *region.Region) {
			hold(r, 0, id, 9000, 8000, region.StateReady)
			r.Desc(0).First.Store(0)
		}, Distrust, false},
		{"distrust: another page's name", func(r *region.Region) {
			hold(r, 0, id, 9000, 8000, region.StateReady)
			r.Desc(0).ID.Store(uint64(page.MakeID(16, 8)))
		}, Distrust, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain(t, 1)
			c.leave(r)
			v := judge(r.Desc(0).Examine(0), end)
			if v != c.want || v.needsRedo() != c.redo {
				t.Errorf("verdict %v, redo %v; want %v, %v", v, v.needsRedo(), c.want, c.redo)
			}
		})
	}
}

// One descriptor that contradicts itself costs all frames, and nothing else.
func TestDistrustCostsAllFrames(t *testing.T) {
	r := plain(t, 4)
	hold(r, 0, page.MakeID(16, 1), 9000, 8000, region.StateReady)
	hold(r, 1, page.MakeID(16, 2), 9000, 8000, region.StateReady)
	hold(r, 2, page.MakeID(16, 3), 9000, 0, region.StateReady)
	r.Desc(2).Begin()
	r.Desc(1).LSN.Add(1)
	p := &Plan{End: 10000, Redo: map[page.ID]struct{}{}}
	p.examine(r)
	if p.FramesKept || len(p.Redo) != 0 || p.Counts[Distrust] != 1 {
		t.Errorf("kept %v, %d pages to redo, %v", p.FramesKept, len(p.Redo), p.Verdicts())
	}
}

// A pool that shrinks keeps changed pages, then the hottest; what finds no frame and was changed is redone.
func TestShrink(t *testing.T) {
	const end = 10000
	r := plain(t, 8)
	for f := range 8 {
		first := page.LSN(0)
		if f >= 5 { // the last three are dirty
			first = 8000
		}
		hold(r, f, page.MakeID(16, uint32(f+10)), 9000, first, region.StateReady)
		r.Desc(f).Heat.Store(uint32(f) << 4)
	}
	p := &Plan{End: end, Redo: map[page.ID]struct{}{}}
	p.examine(r)
	if err := p.Apply(r, 4); err != nil {
		t.Fatal(err)
	}
	got := map[uint32]bool{}
	for f := range r.Frames() {
		d := r.Desc(f)
		id := page.ID(d.ID.Load())
		if d.State.Load() != region.StateUnverified || r.Page(f).ID() != id {
			t.Errorf("frame %d: state %d, page %v holds %v", f, d.State.Load(), id, r.Page(f).ID())
		}
		got[id.No()] = d.First.Load() != 0
	}
	for no, dirty := range map[uint32]bool{14: false, 15: true, 16: true, 17: true} {
		if d, ok := got[no]; !ok || d != dirty {
			t.Errorf("page %d: kept %v, dirty %v", no, ok, d)
		}
	}
	if len(got) != 4 || len(p.Redo) != 0 {
		t.Errorf("kept %v, redo %v", got, p.Redo)
	}
	// Smaller than what is dirty: one changed page is left to redo.
	p = &Plan{End: end, Redo: map[page.ID]struct{}{}}
	p.examine(r)
	if err := p.Apply(r, 2); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Redo[page.MakeID(16, 15)]; !ok || len(p.Redo) != 1 {
		t.Errorf("to redo: %v, want the coldest changed page", p.Redo)
	}
}
