package slowlog

import (
	"bytes"
	"errors"
	"io"
	"math"
	"time"
)

// Limits.
const (
	DefaultMaxText   = 64 << 20  // bytes of a text that are kept: MySQL's default max_allowed_packet
	DefaultLookAhead = 128 << 10 // bytes of a text, see rule 4
	DefaultBuffer    = 256 << 10
	maxHeader        = 256 << 10 // bytes of a header
	maxIdleBuffer    = 4 << 20   // a buffer that had to grow beyond it is given back
	maxEmptyReads    = 100       // calls of a source that returns nothing and no error
)

// ErrQuiet is what a source that never ends returns from Read when nothing came for a while: an entry that looks ended then
// is ended. Next returns it when there is none, and may be called again.
var ErrQuiet = errors.New("slowlog: nothing more has come")

// Options of a Reader.
type Options struct {
	MaxText   int64 // bytes of a text that are kept, default DefaultMaxText
	LookAhead int64 // see rule 4, default DefaultLookAhead
	Buffer    int   // bytes read at a time, default DefaultBuffer; the buffer grows with the longest entry

	Offset      int64  // of the first byte in the stream
	Schema      string // the schema of the log before the first byte, when SchemaKnown
	SchemaKnown bool
	Time        string         // of the last "# Time:" line before the first byte
	Zone        *time.Location // of the local times in old formats, default time.Local

	// Frames leaves out what does not decide where entries begin and end: of an Entry, only Offset, End, Kind, Header, Raw, Time, Text
	// and Truncated are filled in.
	Frames bool

	// Comment is given each line that begins with CommentPrefix, without it, and where it stands. Nil: they are dropped.
	Comment func(line []byte, offset int64)
}

// Reader takes a stream of slow-log bytes apart into entries.
type Reader struct {
	src  io.Reader
	opts Options

	buf    []byte
	lo, hi int   // buf[lo:hi] was read and not given out; the entry at work begins at lo
	offset int64 // of buf[lo] in the stream
	given  int   // bytes at lo of the entry that Next returned last
	err    error // of src, after buf[hi-1]

	phase   phase
	midLine bool // seeking: buf[lo] is not the first byte of its line
	skipped int64

	head    header
	text    int // where the text begins, counted from lo
	scan    textScan
	inside  int   // where a row of header lines inside the text begins, 0: there is none
	last    int   // where the last one of it begins
	looked  int   // header lines were looked for up to here
	dropped int64 // bytes taken out of the middle of the text

	schema      []byte
	schemaKnown bool
	name        []byte    // a schema of an entry that had to be unquoted
	lastTime    []byte    // of the last "# Time:" line
	lastEnd     time.Time // what it says
	legacy      bool      // it has no zone

	kind    Kind // of the entry found
	textEnd int  // where its text and itself end, counted from lo
	end     int
}

type phase uint8

const (
	seeking phase = iota
	inHeader
	inText
)

// NewReader reads entries from r. The first byte is taken for the first of a line.
func NewReader(r io.Reader, o Options) *Reader {
	if o.MaxText <= 0 {
		o.MaxText = DefaultMaxText
	}
	if o.LookAhead <= 0 {
		o.LookAhead = DefaultLookAhead
	}
	if o.Buffer <= 0 {
		o.Buffer = DefaultBuffer
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	n := &Reader{src: r, opts: o, offset: o.Offset, schema: []byte(o.Schema), schemaKnown: o.SchemaKnown}
	n.setTime([]byte(o.Time))
	return n
}

// Offset is where the entry begins that Next will return: all before it was given out or skipped.
func (r *Reader) Offset() int64 {
	if r.given == 0 {
		return r.offset
	}
	return r.offset + int64(r.given) + r.dropped
}

// Skipped counts bytes outside of entries, banners and comments: the rest of an entry in whose middle the stream began.
func (r *Reader) Skipped() int64 { return r.skipped }

// Schema is the schema of the log after the last entry: what an entry without "use" and "Schema:" would run in.
func (r *Reader) Schema() (name []byte, known bool) { return r.schema, r.schemaKnown }

// Time is the last "# Time:" of the log, as written; empty: none was seen.
func (r *Reader) Time() []byte { return r.lastTime }

// Next fills e with the next entry. At the end of the stream an entry without an end comes as Partial, then io.EOF. ErrQuiet
// comes from the source; any other error too, and lasts.
func (r *Reader) Next(e *Entry) error {
	r.forget()
	for {
		if r.step(unknown) {
			r.fill(e)
			return nil
		}
		switch err := r.more(); {
		case err == nil:
		case err == io.EOF:
			if r.step(eof) {
				r.fill(e)
				return nil
			}
			return io.EOF
		case errors.Is(err, ErrQuiet):
			if r.step(quiet) {
				r.fill(e)
				return nil
			}
			return ErrQuiet
		default:
			return err
		}
	}
}

// forget drops the entry that was given out.
func (r *Reader) forget() {
	if r.given == 0 {
		return
	}
	r.lo += r.given
	r.offset += int64(r.given) + r.dropped
	r.given, r.dropped = 0, 0
	if rest := r.hi - r.lo; len(r.buf) > maxIdleBuffer && rest <= r.opts.Buffer {
		buf := make([]byte, r.opts.Buffer)
		r.lo, r.hi = 0, copy(buf, r.buf[r.lo:r.hi])
		r.buf = buf
	}
}

// skip drops n bytes between entries.
func (r *Reader) skip(n int) {
	r.lo += n
	r.offset += int64(n)
}

// more reads once. Errors that do not last are told once.
func (r *Reader) more() error {
	if err := r.err; err != nil {
		if errors.Is(err, ErrQuiet) {
			r.err = nil
		}
		return err
	}
	if r.lo == r.hi {
		r.lo, r.hi = 0, 0
	}
	if r.hi == len(r.buf) {
		if r.lo > len(r.buf)/2 {
			r.hi = copy(r.buf, r.buf[r.lo:r.hi])
		} else {
			// At most one large text and what may stand around it, so that a text of MaxText does not cost three times that.
			size := max(r.opts.Buffer, len(r.buf)+len(r.buf)/2)
			if limit := r.bufferLimit(); len(r.buf) < limit {
				size = min(size, limit)
			}
			buf := make([]byte, size)
			r.hi = copy(buf, r.buf[r.lo:r.hi])
			r.buf = buf
		}
		r.lo = 0
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.hi:])
		if n < 0 || n > len(r.buf)-r.hi {
			panic("BUG: slowlog: a source returned an impossible count")
		}
		r.hi += n
		if n > 0 {
			r.err = err
			return nil
		}
		if err != nil {
			if !errors.Is(err, ErrQuiet) {
				r.err = err
			}
			return err
		}
	}
	return io.ErrNoProgress
}

// bufferLimit is how much is in memory at most: a header, a text, and what is read past it.
func (r *Reader) bufferLimit() int {
	return int(min(r.opts.MaxText+2*r.opts.LookAhead, math.MaxInt/4)) + maxHeader + 2*r.opts.Buffer
}

// step works on the bytes at hand. It says whether there is an entry.
func (r *Reader) step(end ending) bool {
	for {
		switch r.phase {
		case seeking:
			if !r.seek(end) {
				return false
			}
		case inHeader:
			switch r.head.read(r.buf[r.lo:r.hi], end) {
			case needMore:
				if end != eof || r.lo == r.hi {
					return false
				}
				n := r.hi - r.lo
				return r.finish(Partial, n, n, n)
			case cutOff:
				n := r.head.next
				if n == 0 { // one line without an end
					n, r.midLine = r.hi-r.lo, true
				}
				return r.finish(Broken, n, n, n)
			case usedAsUse:
				r.head.hasUse, r.head.next = false, r.head.useAt
				r.begin()
			case textNext:
				r.begin()
			}
		case inText:
			return r.readText(end)
		}
	}
}

// seek drops lines until one starts an entry.
func (r *Reader) seek(end ending) bool {
	for {
		b := r.buf[r.lo:r.hi]
		if len(b) == 0 {
			return false
		}
		if !r.midLine {
			switch startsEntry(b) {
			case yes:
				r.phase, r.head = inHeader, header{frames: r.opts.Frames}
				return true
			case more:
				if end != eof {
					return false
				}
			}
		}
		nl := bytes.IndexByte(b, '\n')
		if !r.midLine {
			if nl < 0 && len(b) <= maxBanner && end != eof {
				return false
			}
			if nl >= 0 {
				r.between(b[:nl])
			} else {
				r.skipped += int64(len(b))
			}
		} else if nl >= 0 {
			r.skipped += int64(nl + 1)
		} else {
			r.skipped += int64(len(b))
		}
		if r.midLine = nl < 0; r.midLine {
			r.skip(len(b))
			return false
		}
		r.skip(nl + 1)
	}
}

// between is given a line that stands outside of entries.
func (r *Reader) between(line []byte) {
	switch comment, ok := bytes.CutPrefix(line, commentLine); {
	case ok:
		if r.opts.Comment != nil {
			r.opts.Comment(bytes.TrimSuffix(comment, carriageReturn), r.offset)
		}
	case isBanner(line):
		r.schema, r.schemaKnown = r.schema[:0], true // a server forgets its last schema when it opens a log
	default:
		r.skipped += int64(len(line) + 1)
	}
}

// begin is called when the header is whole.
func (r *Reader) begin() {
	r.phase = inText
	r.text = r.head.next
	r.scan = textScan{pos: r.text}
	r.inside, r.last, r.looked, r.dropped = 0, 0, r.text+1, 0
	r.readUse()
}

// readUse makes the "use" of the header that of the log.
func (r *Reader) readUse() {
	if h := &r.head; h.hasUse {
		r.schema, r.schemaKnown = unquote(r.schema[:0], h.use.of(r.buf[r.lo:r.hi])), true
		h.hasUse = false
	}
}

// unquote appends the name in s, which may stand in backticks.
func unquote(dst, s []byte) []byte {
	if len(s) < 2 || s[0] != '`' || s[len(s)-1] != '`' {
		return append(dst, s...)
	}
	for s = s[1 : len(s)-1]; ; {
		at := bytes.IndexByte(s, '`')
		if at < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:at+1]...)
		if s = s[at+1:]; len(s) > 0 && s[0] == '`' {
			s = s[1:]
		}
	}
}

// readText looks for the end of the text.
func (r *Reader) readText(end ending) bool {
	if r.head.hasBytes {
		if done, wait := r.exact(end); done {
			return true
		} else if wait {
			return false
		}
	}
	b := r.buf[r.lo:r.hi]
	text, next, found := r.scan.run(b, end)
	switch {
	case found == yes && (int64(next-r.text) <= r.opts.LookAhead || !r.beyond(b, next)):
		return r.finish(Query, r.text, text, next)
	case found == yes, r.beyond(b, r.scan.pos), end == eof:
		return r.giveUp(b, end)
	}
	r.dropMiddle()
	return false
}

// beyond looks for header lines in the text up to pos. It says whether they go on for more than LookAhead: then it is the log
// that they belong to, for some quote was misunderstood. Where they stop for as long, the text had quoted them.
func (r *Reader) beyond(b []byte, pos int) bool {
	for {
		at := nextEntryLine(b[:pos], r.looked)
		if at < 0 {
			break
		}
		if int64(at-r.last) > r.opts.LookAhead || r.inside == 0 {
			r.inside = at
		}
		if r.last, r.looked = at, at+1; int64(r.last-r.inside) > r.opts.LookAhead {
			return true
		}
	}
	if r.looked = max(r.looked, pos-len(userLine)); int64(r.looked-r.last) > r.opts.LookAhead {
		r.inside = 0
	}
	return false
}

// giveUp ends a text whose quotes do not add up: where it ends if a backslash is an ordinary character, else before the first
// header line inside it, else with the log.
func (r *Reader) giveUp(b []byte, end ending) bool {
	if r.dropped == 0 {
		strict := textScan{pos: r.text, strict: true}
		if text, next, found := strict.run(b, end); found == yes && (r.inside == 0 || next <= r.last) {
			return r.finish(Query, r.text, text, next)
		}
	}
	if r.inside == 0 {
		return r.finish(Partial, r.text, len(b), len(b))
	}
	text := b[r.text:r.inside]
	for _, end := range []string{";\n", ";\r\n"} {
		if s := len(text) - len(end); s >= 0 && string(text[s:]) == end {
			return r.finish(Query, r.text, r.text+s, r.inside)
		}
	}
	return r.finish(Broken, r.text, r.inside, r.inside)
}

// exact takes the text that "# Query_bytes:" announces. It says whether that was it, or whether to wait for more.
func (r *Reader) exact(end ending) (done, wait bool) {
	b, n := r.buf[r.lo:r.hi], r.head.bytes
	if n > uint64(r.opts.MaxText) {
		r.head.hasBytes = false
		return false, false
	}
	at := r.text + int(n)
	if at+2 > len(b) && end != eof {
		return false, true
	}
	if at+2 > len(b) || b[at] != ';' || b[at+1] != '\n' {
		r.head.hasBytes = false
		return false, false
	}
	return r.finish(Query, r.text, at, at+2), false
}

// dropMiddle makes room when a text is longer than MaxText: what stands between its first MaxText bytes and the scan goes.
func (r *Reader) dropMiddle() {
	keep := r.text + int(min(r.opts.MaxText, math.MaxInt/4))
	from := min(r.scan.pos, r.looked) - 2 // the scan of a line comment looks two bytes back
	n := from - keep
	if r.inside > 0 || n < r.opts.Buffer {
		return
	}
	r.hi = r.lo + keep + copy(r.buf[r.lo+keep:], r.buf[r.lo+from:r.hi])
	r.scan.pos -= n
	r.looked -= n
	r.last -= n
	r.dropped += int64(n)
}

// finish notes where the parts of the entry are. It returns true.
func (r *Reader) finish(kind Kind, text, textEnd, end int) bool {
	r.kind, r.text, r.textEnd, r.end = kind, text, textEnd, end
	r.given = end
	r.phase = seeking
	return true
}

var (
	throttleStart = []byte("throttle:")
	throttleEnd   = []byte("suppressed.")
)

// fill makes the entry of what was found.
func (r *Reader) fill(e *Entry) {
	b, h := r.buf[r.lo:r.hi], &r.head
	r.readUse() // of a header without a text
	*e = Entry{
		Offset: r.offset, End: r.offset + int64(r.end) + r.dropped, Kind: r.kind,
		User: h.user.of(b), Host: h.host.of(b), IP: h.ip.of(b), ThreadID: h.thread, HasThreadID: h.hasThread,
		Timestamp: h.timestamp, HasTimestamp: h.hasTimestamp,
		InsertID: h.insertID, HasInsertID: h.hasInsert, LastInsertID: h.lastID, HasLastInsertID: h.hasLast,
		HasQueryTime: h.hasQueryTime, QueryTime: h.queryTime, LockTime: h.lockTime,
		RowsSent: h.sent, RowsExamined: h.examined, RowsAffected: h.affected, Errno: uint32(min(h.errno, math.MaxUint32)),
		Header: b[:r.text:r.text],
	}
	if r.dropped == 0 {
		e.Raw = b[:r.end:r.end]
	}
	if h.frames {
		// It may have a field that was not looked at.
	} else if h.hasSchema {
		e.Schema, e.SchemaKnown = h.schema.of(b), true
	} else if r.schemaKnown {
		e.Schema, e.SchemaKnown = r.schema, true
	}
	if h.hasTime {
		e.Time = h.time.of(b)
		r.setTime(e.Time)
	}
	if !h.frames {
		r.times(e)
	}

	text := b[r.text:r.textEnd:r.textEnd]
	if cut := int64(len(text)) + r.dropped - r.opts.MaxText; cut > 0 {
		e.Truncated, text = cut, text[:r.opts.MaxText:r.opts.MaxText]
	}
	if e.Text = text; e.Kind != Query {
		return
	}
	switch name, ok := bytes.CutPrefix(text, adminLine); {
	case len(text) == 0:
		e.Kind = Empty
	case ok && bytes.IndexByte(name, '\n') < 0:
		e.Kind, e.Text = Admin, name
	case bytes.HasPrefix(text, throttleStart) && bytes.HasSuffix(text, throttleEnd):
		e.Kind = Summary
	}
}

// setTime notes the last "# Time:" line.
func (r *Reader) setTime(s []byte) {
	if bytes.Equal(s, r.lastTime) {
		return
	}
	if r.lastTime = append(r.lastTime[:0], s...); r.opts.Frames {
		return
	}
	t, ok := isoTime(s)
	if r.legacy = !ok; r.legacy {
		t, _ = legacyTime(s, r.opts.Zone)
	}
	r.lastEnd = t
}

// times works out when the statement started and ended.
//
// An ISO time is the moment of logging. Old times have no zone, but their SET timestamp has none to need: it is the end, to the
// second, and the fraction of the line above it goes with it.
func (r *Reader) times(e *Entry) {
	b, h := r.buf[r.lo:r.hi], &r.head
	e.Started, _ = isoTime(h.start.of(b))
	e.Ended, _ = isoTime(h.end.of(b))
	switch {
	case !e.Ended.IsZero():
	case !r.lastEnd.IsZero() && (!r.legacy || !e.HasTimestamp):
		e.Ended = r.lastEnd
	case e.HasTimestamp:
		var fraction int64
		if e.Time != nil && !r.lastEnd.IsZero() {
			fraction = int64(r.lastEnd.Nanosecond())
		}
		e.Ended = time.Unix(e.Timestamp, fraction).UTC()
	default:
		return
	}
	if e.Started.IsZero() && e.HasQueryTime {
		e.Started = e.Ended.Add(-e.QueryTime)
	}
}
