package sqltorture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// oracle knows what the database must hold: what was proven last, and what clients and builders were told since.
type oracle struct {
	proven *state
	since  uint64 // tick of that
	loss   bool   // rule 6 allows that the last works are gone

	acked, forgiven int
}

// judge compares what is there with what must be, and makes it what is proven. The logs of clients and builders begin anew.
func (o *oracle) judge(s *seen, clients []*client, all []*builder, ledger *ledger, at uint64, found *findings) {
	want := o.proven
	var kept, gone []*work
	for _, c := range clients {
		there := o.answered(c, s, found)
		kept, gone = append(kept, c.log[:there]...), append(gone, c.log[there:]...)
	}
	o.order(kept, gone, found)
	for _, w := range kept {
		o.fill(w, s, ledger, found)
		want.apply(w)
	}
	want.settle()
	o.compare(s, found)
	checkFamilies(s, found)
	for _, b := range all {
		o.judgeSites(b, s, at, found)
	}
	if o.loss {
		ledger.forget(o.since, want.rows[tickets])
	}
	for _, c := range clients {
		c.log, c.question = nil, nil
		c.seq, c.stamped = want.stamps[c.no], want.stamped[c.no]
	}
	o.since, o.loss = at, false
}

// answered tells how many works of a client are there, by its stamp and its tickets, and counts those that should be.
func (o *oracle) answered(c *client, s *seen, found *findings) (there int) {
	last := s.stamps[c.no]
	for id, value := range s.rows[tickets] {
		var client int
		var seq uint64
		if _, err := fmt.Sscan(value, &client, &seq); err != nil {
			panic(fmt.Sprintf("BUG: ticket %d is %q, want three numbers", id, value))
		}
		if client == c.no {
			last = max(last, seq)
		}
	}
	for there < len(c.log) && c.log[there].seq <= last {
		there++
	}
	if most := o.proven.stamps[c.no] + uint64(len(c.log)); last > most {
		found.torn("client %d: work %d is there, the last that it did is %d", c.no, last, most)
	}
	for _, w := range c.log {
		if w.acked != 0 {
			o.acked++
		}
	}
	for _, w := range c.log[there:] {
		switch {
		case w.acked == 0:
		case o.loss:
			o.forgiven++
		default:
			found.lost("%v was acknowledged and is not there; the last one is %d", w.author, last)
		}
	}
	return there
}

// order looks for holes: a work that is there proves those acknowledged before it began to commit.
func (o *oracle) order(kept, gone []*work, found *findings) {
	if len(kept) == 0 {
		return
	}
	last := slices.MaxFunc(kept, func(a, b *work) int { return int(a.began) - int(b.began) })
	for _, w := range gone {
		if w.acked != 0 && w.acked < last.began && o.loss {
			found.torn("%v is there, and %v is not, though it was acknowledged before", last.author, w.author)
		}
	}
}

// fill completes a work alone, whose ids may not have been read, by what is there.
func (o *oracle) fill(w *work, s *seen, ledger *ledger, found *findings) {
	if w.alone == 0 || len(w.effects) == w.alone {
		return
	}
	w.effects = nil
	for n := range w.alone {
		want, there := ticketValue(w.client, w.seq, n), 0
		for id, value := range s.rows[tickets] {
			if value != want {
				continue
			}
			there++
			w.effects = append(w.effects, effect{kind: put, table: tickets, key: id, value: value})
			if before, twice := ledger.issue(id, issue{w.author, w.began}); twice {
				found.duplicate("id %d was given to %v, and before to %v", id, w.author, before.by)
			}
		}
		if there != 1 {
			found.torn("%v: its ticket %d is there %d times", w.author, n, there)
		}
	}
}

// compare counts the works of which rows are missing, or too many, or other than they must be.
func (o *oracle) compare(s *seen, found *findings) {
	want := o.proven
	blamed := map[author]bool{}
	blame := func(by author, format string, args ...any) {
		c := Counts{Torn: 1}
		if blamed[by] {
			c = Counts{}
		}
		blamed[by] = true
		found.wrong(c, format+" (%v)", append(args, by)...)
	}
	for t := range tables {
		for _, key := range slices.Sorted(maps.Keys(want.rows[t])) {
			w := want.rows[t][key]
			switch have, there := s.rows[t][key]; {
			case !there && t == kidsRestrict && s.rows[parents][parentIn(w.value)] == "":
				found.orphan("%s: row %d is gone, and so is its parent %s, which it should have kept", t, key, w.value)
			case !there:
				blame(w.by, "%s: row %d of client %d is not there, want %q", t, key, ownerOf(key), w.value)
			case have != w.value:
				blame(w.by, "%s: row %d of client %d is %q, want %q", t, key, ownerOf(key), have, w.value)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s.rows[t])) {
			if _, ok := want.rows[t][key]; !ok {
				found.torn("%s: row %d of client %d is %q, want none", t, key, ownerOf(key), s.rows[t][key])
			}
		}
	}
	for a, w := range want.accounts {
		if have := s.accounts[a]; have != w {
			found.torn("%s: account %d has %d, want %d", account(a).bank(), account(a).id(), have, w)
		}
	}
	for c, w := range want.stamped {
		if have := s.stamps[c]; have != w {
			found.torn("stamp of client %d is %d, want %d", c, have, w)
		}
	}
}

// checkFamilies: every child has the parent that its foreign keys name.
func checkFamilies(s *seen, found *findings) {
	for _, t := range []tableNo{kidsCascade, kidsNull, kidsRestrict} {
		for _, id := range slices.Sorted(maps.Keys(s.rows[t])) {
			parent := s.rows[t][id]
			if parent == noParent {
				continue
			}
			if _, there := s.rows[parents][parentIn(parent)]; !there {
				found.orphan("%s: row %d has parent %s, which is not there", t, id, parent)
			} else if code := s.codes[0][parentIn(parent)]; t == kidsCascade && s.codes[1][id] != code {
				found.orphan("%s: row %d has code %s, its parent %s has %s", t, id, s.codes[1][id], parent, code)
			}
		}
	}
}

// judgeSites finds the step up to which a builder came that fits best what is there: there must be one that fits.
func (o *oracle) judgeSites(b *builder, s *seen, at uint64, found *findings) {
	for _, x := range b.steps {
		if x.ended != 0 {
			o.acked++
		}
	}
	n := len(b.steps)
	least := n
	switch {
	case o.loss:
		least = 0
	case n > 0 && b.steps[n-1].ended == 0:
		least = n - 1
	}
	have := s.layouts[b.no]
	var best []string
	fits := false
	for came := n; came >= least; came-- {
		layout := b.first
		if came > 0 {
			layout = b.steps[came-1].after
		}
		if !maps.Equal(layout, have) {
			continue
		}
		wrongs := o.siteWrongs(b, b.steps[:came], came == n, have, s)
		if !fits || len(wrongs) < len(best) {
			fits, best = true, wrongs
		}
	}
	if !fits {
		last := b.first
		if n > 0 {
			last = b.steps[n-1].after
			found.torn("%s: definitions are %v; the last step was %q, from %v", b.who, have, b.steps[n-1].text, b.steps[n-1].before)
		}
		found.torn("%s: definitions are %v, want %v", b.who, have, last)
	}
	for _, w := range best {
		found.torn("%s: %s", b.who, w)
	}
	b.first, b.now, b.steps, b.asked = have, have, nil, nil
	for _, name := range slices.Sorted(maps.Keys(have)) {
		for key, x := range s.sites[name] {
			if r, ok := o.proven.sites[key]; ok {
				r.born, r.at, r.acked = x.born, use{name, at, at}, at
				o.proven.sites[key] = r
			}
		}
	}
	maps.DeleteFunc(o.proven.sites, func(_ uint64, r siteRow) bool { return siteBuilder(r.at.name) == b.no && r.acked != at })
}

// siteWrongs says what is wrong with the rows in a builder's tables if it came so far. all: it took its last step, too.
func (o *oracle) siteWrongs(b *builder, steps []*step, all bool, have layout, s *seen) (wrongs []string) {
	wrong := func(format string, args ...any) { wrongs = append(wrongs, fmt.Sprintf(format, args...)) }
	where := map[uint64]string{} // the table that holds a row
	for _, name := range slices.Sorted(maps.Keys(have)) {
		for _, key := range slices.Sorted(maps.Keys(s.sites[name])) {
			x := s.sites[name][key]
			if other, twice := where[key]; twice {
				wrong("row %d is in %s and in %s", key, other, name)
			}
			where[key] = name
			if x.born != have[name].born || x.extra != have[name].extra {
				wrong("%s: row %d has born %d and extra %d, the table %d and %d", name, key, x.born, x.extra, have[name].born, have[name].extra)
			}
			if r, ok := o.proven.sites[key]; !ok {
				wrong("%s: row %d of client %d is there, want none", name, key, ownerOf(key))
			} else if r.value != x.value {
				wrong("%s: row %d is %d, want %d (%v)", name, key, x.value, r.value, r.by)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.proven.sites)) {
		r := o.proven.sites[key]
		if siteBuilder(r.at.name) != b.no {
			continue
		}
		could := []int{r.born}
		if r.born == 0 {
			could = couldHold(b.first, steps, r.at)
		}
		name, there := where[key]
		if there && !slices.Contains(could, have[name].born) {
			wrong("row %d of %v is in table %d, put there as %s, which was %v", key, r.by, have[name].born, r.at.name, could)
		}
		may, must := emptied(steps, all, could, r)
		switch {
		case there && must && have[name].born == could[0]:
			wrong("%s: row %d of %v is there, but the table was emptied after it", name, key, r.by)
		case !there && !may:
			wrong("row %d of %v, put in %s (%v), is not there: %s", key, r.by, r.at.name, could, stepsOf(steps))
		}
	}
	return wrongs
}

// emptied tells whether one of the tables that a row can be in may have been emptied after it, and whether the only one was.
func emptied(steps []*step, all bool, could []int, r siteRow) (may, must bool) {
	for i, s := range steps {
		if s.emptied == 0 || !slices.Contains(could, s.emptied) || s.end() < r.at.began {
			continue
		}
		may = true
		sure := !s.open && (s.ended != 0 || all && i == len(steps)-1)
		if sure && len(could) == 1 && s.began > r.acked {
			must = true
		}
	}
	return may, must
}

func stepsOf(steps []*step) string {
	var all []string
	for _, s := range steps {
		all = append(all, fmt.Sprintf("%d-%d %s", s.began, s.ended, s.text))
	}
	return strings.Join(all, "; ")
}
