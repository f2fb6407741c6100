package slowlogd

import (
	"compress/gzip"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// daemon is a follower and its clients.
type daemon struct {
	config   Config
	token    string
	follower *follower
	log      *slog.Logger
	started  time.Time

	mu      sync.Mutex
	clients map[*client]struct{}
	served  int64 // clients that have gone
	gone    totals
}

// totals are of clients.
type totals struct {
	SentBytes      int64 `json:"sent_bytes"`
	SkippedEntries int64 `json:"skipped_entries"`
	SkippedBytes   int64 `json:"skipped_bytes"`
}

// client is one stream that is being sent.
type client struct {
	remote string
	query  string
	since  time.Time
	cursor *cursor
	stream *stream
}

func newDaemon(c Config, token string) (*daemon, error) {
	f, err := newFollower(c.Log, c.Look, c.Grace, c.Logger)
	if err != nil {
		return nil, err
	}
	return &daemon{config: c, token: token, follower: f, log: c.Logger, started: time.Now(), clients: map[*client]struct{}{}}, nil
}

func (d *daemon) list() []*client {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*client
	for c := range d.clients {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *client) int { return a.since.Compare(b.since) })
	return all
}

func (d *daemon) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /slow", d.guarded(d.slow))
	mux.HandleFunc("GET /status", d.guarded(d.status))
	mux.HandleFunc("GET /healthz", d.healthz) // says nothing that is worth guarding
	metrics := promhttp.HandlerFor(d.registry(), promhttp.HandlerOpts{})
	mux.HandleFunc("GET /metrics", d.guarded(metrics.ServeHTTP))
	return mux
}

// guarded lets in who has the token.
func (d *daemon) guarded(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if d.token != "" {
			given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !ok || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(given)), []byte(d.token)) != 1 {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "send the daemon's token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
				return
			}
		}
		h(w, r)
	}
}

// slow streams the log.
func (d *daemon) slow(w http.ResponseWriter, r *http.Request) {
	req, err := parseRequest(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	seg, at, joined, err := d.follower.join(req.since, time.Now())
	var noPlace errSince
	switch {
	case errors.As(err, &noPlace):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case errors.Is(err, errNoLog):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error()+": "+d.config.Log, http.StatusServiceUnavailable)
		return
	case err != nil:
		d.log.Error("a client cannot be served", "since", req.since, "error", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c := &client{remote: r.RemoteAddr, query: r.URL.RawQuery, since: time.Now(), cursor: newCursor(d.follower, seg, at, d.config.MaxBehind)}
	defer c.cursor.close()
	out := deadlineWriter{w, http.NewResponseController(w), d.config.Stall}
	compressed, name, err := compress(out, r.Header.Get("Accept-Encoding"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c.stream = &stream{req: req, cur: c.cursor, w: compressed, joined: joined, heartbeat: d.config.Heartbeat}
	if !d.enter(c) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("there are %d clients already; see --max-clients", d.config.MaxClients), http.StatusServiceUnavailable)
		return
	}
	defer d.leave(c)

	w.Header().Set("Content-Type", "text/plain")
	if req.format == formatJSON {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set(cursorHeader, c.cursor.token())
	if name != "" {
		w.Header().Set("Content-Encoding", name)
	}
	c.stream.flush = func() error {
		if err := compressed.Flush(); err != nil {
			return err
		}
		return out.Flush()
	}
	w.WriteHeader(http.StatusOK)
	if err := out.Flush(); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	d.log.Info("client", "remote", c.remote, "query", c.query)
	err = c.stream.run(ctx)
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		compressed.Close()
		err = nil
	}
	d.log.Info("client gone", "remote", c.remote, "sent", c.stream.sent.Load(), "error", err)
	if err != nil {
		panic(http.ErrAbortHandler) // so that the client does not take it for an end
	}
}

func (d *daemon) enter(c *client) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.clients) >= d.config.MaxClients {
		return false
	}
	d.clients[c] = struct{}{}
	return true
}

func (d *daemon) leave(c *client) {
	t := c.totals()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.clients, c)
	d.served++
	d.gone.add(t)
}

func (t *totals) add(o totals) {
	t.SentBytes += o.SentBytes
	t.SkippedEntries += o.SkippedEntries
	t.SkippedBytes += o.SkippedBytes
}

func (c *client) totals() totals {
	c.cursor.mu.Lock()
	defer c.cursor.mu.Unlock()
	return totals{c.stream.sent.Load(), c.cursor.skippedEntries, c.cursor.skippedBytes}
}

// flusher is a writer that compresses, or does not.
type flusher interface {
	io.WriteCloser
	Flush() error
}

type uncompressed struct{ io.Writer }

func (uncompressed) Flush() error { return nil }
func (uncompressed) Close() error { return nil }

// compress chooses what the client understands best. Windows are small, for there may be many clients.
func compress(w io.Writer, accept string) (f flusher, name string, err error) {
	switch {
	case accepts(accept, "zstd"):
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10))
		return z, "zstd", err
	case accepts(accept, "gzip"):
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		return z, "gzip", err
	}
	return uncompressed{w}, "", nil
}

// accepts reads an Accept-Encoding header as far as we need it.
func accepts(header, name string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, quality, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), name) {
			q := strings.ReplaceAll(quality, " ", "")
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
		}
	}
	return false
}

// status is the answer of /status.
type status struct {
	Log         string         `json:"log"`
	Waiting     string         `json:"waiting,omitempty"` // why nothing is read
	At          string         `json:"at,omitempty"`      // the token of now
	Entries     int64          `json:"entries"`           // seen since the start
	Bytes       int64          `json:"bytes"`
	Rotations   int64          `json:"rotations"`
	Truncations int64          `json:"truncations"`
	UptimeS     float64        `json:"uptime_s"`
	Served      int64          `json:"clients_gone"`
	Gone        totals         `json:"gone"` // of clients that have gone
	Clients     []clientStatus `json:"clients"`
}

type clientStatus struct {
	Remote      string  `json:"remote"`
	Query       string  `json:"query,omitempty"`
	ConnectedS  float64 `json:"connected_s"`
	At          string  `json:"at"`
	BehindBytes int64   `json:"behind_bytes"`
	Uncounted   bool    `json:"uncounted,omitempty"` // it skipped entries that could not be counted
	totals
}

func (d *daemon) statusNow() status {
	f := d.follower
	f.mu.Lock()
	s := status{Log: d.config.Log, Waiting: f.waiting, Entries: f.entries, Bytes: f.bytes, Rotations: f.rotations, Truncations: f.truncations,
		UptimeS: time.Since(d.started).Seconds(), Clients: []clientStatus{}}
	cur := f.cur
	f.mu.Unlock()
	if cur != nil {
		s.At = cur.token(cur.limit())
	}
	for _, c := range d.list() {
		cs := clientStatus{Remote: c.remote, Query: c.query, ConnectedS: time.Since(c.since).Seconds(), At: c.cursor.token(),
			BehindBytes: c.cursor.behind(), totals: c.totals()}
		c.cursor.mu.Lock()
		cs.Uncounted = c.cursor.uncounted
		c.cursor.mu.Unlock()
		s.Clients = append(s.Clients, cs)
	}
	d.mu.Lock()
	s.Served, s.Gone = d.served, d.gone
	d.mu.Unlock()
	return s
}

func (d *daemon) status(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.Encode(d.statusNow())
}

// unwell is how long nothing may be looked at until the daemon calls itself ill, beyond the time between two looks.
const unwell = 5 * time.Second

func (d *daemon) healthz(w http.ResponseWriter, r *http.Request) {
	f := d.follower
	f.mu.Lock()
	waiting, looked := f.waiting, f.looked
	f.mu.Unlock()
	switch {
	case waiting != "":
		http.Error(w, "waiting: "+waiting, http.StatusServiceUnavailable)
	case time.Since(looked) > unwell+2*d.config.Look:
		http.Error(w, fmt.Sprintf("the log was not looked at for %v", time.Since(looked).Round(time.Second)), http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ok")
	}
}

// registry has the figures for /metrics.
func (d *daemon) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{d})
	return r
}
