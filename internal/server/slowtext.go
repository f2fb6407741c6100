package server

import (
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"
)

// secret stands in the log where a password stood.
const secret = "<secret>"

// literal of a string in SQL, in both kinds of quotes.
const literal = `'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"`

// passwords are where statements about users have them. PREPARE has a whole statement in quotes.
var (
	passwords = regexp.MustCompile(`(?is)\b(by|as|using|password\s*\(|password\s*:?=|replace)(\s*)(` + literal + `)`)
	setTo     = regexp.MustCompile(`(?is)(=\s*)(` + literal + `)`)
	literals  = regexp.MustCompile(`(?s)` + literal)
)

// withoutSecrets is a statement as it may be logged. What is not about users, by its kind, is not looked into.
func withoutSecrets(text string, kind comKind) string {
	switch kind {
	case comCreateUser, comAlterUser, comGrant, comSetOption: // SET PASSWORD is what its rewriting is: an ALTER USER
		if mentions(text, "identified") || mentions(text, "password") {
			return setTo.ReplaceAllString(passwords.ReplaceAllString(text, "${1}${2}"+secret), "${1}"+secret)
		}
	case comPrepareSQL, comOther, comCallProcedure: // comOther: also what could not be parsed
		if mentions(text, "identified") || mentions(text, "password") {
			text = passwords.ReplaceAllString(text, "${1}${2}"+secret)
			return literals.ReplaceAllStringFunc(text, func(s string) string {
				if mentions(s, "identified") || mentions(s, "password") {
					return secret
				}
				return s
			})
		}
	}
	return text
}

// mentions: text has the word in it, which is in lower case, in whatever case.
func mentions(text, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		at := strings.IndexByte(text[i:], word[0])
		if upper := strings.IndexByte(text[i:], word[0]-'a'+'A'); at < 0 || upper >= 0 && upper < at {
			at = upper
		}
		if at < 0 || i+at+len(word) > len(text) {
			return false
		}
		if i += at; strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// appendFilled appends a prepared statement with values in place of its parameters: v1, v2, … in the order of their question marks.
func appendFilled(dst []byte, text string, values map[string]*querypb.BindVariable) []byte {
	n := 0
	for i := 0; i < len(text); {
		if text[i] != '?' {
			end := passOver(text, i)
			dst = append(dst, text[i:end]...)
			i = end
			continue
		}
		n++
		i++
		v, ok := values["v"+strconv.Itoa(n)]
		if !ok || v == nil {
			dst = append(dst, '?')
			continue
		}
		dst = appendValue(dst, v)
	}
	return dst
}

// passOver returns where the piece of a statement ends that begins at i: a string, a name in backticks, a comment, or anything up to what
// could begin one of them, or a parameter.
func passOver(text string, i int) int {
	until := func(end string, from int) int {
		if at := strings.Index(text[min(from, len(text)):], end); at >= 0 {
			return from + at + len(end)
		}
		return len(text)
	}
	switch c := text[i]; {
	case c == '\'' || c == '"' || c == '`':
		for j := i + 1; j < len(text); j++ {
			switch {
			case text[j] == '\\' && c != '`':
				j++
			case text[j] == c && j+1 < len(text) && text[j+1] == c:
				j++
			case text[j] == c:
				return j + 1
			}
		}
		return len(text)
	case c == '#', strings.HasPrefix(text[i:], "--") && (i+2 == len(text) || text[i+2] <= ' '):
		return until("\n", i)
	case strings.HasPrefix(text[i:], "/*") && !strings.HasPrefix(text[i:], "/*!"):
		return until("*/", i+2)
	}
	if at := strings.IndexAny(text[i+1:], "?'\"`#-/"); at >= 0 {
		return i + 1 + at
	}
	return len(text)
}

// appendValue appends a parameter's value as a literal.
func appendValue(dst []byte, b *querypb.BindVariable) []byte {
	v, err := sqltypes.BindVariableToValue(b)
	switch {
	case err != nil || v.IsNull():
		return append(dst, "NULL"...)
	case !v.IsQuoted() && b.Type != querypb.Type_BIT && b.Type != querypb.Type_JSON && b.Type != querypb.Type_GEOMETRY:
		return append(dst, v.Raw()...)
	}
	raw := v.Raw()
	if !utf8.Valid(raw) {
		dst = append(dst, "x'"...)
		dst = hex.AppendEncode(dst, raw)
		return append(dst, '\'')
	}
	dst = append(dst, '\'')
	for _, c := range raw {
		switch c {
		case 0:
			dst = append(dst, '\\', '0')
		case '\'', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case 0x1a:
			dst = append(dst, '\\', 'Z')
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '\'')
}
