package regex

import (
	"sync"
	"unicode"
)

// Case-insensitive matching compares what letters fold to: literals in full, so that "ß" is "ss", classes one to one.

// foldRune is the one letter that stands for all that differ in case only.
func foldRune(r rune) rune {
	if r < 128 && (r < 'A' || r > 'z' || 'Z' < r && r < 'a') {
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// foldFull appends what r folds to, which may be up to three letters.
func foldFull(to []rune, r rune) []rune {
	if r >= 0xdf {
		if full, ok := fullFolds()[r]; ok {
			return append(to, full...)
		}
	}
	return append(to, foldRune(r))
}

// fullFolds are the letters that fold to several. Source: CaseFolding.txt of Unicode 15, status F.
var fullFolds = sync.OnceValue(func() map[rune][]rune {
	folds := map[rune][]rune{}
	for from, to := range map[rune]string{
		'ß': "ss", 'ẞ': "ss", 'İ': "i\u0307", 'ŉ': "ʼn", 'ǰ': "j\u030c", 'ΐ': "ι\u0308\u0301", 'ΰ': "υ\u0308\u0301", 'և': "եւ",
		'ẖ': "h\u0331", 'ẗ': "t\u0308", 'ẘ': "w\u030a", 'ẙ': "y\u030a", 'ẚ': "aʾ",
		'ὐ': "υ\u0313", 'ὒ': "υ\u0313\u0300", 'ὔ': "υ\u0313\u0301", 'ὖ': "υ\u0313\u0342",
		'ᾲ': "ὰι", 'ᾳ': "αι", 'ᾴ': "άι", 'ᾶ': "α\u0342", 'ᾷ': "α\u0342ι", 'ᾼ': "αι",
		'ῂ': "ὴι", 'ῃ': "ηι", 'ῄ': "ήι", 'ῆ': "η\u0342", 'ῇ': "η\u0342ι", 'ῌ': "ηι",
		'ῒ': "ι\u0308\u0300", '\u1fd3': "ι\u0308\u0301", 'ῖ': "ι\u0342", 'ῗ': "ι\u0308\u0342",
		'ῢ': "υ\u0308\u0300", '\u1fe3': "υ\u0308\u0301", 'ῤ': "ρ\u0313", 'ῦ': "υ\u0342", 'ῧ': "υ\u0308\u0342",
		'ῲ': "ὼι", 'ῳ': "ωι", 'ῴ': "ώι", 'ῶ': "ω\u0342", 'ῷ': "ω\u0342ι", 'ῼ': "ωι",
		'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
		'ﬓ': "մն", 'ﬔ': "մե", 'ﬕ': "մի", 'ﬖ': "վն", 'ﬗ': "մխ",
	} {
		folds[from] = []rune(to)
	}
	// Greek with iota below: eight of a row, small and capital.
	for i := rune(0); i < 8; i++ {
		for _, row := range [][3]rune{{0x1f80, 0x1f88, 0x1f00}, {0x1f90, 0x1f98, 0x1f20}, {0x1fa0, 0x1fa8, 0x1f60}} {
			folds[row[0]+i] = []rune{row[2] + i, 'ι'}
			folds[row[1]+i] = []rune{row[2] + i, 'ι'}
		}
	}
	for _, to := range folds {
		for i, r := range to {
			to[i] = foldRune(r)
		}
	}
	return folds
})

// foldStarts are the characters whose folding begins with r, itself a result of folding.
func foldStarts(r rune) runeSet {
	ranges := []runeRange{{r, r}}
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		ranges = append(ranges, runeRange{next, next})
	}
	for from, to := range fullFolds() {
		if to[0] == r {
			ranges = append(ranges, runeRange{from, from})
		}
	}
	return setOf(ranges...)
}

// cased are all characters that differ from another in case only.
var cased = sync.OnceValue(func() []rune {
	var all []runeRange
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi); r++ {
			// A whole orbit: "ß" has no mapping, so it is found by way of "ẞ".
			for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
				all = append(all, runeRange{r, r}, runeRange{next, next})
			}
		}
	}
	var out []rune
	for _, r := range setOf(all...) {
		for c := r.lo; c <= r.hi; c++ {
			out = append(out, c)
		}
	}
	return out
})

// closed adds to a set what differs from its members in case only.
func (s runeSet) closed() runeSet {
	var more []runeRange
	add := func(r rune) {
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			more = append(more, runeRange{next, next})
		}
	}
	size := rune(0)
	for _, r := range s {
		size += r.hi - r.lo + 1
	}
	if size <= 256 {
		for _, r := range s {
			for c := r.lo; c <= r.hi; c++ {
				add(c)
			}
		}
		return s.union(setOf(more...))
	}
	for _, r := range cased() {
		if s.contains(r) {
			add(r)
		}
	}
	return s.union(setOf(more...))
}
