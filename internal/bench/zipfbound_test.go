package bench

import (
	"math"
	"testing"
	"time"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/restart"
)

// TestPaperLoadUniform: where all pages are alike the limit can be computed by hand. Pages come at the speed b of the bytes, m misses a second
// answer m/(1-b*t/n) reads, so n*m/b*ln(1/(1-b*t/n)) are answered after t.
func TestPaperLoadUniform(t *testing.T) {
	const n, rate, iops, bytes = 100_000, 50_000, 1000, 5000 * hearth.PageSize
	heats := make([]float64, n)
	for i := range heats {
		heats[i] = 1.0 / n
	}
	var want float64
	for b := bytes / hearth.PageSize / float64(n); want*b < 1; want += 0.001 {
		if want > 1 && iops/b*math.Log(1/(1-b*want)) >= rate*want {
			break
		}
	}
	for _, order := range []loadOrder{hottestFirst, anywhere, hottestLast} {
		l := paperLoad{heats: heats, order: order, rate: rate, disk: restart.Disk{IOPS: iops, BytesPerSecond: bytes}}
		if got := l.run().all.Seconds(); math.Abs(got-want) > 0.02*want {
			t.Errorf("order %d: all are answered after %.2f s, want %.2f", order, got, want)
		}
	}
}

// TestPaperLoadLimits: a disk that misses all that arrives has nobody wait; one that brings nothing never ends.
func TestPaperLoadLimits(t *testing.T) {
	heats := newZipf(100_000, restartTheta).pages(90)
	l := paperLoad{heats: heats, rate: 100, disk: restart.Disk{IOPS: 3000, BytesPerSecond: 125e6}}
	if all := l.run().all; all == 0 || all > time.Second {
		t.Errorf("100 reads a second on a disk of 3000: all are answered after %v, want at once", all)
	}
	if pages, _ := l.fits(); pages != 0 {
		t.Errorf("100 reads a second on a disk of 3000 need %d pages, want 0", pages)
	}
	l.rate, l.disk.IOPS = 1e6, 1
	l.disk.BytesPerSecond = hearth.PageSize
	if all := l.run().all; all != 0 {
		t.Errorf("a million reads a second on a disk of one are answered after %v, want never", all)
	}
}

// TestOrderIsWorthMuch is the same where rows in demand lie together, at the end of the table: there it is worth more than half.
func TestOrderIsWorthMuch(t *testing.T) {
	const rows, pages = 2_647_058, 28_503
	l := paperLoad{heats: newSpread(SpreadLatest, rows).pages(float64(rows) / pages), rate: 2000, disk: restart.Disk{IOPS: 300, BytesPerSecond: 12.5e6}}
	hot := l.run().all
	l.order = hottestLast
	physical := l.run().all
	if hot == 0 || 2*hot > physical {
		t.Errorf("by heat all are answered after %v, in physical order after %v: want half at most", hot, physical)
	}
	t.Logf("by heat %v, in physical order %v", hot, physical)
}

// TestOrderIsWorthLittle is the table and the disk of docs/restarts.md, a tenth of each: half of the time that physical order takes is out of
// reach of any load that does not know who asks next, since more pages have to be there by then than the disk can bring.
func TestOrderIsWorthLittle(t *testing.T) {
	const rows, pages = 2_647_058, 28_503
	l := paperLoad{heats: newZipf(rows, restartTheta).pages(float64(rows) / pages), rate: 2000, disk: restart.Disk{IOPS: 300, BytesPerSecond: 12.5e6}}
	sum := 0.0
	for _, h := range l.heats {
		sum += h
	}
	if math.Abs(sum-1) > 1e-6 {
		t.Fatalf("the heats of all pages are %.9f together, want 1", sum)
	}
	hot := l.run().all
	need, earliest := l.fits()
	l.order = anywhere
	best := l.run()
	physical := best.all
	if hot == 0 || hot >= physical || best.ninety >= physical {
		t.Fatalf("by heat all are answered after %v, in physical order after %v, 90 %% of them after %v", hot, physical, best.ninety)
	}
	if 2*hot <= physical || 2*earliest <= physical {
		t.Errorf("half of the %v of physical order is in reach: by heat %v, the %d pages that it takes after %v", physical, hot, need, earliest)
	}
	if earliest > hot {
		t.Errorf("by heat all are answered after %v, before the %d of %d pages that it takes can be there, after %v", hot, need, pages, earliest)
	}
	t.Logf("by heat %v, in physical order %v, %d pages after %v", hot, physical, need, earliest)

	// Misses find the hottest pages by themselves. A load that fetches them one by one takes the operations of those who wait.
	l.order, l.disk.BytesPerSecond = hottestFirst, math.MaxInt64
	l.singly = 1e-9
	cold := l.run()
	for _, c := range []struct{ singly, hits float64 }{{0.1, 0.90}, {0.3, 0.95}} {
		l.singly = c.singly
		r := l.run()
		part := r.reads[1] / cold.reads[1]
		t.Logf("%.0f %% of the operations for the hottest pages: %.2f of their hits, %.2f of the reads of a cold start", 100*c.singly, r.least, part)
		if r.least >= c.hits || r.least <= cold.least || part >= 1 {
			t.Errorf("%.0f %% of the operations: %.2f of the hits, want less than %.2f and more than cold's %.2f; %.2f of cold's reads, want less", 100*c.singly, r.least, c.hits, cold.least, part)
		}
	}
}
