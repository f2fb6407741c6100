package slowlogd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
	"github.com/hearthdb/hearth/internal/slowlogd"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// daemon is one under test.
type daemon struct {
	t      testing.TB
	url    string
	stop   func()
	config slowlogd.Config
}

// start runs a daemon until stop, or the end of the test.
func start(t testing.TB, c slowlogd.Config) *daemon {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Look == 0 {
		c.Look = 5 * time.Millisecond
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Millisecond
	}
	if testing.Verbose() {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	c.Ready = func(a net.Addr) { ready <- a }
	go func() {
		err := slowlogd.Run(ctx, c)
		if ctx.Err() == nil {
			t.Errorf("the daemon ended by itself: %v", err)
		}
		ended <- err
	}()
	d := &daemon{t: t, config: c}
	select {
	case a := <-ready:
		d.url = "http://" + a.String()
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	var once sync.Once
	d.stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the daemon ended with %v", err)
				}
			case <-time.After(patience):
				t.Error("the daemon does not end")
			}
		})
	}
	t.Cleanup(d.stop)
	return d
}

// plainClient does not ask for compression.
var plainClient = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// get asks for a stream.
func (d *daemon) get(ctx context.Context, query string) *http.Response {
	d.t.Helper()
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, "GET", d.url+"/slow"+query, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		resp, err := plainClient.Do(req)
		if err != nil {
			d.t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK {
			d.t.Cleanup(func() { resp.Body.Close() })
			return resp
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		last = resp.Status + " " + string(b)
		if resp.StatusCode != http.StatusServiceUnavailable { // the log is not there yet
			break
		}
	}
	d.t.Fatalf("GET /slow%s: %s", query, last)
	return nil
}

// all reads a stream that ends.
func (d *daemon) all(query string) string {
	d.t.Helper()
	sep := "?"
	if strings.Contains(query, "?") {
		sep = "&"
	}
	b, err := io.ReadAll(d.get(context.Background(), query+sep+"follow=0").Body)
	if err != nil {
		d.t.Fatalf("GET /slow%s: %v", query, err)
	}
	return string(b)
}

// status asks the daemon for figures.
type status struct {
	Waiting                                string
	At                                     string
	Entries, Bytes, Rotations, Truncations int64
	Clients                                []struct {
		BehindBytes    int64 `json:"behind_bytes"`
		SkippedEntries int64 `json:"skipped_entries"`
		SkippedBytes   int64 `json:"skipped_bytes"`
		SentBytes      int64 `json:"sent_bytes"`
	}
}

func (d *daemon) status() (s status) {
	d.t.Helper()
	resp, err := http.Get(d.url + "/status")
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		d.t.Fatal(err)
	}
	return s
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited for %v: %s", patience, what)
}

// server writes a log as a server does: numbered statements, "use" and "# Time:" where they change.
type server struct {
	t    testing.TB
	path string
	file *os.File
	n    int // of the next statement
	db   string
	time string
	size int64 // bytes written
}

// newServer opens a log, which is made.
func newServer(t testing.TB, path string) *server {
	s := &server{t: t, path: path}
	s.open()
	t.Cleanup(func() { s.file.Close() })
	return s
}

// open opens the log anew, as FLUSH SLOW LOGS does.
func (s *server) open() {
	s.t.Helper()
	if s.file != nil {
		s.file.Close()
	}
	var err error
	if s.file, err = os.OpenFile(s.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.put(string(slowlog.AppendBanner(nil, "/usr/sbin/mariadbd", "10.11.8-MariaDB-log", 3306, "/run/mysqld.sock")))
	s.db = ""
}

func (s *server) put(text string) {
	s.t.Helper()
	n, err := s.file.WriteString(text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.size += int64(n)
}

// entry is the next entry, of schema db<n/10%3>, with the text given, or "SELECT <n>".
func (s *server) entry(text string) string {
	var b strings.Builder
	if now := fmt.Sprintf("240703  9:46:%02d", s.n/7%60); now != s.time {
		s.time = now
		fmt.Fprintf(&b, "# Time: %s\n", now)
	}
	fmt.Fprintf(&b, "# User@Host: web[web] @ app1 [10.3.0.1]  Id: %d\n# Query_time: 0.000100  Lock_time: 0.000020  Rows_sent: 0  Rows_examined: 0\n", s.n%5)
	if db := dbOf(s.n); db != s.db {
		s.db = db
		fmt.Fprintf(&b, "use `%s`;\n", db)
	}
	if text == "" {
		text = "SELECT " + strconv.Itoa(s.n)
	}
	fmt.Fprintf(&b, "SET timestamp=%d;\n%s;\n", 1720000000+s.n/7, text)
	s.n++
	return b.String()
}

func dbOf(n int) string { return "db" + strconv.Itoa(n/10%3) }

// write writes entries.
func (s *server) write(entries int) {
	s.t.Helper()
	for range entries {
		s.put(s.entry(""))
	}
}

// rename rotates as logrotate does: log.2 to log.3, log.1 to log.2, log to log.1.
func (s *server) rename(keep int) {
	s.t.Helper()
	for i := keep; i > 0; i-- {
		os.Rename(fmt.Sprintf("%s.%d", s.path, i), fmt.Sprintf("%s.%d", s.path, i+1))
	}
	os.Remove(fmt.Sprintf("%s.%d", s.path, keep+1))
	if err := os.Rename(s.path, s.path+".1"); err != nil {
		s.t.Fatal(err)
	}
}

// reader is a client that checks that it gets each statement once, in order, in its schema.
type reader struct {
	next  int    // of the statement after the last one that is safe
	token string // where it goes on
	notes []string
	seen  func(next int)
}

// read reads a stream until n statements are safe, and then stops it, or until it ends. Statements are safe when a token comes
// behind them.
func (c *reader) read(t testing.TB, src io.Reader, n int, stop func()) {
	t.Helper()
	next := c.next
	r := slowlog.NewReader(src, slowlog.Options{Comment: func(line []byte, _ int64) {
		at, ok := strings.CutPrefix(string(line), "at ")
		if !ok {
			c.notes = append(c.notes, string(line))
			return
		}
		c.next, c.token = next, at
		if c.seen != nil {
			c.seen(next)
		}
		if next >= n {
			stop()
		}
	}})
	var e slowlog.Entry
	for {
		if err := r.Next(&e); err != nil {
			return
		}
		if e.Kind == slowlog.Partial {
			continue
		}
		if want := "SELECT " + strconv.Itoa(next); string(e.Text) != want {
			t.Fatalf("got %v %q, want %q (safe up to %d, token %s, notes %q)", e.Kind, e.Text, want, c.next, c.token, c.notes)
		}
		if want := dbOf(next); string(e.Schema) != want {
			t.Fatalf("statement %d: got schema %q, want %q", next, e.Schema, want)
		}
		if len(r.Time()) == 0 {
			t.Fatalf("statement %d has no time", next)
		}
		next++
	}
}

func TestStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	s.write(25)
	d := start(t, slowlogd.Config{Log: path})

	if got := d.all("?since=start"); !strings.Contains(got, "SELECT 24;\n# slowlogd: at ") || strings.Count(got, "SELECT ") != 25 {
		t.Errorf("from the start: got %q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp := d.get(ctx, "")
	if got := resp.Header.Get("Content-Type"); got != "text/plain" {
		t.Errorf("content type %q", got)
	}
	if got := resp.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("content encoding %q", got)
	}
	s.write(100)
	c := reader{next: 25}
	c.read(t, resp.Body, 125, cancel)
	if c.next != 125 {
		t.Fatalf("the stream ended behind statement %d", c.next)
	}
	// The first entry a joining client gets has the time and the schema that hold, though they stand long before it in the log.
	s.write(1)
	until(t, "the last entry is seen", func() bool { return d.status().Entries == 101 })
	got := d.all("?since=" + c.token)
	for _, want := range []string{"# Time: 240703  9:46:17\n# User@Host: ", "use db0;\nSET timestamp=1720000017;\nSELECT 125;\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("resumed at %s: got %q, want %q in it", c.token, got, want)
		}
	}
}

// TestBannerOnly asks for what is before a file that has only a banner yet, as all files before it have.
func TestBannerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	for _, n := range []int{3, 0, 2} { // a time in the first file only
		s.write(n)
		s.rename(keep)
		s.open()
	}
	d := start(t, slowlogd.Config{Log: path})
	got := d.all("?since=start")
	if n := strings.Count(got, "SELECT "); n != 5 {
		t.Fatalf("from the start: got %d statements, want 5:\n%s", n, got)
	}
	// Behind statement 3, in the last file but one, by its fingerprint.
	b, err := os.ReadFile(path + ".1")
	if err != nil {
		t.Fatal(err)
	}
	sum := fnv.New64a()
	sum.Write(b)
	last := bytes.LastIndex(b, []byte("# User@Host: "))
	got = d.all(fmt.Sprintf("?since=%d-%016x-0:%d", len(b), sum.Sum64(), last))
	for _, want := range []string{"# Time: 240703  9:46:00\n# User@Host: ", "use db0;\nSET timestamp=1720000000;\nSELECT 4;\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("behind statement 3: got %q, want %q in it", got, want)
		}
	}
	// A copy that is being made, of which the banner is there, is not read when it grows.
	s.write(1)
	until(t, "the last entry is seen", func() bool { return d.status().Entries == 1 })
	if b, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	copied := path + ".0"
	for _, size := range []int{0, bytes.IndexByte(b, '#'), len(b)} {
		if err := os.WriteFile(copied, b[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		if got := d.all("?since=start"); strings.Count(got, "SELECT ") != 6 {
			t.Errorf("with %d bytes of a copy: got %d statements, want 6:\n%s", size, strings.Count(got, "SELECT "), got)
		}
	}
}

// TestBannerFirst goes on at the end of a file while the next one has a banner only: the first entry that comes gets the time
// that still holds, and the schema.
func TestBannerFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	s.write(3)
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	s.write(1)
	until(t, "the entry is seen", func() bool { return d.status().Entries == 1 })
	token := d.status().At
	s.rename(keep)
	s.open()
	until(t, "the rotation is seen", func() bool { return d.status().Rotations == 1 && d.status().At == token })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var seen strings.Builder
	body := d.get(ctx, "?since="+token).Body
	for b := make([]byte, 1); !strings.Contains(seen.String(), "Argument\n"); { // the banner was sent
		if _, err := body.Read(b); err != nil {
			t.Fatalf("%v behind %q", err, seen.String())
		}
		seen.Write(b)
	}
	s.write(1) // in the same second
	c := reader{next: 4}
	c.read(t, body, 5, cancel)
	if c.next != 5 {
		t.Errorf("got up to statement %d, want 5", c.next)
	}
}

// TestBannerToken: the token of a file that has a banner only yet names the end of the one before it, even of a daemon that was
// started since; a token that could be of several files is refused, for each of them might be the wrong one.
func TestBannerToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	banner, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, 2, 0} {
		s.write(n)
		s.rename(keep)
		s.open()
	}
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	token := d.status().At
	for range 2 {
		s.write(1)
		s.rename(keep)
		s.open()
	}
	s.write(1)
	until(t, "the entries are seen", func() bool { return d.status().Entries == 3 })
	for i := range 5 { // copies of them all, and then none of their inodes is what it was
		b, err := os.ReadFile(fmt.Sprintf("%s.%d", path, i+1))
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%s~%d", path, i+1), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		if err := os.Rename(fmt.Sprintf("%s~%d", path, i+1), fmt.Sprintf("%s.%d", path, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.all("?since=" + token); strings.Count(got, "SELECT ") != 3 || !strings.Contains(got, "SELECT 5;") {
		t.Errorf("since=%s: got %q, want statements 5 to 7", token, got)
	}
	sum := fnv.New64a()
	sum.Write(banner)
	resp, err := http.Get(fmt.Sprintf("%s/slow?follow=0&since=%d-%016x-0:%d", d.url, len(banner), sum.Sum64(), len(banner)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusNotFound || !strings.Contains(string(b), "begin alike") {
		t.Errorf("a token of any file: got %s %q", resp.Status, b)
	}
}

// rotation is a way to rotate. It is called with nothing being written.
type rotation struct {
	name   string
	path   string // where the server writes, when that is not the log
	read   bool   // the old end must have been read before
	rotate func(s *server, i int)
}

// keep is how many rotated files there are, and ahead how many rotations in a row the log may be before the client: two files
// each at most, which is half of those kept. The other half is for a client that resumes in the oldest file it may need: the
// "# Time:" line that holds there is some files before it, and nobody could tell it were they gone.
const (
	keep  = 60
	ahead = keep / 4
)

var rotations = []rotation{
	{"rename", "", false, func(s *server, i int) {
		s.rename(keep)
		s.write(i % 3) // to the old file, until the flush
		s.open()
	}},
	{"rename twice", "", false, func(s *server, i int) {
		for range 2 {
			s.rename(keep)
			s.write(i % 2)
			s.open()
			s.write(1)
		}
	}},
	{"date", "", false, func(s *server, i int) {
		if err := os.Rename(s.path, fmt.Sprintf("%s-%08d", s.path, 20260101+i)); err != nil {
			s.t.Fatal(err)
		}
		os.Remove(fmt.Sprintf("%s-%08d", s.path, 20260101+i-keep))
		s.write(i % 3)
		s.open()
	}},
	{"numbered", ".000001", false, func(s *server, i int) {
		stem := strings.TrimSuffix(s.path, filepath.Ext(s.path))
		os.Remove(fmt.Sprintf("%s.%06d", stem, i+2-keep))
		s.path = fmt.Sprintf("%s.%06d", stem, i+2)
		s.open()
	}},
	{"symlink", ".target-1", false, func(s *server, i int) {
		link := strings.TrimSuffix(s.path, filepath.Ext(s.path))
		link = link[:strings.Index(link+".target", ".target")]
		os.Remove(fmt.Sprintf("%s.target-%d", link, i+2-keep))
		s.path = fmt.Sprintf("%s.target-%d", link, i+2)
		s.open()
		os.Symlink(s.path, link+".new")
		if err := os.Rename(link+".new", link); err != nil {
			s.t.Fatal(err)
		}
	}},
	{"copytruncate", "", true, func(s *server, i int) {
		for n := keep; n > 0; n-- {
			os.Rename(fmt.Sprintf("%s.%d", s.path, n), fmt.Sprintf("%s.%d", s.path, n+1))
		}
		b, err := os.ReadFile(s.path)
		if err == nil {
			err = os.WriteFile(s.path+".1", b, 0o644)
		}
		if err == nil {
			err = os.Truncate(s.path, 0)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}},
	{"vanished", "", false, func(s *server, i int) {
		s.rename(keep)
		s.write(2)
		s.file.Close()
		time.Sleep(time.Duration(i%3) * time.Millisecond)
		s.file = nil
		s.open()
	}},
}

// TestRotations rotates the log in each way while it is written, read, and both client and daemon come and go. Every entry
// arrives once. HEARTH_ROTATIONS sets how often each way is taken, 100 times by default.
func TestRotations(t *testing.T) {
	rotationsEach := 100
	if n, err := strconv.Atoi(os.Getenv("HEARTH_ROTATIONS")); err == nil {
		rotationsEach = n
	}
	for _, rot := range rotations {
		t.Run(rot.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "slow.log")
			s := newServer(t, path+rot.path)
			if rot.name == "symlink" {
				if err := os.Symlink(s.path, path); err != nil {
					t.Fatal(err)
				}
			}
			s.write(3)
			config := slowlogd.Config{Log: path}
			d := start(t, config)

			// The client goes away after each 70 statements, the daemon after each 250, and they go on at the token.
			progress := make(chan int, 1)
			done := make(chan struct{})
			total := make(chan int, 1)
			go func() {
				defer close(done)
				c := reader{seen: func(next int) {
					select {
					case <-progress:
					default:
					}
					progress <- next
				}}
				since, end := "start", 1<<60
				for c.next < end && !t.Failed() {
					select {
					case end = <-total:
					default:
					}
					ctx, cancel := context.WithCancel(context.Background())
					resp := d.get(ctx, "?since="+since)
					before := c.next
					c.read(t, resp.Body, min(c.next+70, end), cancel)
					cancel()
					resp.Body.Close()
					if c.token != "" {
						since = c.token
					}
					if before/250 != c.next/250 {
						d.stop()
						d = start(t, config)
					}
				}
			}()
			written, got := []int{s.n}, 0
			wait := func(n int) {
				for got < n {
					select {
					case got = <-progress:
					case <-done:
						t.Fatalf("the client ended while the log had %d statements", s.n)
					case <-time.After(patience):
						t.Fatalf("nothing comes: the client has %d of %d, and waits for %d", got, s.n, n)
					}
				}
			}
			for i := range rotationsEach {
				s.write(1 + i%3)
				if rot.read {
					wait(s.n)
				}
				rot.rotate(s, i)
				s.write(1)
				if written = append(written, s.n); len(written) > ahead {
					wait(written[len(written)-ahead])
				}
			}
			total <- s.n
			// The client notices when its stream ends.
			for {
				select {
				case <-done:
					return
				case <-progress:
				case <-time.After(500 * time.Millisecond):
					s.write(1)
				}
			}
		})
	}
}
