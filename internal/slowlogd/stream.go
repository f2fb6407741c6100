package slowlogd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/hearthdb/hearth/internal/slowlog"
)

const (
	rawBuffer    = 128 << 10 // bytes of a client that gets the log as it is
	entryBuffer  = 64 << 10  // bytes of one whose entries are looked into, which grows with the longest entry
	tokenEvery   = 4 << 20   // bytes between two tokens while a client is behind
	maxEntryText = 64 << 20  // bytes of a text; longer ones are skipped where entries are looked into
)

// stream sends the log to one client.
type stream struct {
	req       *request
	cur       *cursor
	w         io.Writer
	flush     func() error
	heartbeat time.Duration
	lines     lineState
	joined    state // what holds at the start

	sent      atomic.Int64 // bytes of the log and comments, before compression
	lastToken string
	sinceLast int64
	buf       []byte
}

// cursorReader is the cursor as a source of a slowlog.Reader.
type cursorReader struct{ *cursor }

func (c cursorReader) Read(p []byte) (int, error) { return c.read(p) }

// run sends until the client goes, or, unless it follows, until the log ends.
func (s *stream) run(ctx context.Context) error {
	if s.req.plain() {
		return s.raw(ctx)
	}
	return s.cooked(ctx)
}

func (s *stream) write(p []byte) error {
	n, err := s.w.Write(p)
	s.sent.Add(int64(n))
	s.sinceLast += int64(n)
	return err
}

// comment writes a line that is no entry.
func (s *stream) comment(text string) error {
	if s.req.format == formatJSON {
		line, err := json.Marshal(map[string]string{"comment": text})
		if err != nil {
			return err
		}
		return s.write(append(line, '\n'))
	}
	return s.write([]byte(slowlog.CommentPrefix + text + "\n"))
}

// token tells where the client would go on. The line also says that the entry before it is over.
func (s *stream) token() error {
	t := s.cur.token()
	if t == s.lastToken {
		return nil
	}
	s.lastToken, s.sinceLast = t, 0
	return s.comment("at " + t)
}

// idle is called when the client has all. It returns io.EOF when that is the end.
func (s *stream) idle(ctx context.Context) error {
	if err := s.token(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	if !s.req.follow {
		return io.EOF
	}
	for {
		err := s.cur.wait(ctx, s.heartbeat)
		if !errors.Is(err, errHeartbeat) {
			return err
		}
		if err := s.comment("heartbeat " + time.Now().UTC().Format(time.RFC3339) + " at " + s.cur.token()); err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
}

// raw sends the log as it is, but for the first entry, which is given the lines it needs. A client that keeps up gets the
// token with the bytes before it: each write costs about as much as the 64 KiB that it sends.
func (s *stream) raw(ctx context.Context) error {
	buf := make([]byte, rawBuffer)
	first := true
	for {
		n, err := s.cur.read(buf)
		switch {
		case errors.Is(err, slowlog.ErrQuiet):
			if err := s.idle(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		p := buf[:n]
		if first && !bytes.HasPrefix(p, []byte(slowlog.CommentPrefix)) {
			if p, first, err = s.repairFirst(p); err != nil {
				return err
			}
		} else if s.cur.hasAll() {
			p = s.appendToken(p)
		}
		if err := s.write(p); err != nil {
			return err
		}
		if s.sinceLast > tokenEvery && !s.cur.inside() {
			if err := s.token(); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// appendToken is token for a client that gets the log as it is, with what was not written yet.
func (s *stream) appendToken(p []byte) []byte {
	s.lastToken, s.sinceLast = s.cur.token(), -int64(len(p))
	return append(append(append(p, slowlog.CommentPrefix+"at "...), s.lastToken...), '\n')
}

// hasAll says that the next read finds nothing unless something changes meanwhile.
func (c *cursor) hasAll() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seg.mu.Lock()
	defer c.seg.mu.Unlock()
	return !c.mid && len(c.pending) == 0 && !c.seg.final && len(c.seg.marks) > 0 && c.at == c.seg.limitLocked()
}

func (c *cursor) inside() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mid
}

// repairFirst writes the first entry's header with the time and the schema that hold where the client begins, and returns what
// follows it. There may be none yet: a client that goes on at the end of a file can find the next one with a banner only.
func (s *stream) repairFirst(p []byte) (rest []byte, none bool, err error) {
	j := s.joined
	r := slowlog.NewReader(bytes.NewReader(p), slowlog.Options{Schema: j.schema, SchemaKnown: j.known, Time: j.time, Buffer: len(p)})
	var e slowlog.Entry
	switch err := r.Next(&e); {
	case err != nil:
		name, known := r.Schema()
		s.joined = state{string(name), known, string(r.Time())}
		return p, true, nil
	case e.Kind == slowlog.Partial && len(e.Text) == 0:
		return p, false, nil
	}
	schema, known := r.Schema()
	head := s.lines.appendHeader(append([]byte(nil), p[:e.Offset]...), e.Header, string(schema), known, string(r.Time()), -1)
	return p[int(e.Offset)+len(e.Header):], false, s.write(head)
}

// cooked takes the log apart and sends what was asked for.
func (s *stream) cooked(ctx context.Context) error {
	var comments []string
	o := slowlog.Options{Schema: s.joined.schema, SchemaKnown: s.joined.known, Time: s.joined.time, Buffer: entryBuffer, MaxText: maxEntryText,
		Comment: func(line []byte, _ int64) { comments = append(comments, string(line)) }}
	r := slowlog.NewReader(cursorReader{s.cur}, o)
	var e slowlog.Entry
	for {
		err := r.Next(&e)
		for _, c := range comments {
			if err := s.comment(c); err != nil {
				return err
			}
		}
		comments = comments[:0]
		switch {
		case errors.Is(err, slowlog.ErrQuiet):
			if err := s.idle(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if e.Kind != slowlog.Partial && s.req.wants(&e) {
			if err := s.entry(r, &e); err != nil {
				return err
			}
		}
		if s.sinceLast > tokenEvery && s.req.format != formatFramed {
			s.sinceLast = 0
			if err := s.comment("at " + s.cur.tokenAt(e.End)); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// entry sends one entry.
func (s *stream) entry(r *slowlog.Reader, e *slowlog.Entry) error {
	if e.Truncated > 0 && s.req.format != formatJSON {
		return s.comment(fmt.Sprintf("skipped 1 entries %d bytes: longer than %d", e.End-e.Offset, int64(maxEntryText)))
	}
	text := e.Text
	if s.req.redact {
		s.req.buf = appendRedacted(s.req.buf[:0], text, s.req.literals)
		text = s.req.buf
	}
	if s.req.format == formatJSON {
		return s.entryJSON(e, text)
	}
	schema, known := r.Schema()
	if known && len(schema) == 0 && s.lines.known && s.lines.schema != "" {
		// The log was opened anew, and this entry has no schema: only a banner says that.
		if err := s.write(slowlog.AppendBanner(nil, "slowlogd", "hearth", 0, "")); err != nil {
			return err
		}
		s.lines.schema = ""
	}
	rest := e.Raw[len(e.Header):]
	textBytes := -1
	before, after := rest, []byte(nil)
	if s.req.redact && len(e.Text) > 0 {
		at := bytes.Index(rest, e.Text)
		before, after = rest[:at], rest[at+len(e.Text):]
		textBytes = at + len(text)
	}
	s.buf = s.lines.appendHeader(s.buf[:0], e.Header, string(schema), known, string(r.Time()), textBytes)
	s.buf = append(s.buf, before...)
	if textBytes >= 0 {
		s.buf = append(append(s.buf, text...), after...)
	}
	if len(s.buf) > 0 && s.buf[len(s.buf)-1] != '\n' {
		s.buf = append(s.buf, '\n')
	}
	if s.req.format == formatFramed {
		if err := s.comment(fmt.Sprintf("entry %d bytes, then at %s", len(s.buf), s.cur.tokenAt(e.End))); err != nil {
			return err
		}
	}
	err := s.write(s.buf)
	if cap(s.buf) > 4*entryBuffer {
		s.buf = nil
	}
	return err
}

// jsonEntry is an entry in the format json.
type jsonEntry struct {
	At           string            `json:"at"` // the token behind it
	Kind         string            `json:"kind"`
	Time         string            `json:"time,omitempty"`
	Started      *time.Time        `json:"started,omitempty"`
	Ended        *time.Time        `json:"ended,omitempty"`
	User         string            `json:"user,omitempty"`
	Host         string            `json:"host,omitempty"`
	IP           string            `json:"ip,omitempty"`
	ThreadID     *uint64           `json:"thread_id,omitempty"`
	Schema       *string           `json:"schema"` // null: not known
	QueryTime    float64           `json:"query_time"`
	LockTime     float64           `json:"lock_time"`
	RowsSent     uint64            `json:"rows_sent"`
	RowsExamined uint64            `json:"rows_examined"`
	RowsAffected uint64            `json:"rows_affected"`
	Timestamp    *int64            `json:"timestamp,omitempty"`
	InsertID     *uint64           `json:"insert_id,omitempty"`
	LastInsertID *uint64           `json:"last_insert_id,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
	Text         *string           `json:"text,omitempty"`
	TextBase64   []byte            `json:"text_b64,omitempty"` // of a text that is not valid UTF-8
	Truncated    int64             `json:"truncated,omitempty"`
}

// known are the attributes that have a field of their own.
var knownAttributes = map[string]bool{"Query_time": true, "Lock_time": true, "Rows_sent": true, "Rows_examined": true, "Rows_affected": true,
	"Thread_id": true, "Schema": true, "Start": true, "End": true, "Query_bytes": true}

func (s *stream) entryJSON(e *slowlog.Entry, text []byte) error {
	j := jsonEntry{
		At: s.cur.tokenAt(e.End), Kind: e.Kind.String(), Time: string(e.Time), User: printable(e.User), Host: printable(e.Host), IP: printable(e.IP),
		QueryTime: e.QueryTime.Seconds(), LockTime: e.LockTime.Seconds(),
		RowsSent: e.RowsSent, RowsExamined: e.RowsExamined, RowsAffected: e.RowsAffected, Truncated: e.Truncated,
	}
	if !e.Started.IsZero() {
		j.Started = &e.Started
	}
	if !e.Ended.IsZero() {
		j.Ended = &e.Ended
	}
	if e.HasThreadID {
		j.ThreadID = &e.ThreadID
	}
	if e.SchemaKnown {
		name := printable(e.Schema)
		j.Schema = &name
	}
	if e.HasTimestamp {
		j.Timestamp = &e.Timestamp
	}
	if e.HasInsertID {
		j.InsertID = &e.InsertID
	}
	if e.HasLastInsertID {
		j.LastInsertID = &e.LastInsertID
	}
	for k, v := range e.Attrs() {
		if name := string(k); !knownAttributes[name] {
			if j.Attributes == nil {
				j.Attributes = map[string]string{}
			}
			j.Attributes[name] = printable(v)
		}
	}
	if utf8.Valid(text) {
		t := string(text)
		j.Text = &t
	} else {
		j.TextBase64 = text
	}
	line, err := json.Marshal(&j)
	if err != nil {
		return err
	}
	return s.write(append(line, '\n'))
}

func printable(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
