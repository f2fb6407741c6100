package replay

import "errors"

// Mode is what of a session's sql_mode changes how its statements are read.
type Mode struct {
	NoBackslashEscapes bool // a backslash in a string is a character like others
	AnsiQuotes         bool // "x" is an identifier
}

// kind of a token.
type kind uint8

const (
	word   kind = iota // unquoted identifier or keyword
	quoted             // quoted identifier
	text               // string literal
	number
	variable // @x, @@x: the sign, the name follows as a token of its own
	punct    // one byte of anything else, or :=
	hint     // /*+ ... */
)

// token is a piece of a statement, text[start:end].
type token struct {
	start, end int32
	kind       kind
	versioned  bool // inside /*! */, so a server may or may not see it
}

// Why a text has no tokens. Each is a reason to refuse a statement.
var (
	errOpenQuote   = errors.New("open quote")
	errOpenComment = errors.New("open comment")
	errByte        = errors.New("byte no statement has")
	errVersioned   = errors.New("version comment that servers read differently")
	errLong        = errors.New("too long")
)

// maxTokens bounds what is kept of one statement: 12 bytes each. A statement beyond it is refused.
const maxTokens = 1 << 20

// lex cuts a statement into tokens as MySQL and MariaDB do, and appends them to toks. Comments are left out; what /*! */ and
// /*M! */ hold is code. It refuses what the servers could read in two ways.
//
// vitess has a tokenizer, but not the servers' one: it takes "--1" and "//" for comments, does not know /*M! */ nor
// NO_BACKSLASH_ESCAPES, and tells no positions. Its parser is asked for a second opinion (see agrees), over the same text.
func lex(s []byte, m Mode, toks []token) ([]token, error) {
	n := len(s)
	commentEnd := -1 // of the version comment we are in: the position of its */
	add := func(k kind, from, to int) {
		toks = append(toks, token{int32(from), int32(to), k, commentEnd >= 0})
	}
	for i := 0; i < n; {
		if len(toks) >= maxTokens {
			return toks, errLong
		}
		if commentEnd >= 0 && i >= commentEnd {
			if i != commentEnd {
				return toks, errVersioned // a token or a comment reaches over the end
			}
			commentEnd = -1
			i += 2
			continue
		}
		c := s[i]
		switch {
		case isBlank(c):
			i++
		case isWordByte(c) || (c == '.' && i+1 < n && isDigit(s[i+1]) && !endsName(s, toks, i)):
			from := i
			if i = numberEnd(s, i); i > from {
				add(number, from, i)
				continue
			}
			for i++; i < n && isWordByte(s[i]); i++ {
			}
			add(word, from, i)
		case c == '\'' || c == '"' || c == '`':
			k, escapes := text, !m.NoBackslashEscapes
			if c == '`' || (c == '"' && m.AnsiQuotes) {
				k, escapes = quoted, false
			}
			end := quoteEnd(s, i, escapes)
			if end < 0 {
				return toks, errOpenQuote
			}
			if commentEnd >= 0 && end > commentEnd {
				return toks, errVersioned
			}
			add(k, i, end)
			i = end
		case c == '#' || (c == '-' && i+1 < n && s[i+1] == '-' && (i+2 == n || isBlank(s[i+2]))):
			for i++; i < n && s[i] != '\n'; i++ {
			}
		case c == '-' && i+2 < n && s[i+1] == '-' && (s[i+2] < ' ' || s[i+2] == 0x7f):
			return toks, errByte // a comment for the servers, by another class of characters
		case c == '/' && i+1 < n && s[i+1] == '*':
			if commentEnd >= 0 {
				return toks, errVersioned // MariaDB nests here, MySQL does not
			}
			body, coded := i+2, false
			switch {
			case body < n && s[body] == '!':
				body, coded = body+1, true
			case body+1 < n && s[body] == 'M' && s[body+1] == '!':
				body, coded = body+2, true
			}
			end := indexFrom(s, body, "*/")
			if end < 0 {
				return toks, errOpenComment
			}
			if !coded {
				if s[body] == '+' {
					add(hint, i, end+2)
				}
				i = end + 2
				continue
			}
			for i = body; i < end && i < body+6 && isDigit(s[i]); i++ {
			}
			commentEnd = end
		case c == '@':
			from := i
			if i++; i < n && s[i] == '@' {
				i++
			}
			add(variable, from, i)
		case c == ':' && i+1 < n && s[i+1] == '=':
			add(punct, i, i+2)
			i += 2
		case c == '\\':
			if i+1 >= n || s[i+1] != 'N' || (i+2 < n && isWordByte(s[i+2])) {
				return toks, errByte
			}
			add(word, i, i+2) // \N is NULL
			i += 2
		case c > ' ' && c < 0x7f:
			add(punct, i, i+1)
			i++
		default:
			return toks, errByte
		}
	}
	if commentEnd >= 0 {
		return toks, errVersioned
	}
	return toks, nil
}

func isBlank(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordByte: bytes from 0x80 on are letters to the servers' lexers, whatever character they are part of.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// endsName: a name ends right before i, so that a dot here separates names (t.1a is a column).
func endsName(s []byte, toks []token, i int) bool {
	if len(toks) == 0 {
		return false
	}
	last := toks[len(toks)-1]
	return int(last.end) == i && (last.kind == word || last.kind == quoted)
}

// numberEnd is where a number that begins at i ends; i if none does. Digits with letters after them are a name.
func numberEnd(s []byte, i int) int {
	j, n := i, len(s)
	for ; j < n && isDigit(s[j]); j++ {
	}
	if j == i && s[i] != '.' {
		return i
	}
	if j < n && s[j] == '.' {
		for j++; j < n && isDigit(s[j]); j++ {
		}
		return exponentEnd(s, j)
	}
	if k := exponentEnd(s, j); k > j {
		if k < n && isWordByte(s[k]) {
			return i
		}
		return k
	}
	if j < n && isWordByte(s[j]) {
		return i // 0x1f and 1st are words here
	}
	return j
}

// exponentEnd: the end of e+10 at j, or j.
func exponentEnd(s []byte, j int) int {
	if j >= len(s) || (s[j] != 'e' && s[j] != 'E') {
		return j
	}
	k := j + 1
	if k < len(s) && (s[k] == '+' || s[k] == '-') {
		k++
	}
	digits := k
	for ; k < len(s) && isDigit(s[k]); k++ {
	}
	if k == digits {
		return j
	}
	return k
}

// quoteEnd is the position behind the quote that closes the one at i; -1 if none does.
func quoteEnd(s []byte, i int, escapes bool) int {
	q := s[i]
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\' && escapes:
			j++
		case s[j] != q:
		case j+1 < len(s) && s[j+1] == q:
			j++
		default:
			return j + 1
		}
	}
	return -1
}

// indexFrom is the position of what in s from i on, or -1.
func indexFrom(s []byte, i int, what string) int {
	for ; i+len(what) <= len(s); i++ {
		if string(s[i:i+len(what)]) == what {
			return i
		}
	}
	return -1
}
