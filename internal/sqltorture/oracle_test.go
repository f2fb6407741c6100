package sqltorture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hearthdb/hearth/internal/meddle"
)

// trial is an oracle with one client and one builder, and what was seen.
type trial struct {
	oracle  *oracle
	client  *client
	builder *builder
	seen    *seen
	ledger  *ledger
}

func newTrial() *trial {
	l := layout{"site_0_0": {born: 2}, "site_0_1": {born: 4, extra: 9}}
	tr := &trial{
		oracle: &oracle{proven: newState(1)}, client: &client{}, builder: &builder{first: l, now: l},
		seen:   &seen{stamps: make([]uint64, 1), layouts: []layout{l}, sites: map[string]map[uint64]siteSeen{}},
		ledger: &ledger{given: map[uint64]issue{}},
	}
	for t := range tr.seen.rows {
		tr.seen.rows[t] = map[uint64]string{}
	}
	for a := range tr.seen.accounts {
		tr.seen.accounts[a] = firstBalance
	}
	for c := range tr.seen.codes {
		tr.seen.codes[c] = map[uint64]string{}
	}
	return tr
}

// tells a work that was acknowledged at tick acked, 0 for a question.
func (tr *trial) tells(seq, began, acked uint64, effects ...effect) {
	tr.client.log = append(tr.client.log, &work{author: author{0, seq}, began: began, acked: acked, effects: effects})
}

func (tr *trial) takes(s step) {
	s.before = tr.builder.now
	tr.builder.steps, tr.builder.now = append(tr.builder.steps, &s), s.after
}

func (tr *trial) judge() *findings {
	f := newFindings()
	tr.oracle.judge(tr.seen, []*client{tr.client}, []*builder{tr.builder}, tr.ledger, 1000, f)
	return f
}

func (tr *trial) holds(name string, key uint64, value int64, born, extra int) {
	if tr.seen.sites[name] == nil {
		tr.seen.sites[name] = map[uint64]siteSeen{}
	}
	tr.seen.sites[name][key] = siteSeen{value, born, extra}
}

func putRow(t tableNo, key uint64, value string) effect {
	return effect{kind: put, table: t, key: key, value: value}
}

func intoSite(name string, key uint64, value int64, began, ended uint64) effect {
	return effect{kind: putSite, key: key, amount: value, at: use{name, began, ended}}
}

// TestJudge: each case says what was told and what was seen; what the oracle makes of it must be just that.
func TestJudge(t *testing.T) {
	swap := func(l layout) layout { return l.with("site_0_0", l["site_0_1"]).with("site_0_1", l["site_0_0"]) }
	for name, c := range map[string]struct {
		arrange func(*trial)
		want    Counts
		says    string
	}{
		"nothing": {func(*trial) {}, Counts{}, ""},
		"all there": {func(tr *trial) {
			tr.tells(1, 10, 11, putRow(claims, 5, "1 NULL"), effect{kind: add, key: 3, amount: 7})
			tr.seen.stamps[0], tr.seen.rows[claims][5], tr.seen.accounts[3] = 1, "1 NULL", firstBalance+7
		}, Counts{}, ""},
		"lost":                   {func(tr *trial) { tr.tells(1, 10, 11, putRow(claims, 5, "1 NULL")) }, Counts{Lost: 1}, "acknowledged and is not there"},
		"a question answered no": {func(tr *trial) { tr.tells(1, 10, 0, putRow(claims, 5, "1 NULL")) }, Counts{}, ""},
		"a question answered yes": {func(tr *trial) {
			tr.tells(1, 10, 0, putRow(claims, 5, "1 NULL"))
			tr.seen.stamps[0], tr.seen.rows[claims][5] = 1, "1 NULL"
		}, Counts{}, ""},
		"half a question": {func(tr *trial) {
			tr.tells(1, 10, 0, putRow(claims, 5, "1 NULL"), putRow(claims, 6, "2 NULL"))
			tr.seen.stamps[0], tr.seen.rows[claims][5] = 1, "1 NULL"
		}, Counts{Torn: 1}, "row 6"},
		"an older row": {func(tr *trial) {
			tr.tells(1, 10, 11, putRow(claims, 5, "1 NULL"))
			tr.tells(2, 12, 13, putRow(claims, 5, "2 NULL"))
			tr.seen.stamps[0], tr.seen.rows[claims][5] = 2, "1 NULL"
		}, Counts{Torn: 1}, `"1 NULL", want "2 NULL"`},
		"a row too many":         {func(tr *trial) { tr.seen.rows[slots][7] = "1 2 3" }, Counts{Torn: 1}, "want none"},
		"a work that nobody did": {func(tr *trial) { tr.seen.stamps[0] = 3 }, Counts{Torn: 2}, "the last that it did is 0"},
		"money":                  {func(tr *trial) { tr.seen.accounts[0]-- }, Counts{Torn: 1}, "bank_a: account 0 has 999"},
		"lost with memory": {func(tr *trial) {
			tr.oracle.loss = true
			tr.tells(1, 10, 11, putRow(claims, 5, "1 NULL"))
		}, Counts{}, ""},
		"a hole": {func(tr *trial) { // of another client, whose later work is there
			tr.oracle.loss = true
			tr.tells(1, 10, 11)
			tr.client.log = append(tr.client.log, &work{author: author{0, 2}, began: 12, acked: 13})
			tr.client.log[1], tr.client.log[0] = tr.client.log[0], tr.client.log[1]
			tr.client.log[0].seq, tr.client.log[1].seq = 1, 2
			tr.seen.stamps[0] = 1
		}, Counts{Torn: 1}, "acknowledged before"},
		"a work alone": {func(tr *trial) {
			tr.tells(1, 10, 0)
			tr.client.log[0].alone = 2
			tr.seen.rows[tickets][41], tr.seen.rows[tickets][42] = ticketValue(0, 1, 0), ticketValue(0, 1, 1)
		}, Counts{}, ""},
		"half a work alone": {func(tr *trial) {
			tr.tells(1, 10, 0)
			tr.client.log[0].alone = 2
			tr.seen.rows[tickets][41] = ticketValue(0, 1, 0)
		}, Counts{Torn: 1}, "its ticket 1 is there 0 times"},
		"an id given before": {func(tr *trial) {
			tr.ledger.issue(41, issue{author{0, 9}, 5})
			tr.tells(1, 10, 0)
			tr.client.log[0].alone = 1
			tr.seen.rows[tickets][41] = ticketValue(0, 1, 0)
		}, Counts{Duplicates: 1}, "id 41"},
		"children follow their parent": {func(tr *trial) {
			tr.tells(1, 10, 11, putRow(parents, 5, parentValue), putRow(kidsCascade, 6, "5"), putRow(kidsNull, 7, "5"))
			tr.tells(2, 12, 13, effect{kind: remove, table: parents, key: 5})
			tr.seen.stamps[0], tr.seen.rows[kidsNull][7] = 2, noParent
		}, Counts{}, ""},
		"an orphan": {func(tr *trial) {
			tr.tells(1, 10, 11, putRow(parents, 5, parentValue), putRow(kidsNull, 7, "5"))
			tr.tells(2, 12, 13, effect{kind: remove, table: parents, key: 5})
			tr.seen.stamps[0], tr.seen.rows[kidsNull][7] = 2, "5"
		}, Counts{Torn: 1, Orphans: 1}, "which is not there"},
		"a child that keeps its parent": {func(tr *trial) {
			tr.tells(1, 10, 11, putRow(parents, 5, parentValue), putRow(kidsRestrict, 7, "5"))
			tr.tells(2, 12, 13, effect{kind: remove, table: parents, key: 5})
			tr.seen.stamps[0] = 2
		}, Counts{Orphans: 1}, "should have kept"},
		"a child with another code": {func(tr *trial) {
			tr.tells(1, 10, 11, putRow(parents, 5, parentValue), putRow(kidsCascade, 7, "5"))
			tr.seen.stamps[0], tr.seen.rows[parents][5], tr.seen.rows[kidsCascade][7] = 1, parentValue, "5"
			tr.seen.codes[0][5], tr.seen.codes[1][7] = "100", "99"
		}, Counts{Orphans: 1}, "has code 99"},

		"a row in its site": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.seen.stamps[0] = 1
			tr.holds("site_0_1", 70, 1, 4, 9)
		}, Counts{}, ""},
		"a row gone from its site": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.seen.stamps[0] = 1
		}, Counts{Torn: 1}, "row 70"},
		"a row of another table": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.seen.stamps[0] = 1
			tr.holds("site_0_0", 70, 1, 2, 0)
		}, Counts{Torn: 1}, "is in table 2"},
		"half a rewrite": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.seen.stamps[0] = 1
			tr.holds("site_0_1", 70, 1, 4, 8)
		}, Counts{Torn: 1}, "extra 8"},
		"tables that changed names": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.takes(step{after: swap(tr.builder.now), began: 20, ended: 21})
			tr.seen.stamps[0], tr.seen.layouts[0] = 1, tr.builder.now
			tr.holds("site_0_0", 70, 1, 4, 9)
		}, Counts{}, ""},
		"a step that is lost": {func(tr *trial) {
			tr.takes(step{text: "RENAME", after: swap(tr.builder.now), began: 20, ended: 21})
		}, Counts{Torn: 2}, "RENAME"},
		"a step whose answer is": {func(tr *trial) { tr.takes(step{after: swap(tr.builder.now), began: 20}) }, Counts{}, ""},
		"a definition between two": {func(tr *trial) {
			tr.takes(step{text: "RENAME", after: swap(tr.builder.now), began: 20})
			tr.seen.layouts[0] = tr.builder.first.without("site_0_0")
		}, Counts{Torn: 2}, "definitions are"},
		"emptied": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.takes(step{after: tr.builder.now, emptied: 4, began: 20, ended: 21})
			tr.seen.stamps[0] = 1
		}, Counts{}, ""},
		"emptied in vain": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11))
			tr.takes(step{after: tr.builder.now, emptied: 4, began: 20, ended: 21})
			tr.seen.stamps[0] = 1
			tr.holds("site_0_1", 70, 1, 4, 9)
		}, Counts{Torn: 1}, "emptied after it"},
		"half emptied": {func(tr *trial) {
			tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11), intoSite("site_0_1", 71, 1, 10, 11))
			tr.takes(step{after: tr.builder.now, emptied: 4, began: 20})
			tr.seen.stamps[0] = 1
			tr.holds("site_0_1", 70, 1, 4, 9)
		}, Counts{Torn: 1}, ""},
		"emptied before": {func(tr *trial) {
			tr.tells(1, 22, 23, intoSite("site_0_1", 70, 1, 20, 21))
			tr.takes(step{after: tr.builder.now, emptied: 4, began: 10, ended: 11})
			tr.seen.stamps[0] = 1
		}, Counts{Torn: 1}, "is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial()
			c.arrange(tr)
			f := tr.judge()
			if all := strings.Join(f.wrongs, "; "); f.counts != c.want || !strings.Contains(all, c.says) {
				t.Errorf("%+v %s, want %+v and %q", f.counts, all, c.want, c.says)
			}
		})
	}
}

// TestProven: what one proof found is what the next one wants.
func TestProven(t *testing.T) {
	tr := newTrial()
	tr.tells(1, 12, 13, intoSite("site_0_1", 70, 1, 10, 11), putRow(claims, 5, "1 NULL"))
	tr.seen.stamps[0], tr.seen.rows[claims][5] = 1, "1 NULL"
	tr.holds("site_0_1", 70, 1, 4, 9)
	if f := tr.judge(); f.any() {
		t.Fatal(f.wrongs)
	}
	if tr.client.seq != 1 || len(tr.client.log) != 0 || len(tr.builder.steps) != 0 {
		t.Errorf("client at %d with %d works, builder with %d steps; want a new beginning at 1", tr.client.seq, len(tr.client.log), len(tr.builder.steps))
	}
	own := ownOf(tr.oracle.proven, 0)
	if own.rows[claims][5] != "1 NULL" {
		t.Errorf("the client knows %v of its claims", own.rows[claims])
	}
	delete(tr.seen.sites["site_0_1"], 70)
	delete(tr.seen.rows[claims], 5)
	if f := tr.judge(); f.counts.Torn != 2 {
		t.Errorf("%+v %v, want both rows missed", f.counts, f.wrongs)
	}
}

// TestLossIsRemembered: memory that was taken away from a start that was killed is still gone at the next one.
func TestLossIsRemembered(t *testing.T) {
	for _, c := range []struct {
		durable bool
		what    meddle.What
		kind    string
		want    bool
	}{
		{false, meddle.Delete, "", true},
		{false, meddle.Delete, "region lost", true},
		{false, meddle.Header, "crash, only ring kept", false},
		{false, meddle.Descriptors, "", false},
		{false, meddle.None, "", false},
		{true, meddle.Delete, "", false},
	} {
		r := &run{cfg: Config{Durable: c.durable}, oracle: &oracle{}}
		(&life{run: r, fate: fate{meddle: c.what}}).mayHaveLost(c.kind)
		(&life{run: r}).mayHaveLost("crash, region kept") // the next one
		if r.oracle.loss != c.want {
			t.Errorf("%+v: loss is %v", c, r.oracle.loss)
		}
	}
}

func TestCouldHold(t *testing.T) {
	first := layout{"a": {born: 1}}
	moved := first.without("a").with("b", first["a"])
	again := moved.with("a", site{born: 2})
	steps := []*step{{before: first, after: moved, began: 10, ended: 20}, {before: moved, after: again, began: 30, ended: 40}}
	for _, c := range []struct {
		use  use
		want string
	}{
		{use{"a", 1, 5}, "[1]"}, {use{"a", 15, 16}, "[1]"}, {use{"a", 19, 35}, "[1 2]"}, {use{"a", 25, 26}, "[]"},
		{use{"a", 50, 51}, "[2]"}, {use{"b", 1, 5}, "[]"}, {use{"b", 15, 16}, "[1]"}, {use{"b", 50, 51}, "[1]"},
	} {
		if got := fmt.Sprint(couldHold(first, steps, c.use)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.use, got, c.want)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct{ got, want, says string }{
		{"", "", "none"}, {"a b", "a b", "none"}, {"a", "a b", "missing b"}, {"a b", "b", "besides a"}, {"a c", "a b c", "missing b"},
	} {
		if says := difference(strings.Fields(c.got), strings.Fields(c.want)); says != c.says {
			t.Errorf("%q and %q: %s, want %s", c.got, c.want, says, c.says)
		}
	}
}

// TestUndo: what a savepoint takes back the model takes back.
func TestUndo(t *testing.T) {
	c := &client{own: ownOf(newState(1), 0), world: &world{clock: &clock{}}}
	a := c.attempt(t.Context())
	a.did(putRow(claims, 5, "1 NULL"))
	a.did(intoSite("site_0_0", 6, 1, 2, 3))
	n := len(a.work.effects)
	before := maps.Clone(c.own.rows[claims])
	a.did(putRow(claims, 5, "2 NULL"))
	a.did(effect{kind: remove, table: claims, key: 5})
	a.did(effect{kind: removeSite, key: 6})
	a.forget(n)
	if !maps.Equal(c.own.rows[claims], before) || c.own.sites[6] != "site_0_0" || len(a.work.effects) != n {
		t.Errorf("%v %v %d effects, want %v, the site and %d", c.own.rows[claims], c.own.sites, len(a.work.effects), before, n)
	}
	a.forget(0)
	if len(c.own.rows[claims]) != 0 || len(c.own.sites) != 0 {
		t.Errorf("%v %v, want nothing", c.own.rows[claims], c.own.sites)
	}
}

func TestPlain(t *testing.T) {
	var all []string
	for how := range 3 {
		all = append(all, plain(claimName(7, how)))
	}
	if len(slices.Compact(all)) != 1 {
		t.Errorf("%q are names of one claim", all)
	}
}
