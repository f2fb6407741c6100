package regex

// bracket reads a set behind "[": characters, ranges, escapes, sets inside, and the operations && and --. What stands side by side is
// joined first; the operations go from left to right. Signs that ICU does not give a meaning at their place stand for themselves.
func (p *parser) bracket() runeSet {
	if set, ok := p.posixClass(); ok {
		return set
	}
	p.enter()
	defer func() { p.depth-- }()
	b := bracket{parser: p}
	negative := p.peek().is('^')
	if negative {
		p.take()
	}
	switch t := p.peek(); {
	case t.is(']'): // here it is a character
		b.literal(p.take().char)
	case t.is('-'), t.is('&'):
		p.take()
		if p.peek().is(t.char) {
			p.take()
			p.fail(ruleSyntax)
		}
		b.literal(t.char)
	}
	for !b.item(p.take()) {
	}
	set := b.sum()
	if p.fold {
		set = set.closed()
	}
	if negative {
		set = set.negated()
	}
	return p.counted(set)
}

// bracket is a set that is being read.
type bracket struct {
	*parser
	left     runeSet // of the operation, once there was one
	op       rune    // '&', '-', or 0: none yet
	ranges   []runeRange
	current  runeSet // joined so far; ranges come on top
	last     itemKind
	lastChar rune
}

// itemKind is what stood before, for "-" and "&" mean different things behind different things.
type itemKind uint8

const (
	nothing itemKind = iota // the bracket, or an operation
	character
	characterRange // and escapes for sets
	innerSet
)

// item takes in one item; true at the end of the bracket.
func (b *bracket) item(t token) (end bool) {
	switch {
	case t.end:
		b.fail(missingBracket)
	case t.quoted:
		b.literal(t.char)
	case t.escape:
		b.escaped(t.char)
	case t.char == ']' && b.last == nothing && b.op != 0:
		b.fail(ruleSyntax)
	case t.char == ']':
		return true
	case t.char == '[':
		b.join(b.bracket(), innerSet)
	case (t.char == '-' || t.char == '&') && b.last != nothing:
		b.sign(t.char)
	default:
		b.literal(t.char)
	}
	return false
}

// sign takes "-" or "&" behind something.
func (b *bracket) sign(sign rune) {
	next := b.peek()
	switch {
	case next.is(sign):
		b.take()
		b.left, b.op = b.sum(), sign
		b.current, b.ranges, b.last = nil, nil, nothing
	case next.is('[') && b.last == innerSet:
		b.take()
		left := b.joined()
		b.current, b.ranges = apply(left, sign, b.bracket()), nil
	case sign == '-' && b.last == character && !next.end && !next.is('[') && !next.is(']'):
		b.upTo(b.take())
	default:
		b.literal(sign)
	}
}

// upTo makes a range of the character before and the one behind the "-".
func (b *bracket) upTo(t token) {
	if t.escape {
		switch t.char {
		case 's', 'S', 'w', 'W', 'd', 'D':
			b.fail(ruleSyntax)
		case 'N':
			b.fail(unimplemented)
		}
	}
	if t.char < b.lastChar {
		b.fail(invalidRange)
	}
	b.add(runeRange{b.lastChar, t.char}, characterRange)
}

func (b *bracket) escaped(c rune) {
	if c == 'N' {
		b.fail(unimplemented)
	}
	if set, ok := b.classEscape(c); ok {
		kind := characterRange
		if c == 'p' || c == 'P' {
			kind = innerSet
		}
		b.join(set, kind)
		return
	}
	b.literal(c)
}

func (b *bracket) literal(c rune) {
	b.add(runeRange{c, c}, character)
	b.lastChar = c
}

func (b *bracket) add(r runeRange, kind itemKind) {
	b.ranges, b.last = append(b.ranges, r), kind
}

func (b *bracket) join(set runeSet, kind itemKind) {
	b.ranges, b.last = append(b.ranges, set...), kind
	if len(b.ranges) > rangesLimit {
		b.fail(patternTooBig)
	}
}

// joined is what stands side by side since the last operation.
func (b *bracket) joined() runeSet {
	return b.current.union(b.ranges)
}

// sum applies the operation that waits for its right side.
func (b *bracket) sum() runeSet {
	return apply(b.left, b.op, b.joined())
}

func apply(left runeSet, op rune, right runeSet) runeSet {
	switch op {
	case '&':
		return left.intersection(right)
	case '-':
		return left.difference(right)
	}
	return right
}

// posixClass reads ":name:]" behind "[", and leaves what is not one.
func (p *parser) posixClass() (runeSet, bool) {
	at := p.at
	if !p.peek().is(':') {
		return nil, false
	}
	p.take()
	negative := p.peek().is('^')
	if negative {
		p.take()
	}
	var name []rune
	for {
		t := p.take()
		switch {
		case t.is(':') && p.peek().is(']'):
			p.take()
			set := p.property(string(name))
			if negative {
				set = set.negated()
			}
			return set, true
		case t.end, t.is(':'), t.escape, len(name) > 100:
			p.at, p.quoted = at, false
			return nil, false
		}
		name = append(name, t.char)
	}
}
