package regex

import (
	"slices"
	"strings"
	"unicode"
)

// mode is the flags under which a part of a pattern is read.
type mode struct {
	fold      bool // i
	comments  bool // x: white space and # to the end of the line are nothing
	dotAll    bool // s, MySQL's n
	multiLine bool // m
	unixLines bool // d, MySQL's u: only \n ends lines
	uniWords  bool // w: boundaries of words as in UAX 29, which are refused when they are asked for
}

// pattern is what a parser makes.
type pattern struct {
	root   *node
	groups int            // how many there are
	names  map[string]int // of groups
}

// parser reads a pattern in ICU's syntax by recursive descent. It leaves by panic with a *patternError, which parse catches.
type parser struct {
	source []rune
	at     int  // the next character
	quoted bool // between \Q and \E

	mode
	groups  int
	names   map[string]int
	lastRef int // highest number of a group that is referred to
	depth   int // of parentheses and brackets
	ranges  int // in all sets so far
}

// parse reads a pattern; err is a *patternError.
func parse(source string, flags RegexFlags) (_ *pattern, err error) {
	if len(source) > 4*PatternLimit {
		return nil, (&patternError{flaw: patternTooBig}).kind()
	}
	p := &parser{source: []rune(source), names: map[string]int{}}
	p.fold = flags&RegexFlags_Case_Insensitive != 0
	p.dotAll = flags&RegexFlags_Dot_All != 0
	p.multiLine = flags&RegexFlags_Multiline != 0
	p.unixLines = flags&RegexFlags_Unix_Lines != 0
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *patternError:
			err = e.kind()
		default:
			panic(e)
		}
	}()
	if len(p.source) > PatternLimit {
		p.fail(patternTooBig)
	}
	root := p.choice()
	if t := p.peek(); t.is(')') {
		p.take()
		p.fail(mismatchedParen)
	}
	if p.lastRef > p.groups {
		p.fail(invalidBackRef)
	}
	return &pattern{root, p.groups, p.names}, nil
}

// fail ends the parsing. The place is behind the last character read, as ICU has it.
func (p *parser) fail(f flaw) {
	e := &patternError{flaw: f, line: 1}
	for _, r := range p.source[:min(p.at, len(p.source))] {
		e.character++
		if r == '\n' {
			e.line, e.character = e.line+1, 0
		}
	}
	panic(e)
}

// enter counts a level of nesting; leave with p.depth--.
func (p *parser) enter() {
	if p.depth++; p.depth > NestingLimit {
		p.fail(patternTooBig)
	}
}

func (p *parser) choice() *node {
	n := &node{kind: choice}
	for {
		n.subs = append(n.subs, p.sequence())
		if !p.peek().is('|') {
			break
		}
		p.take()
	}
	if len(n.subs) == 1 {
		return n.subs[0]
	}
	return n
}

func (p *parser) sequence() *node {
	n := &node{kind: sequence}
	for {
		if t := p.peek(); t.end || t.is('|') || t.is(')') {
			return n
		}
		sub, mayRepeat := p.term()
		if sub == nil {
			continue
		}
		if mayRepeat {
			if repeated := p.quantified(sub); repeated != sub {
				n.subs = append(n.subs, repeated)
				continue
			}
		}
		// Characters in a row are one text: what a letter folds to may be spread over them.
		if last := len(n.subs) - 1; sub.kind == literal && last >= 0 && n.subs[last].kind == literal && n.subs[last].fold == sub.fold {
			n.subs[last].runes = append(n.subs[last].runes, sub.runes...)
			continue
		}
		n.subs = append(n.subs, sub)
	}
}

// term reads one item without its quantifier; nil for what matches nothing by itself, flags and comments.
func (p *parser) term() (n *node, mayRepeat bool) {
	t := p.take()
	switch {
	case t.escape:
		return p.escape(t.char)
	case t.quoted:
		return p.char(t.char), true
	}
	switch t.char {
	case '(':
		return p.parenthesis()
	case '[':
		set := p.bracket()
		return &node{kind: oneOf, set: set}, true
	case '.':
		switch {
		case p.dotAll:
			return &node{kind: anything}, true
		case p.unixLines:
			return &node{kind: oneOf, set: setOf(runeRange{'\n', '\n'}).negated()}, true
		}
		return &node{kind: oneOf, set: vertical().negated()}, true
	case '^':
		return p.anchor(textStart, textStart, lineStart, lineStartUnix), true
	case '$':
		return p.anchor(lastLineEnd, lastLineFeed, lineStop, lineStopUnix), true
	case '*', '+', '?', '{', '}':
		p.fail(ruleSyntax)
	}
	return p.char(t.char), true
}

func (p *parser) char(r rune) *node {
	return &node{kind: literal, fold: p.fold, runes: []rune{r}}
}

// anchor picks by mode.
func (p *parser) anchor(plain, plainUnix, lines, linesUnix anchor) *node {
	at := plain
	switch {
	case p.multiLine && p.unixLines:
		at = linesUnix
	case p.multiLine:
		at = lines
	case p.unixLines:
		at = plainUnix
	}
	return &node{kind: assert, at: at}
}

// quantified reads the quantifier behind an item, if there is one.
func (p *parser) quantified(sub *node) *node {
	n := &node{kind: repeat, subs: []*node{sub}}
	p.skipComments()
	switch t := p.peek(); {
	case t.is('*'):
		n.min, n.max = 0, unbounded
	case t.is('+'):
		n.min, n.max = 1, unbounded
	case t.is('?'):
		n.min, n.max = 0, 1
	case t.is('{'):
		p.take()
		n.min, n.max = p.interval()
	default:
		return sub
	}
	p.take() // the sign, or the brace that closes
	switch t := p.peek(); {
	case t.is('?'):
		p.take()
		n.greed = lazy
	case t.is('+'):
		p.take()
		n.greed = possessive
	}
	return n
}

// interval reads "2", "2," or "2,3" and stops before the brace.
func (p *parser) interval() (least, most int) {
	least = p.number()
	most = least
	if p.peek().is(',') {
		p.take()
		if most = unbounded; !p.peek().is('}') {
			most = p.number()
		}
	}
	if !p.peek().is('}') {
		p.take()
		p.fail(badInterval)
	}
	if most < least {
		p.take()
		p.fail(maxBelowMin)
	}
	return least, most
}

func (p *parser) number() (n int) {
	if t := p.peek(); t.end || t.quoted || t.char < '0' || t.char > '9' {
		p.take()
		p.fail(badInterval)
	}
	for {
		t := p.peek()
		if t.end || t.quoted || t.char < '0' || t.char > '9' {
			return n
		}
		p.take()
		if n = 10*n + int(t.char-'0'); n >= intervalLimit {
			p.fail(numberTooBig)
		}
	}
}

// parenthesis reads what follows "(".
func (p *parser) parenthesis() (n *node, mayRepeat bool) {
	if !p.peek().is('?') {
		p.groups++
		return p.closed(&node{kind: group, group: p.groups}), true
	}
	p.take()
	t := p.take()
	switch {
	case t.end || t.quoted:
		p.fail(ruleSyntax)
	case t.char == ':':
		return p.closed(&node{kind: sequence}), true
	case t.char == '>':
		return p.closed(&node{kind: atomicGroup}), true
	case t.char == '=', t.char == '!':
		return p.closed(&node{kind: lookAhead, negative: t.char == '!'}), false
	case t.char == '#':
		p.comment()
		return nil, false
	case t.char == '<':
		if t := p.peek(); t.is('=') || t.is('!') {
			p.take()
			n := p.closed(&node{kind: lookBehind, negative: t.char == '!'})
			if _, most := n.subs[0].width(); most > lookBackLimit {
				p.fail(lookBehindLimit)
			}
			return n, false
		}
		if t := p.peek(); t.end || !isLetter(t.char) {
			p.take()
			p.fail(ruleSyntax)
		}
		name := p.groupName()
		if _, twice := p.names[name]; twice {
			p.fail(invalidGroupName)
		}
		p.groups++
		p.names[name] = p.groups
		return p.closed(&node{kind: group, group: p.groups}), true
	}
	return p.flags(t)
}

// comment reads up to the parenthesis that closes it.
func (p *parser) comment() {
	for t := p.take(); !t.is(')'); t = p.take() {
		if t.end {
			p.fail(mismatchedParen)
		}
	}
}

// skipComments passes over comments between an item and its quantifier.
func (p *parser) skipComments() {
	for p.peek().is('(') && p.at+2 < len(p.source) && string(p.source[p.at:p.at+3]) == "(?#" {
		p.at += 3
		p.comment()
	}
}

// closed reads the inside of a parenthesis and its end. Flags set inside do not leave it.
func (p *parser) closed(n *node) *node {
	p.enter()
	outside := p.mode
	n.subs = []*node{p.choice()}
	p.mode = outside
	p.depth--
	if p.take().end {
		p.fail(mismatchedParen)
	}
	return n
}

// flags reads "imsx-imsx)" or "imsx-imsx:...)", t being the first letter.
func (p *parser) flags(t token) (n *node, mayRepeat bool) {
	if !strings.ContainsRune("idmsuwx-", t.char) {
		p.fail(ruleSyntax)
	}
	to, on := p.mode, true
	for ; ; t = p.take() {
		if t.end || t.quoted {
			p.fail(invalidFlag)
		}
		switch t.char {
		case 'i':
			to.fold = on
		case 'd':
			to.unixLines = on
		case 'm':
			to.multiLine = on
		case 's':
			to.dotAll = on
		case 'w':
			to.uniWords = on
		case 'x':
			to.comments = on
		case 'u': // Unicode rules for case, which hold anyway
		case '-':
			on = false
		case ')':
			p.mode = to
			return nil, false
		case ':':
			outside := p.mode
			p.mode = to
			n := p.closed(&node{kind: sequence})
			p.mode = outside
			return n, true
		default:
			p.fail(invalidFlag)
		}
	}
}

// groupName reads a name up to ">".
func (p *parser) groupName() string {
	var name []rune
	for {
		t := p.take()
		switch {
		case t.end || t.quoted:
			p.fail(invalidGroupName)
		case t.char == '>' && len(name) > 0:
			return string(name)
		case isLetter(t.char), isDigit(t.char) && len(name) > 0:
			name = append(name, t.char)
		default:
			p.fail(invalidGroupName)
		}
	}
}

// escape reads what follows a backslash and is not one character.
func (p *parser) escape(c rune) (n *node, mayRepeat bool) {
	switch c {
	case 'A':
		return &node{kind: assert, at: textStart}, false
	case 'Z':
		return &node{kind: assert, at: lastLineEnd}, false
	case 'z':
		return &node{kind: assert, at: textEnd}, false
	case 'G':
		return &node{kind: assert, at: searchStart}, false
	case 'b', 'B':
		if p.uniWords {
			p.fail(unimplemented)
		}
		if c == 'b' {
			return &node{kind: assert, at: wordBoundary}, false
		}
		return &node{kind: assert, at: notWordBoundary}, false
	case 'R':
		return &node{kind: lineEnd}, true
	case 'X':
		return &node{kind: grapheme}, true
	case 'k':
		if !p.take().is('<') {
			p.fail(invalidGroupName)
		}
		number, known := p.names[p.groupName()]
		if !known {
			p.fail(invalidGroupName)
		}
		return &node{kind: backRef, group: number, fold: p.fold}, true
	case 'N':
		p.fail(unimplemented) // names of characters
	}
	if isDigit(c) {
		return &node{kind: backRef, group: p.groupNumber(c), fold: p.fold}, true
	}
	if set, ok := p.classEscape(c); ok {
		return &node{kind: oneOf, set: set}, true
	}
	return p.char(c), true
}

// groupNumber reads a number of which c is the first digit, until it is no less than the number of groups so far, as ICU does.
func (p *parser) groupNumber(c rune) int {
	n := int(c - '0')
	for n < p.groups && p.at < len(p.source) && isDigit(p.source[p.at]) {
		n = 10*n + int(p.source[p.at]-'0')
		p.at++
	}
	p.lastRef = max(p.lastRef, n)
	return n
}

// classEscape is the set that \d and its like stand for, in and outside of brackets.
func (p *parser) classEscape(c rune) (set runeSet, ok bool) {
	switch unicode.ToLower(c) {
	case 'd':
		set = digits()
	case 's':
		set = spaces()
	case 'w':
		set = wordChars()
	case 'h':
		set = horizontal()
	case 'v':
		set = vertical()
	case 'p':
		set = p.propertyEscape()
	default:
		return nil, false
	}
	if unicode.IsUpper(c) {
		set = set.negated()
	}
	return p.counted(set), true
}

// propertyEscape reads "{name}".
func (p *parser) propertyEscape() runeSet {
	if !p.take().is('{') {
		p.fail(propertySyntax)
	}
	end := slices.Index(p.source[p.at:], '}')
	if end < 0 {
		p.fail(propertySyntax)
	}
	name := p.source[p.at : p.at+end]
	p.at += end + 1
	return p.property(string(name))
}

func (p *parser) property(name string) runeSet {
	set, ok := property(name)
	if !ok {
		p.fail(illegalArgument)
	}
	if p.fold {
		set = set.closed()
	}
	return p.counted(set)
}

// counted holds the sum of ranges under its limit.
func (p *parser) counted(set runeSet) runeSet {
	if p.ranges += len(set); p.ranges > rangesLimit {
		p.fail(patternTooBig)
	}
	return set
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
