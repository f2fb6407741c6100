package heat

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/file"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/pool"
)

// The simulation runs loads beside readers on disks that exist on paper, in the time of testing/synctest: a minute takes a second,
// and nobody else's work shows.

// disk says when a read that comes now is over.
type disk interface {
	read(now time.Time, bytes int) time.Time
}

// volume is a cloud volume: limits of operations and bytes a second, in the order of arrival.
type volume struct {
	iops, bytesPerSecond float64
	latency              time.Duration
	opsFree, bytesFree   time.Time
}

func (d *volume) read(now time.Time, bytes int) time.Time {
	if d.iops > 0 {
		d.opsFree = later(d.opsFree, now).Add(time.Duration(1e9 / d.iops))
	}
	if d.bytesPerSecond > 0 {
		d.bytesFree = later(d.bytesFree, now).Add(time.Duration(float64(bytes) / d.bytesPerSecond * 1e9))
	}
	return later(later(d.opsFree, d.bytesFree), now).Add(d.latency)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// throttle is such a volume as the kernel makes it of a faster disk: what a slice of time has is gone in a burst.
type throttle struct {
	iops, bytesPerSecond float64
	slice                time.Duration
	saves                time.Duration // what was not asked for in so much time can be had later
	below                disk

	began      time.Time
	ops, bytes float64
}

// stalling is a disk of a machine that stands still now and then: what would have ended meanwhile ends behind it.
type stalling struct {
	disk
	every, long time.Duration
	began       time.Time
}

func (d *stalling) read(now time.Time, bytes int) time.Time {
	if d.began.IsZero() {
		d.began = now
	}
	end := d.disk.read(now, bytes)
	if in := end.Sub(d.began) % d.every; in > d.every-d.long {
		end = end.Add(d.every - in)
	}
	return end
}

func (d *throttle) read(now time.Time, bytes int) time.Time {
	if d.began.IsZero() {
		d.began = now
	}
	start := now
	d.turn(start)
	for d.ops+1 > d.iops*d.slice.Seconds() || d.bytes+float64(bytes) > d.bytesPerSecond*d.slice.Seconds() && d.bytes > 0 {
		start = d.began.Add(d.slice)
		d.turn(start)
	}
	d.ops++
	d.bytes += float64(bytes)
	return d.below.read(later(start, now), bytes)
}

// turn goes on to the slice of a moment. Bytes that were too many for one are taken from the next.
func (d *throttle) turn(at time.Time) {
	for !at.Before(d.began.Add(d.slice)) {
		d.began = d.began.Add(d.slice)
		d.ops = max(d.ops-d.iops*d.slice.Seconds(), -d.iops*d.saves.Seconds())
		d.bytes = max(d.bytes-d.bytesPerSecond*d.slice.Seconds(), -d.bytesPerSecond*d.saves.Seconds())
	}
}

// flash has channels that work beside each other, and a bus.
type flash struct {
	latency        time.Duration
	bytesPerSecond float64
	channels       []time.Time
	bus            time.Time
}

func (d *flash) read(now time.Time, bytes int) time.Time {
	i := 0
	for k := range d.channels {
		if d.channels[k].Before(d.channels[i]) {
			i = k
		}
	}
	d.channels[i] = later(d.channels[i], now).Add(d.latency)
	d.bus = later(d.bus, d.channels[i]).Add(time.Duration(float64(bytes) / d.bytesPerSecond * 1e9))
	return d.bus
}

// spindle seeks, then reads, one at a time.
type spindle struct {
	seek           time.Duration
	bytesPerSecond float64
	free           time.Time
}

func (d *spindle) read(now time.Time, bytes int) time.Time {
	d.free = later(d.free, now).Add(d.seek + time.Duration(float64(bytes)/d.bytesPerSecond*1e9))
	return d.free
}

// paperFS has data files whose reads take as long as the disk says and bring nothing.
type paperFS struct {
	file.FS
	mu   sync.Mutex
	disk disk
}

type paperFile struct {
	file.File
	fs *paperFS
}

func (p *paperFS) OpenFile(name string, flag file.OpenFlag, perm fs.FileMode) (file.File, error) {
	f, err := p.FS.OpenFile(name, flag, perm)
	if err == nil && filepath.Ext(name) == ".hs" {
		return &paperFile{f, p}, nil
	}
	return f, err
}

func (f *paperFile) wait(n int) (int, error) {
	now := time.Now()
	f.fs.mu.Lock()
	end := f.fs.disk.read(now, n)
	f.fs.mu.Unlock()
	time.Sleep(end.Sub(now))
	return n, nil
}

func (f *paperFile) ReadAt(p []byte, _ int64) (int, error) { return f.wait(len(p)) }

func (f *paperFile) ReadVecAt(bufs [][]byte, _ int64) (int, error) {
	n := 0
	for _, b := range bufs {
		n += len(b)
	}
	return f.wait(n)
}

// trial is readers over a table, with or without a load beside them.
type trial struct {
	disk    disk
	pages   int
	readers int     // closed loop
	rate    float64 // open loop: reads a second that arrive, with at most readers of them on their way
	theta   float64 // of the zipf distribution of pages; 0: uniform
	order   Order   // "": no load
	seconds int
	hit     time.Duration // what a hit takes
	table   []float64     // the heat of each page, instead of theta's; nil: theta's
	bands   []int         // of each page, instead of those of its heat; nil: those

	cum     []float64
	brought *atomic.Int64 // pages, by the load
}

// second is what happened in one.
type second struct {
	reads, misses, missBytes, loads, loadBytes int
	latency                                    time.Duration // of misses
	loaded                                     int
	late                                       int
	device                                     datafile.Device
}

func (s second) String() string {
	return fmt.Sprintf("reads %7d misses %5d of %3d KiB in %8v  loads %4d MB %5.1f share %4.1f %%  all MB %5.1f  loaded %d late %d", s.reads, s.misses,
		s.missBytes/1024/max(s.misses, 1), s.latency.Round(time.Microsecond), s.loads, float64(s.loadBytes)/1e6,
		100*float64(s.loadBytes)/max(float64(s.loadBytes+s.missBytes), 1), float64(s.loadBytes+s.missBytes)/1e6, s.loaded, s.late)
}

// heats is how wanted each page is.
func (x *trial) heats(rng *rand.Rand) []float64 {
	if x.table != nil {
		return x.table
	}
	h := make([]float64, x.pages)
	for i, k := range rng.Perm(x.pages) {
		h[i] = math.Pow(float64(k+1), -x.theta)
	}
	return h
}

// run returns the seconds, and when everything was there.
func (x *trial) run(t testing.TB) (seconds []second, over time.Duration) {
	rng := rand.New(rand.NewPCG(7, 7))
	heats := x.heats(rng)
	x.cum = make([]float64, x.pages)
	sum := 0.0
	for i, h := range heats {
		sum += h
		x.cum[i] = sum
	}
	x.brought = new(atomic.Int64)
	present := make([]atomic.Bool, x.pages)
	var here atomic.Int64
	bring := func(i int) {
		if !present[i].Swap(true) {
			here.Add(1)
		}
	}
	mem := file.NewMem(1)
	if err := mem.MkdirAll("/db", 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := datafile.Open(datafile.Config{FS: &paperFS{FS: mem, disk: x.disk}, Dir: "/db"})
	if err != nil {
		t.Fatal(err)
	}
	if err := files.RestoreTorn(); err != nil {
		t.Fatal(err)
	}
	if err := files.Create(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(x.seconds)*time.Second)
	defer cancel()
	began := time.Now()
	var wg sync.WaitGroup
	var p *plan
	if x.order != "" {
		p = x.plan(heats, present)
		for range loaders {
			wg.Go(func() { x.loader(ctx, files, p, bring) })
		}
	}
	var reads, late, due atomic.Int64
	for w := range x.readers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(9, uint64(w)))
			var busy time.Duration
			for ctx.Err() == nil {
				at := began
				if x.rate > 0 {
					at = began.Add(time.Duration(float64(due.Add(1)) / x.rate * 1e9))
					time.Sleep(time.Until(at))
				}
				i := min(sort.SearchFloat64s(x.cum, rng.Float64()*sum), x.pages-1)
				busy += x.hit
				if !present[i].Load() {
					time.Sleep(busy)
					busy = 0
					x.miss(ctx, files, p, i, bring)
				} else if busy > 500*time.Microsecond {
					time.Sleep(busy)
					busy = 0
				}
				reads.Add(1)
				if x.rate > 0 && time.Since(at) > 10*time.Millisecond {
					late.Add(1)
				}
			}
		})
	}
	var last datafile.Stats
	for s := 1; s <= x.seconds; s++ {
		time.Sleep(time.Until(began.Add(time.Duration(s) * time.Second)))
		st := files.Stats()
		m, l, m0, l0 := st[datafile.ClassMiss], st[datafile.ClassPrewarm], last[datafile.ClassMiss], last[datafile.ClassPrewarm]
		sec := second{
			reads: int(reads.Swap(0)), misses: int(m.Reads - m0.Reads), missBytes: int(m.BytesRead - m0.BytesRead),
			loads: int(l.Reads - l0.Reads), loadBytes: int(l.BytesRead - l0.BytesRead), loaded: int(here.Load()), late: int(late.Swap(0)),
		}
		if sec.misses > 0 {
			sec.latency = (m.Busy - m0.Busy) / time.Duration(sec.misses)
		}
		last = st
		sec.device = files.Device()
		seconds = append(seconds, sec)
		if int(here.Load()) >= x.pages*999/1000 {
			over = time.Since(began)
			break
		}
	}
	cancel()
	wg.Wait()
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	return seconds, over
}

func (x *trial) plan(heats []float64, present []atomic.Bool) *plan {
	l := &list{}
	least := math.Inf(1)
	for _, h := range heats {
		least = min(least, h)
	}
	low := 0
	for _, h := range heats {
		low = max(low, int(math.Log2(h/least)))
	}
	for i, h := range heats {
		b := low - int(math.Log2(h/least))
		if x.theta == 0 { // sampling makes two bands of one
			b = int(uint64(i)*0x9E3779B97F4A7C15>>62) & 1
		}
		if x.bands != nil {
			b = x.bands[i]
		}
		l.add(b, page.MakeID(1, uint32(i)))
	}
	for len(l.header.Bands) < len(l.pending) {
		l.header.Bands = append(l.header.Bands, Band{Heat: 1})
	}
	l.sort()
	return &plan{
		list: l, physical: x.order == OrderPhysical, taken: make([]atomic.Bool, len(l.pages)),
		has: func(id page.ID) bool { return present[id.No()].Load() }, settle: func(int, pool.Outcome) {},
	}
}

func (x *trial) loader(ctx context.Context, files *datafile.Set, p *plan, bring func(int)) {
	r := new(pool.Run)
	for {
		turn, err := files.Turn(ctx, float64(x.brought.Load())/float64(x.pages))
		if err != nil {
			return
		}
		if !p.next(r, turn.Pages, turn.Free) {
			turn.Done(0)
			return
		}
		n := len(r.Pages)
		files.ReadPages(ctx, r.First, make([]*page.Page, n), datafile.ClassPrewarm)
		x.bring(r, bring)
		turn.Done(n * page.Size)
	}
}

func (x *trial) bring(r *pool.Run, bring func(int)) {
	for i := range r.Pages {
		if r.Pages[i].Outcome != pool.Unwanted {
			bring(int(r.First.No()) + i)
			x.brought.Add(1)
		}
	}
}

func (x *trial) miss(ctx context.Context, files *datafile.Set, p *plan, i int, bring func(int)) {
	if p != nil {
		r := new(pool.Run)
		if n := files.Around(); n > 1 && p.around(r, page.MakeID(1, uint32(i)), n) {
			from, to := int(page.MakeID(1, uint32(i))-r.First), 0
			to = from + 1
			for k := range r.Pages {
				if r.Pages[k].Outcome != pool.Unwanted {
					from, to = min(from, k), max(to, k+1)
				}
			}
			files.ReadPages(ctx, r.First+page.ID(from), make([]*page.Page, to-from), datafile.ClassMiss)
			x.bring(r, bring)
			bring(i)
			return
		}
	}
	files.ReadPages(ctx, page.MakeID(1, uint32(i)), make([]*page.Page, 1), datafile.ClassMiss)
	bring(i)
}

// found is what is known of a disk: operations and MB a second, and what readers are short of; BoundUnknown: that may be known or not, so soon.
type found struct {
	iops, megabytes float64
	bound           datafile.Bound
}

// is says whether that is what was found out, but for a tenth.
func (f found) is(d datafile.Device) bool {
	near := func(got, want float64) bool { return math.Abs(got-want) <= 0.1*want }
	return near(d.IOPS, f.iops) && near(d.BytesPerSecond/1e6, f.megabytes) && (f.bound == datafile.BoundUnknown || d.Bound == f.bound)
}

// TestLoadBesideReaders is what a load promises, on disks of several kinds.
func TestLoadBesideReaders(t *testing.T) {
	const mb = 1e6
	flashDisk := func() disk {
		return &flash{latency: 90 * time.Microsecond, bytesPerSecond: 900 * mb, channels: make([]time.Time, 8)}
	}
	cloud := func() disk { return &volume{iops: 3000, bytesPerSecond: 125 * mb, latency: 300 * time.Microsecond} }
	kernel := func() disk {
		return &throttle{iops: 3000, bytesPerSecond: 125 * mb, slice: 100 * time.Millisecond, below: flashDisk()}
	}
	stalls := func() disk {
		below := &throttle{iops: 3000, bytesPerSecond: 125 * mb, slice: 100 * time.Millisecond, saves: 200 * time.Millisecond, below: flashDisk()}
		return &stalling{disk: below, every: 1300 * time.Millisecond, long: 130 * time.Millisecond}
	}
	for _, c := range []struct {
		name    string
		disk    func() disk
		readers int
		rate    float64
		theta   float64
		within  int     // seconds until everything is there
		least   float64 // of the reads of the same second of a cold start, in the first seconds
		share   float64 // of the bytes, that the load gets in every second
		found   found   // of the disk, after ten seconds
	}{
		{name: "cloud volume", disk: cloud, readers: 16, within: 42, least: 0.9, share: 0.10, found: found{3000, 125, datafile.BoundOps}},
		{name: "cloud volume, zipf", disk: cloud, readers: 16, theta: 0.99, within: 45, least: 0.9, share: 0.10},
		{name: "throttled by the kernel", disk: kernel, readers: 16, within: 45, least: 0.88, share: 0.10, found: found{3000, 125, datafile.BoundUnknown}},
		{name: "throttled by the kernel, few readers", disk: kernel, readers: 4, within: 45, least: 0.88, share: 0.10},
		{name: "throttled by the kernel, on a machine that stalls", disk: stalls, readers: 16, within: 45, least: 0.8, share: 0.10},
		{name: "throttled by the kernel, reads arrive", disk: kernel, readers: 64, rate: 2500, within: 75, least: 0.95, share: 0.10},
		{name: "only bytes are short", disk: func() disk { return &volume{bytesPerSecond: 50 * mb, latency: 300 * time.Microsecond} },
			readers: 16, least: 0.8, share: 0.10, found: found{3050, 50, datafile.BoundBytes}},
		{name: "only operations are short", disk: func() disk { return &volume{iops: 3000, bytesPerSecond: 1000 * mb, latency: 300 * time.Microsecond} },
			readers: 16, within: 35, least: 0.9, share: 0.10},
		{name: "flash", disk: flashDisk, readers: 4, within: 15, least: 0.85, share: 0.10},
		{name: "spindle", disk: func() disk { return &spindle{seek: 8 * time.Millisecond, bytesPerSecond: 150 * mb} }, readers: 16, least: 0.8,
			share: 0.08}, // one read of the load is 0.03 of a second
		{name: "cloud volume, 5 reads a second arrive", disk: cloud, readers: 16, rate: 5, within: 40, least: 0.8, share: 0.10},
		{name: "cloud volume, 30 reads a second arrive", disk: cloud, readers: 16, rate: 30, within: 40, least: 0.8, share: 0.10},
		{name: "cloud volume, 180 reads a second arrive", disk: cloud, readers: 16, rate: 180, within: 70, least: 0.9, share: 0.10},
		{name: "cloud volume, 400 reads a second arrive", disk: cloud, readers: 16, rate: 400, within: 100, least: 0.9, share: 0.10},
		{name: "cloud volume, 1150 reads a second arrive", disk: cloud, readers: 16, rate: 1150, within: 120, least: 0.9, share: 0.10},
		{name: "throttled by the kernel, 30 reads a second arrive", disk: kernel, readers: 16, rate: 30, within: 90, least: 0.8, share: 0.10},
		{name: "throttled by the kernel, 400 reads a second arrive", disk: kernel, readers: 16, rate: 400, within: 80, least: 0.9, share: 0.10},
		{name: "flash, 30 reads a second arrive", disk: flashDisk, readers: 16, rate: 30, within: 15, least: 0.8, share: 0.10},
		{name: "flash, 1000 reads a second arrive", disk: flashDisk, readers: 16, rate: 1000, within: 15, least: 0.9, share: 0.10},
		{name: "cloud volume, nobody reads", disk: cloud, within: 30, found: found{0, 125, datafile.BoundUnknown}},
		{name: "flash, nobody reads", disk: flashDisk, within: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.theta == 0 && c.name != "cloud volume" {
				t.Skip("short")
			}
			x := trial{pages: 220_000, readers: c.readers, rate: c.rate, theta: c.theta, hit: 8 * time.Microsecond}
			var cold, warm []second
			var over time.Duration
			synctest.Test(t, func(t *testing.T) {
				x := x
				x.disk, x.seconds = c.disk(), 8
				cold, _ = x.run(t)
			})
			synctest.Test(t, func(t *testing.T) {
				x := x
				x.disk, x.seconds, x.order = c.disk(), max(c.within, 20), OrderHeat
				warm, over = x.run(t)
			})
			failed := func(format string, args ...any) { t.Helper(); t.Errorf(format, args...) }
			if c.within > 0 && over == 0 {
				failed("not everything is there after %d s", c.within)
			}
			for i, s := range warm {
				if i < len(cold) && float64(s.reads) < c.least*float64(cold[i].reads) {
					failed("second %d: %d reads, want %.2f of the %d of a cold start", i+1, s.reads, c.least, cold[i].reads)
				}
				busy := s.missBytes > 0 && s.loaded < x.pages*95/100
				if share := float64(s.loadBytes) / float64(s.loadBytes+s.missBytes); busy && share < c.share {
					failed("second %d: the load has %.3f of the bytes, want %.2f", i+1, share, c.share)
				}
			}
			if c.found != (found{}) {
				if d := warm[9].device; !c.found.is(d) {
					failed("found %.0f operations and %.1f MB a second, short of %q, want %+v", d.IOPS, d.BytesPerSecond/1e6, d.Bound, c.found)
				}
			}
			if t.Failed() || testing.Verbose() {
				for i, s := range warm {
					d := s.device
					t.Logf("%3d %v %v %v budget %.1f around %.2f free %.1f read %d", i+1, s, d.Situation, d.Bound, d.Budget/mb, d.Around, d.OpBytes/page.Size, d.ReadBytes>>10)
				}
			}
		})
	}
}
