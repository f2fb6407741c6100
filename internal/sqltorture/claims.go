package sqltorture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names and codes that all clients want to have in table claim, and nobody may have twice. Names differ by more than case and accents,
// which the column's collation does not tell apart.
const (
	claimNames = 60
	claimCodes = 80
)

// claimName n, in one of the ways to write it.
func claimName(n, how int) string {
	return fmt.Sprintf([...]string{"Café no. %d", "cafe NO. %d", "CAFÉ No. %d"}[how%3], n)
}

// value of a claim, as it is compared: the name by number, the code or NULL.
func claimValue(name int, code string) string { return fmt.Sprintf("%d %s", name, code) }

func (a *attempt) drawClaim() (name int, code any) {
	name = a.rnd.IntN(claimNames)
	if a.chance(30) {
		return name, nil
	}
	return name, a.rnd.IntN(claimCodes)
}

func codeText(code any) string {
	if code == nil {
		return null
	}
	return fmt.Sprint(code)
}

// claim takes names and codes, or gives them back.
func (a *attempt) claim() error {
	mine := slices.Sorted(maps.Keys(a.own.rows[claims]))
	switch p := a.rnd.IntN(100); {
	case len(mine) > 0 && p < 30:
		return a.disclaim(mine[a.rnd.IntN(len(mine))])
	case len(mine) > 0 && p < 60:
		return a.claimOther(mine[a.rnd.IntN(len(mine))])
	}
	return a.claimNew()
}

// claimNew inserts up to four rows, the last of which are the likeliest to fail, and all of them with it.
func (a *attempt) claimNew() error {
	var effects []effect
	var args []any
	n := 1 + a.rnd.IntN(4)
	for range n {
		id := a.key()
		name, code := a.drawClaim()
		args = append(args, id, claimName(name, a.rnd.IntN(3)), code)
		effects = append(effects, effect{kind: put, table: claims, key: id, value: claimValue(name, codeText(code))})
	}
	text := "INSERT INTO claim (id, name, code) VALUES " + strings.TrimSuffix(strings.Repeat("(?, ?, ?), ", n), ", ")
	if err := a.must(uint64(n), []uint16{erDuplicate}, text, args...); err != nil {
		return passOver(err)
	}
	for _, e := range effects {
		a.did(e)
	}
	return nil
}

func (a *attempt) claimOther(id uint64) error {
	name, code := a.drawClaim()
	if err := a.must(1, []uint16{erDuplicate}, "UPDATE claim SET name = ?, code = ? WHERE id = ?", claimName(name, a.rnd.IntN(3)), code, id); err != nil {
		return passOver(err)
	}
	a.did(effect{kind: put, table: claims, key: id, value: claimValue(name, codeText(code))})
	return nil
}

func (a *attempt) disclaim(id uint64) error {
	if err := a.must(1, nil, "DELETE FROM claim WHERE id = ?", id); err != nil {
		return passOver(err)
	}
	a.did(effect{kind: remove, table: claims, key: id})
	return nil
}
