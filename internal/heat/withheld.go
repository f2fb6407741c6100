package heat

import (
	"fmt"
	"time"

	"github.com/hearthdb/hearth/internal/pool"
)

// trustAfter is how long a life may be until the pages it holds say more about what is wanted than any older list.
const trustAfter = time.Hour

// goodPart: a dump of so many percent of the pages of another is as good. Undo pages and the like come and go.
const goodPart = 90

// failedShare: a load went well if no more than one page in so many could not be read.
const failedShare = 100

// remember looks how much an earlier life left.
func (w *Warmer) remember() {
	l, err := w.find("", 1, false) // its header is what counts
	if err != nil {
		return
	}
	w.mu.Lock()
	w.good = int64(l.header.Pages)
	w.mu.Unlock()
}

// mayDump is rule 3. A dump would be the list of a pool that is not warm yet, unless
//
//   - an earlier life left none, or
//   - a load in this life ended well: what was wanted is here, or nowhere, or
//   - the pool holds about as many pages as the good dump lists, or has no room for more, or
//   - this life is old enough to know better.
//
// While a load is under way it is never written.
func (w *Warmer) mayDump() bool {
	pages, full := w.cfg.Pool.Frames()-w.cfg.Pool.Free(), w.cfg.Pool.Spare() == 0
	w.mu.Lock()
	defer w.mu.Unlock()
	w.withheld = ""
	well := false
	if w.load != nil {
		_, well = w.load.outcome()
	}
	switch {
	case w.underWay():
		w.withheld = "a load is under way"
	case w.good == 0 || well || int64(pages) >= w.good*goodPart/100 || full || time.Since(w.began) >= trustAfter:
	default:
		w.withheld = fmt.Sprintf("the pool holds %d pages, an earlier life left a dump of %d, and no load of it has ended well", pages, w.good)
	}
	return w.withheld == ""
}

// outcome is the state of the load, and whether it ended well.
func (x *load) outcome() (State, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state, x.state == StateDone && x.counts[pool.Failed].Load()*failedShare <= int64(len(x.plan.list.pages))
}
