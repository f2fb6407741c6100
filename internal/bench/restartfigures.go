package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/restart"
)

// figures reports one restart.
func (r *restarts) figures(c restartCase, t *restart.Timeline) {
	put := func(name, unit string, v float64) {
		r.out.Result(NewResult(restartMeasure, ours, c.String()+": "+name, r.cfg.Readers, unit, []float64{v}))
	}
	put("warm", "reads/s", t.Warm())
	if blackout, ok := t.Blackout(); ok {
		put("first answer after", "ms", float64(blackout)/float64(time.Millisecond))
	}
	put("first full second", "% of warm", 100*t.FirstSecond())
	if d, ok := t.Recovered(0.9); ok {
		put("back at 90 % of warm after", "s", d.Seconds())
	} else {
		put("not back at 90 % of warm within", "s", r.cfg.After.Seconds())
	}
	if p99, ok := t.LatencyBefore(drawnPercentile); ok {
		put("p99 before", "ms", float64(p99)/float64(time.Millisecond))
	}
	if p99, ok := t.LatencyAfter(drawnPercentile, 10*time.Second); ok {
		put("p99 in the ten seconds after the first answer", "ms", float64(p99)/float64(time.Millisecond))
	}
	if r.cfg.Rate > 0 {
		if d, ok := t.Punctual(); ok {
			put(fmt.Sprintf("all answered within %v after", punctual), "s", d.Seconds())
		} else {
			put(fmt.Sprintf("not all answered within %v until", punctual), "s", r.cfg.After.Seconds())
		}
	}
	if l, ok := r.paper(c); ok {
		best := l.run()
		put("90 % of what arrives is answered at best after", "s", best.ninety.Seconds())
		put("all is answered at best after", "s", best.all.Seconds())
		put("least share of the hits at best", "%", 100*best.least)
		pages, after := l.fits()
		put("hottest pages that make the rest fit the disk", "pages", float64(pages))
		put("earliest that they can be there", "s", after.Seconds())
	}
	if worst, ok := r.worstHits(c, t); ok {
		put("least share of the hits that the hottest pages would give", "%", 100*worst)
	}
}

// compare reports the worst second of each dump beside the same second of the cold start, if both were measured.
func (r *restarts) compare(cases []restartCase, lines []*restart.Timeline) {
	for i, c := range cases {
		if c.memory != MemoryDump && c.memory != MemoryPhysical {
			continue
		}
		j := slices.Index(cases, restartCase{c.stop, MemoryCold, c.spread})
		if j < 0 {
			continue
		}
		if worst, ok := worstSecond(lines[i], lines[j], r.cfg.Rate); ok {
			r.out.Result(NewResult(restartMeasure, ours, c.String()+": worst second beside the same second of cold", r.cfg.Readers, "%", []float64{100 * worst}))
		}
	}
}

// worstSecond is the smallest ratio of the reads in a second of a to those in the same second of b, counted from each one's
// first answer. Of reads that arrive, rate a second, no more count than arrived: who is late has more to answer later.
func worstSecond(a, b *restart.Timeline, rate float64) (float64, bool) {
	x, y := a.After(), b.After()
	worst := math.Inf(1)
	for n := range min(len(x), len(y)) {
		want := y[n]
		if rate > 0 {
			want = min(want, rate)
		}
		if want > 0 {
			worst = min(worst, x[n]/want)
		}
	}
	return worst, !math.IsInf(worst, 1)
}

// worstHits holds the hits of a start from a dump against what as many pages could give at best: in each second the share of
// reads that needed no page from the disk, over the share of reads that go to the k hottest pages, k the pages in memory in
// the middle of the second. The smallest ratio of all seconds in which the load was still going on.
func (r *restarts) worstHits(c restartCase, t *restart.Timeline) (float64, bool) {
	if c.spread == SpreadUniform || c.memory != MemoryDump && c.memory != MemoryPhysical {
		return 0, false
	}
	ideal := r.idealHits(c.spread)
	worst, last := math.Inf(1), map[string]float64(nil)
	var done float64
	for _, k := range t.Ticks {
		if k.End < t.First {
			continue
		}
		done += float64(k.Done)
		if k.Facts == nil {
			continue
		}
		if last != nil && done > 0 && k.Facts[factLoaded] > last[factLoaded] {
			hits := 1 - (k.Facts[factMisses]-last[factMisses])/done
			at := min(int((k.Facts[factPages]+last[factPages])/2), len(ideal)-1)
			worst = min(worst, hits/ideal[at])
		}
		last, done = k.Facts, 0
	}
	return worst, !math.IsInf(worst, 1)
}

// paper is the best load that there could be in a restart, where reads arrive by zipf's law and the disk is known.
func (r *restarts) paper(c restartCase) (paperLoad, bool) {
	l := paperLoad{rate: r.cfg.Rate, disk: r.cfg.Disk}
	if c.memory == MemoryPhysical {
		l.order = anywhere
		if c.spread == SpreadLatest {
			l.order = hottestLast
		}
	}
	if c.spread == SpreadUniform || c.memory != MemoryDump && c.memory != MemoryPhysical || l.rate == 0 || l.disk.IOPS == 0 || l.disk.BytesPerSecond == 0 {
		return l, false
	}
	l.heats = r.pageHeats(c.spread)
	return l, true
}

// pageHeats is the part of the reads that goes to each page of the table, from hot to cold.
func (r *restarts) pageHeats(spread string) []float64 {
	if r.heats == nil {
		r.heats = newSpread(spread, r.rows().n).pages(r.pageRows)
	}
	return r.heats
}

// idealHits [k] is the part of the reads that go to the k hottest pages.
func (r *restarts) idealHits(spread string) []float64 {
	if r.ideal == nil {
		heats := r.pageHeats(spread)
		r.ideal = make([]float64, len(heats)+1)
		for k, h := range heats {
			r.ideal[k+1] = r.ideal[k] + h
		}
	}
	return r.ideal
}

// picture draws the restarts of one spread.
func (r *restarts) picture(spread string, cases []restartCase, lines []*restart.Timeline) error {
	if r.cfg.Picture == "" {
		return nil
	}
	looks := map[string]struct {
		label string
		color chart.Color
	}{
		MemoryKept: {"memory kept", chart.Hearth}, MemoryDump: {"heat dump, hot pages first", chart.Dump},
		MemoryPhysical: {"heat dump, physical order", chart.Other}, MemoryCold: {"cold", chart.Cold},
	}
	var all []restart.Styled
	for i, c := range cases {
		look := looks[c.memory]
		s := restart.Styled{Timeline: lines[i], Label: look.label + ", kill -9", Color: look.color}
		if c.stop == StopClean {
			s.Label, s.Dashed = look.label+", clean stop", true
		}
		all = append(all, s)
	}
	p := restart.Picture{
		Title:    r.title(cases, lines),
		Subtitle: r.subtitle(spread), Unit: "reads per second", LogY: true, Mark: "restart",
		From: -min(r.cfg.Before.Seconds(), 10), To: r.cfg.After.Seconds(),
	}
	if r.cfg.Rate > 0 { // what arrives is the same for all: they differ by less than a factor, and late answers come in bursts
		p.LogY, p.Window = false, pictureWindow
	}
	return p.Lines(all).Save(r.cfg.Picture + "-" + spread)
}

// title says the finding.
func (r *restarts) title(cases []restartCase, lines []*restart.Timeline) string {
	found := map[string]string{}
	for i, c := range cases {
		if d, ok := lines[i].Recovered(0.9); ok {
			found[c.memory] = fmt.Sprintf("%.0f s", d.Seconds())
		} else {
			found[c.memory] = fmt.Sprintf("more than %.0f s", r.cfg.After.Seconds())
		}
	}
	title := "Back at 90 % of full speed after a restart:"
	for _, x := range []struct{ memory, name string }{{MemoryKept, "memory kept"}, {MemoryDump, "heat dump"}, {MemoryPhysical, "in physical order"}, {MemoryCold, "cold"}} {
		if f, ok := found[x.memory]; ok {
			title += fmt.Sprintf(" %s %s,", x.name, f)
		}
	}
	return title[:len(title)-1]
}

func (r *restarts) subtitle(spread string) string {
	s := fmt.Sprintf("hearth embedded; %.1f GB of rows, all warm before; %d readers without pause, %s", float64(r.cfg.Bytes)/1e9, r.cfg.Readers, spread)
	if r.cfg.Rate > 0 {
		s = fmt.Sprintf("hearth embedded; %.1f GB of rows, all warm before; %.0f reads arriving per second, %s", float64(r.cfg.Bytes)/1e9, r.cfg.Rate, spread)
	}
	if d := r.cfg.Disk.String(); d != "" {
		s += "; " + d
	}
	return s
}
