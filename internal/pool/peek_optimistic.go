//go:build amd64 && !race

package pool

import (
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// Peek is a read without a lock, a pin or a write to shared memory: the seqlock of LeanStore's optimistic
// latches (Leis et al., "LeanStore: In-Memory Data Management beyond Main Memory", ICDE 2018). What is read
// through it may be garbage until End has said otherwise, so all code that reads a Page is total.
//
// amd64 only: its loads stay in order, which Go's memory model does not promise for plain loads before an
// atomic one elsewhere. Other machines, and the race detector, get the latched variant.
type Peek struct {
	Page *page.Page
	d    *region.Desc
	v    uint64
}

// Peek starts an optimistic read. False: not in the pool, or being changed; see Await.
func (p *Pool) Peek(id page.ID) (Peek, bool) {
	f, ok := p.table.find(p, id)
	if !ok {
		return Peek{}, false
	}
	d := p.desc(f)
	v := d.Version.Load()
	if v&1 != 0 || d.State.Load() != region.StateReady || page.ID(d.ID.Load()) != id {
		return Peek{}, false
	}
	touch(p, d, f)
	return Peek{p.page(f), d, v}, true
}

// End says whether everything read since Peek is what the page held at one moment. Once for each Peek.
func (k Peek) End() bool { return k.d.Version.Load() == k.v }

// Same says whether a page that the group holds has not changed since a Peek of it: what was seen then, its place in a
// tree included, is still so.
func (g *Group) Same(h *Held, k Peek) bool {
	d := g.p.desc(h.frame)
	return k.d == d && d.Version.Load() == k.v
}
