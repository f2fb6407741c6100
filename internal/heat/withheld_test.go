package heat

import (
	"testing"

	"github.com/hearthdb/hearth/internal/pool"
)

// TestLoadedWell: which loads leave a pool whose list may take the place of a good dump, of 1000 pages.
func TestLoadedWell(t *testing.T) {
	const kept, other = testDir + "/0000000007.heat", "/else/where"
	for _, c := range []struct {
		name                          string
		file                          string
		state                         State
		loaded, present, gone, failed int64
		want                          bool
	}{
		{"all", kept, StateDone, 990, 10, 0, 0, true},
		{"most", kept, StateDone, 890, 10, 0, 0, true},
		{"too few", kept, StateDone, 889, 10, 0, 0, false},
		{"others had read them", kept, StateDone, 0, 900, 0, 0, true},
		{"a short list", other, StateDone, 10, 0, 0, 0, false},
		{"not to the end", kept, StateCancelled, 990, 0, 0, 0, false},
		{"dropped since", kept, StateDone, 180, 0, 800, 0, true},
		{"a short list of what was dropped since", kept, StateDone, 0, 0, 10, 0, false},
		{"of another server, which has other pages", other, StateDone, 180, 0, 800, 0, false},
		{"another server's of the same", other, StateDone, 950, 0, 0, 0, true},
		{"a page in a hundred failed", kept, StateDone, 990, 0, 0, 10, true},
		{"more failed", kept, StateDone, 989, 0, 0, 11, false},
	} {
		x := &load{state: c.state, plan: plan{list: &list{file: c.file}}}
		for o, n := range map[pool.Outcome]int64{pool.Loaded: c.loaded, pool.Present: c.present, pool.Gone: c.gone, pool.Failed: c.failed} {
			x.counts[o].Store(n)
			x.plan.list.pages = append(x.plan.list.pages, make([]listed, n)...)
		}
		w := &Warmer{folder: folder{dir: testDir}, good: 1000, load: x}
		if got := w.loadedWell(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
