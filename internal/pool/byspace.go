package pool

import (
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/region"
)

// SpacePages is what the pool holds of one space.
type SpacePages struct {
	Pages, Dirty int
	Hits         int64 // lately: about so many, halved now and then
}

// BySpace walks over the descriptors, without a latch, and counts the pages of each space. What comes or goes meanwhile may be
// counted or not.
func (p *Pool) BySpace() map[uint32]SpacePages {
	spaces := map[uint32]*SpacePages{}
	for f := range uint32(p.n) {
		d := p.desc(f)
		id, state := page.ID(d.ID.Load()), d.State.Load()
		if state == region.StateReady || state == region.StateUnverified {
			s := spaces[id.Space()]
			if s == nil {
				s = &SpacePages{}
				spaces[id.Space()] = s
			}
			s.Pages++
			s.Hits += int64(d.Heat.Load() &^ markMask >> heatShift)
			if d.First.Load() != 0 {
				s.Dirty++
			}
		}
		p.breathe(f)
	}
	counted := make(map[uint32]SpacePages, len(spaces))
	for no, s := range spaces {
		counted[no] = *s
	}
	return counted
}
