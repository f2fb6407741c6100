package sqlparse

import "strings"

// ServerVersion is the version this server speaks for, as version comments count it: the text of /*!50003 ... */ is read
// when 50003 is not above it. It must agree with the version variable of the server.
const ServerVersion = 80040

// kind of a token.
type kind uint8

const (
	end       kind = iota
	word           // keyword or plain identifier
	quotedID       // `identifier`, with ANSI_QUOTES also "identifier"
	str            // 'string' or "string"
	number         // 1, 1.5e3, 0x1F, 0b01
	variable       // @name, @`name`, @@global.name
	symbol         // one byte: operators, parentheses, comma, semicolon
	parameter      // ?
)

// token is src[start:end]. Comments are no tokens.
type token struct {
	kind       kind
	start, end int
}

// classes of bytes outside strings and comments.
const (
	clSymbol uint8 = iota
	clSpace
	clLetter // starts and continues a word: letters, _, $, bytes of multi-byte characters
	clDigit
)

var classes = func() (c [256]uint8) {
	for b := range c {
		switch {
		case b == ' ' || b >= '\t' && b <= '\r':
			c[b] = clSpace
		case b >= '0' && b <= '9':
			c[b] = clDigit
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == '$' || b >= 0x80:
			c[b] = clLetter
		}
	}
	return c
}()

// edit replaces src[start:end] by text.
type edit struct {
	start, end int
	text       string
}

// lexer cuts a text into tokens by the rules of MySQL, and notes in edits where the grammar's own tokeniser would cut
// otherwise (see doc.go, rule 2).
type lexer struct {
	src     string
	pos     int
	ansi    bool // "x" is an identifier
	version bool // inside of a version comment that is being read
	edits   []edit
}

func (l *lexer) edit(start, end int, text string) {
	l.edits = append(l.edits, edit{start, end, text})
}

// next token; kind end at the end of the text, also when the text ends within a string or a comment (the grammar says what
// is wrong with it).
func (l *lexer) next() token {
	l.skip()
	start := l.pos
	if start >= len(l.src) {
		return token{end, start, start}
	}
	c := l.src[start]
	switch classes[c] {
	case clLetter:
		return l.word(start)
	case clDigit:
		return l.number(start)
	}
	l.pos++
	switch c {
	case '\'':
		return l.quoted(start, '\'', str, true)
	case '"':
		if l.ansi {
			return l.quoted(start, '"', quotedID, false)
		}
		return l.quoted(start, '"', str, true)
	case '`':
		return l.quoted(start, '`', quotedID, false)
	case '@':
		return l.variable(start)
	case '?':
		return token{parameter, start, l.pos}
	case '.':
		if l.pos < len(l.src) && classes[l.src[l.pos]] == clDigit && !l.afterName(start) {
			return l.fraction(start)
		}
	case '-':
		if l.pos < len(l.src) && l.src[l.pos] == '-' { // 5--1: the grammar's tokeniser would begin a comment
			l.edit(l.pos, l.pos, " ")
		}
	case '/':
		if l.pos < len(l.src) && l.src[l.pos] == '/' { // no comment in MySQL either
			l.edit(l.pos, l.pos, " ")
		}
	}
	return token{symbol, start, l.pos}
}

// skip passes white space and comments.
func (l *lexer) skip() {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case classes[c] == clSpace:
			if c == '\v' || c == '\f' {
				l.edit(l.pos, l.pos+1, " ")
			}
			l.pos++
		case c == '#':
			l.line()
		case c == '-' && l.dashes():
			l.line()
		case c == '/' && strings.HasPrefix(l.src[l.pos:], "/*"):
			l.comment()
		case c == '*' && l.version && strings.HasPrefix(l.src[l.pos:], "*/"):
			l.edit(l.pos, l.pos+2, " ")
			l.pos += 2
			l.version = false
		default:
			return
		}
	}
}

// dashes: a comment is "--" and a white space, a control character or the end.
func (l *lexer) dashes() bool {
	rest := l.src[l.pos:]
	return strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' ' || rest[2] == 0x7f)
}

func (l *lexer) line() {
	start := l.pos
	if n := strings.IndexByte(l.src[l.pos:], '\n'); n >= 0 {
		l.pos += n + 1
	} else {
		l.pos = len(l.src)
	}
	if strings.Contains(l.src[start:l.pos], markPrefix) {
		l.edit(start, l.pos, "\n")
	}
}

// comment passes /* ... */. A version comment that counts is opened: its text is read like any other.
func (l *lexer) comment() {
	start := l.pos
	if strings.HasPrefix(l.src[start:], "/*!") {
		digits := 0
		version := 0
		for digits < 6 && start+3+digits < len(l.src) && classes[l.src[start+3+digits]] == clDigit {
			version = version*10 + int(l.src[start+3+digits]-'0')
			digits++
		}
		if digits < 5 { // what is shorter is no version
			digits, version = 0, 0
		}
		if version <= ServerVersion {
			l.pos = start + 3 + digits
			l.edit(start, l.pos, " ")
			l.version = true
			return
		}
	}
	n := strings.Index(l.src[start+2:], "*/")
	if n < 0 {
		l.pos = len(l.src)
		return
	}
	l.pos = start + 2 + n + 2
	switch {
	case strings.HasPrefix(l.src[start:], "/*!"), strings.Contains(l.src[start:l.pos], markPrefix):
		l.edit(start, l.pos, " ")
	}
}

func (l *lexer) word(start int) token {
	plain := true
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if cl := classes[c]; cl != clLetter && cl != clDigit {
			break
		}
		plain = plain && c != '$' && c < 0x80
		l.pos++
	}
	if !plain { // the grammar's tokeniser knows ASCII letters only
		l.edit(start, l.pos, "`"+l.src[start:l.pos]+"`")
	}
	if l.pos < len(l.src) && l.src[l.pos] == '\'' && l.pos == start+1 { // x'1F', b'01', n'text'
		switch l.src[start] {
		case 'x', 'X', 'b', 'B':
			l.pos++
			return l.quoted(start, '\'', number, false)
		case 'n', 'N':
			l.edit(start, l.pos, "_utf8mb3")
		}
	}
	return token{word, start, l.pos}
}

// number, or an identifier that starts with a digit.
func (l *lexer) number(start int) token {
	if l.src[start] == '0' && l.pos+1 < len(l.src) {
		switch l.src[l.pos+1] {
		case 'x':
			if n := l.run(l.pos+2, isHex); n > l.pos+2 && !l.letterAt(n) {
				l.pos = n
				return token{number, start, n}
			}
		case 'b':
			if n := l.run(l.pos+2, isBit); n > l.pos+2 && !l.letterAt(n) && !l.digitAt(n) {
				l.pos = n
				l.edit(start, n, "b'"+l.src[start+2:n]+"'")
				return token{number, start, n}
			}
		}
	}
	l.pos = l.run(l.pos, isDigit)
	if l.pos < len(l.src) && l.src[l.pos] == '.' && !l.afterName(start) {
		return l.fraction(start)
	}
	if n := l.exponent(l.pos); n > l.pos && !l.letterAt(n) {
		l.pos = n
		return token{number, start, n}
	}
	if l.letterAt(l.pos) {
		return l.word(start)
	}
	return token{number, start, l.pos}
}

// fraction goes on at the decimal point.
func (l *lexer) fraction(start int) token {
	if l.src[l.pos] == '.' {
		l.pos++
	}
	l.pos = l.run(l.pos, isDigit)
	l.pos = l.exponent(l.pos)
	return token{number, start, l.pos}
}

// exponent returns the end of the exponent at i, i if there is none.
func (l *lexer) exponent(i int) int {
	if i >= len(l.src) || l.src[i]|0x20 != 'e' {
		return i
	}
	n := i + 1
	if n < len(l.src) && (l.src[n] == '+' || l.src[n] == '-') {
		n++
	}
	if digits := l.run(n, isDigit); digits > n {
		return digits
	}
	return i
}

// afterName: the "." at i, or the number at i, belongs to a qualified name like db.1table.
func (l *lexer) afterName(i int) bool {
	if l.src[i] != '.' {
		return i > 0 && l.src[i-1] == '.'
	}
	return i > 0 && (classes[l.src[i-1]] == clLetter || l.src[i-1] == '`')
}

// variable goes on behind the "@". Of an account name like 'u'@'h' only the "@" is taken.
func (l *lexer) variable(start int) token {
	if start > 0 {
		switch before := l.src[start-1]; {
		case before == '\'', before == '"', before == '`', classes[before] == clLetter, classes[before] == clDigit:
			return token{symbol, start, l.pos}
		}
	}
	if l.pos < len(l.src) && l.src[l.pos] == '@' {
		l.pos++
	}
	if l.pos < len(l.src) {
		switch q := l.src[l.pos]; q {
		case '`', '\'', '"':
			l.pos++
			return l.quoted(start, q, variable, q != '`')
		}
	}
	for l.pos < len(l.src) && (classes[l.src[l.pos]] >= clLetter || l.src[l.pos] == '.' || l.src[l.pos] == '`') {
		l.pos++
	}
	return token{variable, start, l.pos}
}

// quoted goes on behind the opening quote.
func (l *lexer) quoted(start int, quote byte, k kind, backslash bool) token {
	for {
		n := strings.IndexByte(l.src[l.pos:], quote)
		if n < 0 {
			l.pos = len(l.src)
			return token{k, start, l.pos}
		}
		close := l.pos + n
		for backslash && l.pos <= close { // what a backslash stands before does not close
			b := strings.IndexByte(l.src[l.pos:close], '\\')
			if b < 0 {
				break
			}
			l.pos += b + 2
		}
		if l.pos > close {
			l.pos = min(l.pos, len(l.src))
			continue
		}
		l.pos = close + 1
		if l.pos < len(l.src) && l.src[l.pos] == quote {
			l.pos++
			continue
		}
		return token{k, start, l.pos}
	}
}

func (l *lexer) run(i int, is func(byte) bool) int {
	for i < len(l.src) && is(l.src[i]) {
		i++
	}
	return i
}

func (l *lexer) letterAt(i int) bool { return i < len(l.src) && classes[l.src[i]] == clLetter }
func (l *lexer) digitAt(i int) bool  { return i < len(l.src) && classes[l.src[i]] == clDigit }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isBit(c byte) bool   { return c == '0' || c == '1' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
