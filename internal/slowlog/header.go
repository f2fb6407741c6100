package slowlog

import (
	"bytes"
	"math"
	"time"
)

// span is a range of bytes, counted from the start of the entry. The zero value is "not there".
type span struct{ lo, hi int }

func (s span) of(b []byte) []byte { return b[s.lo:s.hi:s.hi] }

// header is what the header lines of an entry said, with positions counted from its start.
type header struct {
	next   int  // where the first line begins that was not looked at
	frames bool // see Options.Frames

	hasUser, hasTime    bool
	time                span
	user, host, ip      span
	hasSchema           bool
	schema              span
	hasUse              bool
	use                 span // the name, perhaps quoted
	useAt               int  // where that line begins
	warnings            bool // lines of messages follow, which may have newlines in them
	start, end          span
	bytes               uint64
	hasBytes            bool
	thread              uint64
	hasThread           bool
	timestamp           int64
	hasTimestamp        bool
	insertID, lastID    uint64
	hasInsert, hasLast  bool
	queryTime, lockTime time.Duration
	hasQueryTime        bool
	sent, examined      uint64
	affected            uint64
	errno               uint64
}

// verdict of the header lines at hand.
type verdict uint8

const (
	needMore  verdict = iota
	textNext          // the text begins at header.next
	cutOff            // the next line is not of this entry, which has no text
	usedAsUse         // the text is the line at header.useAt, which looked like the server's "use"
)

// maxName is how long a "use" line may be that has newlines in it.
const maxName = 1024

// read looks at lines from next on. All lines of b are whole but perhaps the last.
func (h *header) read(b []byte, end ending) verdict {
	for {
		p := h.next
		nl := bytes.IndexByte(b[p:], '\n')
		if nl < 0 {
			if len(b) > maxHeader {
				return cutOff
			}
			return needMore
		}
		line, after := b[p:p+nl], p+nl+1
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		switch {
		case len(line) > 1 && line[0] == '#' && line[1] == ' ':
			if p > maxHeader {
				return cutOff
			}
			switch third := line[min(len(hash), len(line)-1)]; {
			case third == timeLine[len(hash)] && bytes.HasPrefix(line, timeLine):
				if p > 0 {
					return h.cut()
				}
				h.hasTime, h.time = true, span{p + len(timeLine), p + len(line)}
			case third == userLine[len(hash)] && bytes.HasPrefix(line, userLine):
				if h.hasUser {
					return h.cut()
				}
				if h.hasUser = true; !h.frames {
					h.userLine(b, p+len(userLine), p+len(line))
				}
			case third == commentLine[len(hash)] && bytes.HasPrefix(line, commentLine):
				return h.cut()
			case third == adminLine[len(hash)] && bytes.HasPrefix(line, adminLine):
				return textNext
			case !h.warnings:
				h.metrics(b, p+len(hash), p+len(line))
			}
		case bytes.HasPrefix(line, useLine) && !h.hasUse:
			at := h.useLine(b, p, len(line))
			if at == more {
				if end == eof {
					return textNext
				}
				return needMore
			}
			if at == no {
				return textNext
			}
			continue
		case bytes.HasPrefix(line, setLine) && h.setLine(line[len(setLine):]):
			h.next = after
			return textNext
		case len(line) > 0 && line[0] == '#' && !h.hasUse:
			// A line of its own before a query plan.
		case h.warnings && !h.hasUse && p < maxHeader:
			// A warning that quotes a value with a newline in it.
		case isBanner(line):
			return h.cut()
		default:
			return textNext
		}
		h.next = after
	}
}

// cut is the end of a header at a line that belongs to no header.
func (h *header) cut() verdict {
	if h.hasUse {
		return usedAsUse
	}
	return cutOff
}

var (
	useLine   = []byte("use ")
	setLine   = []byte("SET ")
	adminLine = []byte("# administrator command: ")
	setNext   = []byte(";\nSET ")
)

// useLine takes the server's "use name;" line at p, whose name may hold newlines, and steps behind it.
func (h *header) useLine(b []byte, p, length int) answer {
	end := p + length - 1
	if b[end] != ';' {
		window := b[p:min(len(b), p+maxName)]
		at := bytes.Index(window, setNext)
		if at < 0 {
			if len(window) < maxName {
				return more
			}
			return no
		}
		end = p + at
	}
	h.hasUse, h.use, h.useAt = true, span{p + len(useLine), end}, p
	h.next = end + 1 + bytes.IndexByte(b[end+1:], '\n') + 1
	return yes
}

// setLine understands "[last_insert_id=N,][insert_id=N,]timestamp=N[.N];", and nothing else.
func (h *header) setLine(s []byte) bool {
	var last, insert, stamp uint64
	s, hasLast := bytes.CutPrefix(s, []byte("last_insert_id="))
	if hasLast {
		if last, s = digits(s); len(s) == 0 || s[0] != ',' {
			return false
		}
		s = s[1:]
	}
	s, hasInsert := bytes.CutPrefix(s, []byte("insert_id="))
	if hasInsert {
		if insert, s = digits(s); len(s) == 0 || s[0] != ',' {
			return false
		}
		s = s[1:]
	}
	s, ok := bytes.CutPrefix(s, []byte("timestamp="))
	if !ok || len(s) < 2 || s[0] < '0' || s[0] > '9' {
		return false
	}
	if stamp, s = digits(s); len(s) > 0 && s[0] == '.' {
		_, s = digits(s[1:])
	}
	if len(s) != 1 || s[0] != ';' {
		return false
	}
	h.lastID, h.hasLast, h.insertID, h.hasInsert = last, hasLast, insert, hasInsert
	h.timestamp, h.hasTimestamp = int64(min(stamp, math.MaxInt64)), true
	return true
}

var (
	idField = []byte("  Id:")
	atField = []byte("] @ ")
)

// lastIndex is bytes.LastIndex for something with a rare byte in it, which is looked for first: in most lines that is it.
func lastIndex(b, field []byte, rare byte) int {
	within := bytes.IndexByte(field, rare)
	for end := len(b); ; {
		at := bytes.LastIndexByte(b[:end], rare)
		if at < within {
			return -1
		}
		if bytes.HasPrefix(b[at-within:], field) {
			return at - within
		}
		end = at
	}
}

// userLine takes "priv[user] @ host [ip]  Id:    41" apart, from the right: hosts and addresses have no brackets, users may.
func (h *header) userLine(b []byte, lo, hi int) {
	if at := lastIndex(b[lo:hi], idField, ':'); at >= 0 {
		if n, rest := digits(bytes.TrimLeft(b[lo+at+len(idField):hi], " \t")); len(bytes.TrimSpace(rest)) == 0 {
			h.thread, h.hasThread = n, true
			hi = lo + at
		}
	}
	for hi > lo && (b[hi-1] == ' ' || b[hi-1] == '\t') {
		hi--
	}
	if hi > lo && b[hi-1] == ']' {
		if open := bytes.LastIndexByte(b[lo:hi], '['); open >= 0 {
			h.ip = span{lo + open + 1, hi - 1}
			if hi = lo + open; hi > lo && b[hi-1] == ' ' {
				hi--
			}
		}
	}
	user := hi
	if at := lastIndex(b[lo:hi], atField, '@'); at >= 0 {
		h.host = span{min(lo+at+len(atField), hi), hi}
		user = lo + at
	} else if hi-lo >= 3 && bytes.HasSuffix(b[lo:hi], atField[:3]) {
		user = hi - 3
	} else if user > lo && b[user-1] == ']' {
		user--
	}
	// Two names in brackets, mostly the same: of the account and of the client. The client's counts, if it has one.
	name := b[lo:user]
	open := bytes.IndexByte(name, '[')
	if n := len(name) / 2; len(name)%2 == 1 && name[n] == '[' && bytes.Equal(name[:n], name[n+1:]) {
		open = n
	}
	switch {
	case open < 0:
		h.user = span{lo, user}
	case open+1 < len(name):
		h.user = span{lo + open + 1, user}
	default:
		h.user = span{lo, lo + open}
	}
}

// bytesField is the one metric that decides where an entry ends (rule 6).
var bytesField = []byte("Query_bytes:")

// metrics takes the fields of one line that the entry has a place for.
func (h *header) metrics(b []byte, lo, hi int) {
	switch s := b[lo:hi]; {
	case len(s) == 0:
	case h.frames && s[0] != 'W' && !bytes.Contains(s, bytesField):
	case s[0] == 'Q':
		h.pairs(b, h.usual(b, lo, hi), hi)
	case s[0] == 'R', s[0] == 'S', s[0] == 'T':
		h.pairs(b, lo, hi)
	case string(s) == "Warnings":
		h.warnings = true
	}
}

// usual takes the four fields that all servers write first, in this order, as far as they are there and as expected. It returns
// where it stopped, which is never inside a field. It is there for speed: pairs understands them, too.
func (h *header) usual(b []byte, lo, hi int) int {
	const query, lock, sent, examined = "Query_time: ", "Lock_time: ", "Rows_sent: ", "Rows_examined: "
	s := b[lo:hi]
	if len(s) < len(query) || string(s[:len(query)]) != query {
		return lo
	}
	d, n := seconds(s[len(query):])
	if n == 0 {
		return lo
	}
	h.queryTime, h.hasQueryTime = d, true
	s = skipBlanks(s[len(query)+n:])
	if len(s) < len(lock) || string(s[:len(lock)]) != lock {
		return hi - len(s)
	}
	if d, n = seconds(s[len(lock):]); n == 0 {
		return hi - len(s)
	}
	h.lockTime = d
	s = skipBlanks(s[len(lock)+n:])
	if len(s) < len(sent) || string(s[:len(sent)]) != sent {
		return hi - len(s)
	}
	v, n := small(s[len(sent):])
	if n == 0 {
		return hi - len(s)
	}
	h.sent = v
	s = skipBlanks(s[len(sent)+n:])
	if len(s) < len(examined) || string(s[:len(examined)]) != examined {
		return hi - len(s)
	}
	if v, n = small(s[len(examined):]); n == 0 {
		return hi - len(s)
	}
	h.examined = v
	return hi - len(s) + len(examined) + n
}

func skipBlanks(s []byte) []byte {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	return s
}

// maxSmall is how many digits small takes: any number of so many fits.
const maxSmall = 18

// small takes a number off the start of s, if a blank or nothing follows it. It returns how long it is; 0: it is something else.
func small(s []byte) (v uint64, n int) {
	for n < len(s) && s[n] > ' ' {
		if s[n] < '0' || s[n] > '9' || n == maxSmall {
			return 0, 0
		}
		v = v*10 + uint64(s[n]-'0')
		n++
	}
	return v, n
}

// seconds takes a time with six digits behind its point, as servers write it, off the start of s: see small, and duration, which
// takes any other.
func seconds(s []byte) (d time.Duration, n int) {
	const micros, maxWhole = 6, 8 // of so many digits: a few years
	whole := uint64(0)
	for n < len(s) && s[n] != '.' {
		if s[n] < '0' || s[n] > '9' || n == maxWhole {
			return 0, 0
		}
		whole = whole*10 + uint64(s[n]-'0')
		n++
	}
	if n++; len(s) < n+micros || len(s) > n+micros && s[n+micros] > ' ' || n == 1 {
		return 0, 0
	}
	part, ok := number(s[n : n+micros])
	if !ok {
		return 0, 0
	}
	return time.Duration(whole)*time.Second + time.Duration(part)*time.Microsecond, n + micros
}

// pairs walks over "Key: value" pairs between lo and hi.
func (h *header) pairs(b []byte, lo, hi int) {
	for lo < hi {
		if b[lo] == ' ' || b[lo] == '\t' {
			lo++
			continue
		}
		colon := lo
		for colon < hi && b[colon] != ':' {
			if b[colon] <= ' ' {
				return // prose
			}
			colon++
		}
		if colon >= hi {
			return
		}
		key, from := b[lo:colon], colon+1
		if from < hi && (b[from] == ' ' || b[from] == '\t') {
			from++
		}
		to := from
		for to < hi && b[to] > ' ' {
			to++
		}
		value := b[from:to]
		switch string(key) {
		case "Query_time":
			h.queryTime, h.hasQueryTime = duration(value), true
		case "Lock_time":
			h.lockTime = duration(value)
		case "Rows_sent":
			h.sent, _ = digits(value)
		case "Rows_examined":
			h.examined, _ = digits(value)
		case "Rows_affected":
			h.affected, _ = digits(value)
		case "Thread_id":
			h.thread, _ = digits(value)
			h.hasThread = true
		case "Errno", "Last_errno":
			h.errno, _ = digits(value)
		case "Start":
			h.start = span{from, to}
		case "End":
			h.end = span{from, to}
		case "Query_bytes":
			h.bytes, _ = digits(value)
			h.hasBytes = len(value) > 0
		case "Schema":
			to = from + schemaEnd(b[from:hi])
			h.schema, h.hasSchema = span{from, to}, true
		case "Stored_routine":
			return
		}
		lo = to
	}
}

// digits takes a number off the start of s. One that does not fit is the greatest that does.
func digits(s []byte) (n uint64, rest []byte) {
	for i, c := range s {
		if c < '0' || c > '9' {
			return n, s[i:]
		}
		if d := uint64(c - '0'); n > (math.MaxUint64-d)/10 {
			n = math.MaxUint64
		} else {
			n = n*10 + d
		}
	}
	return n, s[len(s):]
}
