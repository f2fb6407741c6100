package bulk

import (
	"strings"
	"unicode"
)

// scanner reads the words, names and literals of a statement.
type scanner struct {
	text string
	pos  int
	rest int // where the next statement begins; known once end has passed the end of this one
}

// Kind of a literal.
type Kind uint8

const (
	Null      Kind = iota
	Int            // 12, -12
	Decimal        // 1.5, -1.5: digits on both sides of the point
	Float          // 1.5e3, -2e-7
	String         // 'text'
	Binary         // _binary 'text', 0x1F, x'1F'
	Parameter      // ?, in a Plain statement
)

// Value is a literal. Text of numbers is as written; of strings it is what they mean, of Binary in hexadecimal the bytes.
type Value struct {
	Kind Kind
	Text string
}

func (i *scanner) space() {
	for i.pos < len(i.text) {
		switch i.text[i.pos] {
		case ' ', '\t', '\n', '\r':
			i.pos++
		default:
			return
		}
	}
}

func (i *scanner) byte(c byte) bool {
	if i.pos < len(i.text) && i.text[i.pos] == c {
		i.pos++
		return true
	}
	return false
}

// end passes the end of the statement.
func (i *scanner) end() bool {
	if i.pos < len(i.text) && !i.byte(';') {
		return false
	}
	i.rest = i.pos
	return true
}

// Rest is what stands behind the statement, once its end was read, without delimiters at its end.
func (i *scanner) Rest() string {
	return strings.TrimSpace(strings.TrimRightFunc(i.text[i.rest:], func(r rune) bool { return r == ';' || unicode.IsSpace(r) }))
}

// table passes a name of a table, with that of its database or without.
func (i *scanner) table() (database, table string, ok bool) {
	if table, ok = i.name(); ok && i.byte('.') {
		database = table
		table, ok = i.name()
	}
	i.space()
	return database, table, ok
}

// word passes a keyword and the space behind it.
func (i *scanner) word(w string) bool {
	end := i.pos + len(w)
	if end > len(i.text) || !strings.EqualFold(i.text[i.pos:end], w) || end < len(i.text) && isName(i.text[end]) {
		return false
	}
	i.pos = end
	i.space()
	return true
}

// name is an identifier: of ASCII, in backquotes or no reserved word.
func (i *scanner) name() (string, bool) {
	if i.byte('`') {
		n := strings.IndexByte(i.text[i.pos:], '`')
		if n <= 0 {
			return "", false
		}
		name := i.text[i.pos : i.pos+n]
		i.pos += n + 1
		if i.pos < len(i.text) && i.text[i.pos] == '`' || !plainText(name) { // a quoted quote
			return "", false
		}
		return name, true
	}
	start := i.pos
	for i.pos < len(i.text) && isName(i.text[i.pos]) {
		i.pos++
	}
	name := i.text[start:i.pos]
	if name == "" || name[0] >= '0' && name[0] <= '9' || reserved[strings.ToUpper(name)] {
		return "", false
	}
	return name, true
}

// isName: a byte of a plain identifier, of those that the grammar's tokeniser takes too.
func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// literal reads one value.
func (i *scanner) literal(v *Value) bool {
	if i.pos == len(i.text) {
		return false
	}
	switch c := i.text[i.pos]; {
	case c == '\'':
		v.Kind = String
		return i.str(v)
	case c >= '1' && c <= '9', c == '-', c == '0' && !i.ahead('x', 'b'):
		return i.number(v)
	case c == '0', c == 'x' || c == 'X':
		return i.hex(v)
	case c == 'N' || c == 'n':
		if i.word("NULL") {
			*v = Value{}
			return true
		}
	case c == '_':
		if i.word("_binary") && i.pos < len(i.text) && i.text[i.pos] == '\'' {
			v.Kind = Binary
			return i.str(v)
		}
	}
	return false
}

// ahead: the second byte from here is one of these.
func (i *scanner) ahead(list ...byte) bool {
	if i.pos+1 < len(i.text) {
		for _, c := range list {
			if i.text[i.pos+1]|0x20 == c {
				return true
			}
		}
	}
	return false
}

// Limits of numbers: what is longer is left to the grammar.
const (
	maxIntDigits     = 19
	maxDecimalDigits = 60
)

func (i *scanner) digits() int {
	start := i.pos
	for i.pos < len(i.text) && i.text[i.pos] >= '0' && i.text[i.pos] <= '9' {
		i.pos++
	}
	return i.pos - start
}

func (i *scanner) number(v *Value) bool {
	start := i.pos
	i.byte('-')
	n := i.digits()
	v.Kind = Int
	if n == 0 || n > maxDecimalDigits {
		return false
	}
	if i.byte('.') {
		f := i.digits()
		v.Kind = Decimal
		if f == 0 || n+f > maxDecimalDigits {
			return false
		}
	}
	if i.pos < len(i.text) && i.text[i.pos]|0x20 == 'e' {
		i.pos++
		if !i.byte('-') {
			i.byte('+')
		}
		v.Kind = Float
		if e := i.digits(); e == 0 || e > 3 {
			return false
		}
	}
	v.Text = i.text[start:i.pos]
	if v.Kind == Int && n > maxIntDigits {
		return false
	}
	return i.pos == len(i.text) || !isName(i.text[i.pos]) && i.text[i.pos] != '.' && i.text[i.pos] < 0x80
}

// str reads a string in quotes. Adjacent strings, which would be one, are not followed by a comma.
func (i *scanner) str(v *Value) bool {
	i.pos++
	start := i.pos
	for i.pos < len(i.text) {
		n := strings.IndexByte(i.text[i.pos:], '\'')
		if n < 0 {
			return false
		}
		if b := strings.IndexByte(i.text[i.pos:i.pos+n], '\\'); b >= 0 || i.pos+n+1 < len(i.text) && i.text[i.pos+n+1] == '\'' {
			i.pos = start
			return i.escaped(v)
		}
		v.Text = i.text[start : i.pos+n]
		i.pos += n + 1
		return true
	}
	return false
}

// escaped reads a string with escapes from its first byte.
func (i *scanner) escaped(v *Value) bool {
	var b strings.Builder
	for i.pos < len(i.text) {
		n := strings.IndexAny(i.text[i.pos:], "'\\")
		if n < 0 {
			return false
		}
		b.WriteString(i.text[i.pos : i.pos+n])
		i.pos += n + 1
		if i.pos == len(i.text) && i.text[i.pos-1] == '\\' {
			return false
		}
		if i.text[i.pos-1] == '\'' {
			if i.pos == len(i.text) || i.text[i.pos] != '\'' {
				v.Text = b.String()
				return true
			}
			b.WriteByte('\'')
			i.pos++
			continue
		}
		b.WriteByte(unescape(i.text[i.pos]))
		i.pos++
	}
	return false
}

// hex reads 0x1F or x'1F', of whole bytes.
func (i *scanner) hex(v *Value) bool {
	quoted := i.text[i.pos] != '0'
	i.pos++
	if i.pos == len(i.text) || quoted && i.text[i.pos] != '\'' || !quoted && i.text[i.pos] != 'x' {
		return false
	}
	i.pos++
	start := i.pos
	for i.pos < len(i.text) && nibble(i.text[i.pos]) >= 0 {
		i.pos++
	}
	digits := i.text[start:i.pos]
	if len(digits)%2 != 0 || !quoted && len(digits) == 0 || quoted && !i.byte('\'') {
		return false
	}
	b := make([]byte, len(digits)/2)
	for n := range b {
		b[n] = byte(nibble(digits[2*n])<<4 | nibble(digits[2*n+1]))
	}
	v.Kind, v.Text = Binary, string(b)
	return i.pos == len(i.text) || !isName(i.text[i.pos]) && i.text[i.pos] < 0x80
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
