package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// httpSource reads a daemon's stream for ever: it connects again when the stream ends, where it ended.
type httpSource struct {
	ctx    context.Context
	cancel context.CancelFunc
	url    *url.URL
	auth   string
	log    func(string, ...any)
	client *http.Client

	mu     sync.Mutex
	body   io.Closer
	stream *logStream
	place  Place // behind the last entry that was given
	skip   int64 // entries of the stream that were given before it broke
	pause  time.Duration
	broken bool // it was said that there is no stream
}

// Patience with a daemon.
const (
	connectPatience = 10 * time.Second
	firstReconnect  = 100 * time.Millisecond
	mostReconnect   = 5 * time.Second
)

// cursorHeader of an answer holds the token of where its stream begins.
const cursorHeader = "Slowlog-Cursor"

// errAnswer is an answer that another try will not change.
var errAnswer = errors.New("the daemon refuses")

// errNotYet is the answer of a daemon that has just been started, whose log is not there yet, or that has too many clients now.
var errNotYet = errors.New("the daemon is not ready")

func newHTTPSource(ctx context.Context, c SourceConfig) (Source, error) {
	u, err := url.Parse(c.From)
	if err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = connectPatience
	transport.DisableCompression = true
	s := &httpSource{url: u, auth: c.Token, log: c.Log, client: &http.Client{Transport: transport}, place: c.At, skip: c.At.Skip}
	s.ctx, s.cancel = context.WithCancel(ctx)
	switch err := s.connect(); {
	case errors.Is(err, errNotYet):
		s.log("%v; trying again", err)
		s.broken = true
	case err != nil: // the first time a wrong address is an error, later it is an outage
		s.cancel()
		return nil, err
	}
	return s, nil
}

// connect asks for the stream from the place on.
func (s *httpSource) connect() error {
	u := *s.url
	if s.place.Token != "" {
		q := u.Query()
		q.Set("since", s.place.Token)
		u.RawQuery = q.Encode()
	}
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "zstd")
	if s.auth != "" {
		req.Header.Set("Authorization", "Bearer "+s.auth)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		resp.Body.Close()
		err := fmt.Errorf("%s: %s: %s", s.url.Redacted(), resp.Status, bytes.TrimSpace(said))
		if resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			return fmt.Errorf("%w: %w", errNotYet, err)
		}
		return err
	}
	var in io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "zstd" {
		z, err := zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			resp.Body.Close()
			return err
		}
		in = z
	}
	at := s.place
	if at.Token != "" {
		s.skip = at.Skip
		at.Skip = 0
	} else {
		s.skip = 0 // without a token nobody knows what was missed
		at = Place{Token: resp.Header.Get(cursorHeader)}
	}
	s.mu.Lock()
	s.body, s.stream = resp.Body, newLogStream(in, at)
	s.mu.Unlock()
	return nil
}

// Next fills e.
func (s *httpSource) Next(e *slowlog.Entry) error {
	for {
		if s.stream == nil {
			if err := s.again(); err != nil {
				return err
			}
			continue
		}
		err := s.stream.next(e)
		switch {
		case s.ctx.Err() != nil:
			return io.EOF
		case err != nil || e.Kind == slowlog.Partial: // the stream broke; what has no end comes again
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			s.hangUp()
			if !s.broken {
				s.log("the stream broke: %v; connecting again", err)
			}
			s.broken = true
			continue
		}
		s.broken, s.pause = false, 0
		if s.skip > 0 && s.stream.place.Skip <= s.skip && s.stream.place.Token == s.place.Token {
			continue // given before
		}
		s.skip = 0
		s.place = s.stream.place
		return nil
	}
}

// again waits a little and connects.
func (s *httpSource) again() error {
	s.pause = min(max(2*s.pause, firstReconnect), mostReconnect)
	if !sleep(s.ctx, s.pause/2+rand.N(s.pause/2)) {
		return io.EOF
	}
	err := s.connect()
	switch {
	case err == nil || s.ctx.Err() != nil:
		return nil
	case errors.Is(err, errAnswer) && s.place.Token != "":
		s.log("%v: the place is lost, going on with what comes now", err)
		s.place = Place{}
		return nil
	case errors.Is(err, errAnswer):
		return err
	}
	return nil
}

func (s *httpSource) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body != nil {
		s.body.Close()
	}
	s.body, s.stream = nil, nil
}

// Place is behind the last entry.
func (s *httpSource) Place() Place { return s.place }

// Close ends the stream.
func (s *httpSource) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body != nil {
		return s.body.Close()
	}
	return nil
}
