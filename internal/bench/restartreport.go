package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/chart"
	"github.com/hearthdb/hearth/internal/restart"
)

// backPart is the part of the throughput before that counts as being back.
const backPart = 0.9

// serverFigures reports the medians of each profile of a case.
func serverFigures(cfg ServerRestartConfig, c CaseRuns, out Output) {
	for _, p := range c.Profiles {
		if len(p.Runs) == 0 {
			continue
		}
		put := func(name, unit string, of func(*restart.Timeline) (float64, bool)) {
			var v []float64
			over := 0
			for _, t := range p.Runs {
				x, ok := of(t)
				if !ok {
					over++
				}
				if ok || x > 0 { // x is a bound, if there is one
					v = append(v, x)
				}
			}
			if len(v) == 0 {
				return
			}
			r := NewResult(serverMeasure, p.Name, c.Case.String()+": "+name, cfg.Clients, unit, v)
			r.Over = over
			out.Result(r)
		}
		put("before", "requests/s", func(t *restart.Timeline) (float64, bool) { return t.Warm(), true })
		put("NOTPM before", "new orders/min", notpmBefore)
		put("blackout", "s", func(t *restart.Timeline) (float64, bool) { d, ok := t.Blackout(); return d.Seconds(), ok })
		put("fifth second", "% of before", func(t *restart.Timeline) (float64, bool) { return 100 * t.FifthSecond(), len(t.After()) >= 5 })
		put("back at 90 %", "s after the stop", sinceStop)
		put("served in the first minute", "% of before", func(t *restart.Timeline) (float64, bool) {
			part, ok := t.ServedIn(time.Minute)
			return 100 * part, ok
		})
		put("p99 before", "ms", milliseconds(func(t *restart.Timeline) (time.Duration, bool) { return t.LatencyBefore(drawnPercentile) }))
		put("p99 in the ten seconds after the first answer", "ms", milliseconds(func(t *restart.Timeline) (time.Duration, bool) {
			return t.LatencyAfter(drawnPercentile, 10*time.Second)
		}))
		if c.Case.Workload == WorkloadPoint { // which writes no log
			continue
		}
		put("log behind the stop", "MiB", func(t *restart.Timeline) (float64, bool) { n, ok := logBehind(t); return n / (1 << 20), ok })
		if p.redoesFirst() {
			put("log by second of blackout", "MiB/s", logRate)
		}
	}
}

// milliseconds of what a timeline knows as a duration.
func milliseconds(of func(*restart.Timeline) (time.Duration, bool)) func(*restart.Timeline) (float64, bool) {
	return func(t *restart.Timeline) (float64, bool) {
		d, ok := of(t)
		return float64(d) / float64(time.Millisecond), ok
	}
}

// redoesFirst: the blackout is the time that the log behind the stop takes. hearth's is not: it answers first, and redoes pages when they
// are touched, if its memory did not survive.
func (p ServerProfile) redoesFirst() bool { return p.Kind != kindHearth }

// sinceStop is how long after the stop the throughput is back; a bound and false when it was not seen.
func sinceStop(t *restart.Timeline) (float64, bool) {
	dark, answered := t.Blackout()
	back, ok := t.Recovered(backPart)
	if answered && ok {
		return (dark + back).Seconds(), true
	}
	return t.Covered().Seconds(), false
}

// logBehind is how much log a crash at the stop had to look at, in bytes.
func logBehind(t *restart.Timeline) (age float64, ok bool) { return t.FactBefore(factAge) }

// logRate is that log over the blackout, in MiB/s, which is how the InnoDB recovery study gives it.
func logRate(t *restart.Timeline) (float64, bool) {
	age, ok := logBehind(t)
	dark, answered := t.Blackout()
	if !ok || !answered || dark <= 0 {
		return 0, false
	}
	return age / (1 << 20) / dark.Seconds(), true
}

// notpmBefore is new orders per minute before the stop.
func notpmBefore(t *restart.Timeline) (float64, bool) {
	var first, last *restart.Tick
	for i, k := range t.Ticks {
		if k.End > t.Stop {
			break
		}
		if _, ok := k.Facts[factNewOrders]; ok {
			if first == nil {
				first = &t.Ticks[i]
			}
			last = &t.Ticks[i]
		}
	}
	if first == nil || first == last {
		return 0, false
	}
	minutes := time.Duration(last.End - first.End).Minutes()
	return (last.Facts[factNewOrders] - first.Facts[factNewOrders]) / minutes, true
}

// middle is the run whose way back is the median: the one that is drawn.
func (p ProfileRuns) middle() *restart.Timeline {
	if len(p.Runs) == 0 {
		return nil
	}
	runs := slices.Clone(p.Runs)
	slices.SortStableFunc(runs, func(a, b *restart.Timeline) int {
		x, _ := sinceStop(a)
		y, _ := sinceStop(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return runs[(len(runs)-1)/2]
}

// of is the median over the runs; false if it is a bound, because it was not reached in half of them.
func (p ProfileRuns) of(measure func(*restart.Timeline) (float64, bool)) (float64, bool) {
	var v []float64
	reached := 0
	for _, t := range p.Runs {
		x, ok := measure(t)
		v = append(v, x)
		if ok {
			reached++
		}
	}
	return median(v), reached > len(p.Runs)/2
}

// unit is what stands between a number and its unit: a space at which no line is broken.
const unit = "\u00a0"

// seconds writes a span of time: "0.31 s", "7.2 s", "48 s", and "more than 120 s" if it was not reached.
func seconds(s float64, reached bool) string {
	digits := 0
	switch {
	case s < 1:
		digits = 2
	case s < 10:
		digits = 1
	}
	text := strconv.FormatFloat(s, 'f', digits, 64) + unit + "s"
	if !reached {
		return "more than " + text
	}
	return text
}

// NamedPicture is a picture and what its file name ends in.
type NamedPicture struct {
	Name string
	drawn
}

// drawn is a picture of package chart.
type drawn interface{ Save(base string) error }

// pictureWindow smoothes what clients of a server see: with some hundred answers in a tick, ticks are noise. A picture of more than
// longPicture has points of a second.
const (
	pictureWindow = 500 * time.Millisecond
	longPicture   = 45 * time.Second
)

// drawing says what the picture of one case shows.
type drawing struct {
	title   func(CaseRuns) string
	log     bool // a logarithmic axis: systems differ by more than a factor
	latency bool // latencies are drawn, as they always are of an open loop; of a closed one they are the throughput once more, nearly
	below   []restart.Below
}

// drawnPercentile is the percentile of latencies that pictures and tables have.
const drawnPercentile = 99

// Counters that are drawn below.
var (
	belowReads = restart.Below{Fact: factPagesRead, Label: "pages read per second", Rate: true}
	belowPool  = restart.Below{Fact: factPages, Label: "% of the pages in memory", Share: true}
	belowDirty = restart.Below{Fact: factDirty, Label: "dirty pages"}
)

// draw makes a picture of each case.
func (d drawing) draw(cfg ServerRestartConfig, all []CaseRuns) (pictures []NamedPicture) {
	for _, c := range all {
		var lines []restart.Styled
		to, early := cfg.After.Seconds(), false
		for _, p := range c.Profiles {
			t := p.middle()
			if t == nil {
				continue
			}
			early = early || t.Covered() < cfg.After
			to = max(to, t.Covered().Seconds())
			lines = append(lines, restart.Styled{Timeline: t, Label: p.Name, Color: p.Color, Dashed: p.Dash})
		}
		y := "requests per second"
		if c.Case.Workload == WorkloadTPCC {
			y = "transactions per second"
		}
		subtitle := cfg.subtitle(c.Case)
		if early {
			subtitle += fmt.Sprintf("; a line ends when %d seconds were as before", settleServed)
		}
		window := pictureWindow
		if to > longPicture.Seconds() {
			window = time.Second
		}
		percentile := 0.0
		if d.latency || c.Case.Rate > 0 {
			percentile = drawnPercentile
		}
		l := restart.Picture{
			Title: d.title(c), Subtitle: subtitle, Unit: y, LogY: d.log, Window: window,
			Mark: map[string]string{StopKill: "kill -9", StopClean: "stop"}[c.Case.Stop],
			From: -min(cfg.Before.Seconds(), 10), To: to, Percentile: percentile, Below: d.below,
		}.Lines(lines)
		pictures = append(pictures, NamedPicture{cfg.suffix(c.Case), l})
	}
	return pictures
}

// suffix of a picture's file name: what sets the case apart from the others, "-uniform-4000".
func (cfg ServerRestartConfig) suffix(c ServerCase) (s string) {
	rate := "saturated"
	if c.Rate > 0 {
		rate = strconv.FormatFloat(c.Rate, 'f', -1, 64)
	}
	for _, part := range []struct {
		of   func(ServerCase) any
		name string
	}{
		{func(c ServerCase) any { return c.Workload }, c.Workload}, {func(c ServerCase) any { return c.Spread }, c.Spread},
		{func(c ServerCase) any { return c.Stop }, c.Stop}, {func(c ServerCase) any { return c.Rate }, rate},
	} {
		if slices.ContainsFunc(cfg.Cases, func(other ServerCase) bool { return part.of(other) != part.of(c) }) {
			s += "-" + part.name
		}
	}
	return s
}

// subtitle says what was measured, and how.
func (cfg ServerRestartConfig) subtitle(c ServerCase) string {
	what := c.Workload + ", " + c.Spread
	if c.Workload == WorkloadTPCC {
		what = "TPC-C-like mix"
	}
	s := fmt.Sprintf("%s; %s, all warm before; %d clients over the MySQL protocol", what, cfg.size(), cfg.Clients)
	if c.Rate > 0 {
		s = fmt.Sprintf("%s; %s, all warm before; %s requests arriving per second over the MySQL protocol", what, cfg.size(), thousands(c.Rate))
	}
	if d := cfg.disk(); d != "" {
		s += "; the " + d
	}
	if cfg.Runs > 1 {
		s += fmt.Sprintf("; of %d runs the one in the middle", cfg.Runs)
	}
	return s
}

// disk is what the disk is held to, for a subtitle.
func (cfg ServerRestartConfig) disk() string {
	return strings.ReplaceAll(cfg.Disk.String(), " MB", unit+"MB")
}

// backTitle lists how long everybody took.
func backTitle(c CaseRuns) string {
	var found []string
	for _, p := range c.Profiles {
		if len(p.Runs) > 0 {
			found = append(found, p.Name+" "+seconds(p.of(sinceStop)))
		}
	}
	return "From the restart to 90" + unit + "% of full speed: " + strings.Join(found, "; ")
}

// DrawRestarts is the picture of restarts that no figure was asked for.
func DrawRestarts(cfg ServerRestartConfig, all []CaseRuns) []NamedPicture {
	return drawing{title: backTitle, log: true, latency: true, below: []restart.Below{belowReads}}.draw(cfg, all)
}

// blackouts draws the blackouts of all cases as bars.
func blackouts(cfg ServerRestartConfig, all []CaseRuns) []NamedPicture {
	dark := func(t *restart.Timeline) (float64, bool) { d, ok := t.Blackout(); return d.Seconds(), ok }
	b := chart.Bars{X: "seconds without an answer (logarithmic)", Floor: blackoutFloor, Subtitle: cfg.subtitleOfCrashes()}
	spans := map[string][2]float64{}
	var order []string
	for _, c := range all {
		g := chart.Group{Name: caseName(c.Case)}
		for _, p := range c.Profiles {
			if len(p.Runs) == 0 {
				continue
			}
			v, ok := p.of(dark)
			bar := chart.Bar{Name: p.Name, Color: p.Color, Value: v, Text: seconds(v, ok)}
			for _, t := range p.Runs {
				x, _ := dark(t)
				bar.Runs = append(bar.Runs, x)
			}
			if warm, _ := p.of(func(t *restart.Timeline) (float64, bool) { return t.Warm(), true }); warm < keepingUp*c.Case.Rate {
				bar.Text += fmt.Sprintf(" (served only %s/s)", thousands(warm))
			}
			if rate, ok := p.of(logRate); ok && p.redoesFirst() {
				bar.Text += fmt.Sprintf(" (%.1f MiB/s of log)", rate)
			}
			g.Bars = append(g.Bars, bar)
			s, seen := spans[p.Name]
			if !seen {
				order = append(order, p.Name)
				s = [2]float64{v, v}
			}
			spans[p.Name] = [2]float64{min(s[0], v), max(s[1], v)}
		}
		b.Groups = append(b.Groups, g)
	}
	var found []string
	for _, name := range order {
		s := spans[name]
		if lo, hi := seconds(s[0], true), seconds(s[1], true); lo == hi {
			found = append(found, name+" "+lo)
		} else {
			found = append(found, fmt.Sprintf("%s %s to %s", name, strings.TrimSuffix(lo, unit+"s"), hi))
		}
	}
	b.Title = "Dark after kill -9 under updates: " + strings.Join(found, "; ")
	return []NamedPicture{{"", b}}
}

// keepingUp is the part of the requests that arrive that a server has to answer to be called not saturated.
const keepingUp = 0.95

// blackoutFloor is where the axis of blackouts begins, in seconds.
const blackoutFloor = 0.01

func caseName(c ServerCase) string {
	rate := "saturated"
	if c.Rate > 0 {
		rate = thousands(c.Rate) + "/s arriving"
	}
	return rate + ", " + c.Spread
}

func (cfg ServerRestartConfig) subtitleOfCrashes() string {
	s := fmt.Sprintf("each update a durable transaction; %s, all warm before; saturated: %d clients without a pause; pool of %.3g GiB, log of %.3g GiB",
		cfg.size(), cfg.Clients, float64(cfg.Pool)/(1<<30), float64(cfg.LogSize)/(1<<30))
	if cfg.Redo > 0 {
		s += fmt.Sprintf("; about %d%sMiB of it behind the kill (MiB/s: that over the blackout)", cfg.Redo>>20, unit)
	}
	if d := cfg.disk(); d != "" {
		s += "; the " + d
	}
	if cfg.Runs > 1 {
		s += fmt.Sprintf("; medians of %d runs (dots)", cfg.Runs)
	}
	return s
}
