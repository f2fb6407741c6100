package sqltorture

import (
	"maps"
	"slices"
)

// sitesKept is how many rows in sites a client keeps.
const sitesKept = 40

// useSite puts rows in a site, changes one or takes one away, whatever its builder does to the table meanwhile.
func (a *attempt) useSite() error {
	mine := slices.Sorted(maps.Keys(a.own.sites))
	switch p := a.rnd.IntN(100); {
	case len(mine) > 0 && (p < 15 || len(mine) > sitesKept):
		return a.takeFromSite(mine[a.rnd.IntN(len(mine))])
	case len(mine) > 0 && p < 40:
		return a.setInSite(mine[a.rnd.IntN(len(mine))])
	}
	return a.putInSite()
}

// siteErrors are what a statement may meet whose table is being changed.
var siteErrors = []uint16{erNoTable, erDefinition}

func (a *attempt) aSite() string { return siteName(a.rnd.IntN(builders), a.rnd.IntN(sitesPerBuilder)) }

func (a *attempt) putInSite() error {
	name := a.aSite()
	n := 1 + a.rnd.IntN(3)
	text := "INSERT INTO " + name + " (id, value) VALUES "
	var args []any
	var effects []effect
	for i := range n {
		if i > 0 {
			text += ", "
		}
		text += "(?, ?)"
		key, value := a.key(), int64(a.rnd.IntN(1000))
		args = append(args, key, value)
		effects = append(effects, effect{kind: putSite, key: key, amount: value})
	}
	began := a.clock.tick()
	if err := a.must(uint64(n), siteErrors, text, args...); err != nil {
		return passOver(err)
	}
	at := use{name, began, a.clock.tick()}
	for _, e := range effects {
		e.at = at
		a.did(e)
	}
	return nil
}

// setInSite looks for the row under the name it was put in; the table may have another by now.
func (a *attempt) setInSite(key uint64) error {
	value := int64(1000 + a.rnd.IntN(1000))
	n, err := a.exec(siteErrors, "UPDATE "+a.own.sites[key]+" SET value = ? WHERE id = ?", value, key)
	if err == nil && n == 1 {
		a.did(effect{kind: setSite, key: key, amount: value})
	}
	return passOver(err)
}

func (a *attempt) takeFromSite(key uint64) error {
	n, err := a.exec(siteErrors, "DELETE FROM "+a.own.sites[key]+" WHERE id = ?", key)
	if err == nil && n == 1 {
		a.did(effect{kind: removeSite, key: key})
	}
	if err == nil && n == 0 && a.chance(50) {
		delete(a.own.sites, key) // it is elsewhere, or went with its table; the oracle knows
	}
	return passOver(err)
}
