package sqltorture

import (
	"fmt"
	"sync"
)

// findings are what is wrong, from whoever saw it.
type findings struct {
	mu     sync.Mutex
	counts Counts
	wrongs []string // the first of them, in words
	failed error    // the torture cannot go on
	events map[string]int
}

// maxWrongs is how many findings of a life are put into words.
const maxWrongs = 30

func newFindings() *findings { return &findings{events: map[string]int{}} }

func (f *findings) wrong(c Counts, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.add(c)
	if len(f.wrongs) < maxWrongs {
		f.wrongs = append(f.wrongs, fmt.Sprintf(format, args...))
	}
}

func (f *findings) lost(format string, args ...any) { f.wrong(Counts{Lost: 1}, format, args...) }
func (f *findings) torn(format string, args ...any) { f.wrong(Counts{Torn: 1}, format, args...) }
func (f *findings) duplicate(format string, args ...any) {
	f.wrong(Counts{Duplicates: 1}, format, args...)
}
func (f *findings) orphan(format string, args ...any) { f.wrong(Counts{Orphans: 1}, format, args...) }

// any: something is wrong.
func (f *findings) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts != Counts{} || f.failed != nil
}

// fail notes the first reason why the torture cannot go on.
func (f *findings) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
}

// event counts something that happened, to show what a run has covered.
func (f *findings) event(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events[name]++
}
