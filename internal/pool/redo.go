package pool

import (
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// Redo applies an edit that is in the log already, of the group [start, end), to a page that the group g holds
// exclusively. All edits the logged group has for the page come in order, then EndRedo. An edit that does not apply is
// damage of the log or of the page's image, and an error.
func (g *Group) Redo(h *Held, edit []byte, start page.LSN) error {
	if !h.edited {
		h.edited = true
		d, fr := g.p.desc(h.frame), &g.p.frames[h.frame]
		d.Begin()
		if first := d.First.Load(); first == 0 || first > uint64(start) {
			d.First.Store(uint64(start))
		}
		if fr.flushing.Load() && fr.redirtied == 0 { // the copy that is being written lacks this change
			fr.redirtied = start
		}
		if h.Page.Kind() == page.KindZero {
			h.Page.SetID(h.ID)
		}
	}
	return page.Apply(h.Page, edit)
}

// EndRedo ends a group of Redo: its pages have the changes up to end. With failed set they are left odd.
func (g *Group) EndRedo(end page.LSN, failed bool) {
	for i := range g.n {
		h := &g.held[i]
		if !h.edited || failed {
			continue
		}
		h.Page.SetLSN(end)
		d := g.p.desc(h.frame)
		noteFreed(d, h.Page)
		d.LSN.Store(uint64(end))
		d.State.Store(region.StateReady)
		d.End(int(h.frame))
	}
	g.end()
}
