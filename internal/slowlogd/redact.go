package slowlogd

import "bytes"

// secret is what MySQL itself writes in place of a password.
const secret = "<secret>"

// appendRedacted appends a statement without its passwords: the strings behind IDENTIFIED BY or AS, and behind PASSWORD and names
// that end in _PASSWORD. With literals, all strings become '?' and all numbers 0.
func appendRedacted(dst, text []byte, literals bool) []byte {
	armed := 0 // tokens in which a string is a password
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'' || c == '"':
			end := stringEnd(text, i)
			switch {
			case armed > 0:
				dst = append(dst, secret...)
				armed = 2 // REPLACE 'old', AND 'x', …
			case literals:
				dst = append(dst, '\'', '?', '\'')
			default:
				dst = append(dst, text[i:end]...)
			}
			i = end
			continue
		case c == '`':
			end := i + 1
			for end < len(text) && text[end] != '`' {
				end++
			}
			end = min(end+1, len(text))
			dst = append(dst, text[i:end]...)
			i = end
			continue
		case c == '/' && bytes.HasPrefix(text[i:], []byte("/*")) && !bytes.HasPrefix(text[i:], []byte("/*!")) && !bytes.HasPrefix(text[i:], []byte("/*M!")),
			c == '#', c == '-' && bytes.HasPrefix(text[i:], []byte("-- ")):
			end := commentEnd(text, i)
			if !literals && armed == 0 {
				dst = append(dst, text[i:end]...)
			} else { // a comment may quote anything
				dst = append(dst, ' ')
			}
			i = end
			continue
		case isWord(c):
			end := i
			for end < len(text) && isWord(text[end]) {
				end++
			}
			word := text[i:end]
			switch {
			case endsPassword(word), bytes.EqualFold(word, []byte("identified")):
				armed = 12 // IDENTIFIED VIA x USING PASSWORD('…') OR y USING '…'
			case armed > 0 && c >= '0' && c <= '9' && len(word) > 2 && (word[1]|0x20) == 'x': // a hash: AS 0x…
				dst = append(dst, secret...)
				i = end
				continue
			case armed > 0:
				armed--
			}
			if literals && c >= '0' && c <= '9' {
				word = []byte("0")
			}
			dst = append(dst, word...)
			i = end
			continue
		case c == ';' || c == ',':
			armed = min(armed, 2)
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func endsPassword(word []byte) bool {
	const name = "password"
	return len(word) >= len(name) && bytes.EqualFold(word[len(word)-len(name):], []byte(name))
}

// stringEnd is behind the string that begins at i. One without an end goes to the end.
func stringEnd(text []byte, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			if i+1 < len(text) && text[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(text)
}

func commentEnd(text []byte, i int) int {
	end := []byte("\n")
	if text[i] == '/' {
		end = []byte("*/")
	}
	at := bytes.Index(text[i:], end)
	if at < 0 {
		return len(text)
	}
	return i + at + len(end)
}
