package bench

import (
	"fmt"

	"github.com/hearthdb/hearth/internal/chart"
)

// attachedPool is what was measured with one pool.
type attachedPool struct {
	bytes    int64
	dirty    int
	log      int64     // bytes since the checkpoint
	firstMs  []float64 // from the start of the process to the first answer, by run
	medianMs float64
}

// InnoDB's bar is not measured by this program: it is the figure hearth was founded on.
const (
	innodbSeconds = 36
	innodbName    = "InnoDB"
	innodbCase    = "3.6 GB of rows"
	innodbNote    = "MariaDB 10.11 had 220,000 changed pages and 0.98 GB of log, and was measured once, on such a machine"
)

// attachFloor is where the axis of first answers begins, in seconds.
const attachFloor = 0.01

// attachBars draws first answers after kill -9.
func attachBars(pools []attachedPool) chart.Bars {
	b := chart.Bars{
		Subtitle: "Killed while it writes; " + innodbNote,
		X:        "seconds from starting the process to its first answer (logarithmic; medians, dots are the kills)", Floor: attachFloor,
	}
	worst := 0.0
	for _, p := range pools {
		bar := chart.Bar{Name: ours, Color: chart.Hearth, Value: p.medianMs / 1000}
		bar.Text = fmt.Sprintf("%s (%s changed pages, %.2f GiB of log)", seconds(bar.Value, true), thousands(float64(p.dirty)), float64(p.log)/(1<<30))
		for _, ms := range p.firstMs {
			bar.Runs = append(bar.Runs, ms/1000)
		}
		b.Groups = append(b.Groups, chart.Group{Name: fmt.Sprintf("pool of %.3g GiB, full", float64(p.bytes)/(1<<30)), Bars: []chart.Bar{bar}})
		worst = max(worst, bar.Value)
	}
	b.Groups = append(b.Groups, chart.Group{Name: innodbCase, Bars: []chart.Bar{
		{Name: innodbName, Color: chart.InnoDB, Value: innodbSeconds, Text: seconds(innodbSeconds, true)},
	}})
	b.Title = fmt.Sprintf("After kill -9, hearth answers in %s, with every page where it was", seconds(worst, true))
	return b
}
