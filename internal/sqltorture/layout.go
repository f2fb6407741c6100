package sqltorture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// layout is the tables of one builder, by name.
type layout map[string]site

// site is the definition of a table that its builder changes all the time.
type site struct {
	born   int  // the table's number, which no other table ever has: default of column born
	extra  int  // default of column extra; 0: it has no such column
	wide   bool // column value is a BIGINT, else an INT
	valued bool // there is an index on value
	unique bool // there is a unique index on (born, id)
}

// sitesPerBuilder is how many tables a builder has at most, and names for them.
const sitesPerBuilder = 3

func siteName(builder, n int) string { return fmt.Sprintf("site_%d_%d", builder, n) }

// siteBuilder is the builder that a name belongs to.
func siteBuilder(name string) (builder int) {
	var n int
	if _, err := fmt.Sscanf(name, "site_%d_%d", &builder, &n); err != nil {
		panic(fmt.Sprintf("BUG: site %q, want a name that siteName made", name))
	}
	return builder
}

func (s site) valueType() string {
	if s.wide {
		return "BIGINT"
	}
	return "INT"
}

func (s site) create(name string) string {
	parts := []string{"id BIGINT PRIMARY KEY", "value " + s.valueType() + " NOT NULL", fmt.Sprintf("born INT NOT NULL DEFAULT %d", s.born)}
	if s.extra != 0 {
		parts = append(parts, fmt.Sprintf("extra INT NOT NULL DEFAULT %d", s.extra))
	}
	if s.valued {
		parts = append(parts, "KEY by_value (value)")
	}
	if s.unique {
		parts = append(parts, "UNIQUE KEY by_born (born, id)")
	}
	return "CREATE TABLE " + name + " (" + strings.Join(parts, ", ") + ")"
}

func (l layout) with(name string, s site) layout {
	c := maps.Clone(l)
	c[name] = s
	return c
}

func (l layout) without(name string) layout {
	c := maps.Clone(l)
	delete(c, name)
	return c
}

func (l layout) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		all = append(all, fmt.Sprintf("%s %+v", name, l[name]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// step is one change of definitions, whole or not at all.
type step struct {
	text          string
	before, after layout
	emptied       int    // the table that loses its rows, 0: none
	began, ended  uint64 // ended 0: its answer was lost
	open          bool   // it was over at ended, but who knows whether it happened
}

// couldHold tells which tables could have a name while a statement ran that used it. A table has its name from some moment of one
// step to some moment of another.
func couldHold(first layout, steps []*step, u use) (born []int) {
	since, holder := uint64(0), first[u.name].born
	hold := func(until uint64) {
		if holder != 0 && since <= u.ended && until >= u.began {
			born = append(born, holder)
		}
	}
	for _, s := range steps {
		if next := s.after[u.name].born; next != holder {
			hold(s.end())
			since, holder = s.began, next
		}
	}
	hold(never)
	return born
}

// end is the tick before which the step has happened, if it has.
func (s *step) end() uint64 {
	if s.ended == 0 {
		return never
	}
	return s.ended
}
