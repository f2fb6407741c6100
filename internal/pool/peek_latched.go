//go:build !amd64 || race

package pool

import (
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// Peek is the latched variant of an optimistic read: the same contract, with a pin and a shared latch. It never
// waits, since its caller may hold another one.
type Peek struct {
	Page *page.Page
	fr   *frame
}

// Peek starts a read. False: not in the pool, or being changed; see Await.
func (p *Pool) Peek(id page.ID) (Peek, bool) {
	f, ok := p.table.find(p, id)
	if !ok {
		return Peek{}, false
	}
	fr, d := &p.frames[f], p.desc(f)
	if !fr.tryPin() {
		return Peek{}, false
	}
	if !fr.latch.TryRLock() {
		fr.unpin()
		return Peek{}, false
	}
	if d.State.Load() != region.StateReady || page.ID(d.ID.Load()) != id || d.Version.Load()&1 != 0 {
		fr.latch.RUnlock()
		fr.unpin()
		return Peek{}, false
	}
	touch(p, d, f)
	return Peek{p.page(f), fr}, true
}

// End ends the read; here it was always consistent.
func (k Peek) End() bool {
	k.fr.latch.RUnlock()
	k.fr.unpin()
	return true
}

// Same says whether a page that the group holds is known not to have changed since a Peek of it. The latched variant
// does not know.
func (g *Group) Same(*Held, Peek) bool { return false }
