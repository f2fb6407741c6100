package replay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// GeneralSource reads the general query log of MySQL and MariaDB. Its format cannot be framed exactly: a text goes on until a
// line that looks like an entry, and a text may hold such lines. What comes of that is proved like everything else (rule 1).
type GeneralSource struct {
	in     io.ReadCloser
	r      *bufio.Reader
	offset int64
	ahead  []byte // the line that begins the next entry
	at     int64  // where it stands
	time   time.Time

	schemas map[uint64]string // by session, from Connect and Init DB
	text    []byte
	once    sync.Once
}

// generalLine is "[time]<tab>   id Command<tab>argument".
var generalLine = regexp.MustCompile(`^(?:(\d{6} [ \d]\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d))|)\t+ *(\d+) (Connect|Query|Init DB|Quit|Execute|Prepare|Field List|` +
	`Statistics|Ping|Change user|Close stmt|Reset stmt|Fetch|Set option|Refresh|Kill|Binlog Dump|Register Slave|Register Replica|Shutdown|Sleep|Debug|Long Data|Daemon)(?:\t(.*))?$`)

// NewGeneralSource reads in, whose first byte is at an offset of the log.
func NewGeneralSource(in io.ReadCloser, offset int64) *GeneralSource {
	return &GeneralSource{in: in, r: bufio.NewReaderSize(in, 1<<20), offset: offset, schemas: map[uint64]string{}}
}

// maxGeneralText bounds a text; what is beyond is counted as cut.
const maxGeneralText = 64 << 20

// line reads one, without its end. What is longer than a text may be is dropped.
func (s *GeneralSource) line() (b []byte, err error) {
	for {
		part, err := s.r.ReadSlice('\n')
		s.offset += int64(len(part))
		if len(b) < maxGeneralText {
			b = append(b, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && len(b) > 0 {
				err = nil
			}
			return bytes.TrimSuffix(b, []byte("\n")), err
		}
	}
}

// Next fills e.
func (s *GeneralSource) Next(e *slowlog.Entry) error {
	for s.ahead == nil { // banners and the rest of an entry
		from := s.offset
		b, err := s.line()
		if err != nil {
			return err
		}
		if generalLine.Match(b) {
			s.ahead, s.at = b, from
		}
	}
	m := generalLine.FindSubmatch(s.ahead)
	*e = slowlog.Entry{Offset: s.at, HasThreadID: true}
	if len(m[1]) > 0 {
		s.time = generalTime(string(m[1]))
	}
	e.Ended = s.time
	e.ThreadID, _ = strconv.ParseUint(string(m[2]), 10, 64)
	s.text = append(s.text[:0], m[4]...)
	command := string(m[3])
	s.ahead = nil
	for {
		from := s.offset
		b, err := s.line()
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF {
			e.End = s.offset
			break
		}
		if generalLine.Match(b) {
			s.ahead, s.at, e.End = b, from, from
			break
		}
		if len(s.text) >= maxGeneralText {
			e.Truncated += int64(len(b))
			continue
		}
		s.text = append(append(s.text, '\n'), b...)
	}
	s.fill(e, command)
	return nil
}

// maxGeneralSessions bounds the sessions whose schema is kept; then all are forgotten, and theirs are not known.
const maxGeneralSessions = 1 << 16

// onSchema is the schema in "user@host on schema using Socket", or without "using" in older logs.
var onSchema = regexp.MustCompile(` on (\S*)(?: using .*)?$`)

func (s *GeneralSource) fill(e *slowlog.Entry, command string) {
	if len(s.schemas) >= maxGeneralSessions {
		clear(s.schemas)
	}
	e.Kind, e.Text = slowlog.Admin, []byte(command)
	switch command {
	case "Connect", "Change user":
		delete(s.schemas, e.ThreadID)
		if m := onSchema.FindSubmatch(s.text); m != nil {
			s.schemas[e.ThreadID] = string(m[1])
		}
	case "Init DB":
		s.schemas[e.ThreadID] = string(s.text)
	case "Quit":
		delete(s.schemas, e.ThreadID)
	case "Query", "Execute":
		e.Kind, e.Text = slowlog.Query, s.text
		if len(s.text) == 0 {
			e.Kind = slowlog.Empty
		}
	}
	if schema, known := s.schemas[e.ThreadID]; known {
		e.Schema, e.SchemaKnown = []byte(schema), true
	}
	if e.Kind == slowlog.Query { // a USE of the client's own holds for what follows
		if name, ok := usedSchema(e.Text); ok {
			s.schemas[e.ThreadID] = name
		}
	}
}

// usedSchema is the schema that a USE statement names.
func usedSchema(text []byte) (string, bool) {
	if len(text) < 4 || len(text) > 512 || !bytes.EqualFold(text[:3], []byte("use")) {
		return "", false
	}
	toks, err := lex(text, Mode{}, nil)
	toks = trimEnd(text, toks)
	if err != nil || len(toks) != 2 || !isWord(text, toks[0], "use") {
		return "", false
	}
	return unquote(text, toks[1]), true
}

func generalTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "060102 15:04:05", "060102  3:04:05"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t
		}
	}
	return time.Time{}
}

// Place is before the entry that comes next.
func (s *GeneralSource) Place() Place {
	if s.ahead != nil {
		return Place{Offset: s.at}
	}
	return Place{Offset: s.offset}
}

// Close ends the stream.
func (s *GeneralSource) Close() (err error) {
	s.once.Do(func() { err = s.in.Close() })
	return err
}
