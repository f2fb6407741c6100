package replay

import (
	"io"
	"sync"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// LogSource reads entries off a stream in the format of slow logs.
type LogSource struct {
	in      io.ReadCloser
	r       *slowlog.Reader
	offset  int64
	dropEnd bool // an entry without an end, at the end, is not counted: the rest of it may come with the next run
	once    sync.Once
}

// NewLogSource reads in, whose first byte is at offset of the log. live: the log may grow, so what has no end yet is left.
func NewLogSource(in io.ReadCloser, offset int64, live bool) *LogSource {
	return &LogSource{in: in, r: slowlog.NewReader(in, slowlog.Options{Offset: offset}), offset: offset, dropEnd: live}
}

// Next fills e.
func (s *LogSource) Next(e *slowlog.Entry) error {
	if err := s.r.Next(e); err != nil {
		return err
	}
	if e.Kind == slowlog.Partial && s.dropEnd {
		return io.EOF
	}
	s.offset = e.End
	return nil
}

// Mark is behind the last entry.
func (s *LogSource) Mark() Mark { return Mark{Offset: s.offset} }

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
