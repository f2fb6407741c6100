// Package bench measures the engine, beside others where others exist.
//
// It knows the public API of hearth and those of its peers. It does not know the
// engine's internals: what it reports, any user of the API can measure.
//
// # Rules
//
//  1. Systems take turns (A B C A B C), so that a drift of the machine hits all alike.
//  2. Each system is given its fastest fair configuration and call; file comments say which.
//  3. A figure is the median of its runs, and the runs are reported with it.
//  4. What is read is checked. A wrong answer ends the measurement with an error.
//  5. Whatever happens, nothing stays behind: folders of ours are removed, children are gone.
package bench

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// Result is one figure: the line that --json prints.
type Result struct {
	Measure string    `json:"measure"` // what was run: "engine", "beyond-memory", "scan-resistance", "attach"
	System  string    `json:"system"`
	Case    string    `json:"case"`
	Threads int       `json:"threads"`
	Value   float64   `json:"value"` // the median of Runs
	Unit    string    `json:"unit"`
	Runs    []float64 `json:"runs"`
	Over    int       `json:"over,omitempty"` // so many of Runs are bounds: more than that, it was not reached

	Also   map[string]float64   `json:"also,omitempty"`   // other figures of the same run, named with their unit
	Series map[string][]float64 `json:"series,omitempty"` // figures of each second of it
	Config map[string]string    `json:"config,omitempty"` // everything that it took to measure this
}

// Output is where a measurement tells what it does and what it found.
type Output struct {
	Progress func(format string, args ...any) // for people, while it runs
	Result   func(Result)                     // for people and programs, as soon as it is known
}

// NewResult makes the figure of some runs of one case.
func NewResult(measure, system, name string, threads int, unit string, runs []float64) Result {
	return Result{
		Measure: measure, System: system, Case: name, Threads: threads,
		Value: median(runs), Unit: unit, Runs: runs,
	}
}

// median of an even number of runs is the mean of the two in the middle.
func median(runs []float64) float64 {
	if len(runs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(runs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// workDir makes a fresh folder for one measurement inside dir, or inside the system's
// temporary folder when dir is empty. The caller removes it with the returned function.
func workDir(dir string) (path string, remove func(), err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", nil, err
		}
	}
	path, err = os.MkdirTemp(dir, "hearth-bench-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the measurement: %w", err)
	}
	return path, func() { os.RemoveAll(path) }, nil
}

// sharedMemory is where regions live by default.
const sharedMemory = "/dev/shm"

// MemoryDir makes a folder of our own for a region. The caller removes it.
func MemoryDir() (string, error) {
	return os.MkdirTemp(sharedMemory, fmt.Sprintf("hearth-bench-%d-", os.Getpid()))
}

// rate is a count per second.
func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
