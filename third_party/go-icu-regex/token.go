package regex

import "unicode"

// token is a character of a pattern as the grammar sees it.
type token struct {
	char   rune
	quoted bool // stands for itself
	escape bool // stands behind a backslash, and is not one of those that name a character
	end    bool // of the pattern
}

// is says whether t is a sign of the grammar.
func (t token) is(sign rune) bool {
	return t.char == sign && !t.quoted && !t.escape && !t.end
}

// peek is the next token, which stays.
func (p *parser) peek() token {
	at, quoted := p.at, p.quoted
	t := p.take()
	p.at, p.quoted = at, quoted
	return t
}

// take reads a token.
func (p *parser) take() token {
	for p.at < len(p.source) {
		c := p.source[p.at]
		p.at++
		switch {
		case p.quoted && c == '\\' && p.at < len(p.source) && p.source[p.at] == 'E':
			p.at++
			p.quoted = false
		case p.quoted:
			return token{char: c, quoted: true}
		case p.comments && c == '#':
			for p.at < len(p.source) && !isLineEnd(p.source[p.at]) {
				p.at++
			}
		case p.comments && unicode.Is(unicode.Pattern_White_Space, c):
		case c != '\\':
			return token{char: c}
		case p.at == len(p.source):
			p.fail(badEscape)
		default:
			c := p.source[p.at]
			p.at++
			if c == 'Q' {
				p.quoted = true
				continue
			}
			if named, ok := p.named(c); ok {
				return token{char: named, quoted: true}
			}
			return token{char: c, escape: true}
		}
	}
	return token{end: true}
}

// named is the character that the escape c names, with the digits behind it.
func (p *parser) named(c rune) (rune, bool) {
	switch c {
	case 'a':
		return '\a', true
	case 'e':
		return 0x1b, true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'c':
		if p.at == len(p.source) {
			p.fail(badEscape)
		}
		p.at++
		return p.source[p.at-1] & 0x1f, true
	case '0':
		return p.digits(8, 1, 3), true
	case 'u':
		return p.digits(16, 4, 4), true
	case 'U':
		return p.digits(16, 8, 8), true
	case 'x':
		if p.at == len(p.source) || p.source[p.at] != '{' {
			return p.digits(16, 1, 2), true
		}
		p.at++
		r := p.digits(16, 1, 8)
		if p.at == len(p.source) || p.source[p.at] != '}' {
			p.fail(badEscape)
		}
		p.at++
		return r, true
	}
	return 0, false
}

// digits reads a character's number of least to most digits; octal ones stay below 256.
func (p *parser) digits(base rune, least, most int) (r rune) {
	n := 0
	for ; n < most && p.at < len(p.source); n++ {
		d := digitOf(p.source[p.at])
		if d < 0 || d >= base || base == 8 && r*base+d > 255 || base == 16 && r > unicode.MaxRune>>4 {
			break
		}
		r = r*base + d
		p.at++
	}
	if n < least || r > unicode.MaxRune {
		p.fail(badEscape)
	}
	return r
}

func digitOf(r rune) rune {
	switch {
	case r >= '0' && r <= '9':
		return r - '0'
	case r >= 'a' && r <= 'f':
		return r - 'a' + 10
	case r >= 'A' && r <= 'F':
		return r - 'A' + 10
	}
	return -1
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}
