package bench

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
)

// ours is the system the ratios are about.
const ours = "hearth"

// WriteTable writes the comparison as a Markdown table: a row per case, a column per
// system, and how often the best peer goes into hearth.
func WriteTable(w io.Writer, command string, results []Result) error {
	type rowKey struct {
		name    string
		threads int
	}
	var (
		order   []rowKey
		systems []string
		cells   = map[rowKey]map[string]Result{}
	)
	for _, r := range results {
		k := rowKey{r.Case, r.Threads}
		if cells[k] == nil {
			cells[k] = map[string]Result{}
			order = append(order, k)
		}
		cells[k][r.System] = r
		systems = appendNew(systems, r.System)
	}

	var b strings.Builder
	fmt.Fprintf(&b, "`%s` with %d CPUs, %s.\n\n", command, runtime.NumCPU(), runtime.Version())
	b.WriteString("| case | threads | unit |")
	for _, s := range systems {
		fmt.Fprintf(&b, " %s |", s)
	}
	for _, s := range systems {
		if s != ours {
			fmt.Fprintf(&b, " ÷ %s |", s)
		}
	}
	b.WriteString("\n|" + strings.Repeat("---|", 3+len(systems)+countOthers(systems)) + "\n")
	for _, k := range order {
		row := cells[k]
		unit := ""
		for _, r := range row {
			unit = r.Unit
		}
		fmt.Fprintf(&b, "| %s | %d | %s |", k.name, k.threads, unit)
		for _, s := range systems {
			b.WriteString(" " + figure(row, s) + " |")
		}
		for _, s := range systems {
			if s != ours {
				b.WriteString(" " + ratio(row, s) + " |")
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
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

// thousands writes a rate without a fraction and with commas.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func countOthers(systems []string) (n int) {
	for _, s := range systems {
		if s != ours {
			n++
		}
	}
	return n
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
