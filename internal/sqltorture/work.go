package sqltorture

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"
)

// clock gives ticks: what got a lower one happened before.
type clock struct{ last atomic.Uint64 }

func (c *clock) tick() uint64 { return c.last.Add(1) }

// effect is one thing that a work does to the model.
type effect struct {
	kind   effectKind
	table  tableNo // put, remove
	key    uint64  // of the row; the account
	value  string  // put: the other columns
	amount int64   // add
	at     use     // putSite
}

type effectKind uint8

const (
	put effectKind = iota
	remove
	add
	putSite
	setSite
	removeSite
)

// use is a statement on a site: the name it went by, and when the statement ran.
type use struct {
	name         string
	began, ended uint64
}

// author is the work that made a row what it is.
type author struct {
	client int
	seq    uint64
}

func (a author) String() string { return fmt.Sprintf("work %d of client %d", a.seq, a.client) }

// never is after all ticks.
const never = math.MaxUint64

// work is what a client wants to happen whole or not at all.
type work struct {
	author
	effects []effect
	alone   int    // so many tickets, in one statement by itself, which sets no stamp; effects are what is known of them
	began   uint64 // before its last statement, the commit
	acked   uint64 // after its answer; 0: a question
}

// row is one that must be there.
type row struct {
	value string
	by    author
}

// siteRow is one that must be in some site, unless its table was emptied since.
type siteRow struct {
	value int64
	by    author
	at    use    // of the statement that put it
	acked uint64 // of the work; what began later comes after it
	born  int    // of the table it was found in; 0: not looked for yet
}

// state is what the database must hold.
type state struct {
	rows     [tables]map[uint64]row
	accounts [accounts]int64
	stamps   []uint64 // of works acknowledged or found, by client; a work alone counts too
	stamped  []uint64 // what the stamps say
	sites    map[uint64]siteRow
	removed  map[uint64]bool // parents that somebody deleted
}

func newState(clients int) *state {
	s := &state{stamps: make([]uint64, clients), stamped: make([]uint64, clients), sites: map[uint64]siteRow{}, removed: map[uint64]bool{}}
	for t := range s.rows {
		s.rows[t] = map[uint64]row{}
	}
	for a := range s.accounts {
		s.accounts[a] = firstBalance
	}
	return s
}

// apply makes s what it is after w.
func (s *state) apply(w *work) {
	for _, e := range w.effects {
		switch e.kind {
		case put:
			s.rows[e.table][e.key] = row{e.value, w.author}
		case remove:
			if e.table == parents { // perhaps of another client, whose work is still to come
				s.removed[e.key] = true
			} else {
				delete(s.rows[e.table], e.key)
			}
		case add:
			s.accounts[e.key] += e.amount
		case putSite:
			s.sites[e.key] = siteRow{value: e.amount, by: w.author, at: e.at, acked: cmp.Or(w.acked, never)}
		case setSite:
			if r, ok := s.sites[e.key]; ok {
				r.value, r.by = e.amount, w.author
				s.sites[e.key] = r
			}
		case removeSite:
			delete(s.sites, e.key)
		}
	}
	s.stamps[w.client] = w.seq
	if w.alone == 0 {
		s.stamped[w.client] = w.seq
	}
}

// settle draws the consequences of what was deleted, as the foreign keys say, once all works are applied.
func (s *state) settle() {
	for id := range s.removed {
		delete(s.rows[parents], id)
	}
	clear(s.removed)
	for id, r := range s.rows[kidsCascade] {
		if _, there := s.rows[parents][parentIn(r.value)]; !there {
			delete(s.rows[kidsCascade], id)
		}
	}
	for id, r := range s.rows[kidsNull] {
		if _, there := s.rows[parents][parentIn(r.value)]; !there {
			s.rows[kidsNull][id] = row{noParent, r.by}
		}
	}
}
