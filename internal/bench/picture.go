package bench

import (
	"fmt"
	"html/template"
	"io"
	"math"
)

// AttachPicture is a chart of first answers after kill -9, on a logarithmic axis.
type AttachPicture struct {
	Pools []AttachPool
}

// AttachPool is what was measured with one pool.
type AttachPool struct {
	Bytes    int64
	Dirty    int
	Log      int64     // bytes since the checkpoint
	FirstMs  []float64 // from the start of the process to the first answer, by run
	MedianMs float64
}

// InnoDB's row is not measured by this program: it is the figure hearth was founded on.
const (
	innodbMs    = 36_000
	innodbLabel = "InnoDB"
	innodbNote  = "MariaDB 10.11, 3.6 GB of rows, 220,000 dirty pages, 0.98 GB of redo; one earlier measurement on such a machine"
)

// The axis runs from 10 ms to 100 s, in pixels.
const (
	axisFrom, axisTo = 10.0, 100_000.0
	axisLeft, axisW  = 110.0, 660.0
	rowTop, rowH     = 92.0, 58.0
)

func axisX(ms float64) float64 {
	ms = min(max(ms, axisFrom), axisTo)
	return axisLeft + axisW*math.Log10(ms/axisFrom)/math.Log10(axisTo/axisFrom)
}

type pictureRow struct {
	Y, W        float64
	Name, Value string
	Note, Class string
	Dots        []float64
}

type pictureTick struct {
	X     float64
	Label string
}

var pictureTemplate = template.Must(template.New("svg").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {{.Height}}" font-family="system-ui, sans-serif" role="img" aria-label="{{.Title}}">
<style>
.ink{fill:#1b1f24}.soft{fill:#57606a}.grid{stroke:#d0d7de}.hearth{fill:#d9480f}.innodb{fill:#6e7781}.dot{fill:#1b1f24;fill-opacity:.55}.paper{fill:#ffffff}
@media (prefers-color-scheme:dark){.ink{fill:#e6edf3}.soft{fill:#9ea7b3}.grid{stroke:#30363d}.hearth{fill:#ff922b}.innodb{fill:#8b949e}.dot{fill:#e6edf3;fill-opacity:.6}.paper{fill:#0d1117}}
</style>
<rect class="paper" width="860" height="{{.Height}}"/>
<text class="ink" x="20" y="32" font-size="20" font-weight="600">{{.Title}}</text>
<text class="soft" x="20" y="54" font-size="13">{{.Subtitle}}</text>
{{range .Ticks}}<line class="grid" x1="{{.X}}" y1="72" x2="{{.X}}" y2="{{$.AxisY}}"/><text class="soft" x="{{.X}}" y="{{$.LabelY}}" font-size="12" text-anchor="middle">{{.Label}}</text>
{{end}}{{range .Rows}}{{$y := .Y}}<text class="ink" x="100" y="{{.Y}}" dy="17" font-size="14" text-anchor="end">{{.Name}}</text><rect class="{{.Class}}" x="110" y="{{.Y}}" width="{{.W}}" height="24" rx="3"/><text class="ink" x="118" y="{{.Y}}" dx="{{.W}}" dy="17" font-size="14" font-weight="600">{{.Value}}</text><text class="soft" x="110" y="{{.Y}}" dy="40" font-size="12">{{.Note}}</text>
{{range .Dots}}<circle class="dot" cx="{{.}}" cy="{{$y}}" r="3"/>{{end}}
{{end}}<text class="soft" x="{{.AxisMid}}" y="{{.TitleY}}" font-size="12" text-anchor="middle">time from starting the process to its first answer (logarithmic)</text>
</svg>
`))

// WriteSVG draws the picture, for light and dark pages.
func (p AttachPicture) WriteSVG(w io.Writer) error {
	if len(p.Pools) == 0 {
		return fmt.Errorf("picture: nothing was measured")
	}
	var rows []pictureRow
	y := rowTop
	worst := 0.0
	for _, m := range p.Pools {
		r := pictureRow{
			Y: y, W: axisX(m.MedianMs) - axisLeft, Name: "hearth", Class: "hearth", Value: span(m.MedianMs),
			Note: fmt.Sprintf("pool of %.3g GiB, full, %d changed pages, %.2f GiB of log since the checkpoint; median of %d kills (dots)",
				float64(m.Bytes)/(1<<30), m.Dirty, float64(m.Log)/(1<<30), len(m.FirstMs)),
		}
		for _, ms := range m.FirstMs {
			r.Dots = append(r.Dots, axisX(ms))
		}
		rows, y, worst = append(rows, r), y+rowH, max(worst, m.MedianMs)
	}
	rows = append(rows, pictureRow{Y: y, W: axisX(innodbMs) - axisLeft, Name: innodbLabel, Class: "innodb", Value: span(innodbMs), Note: innodbNote})
	y += rowH
	var ticks []pictureTick
	for ms := axisFrom; ms <= axisTo; ms *= 10 {
		ticks = append(ticks, pictureTick{axisX(ms), span(ms)})
	}
	return pictureTemplate.Execute(w, map[string]any{
		"Title":    fmt.Sprintf("After kill -9, hearth answers in %s, with every page where it was", span(worst)),
		"Subtitle": "Killed while it writes; the next process takes its pages over, changed ones too, and finishes the log from memory",
		"Rows":     rows, "Ticks": ticks, "AxisY": y, "LabelY": y + 16, "TitleY": y + 36, "Height": y + 52, "AxisMid": axisLeft + axisW/2,
	})
}

func span(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.3g s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}
