package regex

import (
	"slices"
	"unicode"
)

// runeRange is the characters lo to hi, both included.
type runeRange struct{ lo, hi rune }

// runeSet is a set of characters: ranges in order that neither overlap nor touch. It is never changed once it is made, so sets share.
type runeSet []runeRange

var everything = runeSet{{0, unicode.MaxRune}}

// setOf puts ranges in order.
func setOf(ranges ...runeRange) runeSet {
	slices.SortFunc(ranges, func(a, b runeRange) int { return int(a.lo - b.lo) })
	out := ranges[:0]
	for _, r := range ranges {
		switch last := len(out) - 1; {
		case last >= 0 && r.lo <= out[last].hi+1:
			out[last].hi = max(out[last].hi, r.hi)
		default:
			out = append(out, r)
		}
	}
	return runeSet(out)
}

// setOfRunes holds the characters of a string.
func setOfRunes(chars string) runeSet {
	var ranges []runeRange
	for _, r := range chars {
		ranges = append(ranges, runeRange{r, r})
	}
	return setOf(ranges...)
}

// setOfTables joins tables of package unicode.
func setOfTables(tables ...*unicode.RangeTable) runeSet {
	var ranges []runeRange
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			ranges = append(ranges, runeRange{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			ranges = append(ranges, runeRange{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return setOf(ranges...)
}

func (s runeSet) union(others ...runeSet) runeSet {
	ranges := slices.Clone(s)
	for _, o := range others {
		ranges = append(ranges, o...)
	}
	return setOf(ranges...)
}

func (s runeSet) negated() runeSet {
	var out runeSet
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, runeRange{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, runeRange{next, unicode.MaxRune})
	}
	return out
}

func (s runeSet) intersection(o runeSet) runeSet {
	return s.negated().union(o.negated()).negated()
}

func (s runeSet) difference(o runeSet) runeSet {
	return s.negated().union(o).negated()
}

func (s runeSet) contains(r rune) bool {
	_, found := slices.BinarySearchFunc(s, r, func(have runeRange, r rune) int {
		switch {
		case r < have.lo:
			return 1
		case r > have.hi:
			return -1
		}
		return 0
	})
	return found
}
