package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Place is where to go on in an input, as a checkpoint keeps it.
type Place struct {
	Offset int64  `json:"offset"`          // bytes from the start of a file
	Token  string `json:"token,omitempty"` // of a daemon's stream; then Skip entries behind it are done with
	Skip   int64  `json:"skip,omitempty"`
	Schema string `json:"schema,omitempty"` // of the log at that place
	Known  bool   `json:"schema_known,omitempty"`
	Time   string `json:"time,omitempty"` // of the last "# Time:" line
}

// logStream reads entries off one stream, and knows the place behind each.
type logStream struct {
	r     *slowlog.Reader
	place Place
}

func newLogStream(in io.Reader, at Place) *logStream {
	s := &logStream{place: at}
	s.r = slowlog.NewReader(in, slowlog.Options{
		Offset: at.Offset, Schema: at.Schema, SchemaKnown: at.Known, Time: at.Time, Comment: s.comment,
	})
	return s
}

// comment hears the daemon, which says at times where the stream is.
func (s *logStream) comment(line []byte, _ int64) {
	if token, ok := bytes.CutPrefix(line, []byte("at ")); ok {
		s.place.Token, s.place.Skip = string(bytes.TrimSpace(token)), 0
	}
}

// next reads an entry. The place before it is that of the call before.
func (s *logStream) next(e *slowlog.Entry) error {
	if err := s.r.Next(e); err != nil {
		return err
	}
	if e.Kind == slowlog.Partial {
		return nil
	}
	s.place.Offset = e.End
	s.place.Skip++
	if name, known := s.r.Schema(); known != s.place.Known || string(name) != s.place.Schema {
		s.place.Schema, s.place.Known = string(name), known
	}
	if t := s.r.Time(); string(t) != s.place.Time {
		s.place.Time = string(t)
	}
	return nil
}

// LogSource reads a log from a file or a pipe. It has one end.
type LogSource struct {
	*logStream
	in   io.Closer
	live bool
	once sync.Once
}

// NewLogSource reads in, which begins at a place of the log. live: it may grow, so an entry that has no end yet is left for the
// next run.
func NewLogSource(in io.ReadCloser, at Place, live bool) *LogSource {
	return &LogSource{logStream: newLogStream(in, at), in: in, live: live}
}

// Next fills e.
func (s *LogSource) Next(e *slowlog.Entry) error {
	if err := s.next(e); err != nil {
		return err
	}
	if e.Kind == slowlog.Partial && s.live {
		return io.EOF
	}
	return nil
}

// Place is behind the last entry.
func (s *LogSource) Place() Place { return s.place }

// Close ends the stream.
func (s *LogSource) Close() (err error) {
	s.once.Do(func() { err = s.in.Close() })
	return err
}

// Interruptible makes a reader whose Read returns when it is closed, whatever in does: a terminal or a pipe as standard
// input does not wake up. Bytes that in gives afterwards are lost.
func Interruptible(in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return r
}

// SourceConfig says where entries come from.
type SourceConfig struct {
	From  string // http://..., https://..., a file, or - for standard input; of the tables, a DSN
	Input Input  // default InputSlow
	Token string // for the daemon
	At    Place
	Log   func(format string, args ...any)
}

// Input is what kind of log an input is.
type Input string

// Inputs.
const (
	InputSlow       Input = "slow"        // the slow query log
	InputGeneral    Input = "general"     // the general query log
	InputSlowTable  Input = "slow-table"  // mysql.slow_log of a server
	InputPerfSchema Input = "perf-schema" // performance_schema.events_statements_history_long of a server
)

// OpenSource opens a log.
func OpenSource(ctx context.Context, c SourceConfig) (Source, error) {
	switch {
	case c.Input == InputSlowTable || c.Input == InputPerfSchema:
		return NewTableSource(ctx, c.From, c.Input == InputPerfSchema)
	case c.Input == InputGeneral && c.From == "-":
		return NewGeneralSource(Interruptible(os.Stdin), 0), nil
	case c.Input == InputGeneral:
		f, err := OpenLog(c.From, c.At.Offset)
		if err != nil {
			return nil, err
		}
		return NewGeneralSource(f, c.At.Offset), nil
	case c.From == "-":
		return NewLogSource(Interruptible(os.Stdin), c.At, false), nil
	case strings.HasPrefix(c.From, "http://") || strings.HasPrefix(c.From, "https://"):
		return newHTTPSource(ctx, c)
	}
	f, err := OpenLog(c.From, c.At.Offset)
	if err != nil {
		return nil, err
	}
	return NewLogSource(f, c.At, c.At.Offset > 0), nil
}

// OpenLog opens a file from an offset on, unpacked if its name says that it is packed.
func OpenLog(name string, offset int64) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	var in io.Reader = f
	switch {
	case strings.HasSuffix(name, ".gz"):
		in, err = gzip.NewReader(f)
	case strings.HasSuffix(name, ".zst"):
		in, err = zstd.NewReader(f)
	case offset > 0:
		var st os.FileInfo
		if st, err = f.Stat(); err == nil && st.Size() < offset {
			err = fmt.Errorf("has %d bytes, the checkpoint is at %d: it was truncated or replaced (remove the checkpoint to begin anew)", st.Size(), offset)
		}
		if err == nil {
			_, err = f.Seek(offset, io.SeekStart)
		}
		offset = 0
	}
	if err == nil && offset > 0 {
		_, err = io.CopyN(io.Discard, in, offset)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{in, f}, nil
}
