package heat

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/hearthdb/hearth/internal/pool"
)

// trustAfter is how long a life may be until the pages it holds say more about what is wanted than any older list.
const trustAfter = time.Hour

// goodPart: a dump of so many percent of the pages of another is as good. Undo pages and the like come and go.
const goodPart = 90

// failedShare: a load went well if no more than one page in so many could not be read.
const failedShare = 100

// remember looks how much an earlier life left: the most of the dumps that are kept, since the newest may be a partial one that
// somebody asked for.
func (w *Warmer) remember() {
	nos, err := w.folder.numbers()
	if err != nil {
		return
	}
	good := int64(0)
	for _, no := range nos {
		if l, err := readFor(w.cfg.FS, w.folder.path(no), w.cfg.UUID, 1); err == nil { // its header is what counts
			good = max(good, int64(l.header.Pages))
		}
	}
	w.mu.Lock()
	w.good = good
	w.mu.Unlock()
}

// whyWithheld is rule 3. A dump would be the list of a pool that is not warm yet, unless
//
//   - an earlier life left none, or
//   - the last load ended well: what was wanted is here, or nowhere, or
//   - the pool holds about as many pages as the good dump lists, or has no room for more, or
//   - this life is old enough to know better.
//
// While a load is under way it is never written. "": it may be. A dump that somebody asks for is written in any case, but then it is
// said to be partial, and no other is removed for it.
func (w *Warmer) whyWithheld() (withheld string) {
	w.remembered.Do(w.remember)
	pages, full := w.cfg.Pool.Frames()-w.cfg.Pool.Free(), w.cfg.Pool.Spare() == 0
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.underWay():
		withheld = "a load is under way"
	case w.good == 0 || w.loadedWell() || isAbout(int64(pages), w.good) || full || time.Since(w.began) >= trustAfter:
	default:
		withheld = fmt.Sprintf("the pool holds %d pages, an earlier life left a dump of %d, and no load of it has ended well", pages, w.good)
	}
	w.withheld = withheld
	return withheld
}

// loadedWell says whether the last load left no less in the pool than the good dump lists; w.mu is held. A load of a short list, to its
// end, does not. Pages that are gone are missing in no list: those of a dump of this database, that is, for what others list and is
// not here says nothing about the good dump.
func (w *Warmer) loadedWell() bool {
	if w.load == nil || w.load.now() != StateDone {
		return false
	}
	count := func(o pool.Outcome) int64 { return w.load.counts[o].Load() }
	l, wanted := w.load.plan.list, w.good
	if filepath.Dir(l.file) == w.folder.dir {
		wanted -= count(pool.Gone)
	}
	return count(pool.Failed)*failedShare <= int64(len(l.pages)) && isAbout(count(pool.Loaded)+count(pool.Present), wanted)
}

// isAbout says whether so many pages are as good as wanted ones.
func isAbout(pages, wanted int64) bool { return pages >= wanted*goodPart/100 }
