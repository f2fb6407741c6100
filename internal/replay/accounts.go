package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Outcome is where an entry ended (rule 6).
type Outcome uint8

// Outcomes.
const (
	Run       Outcome = iota // sent as it is, or without its locks
	Rewritten                // a change whose reads were sent
	Skipped                  // not to be sent
	Shed                     // would have been sent, but the target or we were too slow, or it may not be asked now
	Failed                   // sent, and the target refused
)

// Outcomes in the order they are told.
var Outcomes = []Outcome{Run, Rewritten, Skipped, Shed, Failed}

func (o Outcome) String() string {
	return [...]string{"run", "rewritten", "skipped", "shed", "failed"}[o]
}

// Accounts say what became of every entry.
type Accounts struct {
	mu       sync.Mutex
	received int64
	by       [5]map[string]int64
}

// receive counts an entry in.
func (a *Accounts) receive() {
	a.mu.Lock()
	a.received++
	a.mu.Unlock()
}

// end counts it out, once.
func (a *Accounts) end(o Outcome, reason string) {
	a.mu.Lock()
	if a.by[o] == nil {
		a.by[o] = map[string]int64{}
	}
	if _, known := a.by[o][reason]; !known && len(a.by[o]) >= maxReasons {
		reason = "other"
	}
	a.by[o][reason]++
	a.mu.Unlock()
}

// maxReasons bounds what hostile names of functions could make of the accounts.
const maxReasons = 200

// Totals are the accounts at one moment.
type Totals struct {
	Received int64                       `json:"received"`
	By       map[string]map[string]int64 `json:"by"` // outcome, reason
}

// Totals of everything so far.
func (a *Accounts) Totals() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := Totals{a.received, map[string]map[string]int64{}}
	for _, o := range Outcomes {
		t.By[o.String()] = maps.Clone(a.by[o])
	}
	return t
}

// Sum of one outcome over all reasons.
func (t Totals) Sum(o Outcome) (n int64) {
	for _, v := range t.By[o.String()] {
		n += v
	}
	return n
}

// Ended is the sum over all outcomes.
func (t Totals) Ended() (n int64) {
	for _, o := range Outcomes {
		n += t.Sum(o)
	}
	return n
}

// check proves rule 6 when nothing is under way any more.
func (a *Accounts) check() {
	t := a.Totals()
	if t.Ended() != t.Received {
		panic(fmt.Sprintf("BUG: %d entries received, %d accounted for: %s", t.Received, t.Ended(), t))
	}
}

// String is one line for each outcome, with its reasons from frequent to rare.
func (t Totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "received %d", t.Received)
	for _, o := range Outcomes {
		fmt.Fprintf(&b, "\n%-9s %d", o, t.Sum(o))
		reasons := t.By[o.String()]
		names := slices.SortedFunc(maps.Keys(reasons), func(x, y string) int {
			if d := reasons[y] - reasons[x]; d != 0 {
				return int(d)
			}
			return strings.Compare(x, y)
		})
		for i, n := range names {
			if n == "" {
				continue
			}
			sep := ", "
			if i == 0 {
				sep = ": "
			}
			fmt.Fprintf(&b, "%s%d %s", sep, reasons[n], n)
		}
	}
	return b.String()
}
