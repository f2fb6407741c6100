package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearthdb/hearth/internal/chart"
)

// writeReplayWarmth has a row per run, each beside the cold run of the same work.
func writeReplayWarmth(b *strings.Builder, results []Result) {
	cold := map[string]float64{}
	for _, r := range results {
		if name, ok := strings.CutSuffix(r.Case, ", cold"); ok {
			cold[r.System+name] = r.Value
		}
	}
	b.WriteString("| server | measured | disk reads | of cold | MiB read | statements to warm | statements/s |\n|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.Unit == "%" {
			fmt.Fprintf(b, "| %s | %s | %.1f %% | | | | |\n", r.System, r.Case, r.Value)
			continue
		}
		part := ""
		for name, c := range cold {
			if strings.HasPrefix(r.System+r.Case, name) && len(name) > len(part) && c > 0 {
				part = name
			}
		}
		if part != "" {
			part = ofCold(r.Value, cold[part])
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.1f | %s | %s |\n", r.System, r.Case, thousands(r.Value), part, r.Also["MiB read"],
			thousands(r.Also["statements to warm"]), thousands(r.Also["statements"]/max(r.Also["seconds"], 1e-9)))
	}
}

// ofCold is "1/250", or a percentage of what is not far from it.
func ofCold(reads, cold float64) string {
	switch {
	case reads == 0:
		return "0"
	case reads*10 < cold:
		return fmt.Sprintf("1/%.0f", cold/reads)
	}
	return fmt.Sprintf("%.0f %%", 100*reads/cold)
}

// drawReplayWarmth draws the founding picture, reads per second of chunk 2 cold and after chunk 1, and a bar for each control.
func drawReplayWarmth(cfg ReplayWarmthConfig, runs []warmthRun) error {
	if cfg.Picture == "" {
		return nil
	}
	base := strings.TrimSuffix(strings.TrimSuffix(cfg.Picture, ".svg"), ".png")
	if err := founding(cfg, runs).Save(base); err != nil {
		return err
	}
	return controlBars(cfg, runs).Save(base + "-controls")
}

// leastSecond is how long the rest of a second must be to be drawn, in seconds: a rate of less says little.
const leastSecond = 0.5

func founding(cfg ReplayWarmthConfig, runs []warmthRun) chart.Lines {
	l := chart.Lines{
		Subtitle: fmt.Sprintf("Chunk 2 of a slow log, %s statements, replayed by %d clients; %s rows, pool of %d MiB, direct I/O",
			thousands(float64(cfg.Statements)), cfg.Clients, thousands(float64(cfg.Rows)), cfg.Pool>>20),
		X: "seconds", Y: "disk reads per second", LogY: true, Floor: 0.1,
	}
	cold, found := map[string]float64{}, []string{}
	for _, r := range runs {
		if r.name != caseCold && r.name != caseWarm {
			continue
		}
		line := chart.Line{Name: r.server.Name + ", " + map[string]string{caseCold: "cold", caseWarm: "after chunk 1"}[r.name], Color: r.server.Color, Dashed: r.name == caseCold}
		for i, t := range r.each {
			if i > 0 && t.at-r.each[i-1].at < leastSecond {
				continue
			}
			line.Points = append(line.Points, chart.Point{X: t.at, Y: t.reads})
		}
		l.Lines = append(l.Lines, line)
		if r.name == caseCold {
			cold[r.server.Name] = r.reads
			continue
		}
		found = append(found, fmt.Sprintf("%s (%s)", ofCold(r.reads, cold[r.server.Name]), r.server.Name))
	}
	l.Title = "After its primary's log a standby reads " + strings.Join(found, ", ") + " of what a cold one reads"
	return l
}

func controlBars(cfg ReplayWarmthConfig, runs []warmthRun) chart.Bars {
	b := chart.Bars{
		Title:    "What warms a standby, and what does not",
		Subtitle: fmt.Sprintf("Pages read from the disk for chunk 2 of a slow log; %s rows, pool of %d MiB", thousands(float64(cfg.Rows)), cfg.Pool>>20),
		X:        "pages read from the disk", Floor: 1,
	}
	at := map[string]int{}
	for _, r := range runs {
		name, ok := strings.CutPrefix(r.name, "chunk 2")
		if !ok || strings.HasPrefix(name, " of clients") {
			continue
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, ", "), " ")
		i, seen := at[name]
		if !seen {
			i = len(b.Groups)
			at[name] = i
			b.Groups = append(b.Groups, chart.Group{Name: name})
		}
		b.Groups[i].Bars = append(b.Groups[i].Bars, chart.Bar{Name: r.server.Name, Color: r.server.Color, Value: r.reads, Text: thousands(r.reads)})
	}
	if i := slices.IndexFunc(b.Groups, func(g chart.Group) bool { return g.Name == "cold" }); i > 0 { // first, for the others are held against it
		cold := b.Groups[i]
		b.Groups = slices.Insert(slices.Delete(b.Groups, i, i+1), 0, cold)
	}
	return b
}
