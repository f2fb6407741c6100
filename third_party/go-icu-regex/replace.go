package regex

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (x *matching) Replace(ctx context.Context, replacement string, start int, occurrence int) (string, error) {
	m, ok, err := x.find(ctx, start-1, occurrence)
	if !ok {
		return x.text, err
	}
	parts, err := x.program.template(replacement)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	behind := 0
	for ok {
		from, to := m.found()
		out.WriteString(x.text[behind:from])
		for _, part := range parts {
			out.WriteString(part.text)
			if part.group >= 0 {
				out.WriteString(m.group(part.group))
			}
		}
		if behind = to; out.Len() > ResultLimit {
			return "", ErrResultTooLarge.New()
		}
		if occurrence != 0 {
			break
		}
		if ok, err = m.next(); err != nil {
			return "", err
		}
	}
	out.WriteString(x.text[behind:])
	return out.String(), nil
}

// next finds the match behind the one that was found last. Behind an empty one it goes on one character further.
func (m *matcher) next() (bool, error) {
	from, to := m.found()
	m.lastEnd = to
	if from == to {
		if to == len(m.text) {
			return false, nil
		}
		to += width(m.text, to)
	}
	return m.search(to)
}

// part of a replacement: a text, and a group behind it.
type part struct {
	text  string
	group int // -1: none
}

// template reads a replacement.
func (p *program) template(replacement string) ([]part, error) {
	var parts []part
	var text []byte
	source := []rune(replacement)
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			r, length := escaped(source[i+1:])
			text = append(text, r...)
			i += length
		case c != '$':
			text = utf8.AppendRune(text, c)
		default:
			group, length, err := p.reference(source[i+1:])
			if err != nil {
				return nil, err
			}
			parts, text = append(parts, part{string(text), group}), nil
			i += length
		}
	}
	return append(parts, part{string(text), -1}), nil
}

// escaped reads what follows a backslash: a character, or one named by \u0041 or \U00000041.
func escaped(source []rune) (text string, length int) {
	if len(source) == 0 {
		return "", 0
	}
	length = map[rune]int{'u': 5, 'U': 9}[source[0]]
	if length == 0 || len(source) < length {
		return string(source[0]), 1
	}
	r, err := strconv.ParseUint(string(source[1:length]), 16, 21)
	if err != nil {
		return string(source[0]), 1
	}
	return string(rune(r)), length
}

// reference reads what follows a "$": a number with as many digits as a group of the pattern can have, or a name in braces.
func (p *program) reference(source []rune) (group, length int, err error) {
	if len(source) > 0 && source[0] == '{' {
		for i, r := range source[1:] {
			if r == '}' {
				if group, ok := p.names[string(source[1:1+i])]; ok {
					return group, i + 2, nil
				}
				break
			}
		}
		return 0, 0, ErrGroupName.New()
	}
	for length < len(source) && isDigit(source[length]) {
		next := 10*group + int(source[length]-'0')
		if next > p.groups {
			break
		}
		group, length = next, length+1
	}
	switch {
	case length > 0:
		return group, length, nil
	case len(source) > 0 && isDigit(source[0]):
		return 0, 0, ErrOutOfBounds.New()
	}
	return 0, 0, ErrGroupName.New()
}
