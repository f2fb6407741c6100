package slowlog

import "bytes"

// Where a scan of a text is.
const (
	inCode = iota
	inQuote
	inBlockComment
	inLineComment
)

// ending says what is behind the bytes at hand.
type ending uint8

const (
	unknown ending = iota // more bytes may come at any moment
	quiet                 // nothing came for a while: what looks ended is
	eof                   // nothing more will come
)

// answer to a question about bytes of which the last ones may not be there yet.
type answer uint8

const (
	no answer = iota
	yes
	more // it depends on bytes that are not there
)

// textScan finds the end of a text (rule 3). It goes on where it stopped when more bytes are there.
type textScan struct {
	pos    int  // all before it is understood
	state  int  // inCode …
	quote  byte // inQuote: ' " or `
	strict bool // a backslash is an ordinary character
}

// special are the bytes of code that begin something.
var special = [256]uint8{'\'': 1, '"': 1, '`': 1, ';': 1, '#': 1, '-': 1, '/': 1}

// nextSpecial is where in b[p:] the first of them stands, or len(b). Eight bytes a step, for most are none.
func nextSpecial(b []byte, p int) int {
	for ; p+8 <= len(b); p += 8 {
		s := b[p : p+8 : p+8]
		if special[s[0]]|special[s[1]]|special[s[2]]|special[s[3]]|special[s[4]]|special[s[5]]|special[s[6]]|special[s[7]] != 0 {
			break
		}
	}
	for p < len(b) && special[b[p]] == 0 {
		p++
	}
	return p
}

// run looks for the end in b. It returns where the final ";" is and where the next line begins.
func (s *textScan) run(b []byte, end ending) (text, next int, found answer) {
	for {
		switch s.state {
		case inCode:
			p := nextSpecial(b, s.pos)
			s.pos = p
			if p == len(b) {
				return 0, 0, more
			}
			switch c := b[p]; c {
			case '\'', '"', '`':
				s.state, s.quote, s.pos = inQuote, c, p+1
			case '#':
				s.state = inLineComment
			case ';':
				next, at := lineEnd(b, p+1, end)
				if at == yes {
					at = startsLine(b[next:], end)
				}
				if at != no {
					return p, next, at
				}
				s.pos++
			default:
				if n := s.comment(b); n == more && end != eof {
					return 0, 0, more
				} else if n != yes {
					s.pos++
				}
			}
		case inQuote:
			if !s.closeQuote(b) {
				return 0, 0, more
			}
		case inBlockComment:
			at := bytes.Index(b[s.pos:], commentEnd)
			if at < 0 {
				if s.pos = max(s.pos, len(b)-1); s.pos < len(b) && b[s.pos] != '*' {
					s.pos++
				}
				return 0, 0, more
			}
			s.pos, s.state = s.pos+at+len(commentEnd), inCode
		case inLineComment:
			at := bytes.IndexByte(b[s.pos:], '\n')
			if at < 0 {
				// The end of the log may take the place of the newline; the two bytes before it may be ";" and "\r".
				if p := len(b) - 1; end == eof && p >= s.pos && b[p] == ';' {
					return p, len(b), yes
				}
				s.pos = max(s.pos, len(b)-2)
				return 0, 0, more
			}
			p := s.pos + at - 1
			if p >= s.pos && b[p] == '\r' {
				p--
			}
			if p >= s.pos && b[p] == ';' {
				if begins := startsLine(b[s.pos+at+1:], end); begins != no {
					return p, s.pos + at + 1, begins
				}
			}
			s.pos, s.state = s.pos+at+1, inCode
		}
	}
}

// lineEnd says whether a line ends at p, and where the next one begins.
func lineEnd(b []byte, p int, end ending) (next int, at answer) {
	if p < len(b) && b[p] == '\r' {
		p++
	}
	switch {
	case p < len(b) && b[p] == '\n':
		return p + 1, yes
	case p < len(b):
		return 0, no
	case end == eof:
		return p, yes
	default:
		return 0, more
	}
}

// comment looks whether a comment begins at the "-" or "/" at pos, and steps into it. What stands in /*! */ is code.
func (s *textScan) comment(b []byte) answer {
	rest := b[s.pos:]
	if len(rest) < 2 {
		return more
	}
	if rest[0] == '-' {
		switch {
		case rest[1] != '-':
			return no
		case len(rest) == 2:
			return more
		case rest[2] > ' ':
			return no
		}
		s.state, s.pos = inLineComment, s.pos+2
		return yes
	}
	if rest[1] != '*' {
		return no
	}
	rest = rest[2:]
	if len(rest) == 0 || rest[0] == 'M' && len(rest) == 1 {
		return more
	}
	if rest[0] == '!' || rest[0] == 'M' && rest[1] == '!' {
		return no
	}
	s.state, s.pos = inBlockComment, s.pos+2
	return yes
}

// closeQuote looks for the end of the string at pos. A doubled quote ends one string and begins the next, which is as good.
func (s *textScan) closeQuote(b []byte) bool {
	closes := bytes.IndexByte(b[s.pos:], s.quote)
	if closes < 0 {
		closes = len(b)
	} else {
		closes += s.pos
	}
	for !s.strict && s.quote != '`' {
		at := bytes.IndexByte(b[s.pos:closes], '\\')
		if at < 0 {
			break
		}
		if s.pos += at; s.pos+1 == len(b) {
			return false
		}
		if s.pos += 2; s.pos > closes { // it was the quote that the backslash stood before
			if closes = bytes.IndexByte(b[s.pos:], s.quote); closes < 0 {
				closes = len(b)
			} else {
				closes += s.pos
			}
		}
	}
	if closes == len(b) {
		s.pos = closes
		return false
	}
	s.pos, s.state = closes+1, inCode
	return true
}

var (
	newline        = []byte("\n")
	carriageReturn = []byte("\r")
	commentEnd     = []byte("*/")
	hash           = []byte("# ")
	timeLine       = []byte("# Time: ")
	userLine       = []byte("# User@Host: ")
	commentLine    = []byte(CommentPrefix)

	versionField  = []byte(", Version: ")
	startedWith   = []byte("started with:")
	portLine      = []byte("Tcp port: ")
	portLineUpper = []byte("TCP Port: ")
	titleStart    = []byte("Time")
	titleField    = []byte("Id Command")
	titleEnd      = []byte("Argument")
)

// CommentPrefix begins the lines that the daemon adds between entries.
const CommentPrefix = "# slowlogd: "

// maxBanner is how long a line may be that is looked at as a banner.
const maxBanner = 4096

// startsLine says whether b begins with a line that may follow an entry.
func startsLine(b []byte, end ending) answer {
	if len(b) == 0 {
		if end == unknown {
			return more
		}
		return yes
	}
	if b[0] == '#' {
		a := startsEntry(b)
		if a == no {
			a = hasPrefix(b, commentLine)
		}
		if a == more && end == eof {
			return yes // the log ends inside that line
		}
		return a
	}
	line, _, whole := bytes.Cut(b[:min(len(b), maxBanner)], newline)
	if !whole && len(b) < maxBanner && end != eof {
		return more
	}
	if isBanner(line) {
		return yes
	}
	return no
}

// startsEntry says whether b begins with a line that starts an entry.
func startsEntry(b []byte) answer {
	if a := hasPrefix(b, timeLine); a != no {
		return a
	}
	return hasPrefix(b, userLine)
}

func hasPrefix(b, prefix []byte) answer {
	switch {
	case bytes.HasPrefix(b, prefix):
		return yes
	case bytes.HasPrefix(prefix, b):
		return more
	default:
		return no
	}
}

// isBanner says whether a line is one of the three that a server writes when it opens a log.
func isBanner(line []byte) bool {
	line = bytes.TrimSuffix(line, carriageReturn)
	switch {
	case bytes.HasSuffix(line, startedWith):
		return bytes.Contains(line, versionField)
	case bytes.HasPrefix(line, titleStart):
		return bytes.HasSuffix(line, titleEnd) && bytes.Contains(line, titleField)
	default:
		return bytes.HasPrefix(line, portLine) || bytes.HasPrefix(line, portLineUpper)
	}
}

// nextEntryLine is where in b[from:] the first line stands that starts an entry, -1: nowhere. From must not be 0.
func nextEntryLine(b []byte, from int) int {
	for from--; ; from++ {
		at := bytes.Index(b[from:], newlineHash)
		if at < 0 {
			return -1
		}
		if from += at; startsEntry(b[from+1:]) == yes {
			return from + 1
		}
	}
}

var newlineHash = []byte("\n# ")
