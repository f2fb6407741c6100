package bench

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ours is the system the ratios are about.
const ours = "hearth"

// WriteTables writes results as Markdown: the comparison with the peers, then all others.
func WriteTables(w io.Writer, command string, results []Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s` with %d CPUs, %s.\n", command, runtime.NumCPU(), runtime.Version())
	var compared, restarts, warmth, others []Result
	for _, r := range results {
		switch r.Measure {
		case engineMeasure:
			compared = append(compared, r)
		case serverMeasure:
			restarts = append(restarts, r)
		case replayWarmthMeasure:
			warmth = append(warmth, r)
		default:
			others = append(others, r)
		}
	}
	if len(compared) > 0 {
		b.WriteString("\n")
		writeComparison(&b, compared)
	}
	if len(restarts) > 0 {
		writeRestarts(&b, restarts)
	}
	if len(warmth) > 0 {
		b.WriteString("\n")
		writeReplayWarmth(&b, warmth)
	}
	if len(others) > 0 {
		b.WriteString("\n")
		writeList(&b, others)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeList has a row per result.
func writeList(b *strings.Builder, results []Result) {
	b.WriteString("| measure | system | case | threads | median | unit | runs |\n|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		runs := make([]string, len(r.Runs))
		for i, v := range r.Runs {
			runs[i] = number(v)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s |\n",
			r.Measure, r.System, r.Case, r.Threads, number(r.Value), r.Unit, strings.Join(runs, " "))
	}
}

// writeComparison has a row per case, a column per system, and how many times as much as
// each peer hearth does.
func writeComparison(b *strings.Builder, results []Result) {
	type rowKey struct {
		name    string
		threads int
	}
	var (
		order   []rowKey
		systems []string
		peers   []string
		cells   = map[rowKey]map[string]Result{}
	)
	for _, r := range results {
		k := rowKey{r.Case, r.Threads}
		if cells[k] == nil {
			cells[k] = map[string]Result{}
			order = append(order, k)
		}
		cells[k][r.System] = r
		if !slices.Contains(systems, r.System) {
			systems = append(systems, r.System)
			if r.System != ours {
				peers = append(peers, r.System)
			}
		}
	}

	b.WriteString("| case | threads | unit |")
	for _, s := range systems {
		fmt.Fprintf(b, " %s |", s)
	}
	for _, s := range peers {
		fmt.Fprintf(b, " ÷ %s |", s)
	}
	b.WriteString("\n|" + strings.Repeat("---|", 3+len(systems)+len(peers)) + "\n")
	for _, k := range order {
		row := cells[k]
		unit := ""
		for _, r := range row {
			unit = r.Unit
		}
		fmt.Fprintf(b, "| %s | %d | %s |", k.name, k.threads, unit)
		for _, s := range systems {
			b.WriteString(" " + figure(row, s) + " |")
		}
		for _, s := range peers {
			b.WriteString(" " + ratio(row, s) + " |")
		}
		b.WriteString("\n")
	}
}

// figure is the median with half the spread of its runs, "812,345 ±3%".
func figure(row map[string]Result, system string) string {
	r, ok := row[system]
	if !ok {
		return "–"
	}
	lo, hi := r.Runs[0], r.Runs[0]
	for _, v := range r.Runs {
		lo, hi = min(lo, v), max(hi, v)
	}
	s := thousands(r.Value)
	if r.Value > 0 {
		s += fmt.Sprintf(" ±%.0f%%", 50*(hi-lo)/r.Value)
	}
	return s
}

func ratio(row map[string]Result, peer string) string {
	a, okA := row[ours]
	b, okB := row[peer]
	if !okA || !okB || b.Value == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a.Value/b.Value)
}

// number writes large figures as thousands does and small ones with a fraction.
func number(v float64) string {
	if v < 1000 && v > -1000 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return thousands(v)
}

// thousands writes a rate without a fraction and with commas.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
