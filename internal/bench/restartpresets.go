package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/hearthdb/hearth/internal/restart"
)

// RestartFigure is one of the founding documents' figures, as a measurement of ours.
type RestartFigure struct {
	Cases    []ServerCase
	Profiles []string
	Before   time.Duration
	After    time.Duration
	Whole    bool // all of After is measured, even when everything is as before
	Redo     int64
	Draw     func(ServerRestartConfig, []CaseRuns) []NamedPicture
}

// The figures.
const (
	FigureSurvive     = "survive"
	FigureScans       = "scans"
	FigureFirstMinute = "first-minute"
	FigureCrash       = "crash"
)

// crashRate is what the InnoDB recovery study updated a second.
const crashRate = 4000

// RestartFigures by name. With 3.6 GB of rows loaded before, each takes about a quarter of an hour on 2 cores.
var RestartFigures = map[string]RestartFigure{
	// Cold, restored from a dump, survived: the chart of the XtraDB announcement and of Percona's white paper.
	FigureSurvive: {
		Cases:    []ServerCase{{Workload: WorkloadTPCC, Spread: SpreadUniform, Stop: StopKill}},
		Profiles: []string{ProfileHearthKept, ProfileHearthDump, ProfileHearthCold, ProfileInnoDBDump, ProfileInnoDBCold},
		Before:   15 * time.Second, After: 90 * time.Second,
		Draw: drawing{title: surviveTitle, below: []restart.Below{belowReads}}.draw,
	},
	// "Full table and index scans", which the white paper counts among what does not work.
	FigureScans: {
		Cases:    []ServerCase{{Workload: WorkloadTPCC, Spread: SpreadUniform, Stop: StopClean}},
		Profiles: []string{ProfileHearthKept, ProfileHearthScan, ProfileInnoDBDump, ProfileInnoDBScan, ProfileInnoDBScanFirst, ProfileInnoDBCold},
		Before:   15 * time.Second, After: 90 * time.Second,
		Draw: drawing{title: backTitle, below: []restart.Below{belowReads}}.draw,
	},
	// The first minute under full load, and how much of the pool is there again: the comparison with Aurora. (MariaDB tells the progress of
	// its load only in steps of 32 MiB, if at all; pages in memory are told by all.)
	FigureFirstMinute: {
		Cases:    []ServerCase{{Workload: WorkloadPoint, Spread: SpreadUniform, Stop: StopKill}},
		Profiles: []string{ProfileHearthKept, ProfileHearthDump, ProfileInnoDBDump, ProfileInnoDBCold},
		Before:   15 * time.Second, After: time.Minute, Whole: true,
		Draw: drawing{title: minuteTitle, below: []restart.Below{belowPool}}.draw,
	},
	// Crashes under updates: blackout, and how fast log is gone through.
	FigureCrash: {
		Cases: []ServerCase{
			{Workload: WorkloadUpdate, Spread: SpreadUniform, Stop: StopKill, Rate: crashRate},
			{Workload: WorkloadUpdate, Spread: SpreadZipf, Stop: StopKill, Rate: crashRate},
			{Workload: WorkloadUpdate, Spread: SpreadUniform, Stop: StopKill},
			{Workload: WorkloadUpdate, Spread: SpreadZipf, Stop: StopKill},
		},
		Profiles: []string{ProfileHearthKept, ProfileHearthDump, ProfileInnoDBDump},
		Before:   10 * time.Second, After: 15 * time.Second, Redo: 64 << 20,
		Draw: func(cfg ServerRestartConfig, all []CaseRuns) []NamedPicture {
			return append(blackouts(cfg, all), drawing{title: backTitle, below: []restart.Below{belowDirty}}.draw(cfg, all)...)
		},
	},
}

// RestartFigureNames are all there are.
var RestartFigureNames = []string{FigureSurvive, FigureScans, FigureFirstMinute, FigureCrash}

// surviveTitle says the finding of the first figure.
func surviveTitle(c CaseRuns) string {
	names := map[string]string{}
	for _, p := range c.Profiles {
		if len(p.Runs) > 0 {
			names[p.Name] = seconds(p.of(sinceStop))
		}
	}
	all := ServerProfiles("", "")
	var parts []string
	for _, x := range []struct{ what, hearth, innodb string }{
		{"memory survived", ProfileHearthKept, ""}, {"restored from a dump", ProfileHearthDump, ProfileInnoDBDump}, {"cold", ProfileHearthCold, ProfileInnoDBCold},
	} {
		var took []string
		for _, y := range []struct{ system, profile string }{{"hearth", x.hearth}, {"InnoDB", x.innodb}} {
			if s, ok := names[all[y.profile].Name]; ok && y.profile != "" {
				took = append(took, y.system+" "+s)
			}
		}
		if len(took) > 0 {
			parts = append(parts, x.what+" ("+strings.Join(took, ", ")+")")
		}
	}
	return "Back at 90" + unit + "% of full speed after a kill under a TPC-C-like load: " + strings.Join(parts, ", ")
}

// minuteTitle says what part of a minute's requests was served, or of less if less was measured.
func minuteTitle(c CaseRuns) string {
	span := time.Minute
	for _, p := range c.Profiles {
		for _, t := range p.Runs {
			span = min(span, t.Covered().Truncate(time.Second))
		}
	}
	var found []string
	for _, p := range c.Profiles {
		if len(p.Runs) > 0 {
			served, _ := p.of(func(t *restart.Timeline) (float64, bool) { part, ok := t.ServedIn(span); return 100 * part, ok })
			found = append(found, fmt.Sprintf("%s %.0f%s%%", p.Name, served, unit))
		}
	}
	return fmt.Sprintf("Served in the first %.0f seconds after kill -9, of what full speed would serve: %s", span.Seconds(), strings.Join(found, "; "))
}
