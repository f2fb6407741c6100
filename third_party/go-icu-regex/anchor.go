package regex

import "unicode/utf8"

// holds says whether an anchor's condition is true at a place.
func (m *matcher) holds(at anchor, pos int) bool {
	text := m.text
	switch at {
	case textStart:
		return pos == 0
	case textEnd:
		return pos == len(text)
	case searchStart:
		return pos == m.lastEnd
	case lastLineEnd:
		if pos == len(text) || text[pos:] == "\r\n" {
			return true
		}
		r, n := utf8.DecodeRuneInString(text[pos:])
		return pos+n == len(text) && isLineEnd(r) && !insideCRLF(text, pos)
	case lastLineFeed:
		return pos == len(text) || text[pos:] == "\n"
	case lineStart:
		if pos == 0 || pos == len(text) {
			return pos == 0
		}
		r, _ := utf8.DecodeLastRuneInString(text[:pos])
		return isLineEnd(r) && !insideCRLF(text, pos)
	case lineStartUnix:
		return pos == 0 || text[pos-1] == '\n'
	case lineStop:
		if pos == len(text) {
			return true
		}
		r, _ := utf8.DecodeRuneInString(text[pos:])
		return isLineEnd(r) && !insideCRLF(text, pos)
	case lineStopUnix:
		return pos == len(text) || text[pos] == '\n'
	case wordBoundary:
		return atWordBoundary(text, pos)
	case notWordBoundary:
		return !atWordBoundary(text, pos)
	}
	return false
}

// insideCRLF says whether the place is between the two characters of a line end.
func insideCRLF(text string, pos int) bool {
	return pos > 0 && pos < len(text) && text[pos-1] == '\r' && text[pos] == '\n'
}

// atWordBoundary: a word's character on one side only. Marks and format characters belong to what they follow.
func atWordBoundary(text string, pos int) bool {
	next := false
	if pos < len(text) {
		r, _ := utf8.DecodeRuneInString(text[pos:])
		if wordClasses().attached.contains(r) {
			return false
		}
		next = wordClasses().word.contains(r)
	}
	for pos > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:pos])
		pos -= n
		if !wordClasses().attached.contains(r) {
			return next != wordClasses().word.contains(r)
		}
	}
	return next
}
