package heat

import (
	"cmp"
	"slices"

	"github.com/hearthdb/hearth/internal/page"
)

// list is a dump in memory, by ascending page id: neighbours on the disk are neighbours here.
type list struct {
	file   string
	header Header
	pages  []listed
	most   int // pages that are kept in memory; hotter bands come first; 0: all
	kept   int
	over   int // pages that are not kept

	pending [][]page.ID // as they are read, by band; nil once sorted
}

type listed struct {
	id   page.ID
	band uint8 // 0 is the hottest
}

func (l *list) add(band int, id page.ID) {
	if l.most > 0 && l.kept == l.most {
		l.over++
		return
	}
	l.kept++
	for len(l.pending) <= band {
		l.pending = append(l.pending, nil)
	}
	l.pending[band] = append(l.pending[band], id)
}

// sort makes the bands one list. A page in two bands belongs to the hotter one.
func (l *list) sort() {
	n := 0
	for _, ids := range l.pending {
		n += len(ids)
	}
	l.pages = make([]listed, 0, n)
	for band, ids := range l.pending {
		for _, id := range ids {
			l.pages = append(l.pages, listed{id, uint8(band)})
		}
	}
	slices.SortFunc(l.pages, func(a, b listed) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.band, b.band)) })
	l.pages = slices.CompactFunc(l.pages, func(a, b listed) bool { return a.id == b.id })
	l.pending = nil
}

// find is the index of the first page at or behind id.
func (l *list) find(id page.ID) (int, bool) {
	return slices.BinarySearchFunc(l.pages, id, func(p listed, id page.ID) int { return cmp.Compare(p.id, id) })
}

// heat is the word that a page of a band begins with: the middle of the band.
func (l *list) heat(band uint8) uint32 {
	h := l.header.Bands[band].Heat
	return h + h/2
}
