package bench

import (
	"fmt"
	"slices"
	"strings"
)

// writeRestarts writes a table for each case: a row per system, a column per measure, medians with their range.
func writeRestarts(b *strings.Builder, results []Result) {
	type cell struct{ name, system string }
	var cases []string
	columns, systems, cells := map[string][]string{}, map[string][]string{}, map[string]map[cell]Result{}
	for _, r := range results {
		at := strings.LastIndex(r.Case, ": ")
		if at < 0 {
			panic(fmt.Sprintf("BUG: result %q of a restart, want \"case: measure\"", r.Case))
		}
		name, column := r.Case[:at], r.Case[at+2:]+", "+r.Unit
		if cells[name] == nil {
			cases, cells[name] = append(cases, name), map[cell]Result{}
		}
		if !slices.Contains(columns[name], column) {
			columns[name] = append(columns[name], column)
		}
		if !slices.Contains(systems[name], r.System) {
			systems[name] = append(systems[name], r.System)
		}
		cells[name][cell{column, r.System}] = r
	}
	for _, name := range cases {
		fmt.Fprintf(b, "\n**%s**\n\n| system | %s |\n|---|%s\n", name, strings.Join(columns[name], " | "), strings.Repeat("---|", len(columns[name])))
		for _, s := range systems[name] {
			fmt.Fprintf(b, "| %s |", s)
			for _, c := range columns[name] {
				r, ok := cells[name][cell{c, s}]
				b.WriteString(" " + restartCell(r, ok) + " |")
			}
			b.WriteString("\n")
		}
	}
}

// restartCell is "12.3 (11.9–14.0)", and "> 120" where at least half of the runs did not get there.
func restartCell(r Result, ok bool) string {
	if !ok {
		return "–"
	}
	s := number(r.Value)
	if 2*r.Over >= len(r.Runs) && r.Over > 0 {
		s = "> " + s
	}
	if len(r.Runs) > 1 {
		s += fmt.Sprintf(" (%s–%s)", number(slices.Min(r.Runs)), number(slices.Max(r.Runs)))
	}
	return s
}
