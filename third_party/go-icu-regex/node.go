package regex

import "math"

// node is a part of a pattern.
type node struct {
	kind     nodeKind
	fold     bool    // literal, backRef: without regard to case
	negative bool    // lookAhead, lookBehind
	runes    []rune  // literal
	set      runeSet // oneOf
	at       anchor  // assert
	subs     []*node // sequence, choice: the parts; repeat, group, atomicGroup, lookAhead, lookBehind: one
	min, max int     // repeat: max unbounded is without limit
	greed    greed   // repeat
	group    int     // group, backRef: its number
}

type nodeKind uint8

const (
	sequence    nodeKind = iota // all of subs; none: the empty text
	choice                      // one of subs
	literal                     // these characters
	oneOf                       // a character of a set
	anything                    // a character, line ends too; CR LF is one
	lineEnd                     // \R
	grapheme                    // \X
	assert                      // a condition on the place
	repeat                      // times over
	group                       // remembers what it matched
	atomicGroup                 // is not gone back into
	lookAhead                   // a condition on what follows
	lookBehind                  // a condition on what comes before
	backRef                     // what a group matched
)

const unbounded = math.MaxInt32

type greed uint8

const (
	greedy greed = iota
	lazy
	possessive
)

// anchor is a condition on a place in the text.
type anchor uint8

const (
	textStart       anchor = iota // \A, and ^ outside of multi-line mode
	textEnd                       // \z
	lastLineEnd                   // \Z, and $ outside of multi-line mode: the end, or before the line end there
	lastLineFeed                  // the same where only \n ends lines
	lineStart                     // ^ in multi-line mode
	lineStartUnix                 //
	lineStop                      // $ in multi-line mode
	lineStopUnix                  //
	searchStart                   // \G
	wordBoundary                  // \b
	notWordBoundary               // \B
)

// width is how many characters a node matches at least and at most; max is unbounded where that is not known.
func (n *node) width() (least, most int) {
	switch n.kind {
	case sequence:
		for _, sub := range n.subs {
			a, b := sub.width()
			least, most = plus(least, a), plus(most, b)
		}
		return least, most
	case choice:
		least, most = n.subs[0].width()
		for _, sub := range n.subs[1:] {
			a, b := sub.width()
			least, most = min(least, a), max(most, b)
		}
		return least, most
	case literal:
		if n.fold {
			return (len(n.runes) + 2) / 3, 3 * len(n.runes) // a character folds to up to three
		}
		return len(n.runes), len(n.runes)
	case oneOf:
		return 1, 1
	case anything, lineEnd:
		return 1, 2
	case grapheme:
		return 1, unbounded
	case backRef:
		return 0, unbounded
	case repeat:
		a, b := n.subs[0].width()
		return times(a, n.min), times(b, n.max)
	case group, atomicGroup:
		return n.subs[0].width()
	}
	return 0, 0
}

func plus(a, b int) int { return min(a+b, unbounded) }

func times(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	if a >= unbounded/b+1 {
		return unbounded
	}
	return a * b
}

// single is the set of a node that matches exactly one character of a set.
func (n *node) single() (runeSet, bool) {
	switch {
	case n.kind == oneOf:
		return n.set, true
	case n.kind == literal && len(n.runes) == 1 && (!n.fold || len(folded(n.runes)) == 1):
		set := setOf(runeRange{n.runes[0], n.runes[0]})
		if n.fold {
			set = set.closed()
		}
		return set, true
	}
	return nil, false
}
