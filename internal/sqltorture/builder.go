package sqltorture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// builder changes the definitions of its tables while clients use them. Like a client it outlives the server.
type builder struct {
	client         // for its connection; it has no rows
	first  layout  // proven
	steps  []*step // since
	now    layout
	asked  *asked // a step whose answer was lost; nil: none
	births int    // tables numbered so far
}

// asked is a step whose answer was lost.
type asked struct {
	*step
	thread uint32
}

// pause between two steps, at most: definitions are changed often, and used more often.
const pause = 60 * time.Millisecond

func (b *builder) live(ctx context.Context) {
	for !b.over.Load() && ctx.Err() == nil {
		var err error
		switch {
		case b.link == nil:
			err = b.connect(ctx)
		case b.asked != nil:
			err = b.ask(ctx)
		default:
			time.Sleep(time.Duration(b.rnd.Int64N(int64(pause))))
			err = b.build(ctx)
		}
		if errors.Is(err, errLost) && b.link != nil {
			b.link.close()
			b.link = nil
		}
	}
	if b.link != nil {
		b.link.close()
	}
}

// build takes one step.
func (b *builder) build(ctx context.Context) error {
	s := b.draw()
	if s == nil {
		return nil
	}
	s.before, s.began = b.now, b.clock.tick()
	b.steps = append(b.steps, s)
	_, _, err := b.exec(ctx, nil, s.text)
	switch {
	case err == nil:
		b.took(s)
		return nil
	case errors.Is(err, errLost), errors.Is(err, undone(erInterrupted)): // it may have been done when it was killed
		b.found.event(answersLost)
		b.asked = &asked{s, b.link.id}
		return err
	}
	b.steps = b.steps[:len(b.steps)-1]
	return err
}

func (b *builder) took(s *step) {
	s.ended, b.now = b.clock.tick(), s.after
	b.found.event("definitions changed")
}

// ask a server that lives what became of a step. One that empties a table is told by nothing but the table; it stays open, and counts as
// taken: what was in the table before may be there or not.
func (b *builder) ask(ctx context.Context) error {
	if b.asked.thread != b.link.id {
		rows, err := b.query(ctx, nil, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", b.asked.thread)
		if err != nil || rows[0][0] != "0" {
			time.Sleep(retryAfter)
			return err
		}
	}
	end, cancel := statement(ctx)
	defer cancel()
	all, err := readLayouts(end, b.link)
	if err != nil {
		return b.failure(err, nil, "read definitions")
	}
	s, now := b.asked.step, all[b.no]
	switch {
	case maps.Equal(s.before, s.after):
		s.ended, s.open = b.clock.tick(), true
	case maps.Equal(now, s.after):
		b.took(s)
	case maps.Equal(now, s.before):
		b.steps = b.steps[:len(b.steps)-1]
	default:
		b.found.torn("%s: definitions are %v after %q; they were %v and were to be %v", b.who, now, s.text, s.before, s.after)
		b.found.fail(fmt.Errorf("%s does not know its definitions any more", b.who))
	}
	b.asked = nil
	return nil
}

// newborn numbers a table.
func (b *builder) newborn() int {
	b.births++
	return b.births*builders + b.no
}

// draw a step that can be taken; nil: not this time.
func (b *builder) draw() *step {
	taken := slices.Sorted(maps.Keys(b.now))
	var free []string
	for n := range sitesPerBuilder {
		if name := siteName(b.no, n); !slices.Contains(taken, name) {
			free = append(free, name)
		}
	}
	if len(free) > 0 && (len(taken) == 0 || b.chance(30)) {
		s := site{born: b.newborn(), extra: b.rnd.IntN(2) * 7, wide: b.chance(50), valued: b.chance(50), unique: b.chance(50)}
		return &step{text: s.create(free[0]), after: b.now.with(free[0], s)}
	}
	name := taken[b.rnd.IntN(len(taken))]
	if b.chance(40) {
		return b.drawMove(name, taken, free)
	}
	return b.drawChange(name)
}

// drawMove draws a step that concerns whole tables.
func (b *builder) drawMove(name string, taken, free []string) *step {
	s := b.now[name]
	switch p := b.rnd.IntN(4); {
	case p == 0:
		return &step{text: "TRUNCATE TABLE " + name, after: b.now, emptied: s.born}
	case p == 1:
		return &step{text: "DROP TABLE " + name, after: b.now.without(name), emptied: s.born}
	case p == 2 && len(free) > 0:
		to := free[b.rnd.IntN(len(free))]
		return &step{text: fmt.Sprintf("RENAME TABLE %s TO %s", name, to), after: b.now.without(name).with(to, s)}
	case len(taken) > 1:
		other := taken[b.rnd.IntN(len(taken))]
		if other == name {
			return nil
		}
		aside := fmt.Sprintf("aside_%d", b.no)
		return &step{text: fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s, %s TO %s", name, aside, other, name, aside, other),
			after: b.now.with(name, b.now[other]).with(other, s)}
	}
	return nil
}

// drawChange draws a step that changes one table.
func (b *builder) drawChange(name string) *step {
	s, text := b.now[name], ""
	switch b.rnd.IntN(4) {
	case 0:
		if s.extra == 0 {
			s.extra = 1 + b.rnd.IntN(1000)
			text = fmt.Sprintf("ALTER TABLE %s ADD COLUMN extra INT NOT NULL DEFAULT %d", name, s.extra)
		} else {
			s.extra = 0
			text = fmt.Sprintf("ALTER TABLE %s DROP COLUMN extra", name)
		}
	case 1:
		s.wide = !s.wide
		text = fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN value %s NOT NULL", name, s.valueType())
	case 2:
		if s.valued = !s.valued; s.valued {
			text = fmt.Sprintf("CREATE INDEX by_value ON %s (value)", name)
		} else {
			text = fmt.Sprintf("DROP INDEX by_value ON %s", name)
		}
	case 3:
		if s.unique = !s.unique; s.unique {
			text = fmt.Sprintf("ALTER TABLE %s ADD UNIQUE KEY by_born (born, id)", name)
		} else {
			text = fmt.Sprintf("ALTER TABLE %s DROP KEY by_born", name)
		}
	}
	return &step{text: text, after: b.now.with(name, s)}
}

// newBuilder has some tables from the beginning.
func newBuilder(no int, rnd *rand.Rand) *builder {
	b := &builder{first: layout{}}
	b.no, b.who = no, fmt.Sprintf("builder %d", no)
	for n := range sitesPerBuilder - 1 {
		b.first[siteName(no, n)] = site{born: b.newborn(), extra: rnd.IntN(2) * 3, valued: rnd.IntN(2) == 0}
	}
	b.now = b.first
	return b
}

// readLayouts reads the definitions of all builders' tables. One that is not as a builder makes them is an error.
func readLayouts(ctx context.Context, l *link) ([]layout, error) {
	all := make([]layout, builders)
	for b := range all {
		all[b] = layout{}
	}
	columns, err := l.query(ctx, "SELECT table_name, column_name, column_default, data_type FROM information_schema.columns "+
		"WHERE table_schema = '"+database+"' AND (table_name LIKE 'site%' OR table_name LIKE 'aside%')")
	if err != nil {
		return nil, err
	}
	for _, c := range columns {
		name, column := c[0], c[1]
		if !isSite(name) {
			return nil, fmt.Errorf("%w: table %s", errStrange, name)
		}
		at := all[siteBuilder(name)]
		s := at[name]
		switch column {
		case "id":
		case "value":
			s.wide = c[3] == "bigint"
		case "born":
			_, err = fmt.Sscan(c[2], &s.born)
		case "extra":
			_, err = fmt.Sscan(c[2], &s.extra)
		default:
			err = fmt.Errorf("no builder makes it")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: column %s of %s, default %q: %w", errStrange, column, name, c[2], err)
		}
		at[name] = s
	}
	indexes, err := l.query(ctx, "SELECT DISTINCT table_name, index_name FROM information_schema.statistics "+
		"WHERE table_schema = '"+database+"' AND table_name LIKE 'site%'")
	if err != nil {
		return nil, err
	}
	for _, x := range indexes {
		at := all[siteBuilder(x[0])]
		s := at[x[0]]
		switch x[1] {
		case "PRIMARY":
		case "by_value":
			s.valued = true
		case "by_born":
			s.unique = true
		default:
			return nil, fmt.Errorf("%w: index %s of %s", errStrange, x[1], x[0])
		}
		at[x[0]] = s
	}
	return all, nil
}

// errStrange: a definition is not one that a builder has ever made.
var errStrange = errors.New("strange definition")

func isSite(name string) bool {
	for b := range builders {
		for n := range sitesPerBuilder {
			if name == siteName(b, n) {
				return true
			}
		}
	}
	return false
}
