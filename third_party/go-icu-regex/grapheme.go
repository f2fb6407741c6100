package regex

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// wordClasses are the sets that word boundaries ask for.
var wordClasses = sync.OnceValue(func() (c struct{ word, attached *class }) {
	c.word = newClass(wordChars())
	c.attached = newClass(setOfTables(unicode.Cf).union(graphemeExtend()))
	return c
})

// graphemeClasses are the sets that graphemeEnd asks for. Pictographs are the blocks of emoji, which package unicode has no table for.
var graphemeClasses = sync.OnceValue(func() (c struct{ extend, spacing, prepend, control, picture *class }) {
	c.extend = newClass(graphemeExtend().union(setOf(runeRange{0x200d, 0x200d}, runeRange{0x1f3fb, 0x1f3ff})))
	c.spacing = newClass(setOfTables(unicode.Mc).union(setOfRunes("\u0e33\u0eb3")).difference(graphemeExtend()))
	c.prepend = newClass(setOfTables(unicode.Prepended_Concatenation_Mark))
	c.control = newClass(setOfTables(unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp).
		difference(setOf(runeRange{0x200c, 0x200d}).union(setOfTables(unicode.Prepended_Concatenation_Mark), graphemeExtend())))
	c.picture = newClass(setOfRunes("©®‼⁉™ℹ↔↕↖↗↘↙↩↪〰〽㊗㊙").union(
		setOf(runeRange{0x2300, 0x23ff}, runeRange{0x25a0, 0x27bf}, runeRange{0x2934, 0x2935}, runeRange{0x2b00, 0x2bff},
			runeRange{0x1f000, 0x1f0ff}, runeRange{0x1f10d, 0x1f1e5}, runeRange{0x1f200, 0x1f3fa}, runeRange{0x1f400, 0x1fafd})))
	return c
})

// graphemeEnd is where the extended grapheme cluster at pos ends. Source: UAX 29, rules GB3 to GB13.
func graphemeEnd(text string, pos int) int {
	c := graphemeClasses()
	r, n := utf8.DecodeRuneInString(text[pos:])
	pos += n
	if r == '\r' && pos < len(text) && text[pos] == '\n' {
		return pos + 1
	}
	if c.control.contains(r) {
		return pos
	}
	picture, joined := c.picture.contains(r), false
	flags := isFlagLetter(r)
	for before := r; pos < len(text); before = r {
		r, n = utf8.DecodeRuneInString(text[pos:])
		switch {
		case c.extend.contains(r):
			joined = picture && r == 0x200d
		case c.control.contains(r):
			return pos
		case c.spacing.contains(r):
			joined, picture = false, false
		case c.prepend.contains(before):
			picture, joined, flags = c.picture.contains(r), false, isFlagLetter(r)
		case hangulGoesOn(before, r):
		case joined && c.picture.contains(r):
			joined = false
		case flags && isFlagLetter(before) && isFlagLetter(r):
			flags = false // two letters make a flag
		default:
			return pos
		}
		pos += n
	}
	return pos
}

func isFlagLetter(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// hangulGoesOn says whether two jamo or syllables belong together.
func hangulGoesOn(a, b rune) bool {
	const leading, vowel, trailing, lv, lvt = 1, 2, 3, 4, 5
	kind := func(r rune) int {
		switch {
		case r >= 0x1100 && r <= 0x115f, r >= 0xa960 && r <= 0xa97c:
			return leading
		case r >= 0x1160 && r <= 0x11a7, r >= 0xd7b0 && r <= 0xd7c6:
			return vowel
		case r >= 0x11a8 && r <= 0x11ff, r >= 0xd7cb && r <= 0xd7fb:
			return trailing
		case r >= 0xac00 && r <= 0xd7a3 && (r-0xac00)%28 == 0:
			return lv
		case r >= 0xac00 && r <= 0xd7a3:
			return lvt
		}
		return 0
	}
	next := kind(b)
	switch kind(a) {
	case leading:
		return next == leading || next == vowel || next == lv || next == lvt
	case vowel, lv:
		return next == vowel || next == trailing
	case trailing, lvt:
		return next == trailing
	}
	return false
}
