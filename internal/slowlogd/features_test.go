package slowlogd_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hearthdb/hearth/internal/slowlog"
	"github.com/hearthdb/hearth/internal/slowlogd"
)

// texts are the statements in a log.
func texts(t *testing.T, log string) (all []string) {
	t.Helper()
	r := slowlog.NewReader(strings.NewReader(log), slowlog.Options{})
	var e slowlog.Entry
	for {
		switch err := r.Next(&e); err {
		case nil:
			all = append(all, fmt.Sprintf("%s|%s|%s", e.Schema, r.Time(), e.Text))
		case io.EOF:
			return all
		default:
			t.Fatal(err)
		}
	}
}

// TestSampling: what is sampled keeps its schema and its time, which the old daemon lost.
func TestSampling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	s.write(200)
	d := start(t, slowlogd.Config{Log: path})
	all := texts(t, d.all("?since=start"))
	if len(all) != 200 {
		t.Fatalf("got %d entries, want 200", len(all))
	}
	index := map[string]int{}
	for i, text := range all {
		index[text] = i
	}
	check := func(query string, want int, ok func(i int) bool) {
		t.Helper()
		got := texts(t, d.all("?since=start&"+query))
		for _, g := range got {
			if i, found := index[g]; !found || !ok(i) {
				t.Errorf("%s: %q is not as in the log", query, g)
			}
		}
		if want >= 0 && len(got) != want {
			t.Errorf("%s: got %d entries, want %d", query, len(got), want)
		}
	}
	check("rate_limit=7", 29, func(i int) bool { return i%7 == 0 })
	check("schema=db1", 70, func(i int) bool { return i/10%3 == 1 })
	check("schema=db1,db2&user=web", 130, func(i int) bool { return i/10%3 != 0 })
	check("user=nobody", 0, nil)
	check("text=select%2019", 11, func(i int) bool { return i == 19 || i/10 == 19 })
	sessions := map[int]bool{}
	check("rate_limit=3&sample=session", -1, func(i int) bool { sessions[i%5] = true; return true })
	if got := len(texts(t, d.all("?since=start&rate_limit=3&sample=session"))); got != len(sessions)*40 {
		t.Errorf("got %d entries of %d whole sessions, want %d", got, len(sessions), len(sessions)*40)
	}
	if got := len(texts(t, d.all("?since=start&rate_limit=2&sample=statement"))); got != 0 && got != 200 {
		t.Errorf("statements that differ in literals only are one: got %d of 200", got)
	}
}

// TestFormats: framed entries have the length that is told, and go on at the token that is told; JSON lines are entries.
func TestFormats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	s.write(20)
	s.put(s.entry("SELECT '\xff'"))
	d := start(t, slowlogd.Config{Log: path})

	r := bufio.NewReader(strings.NewReader(d.all("?since=start&format=framed")))
	for i := range 21 {
		var size int
		var token string
		line, err := r.ReadString('\n')
		if _, err2 := fmt.Sscanf(line, "# slowlogd: entry %d bytes, then at %s", &size, &token); err != nil || err2 != nil {
			t.Fatalf("frame %d: %q, %v", i, line, err)
		}
		entry := make([]byte, size)
		if _, err := io.ReadFull(r, entry); err != nil || len(texts(t, string(entry))) != 1 {
			t.Fatalf("frame %d: %q, %v", i, entry, err)
		}
		if rest := texts(t, d.all("?since="+token)); len(rest) != 20-i {
			t.Errorf("behind frame %d, at %s: got %d entries, want %d", i, token, len(rest), 20-i)
		}
	}
	lines := strings.Split(strings.TrimSpace(d.all("?since=start&format=json")), "\n")
	var last struct {
		Kind   string
		Schema string
		Text   string
		Base64 []byte `json:"text_b64"`
		User   string
	}
	for i, line := range lines[:21] {
		last.Base64 = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
		if last.Kind != "query" || last.User != "web" || last.Schema != dbOf(i) || i < 20 && last.Text != fmt.Sprint("SELECT ", i) {
			t.Errorf("entry %d: %s", i, line)
		}
	}
	if string(last.Base64) != "SELECT '\xff'" {
		t.Errorf("a text that is no UTF-8: %q", last.Base64)
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string][2]string{
		"CREATE USER 'bob'@'%' IDENTIFIED BY 'pw'":                        {"CREATE USER 'bob'@'%' IDENTIFIED BY <secret>", "CREATE USER '?'@'?' IDENTIFIED BY <secret>"},
		"alter user x identified with sha2 by \"it''s\\\" me\"":           {"alter user x identified with sha2 by <secret>", "alter user x identified with sha2 by <secret>"},
		"SET PASSWORD FOR x = PASSWORD('pw')":                             {"SET PASSWORD FOR x = PASSWORD(<secret>)", "SET PASSWORD FOR x = PASSWORD(<secret>)"},
		"CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD = 'pw'":        {"CHANGE MASTER TO MASTER_USER='r', MASTER_PASSWORD = <secret>", "CHANGE MASTER TO MASTER_USER='?', MASTER_PASSWORD = <secret>"},
		"CREATE USER x IDENTIFIED VIA ed25519 USING PASSWORD('a')":        {"CREATE USER x IDENTIFIED VIA ed25519 USING PASSWORD(<secret>)", "CREATE USER x IDENTIFIED VIA ed25519 USING PASSWORD(<secret>)"},
		"SELECT 'password', 12, t1.x FROM t1 -- secret\n WHERE a = 0x1F2": {"SELECT 'password', 12, t1.x FROM t1 -- secret\n WHERE a = 0x1F2", "SELECT '?', 0, t1.x FROM t1   WHERE a = 0"},
	} {
		path := filepath.Join(t.TempDir(), "slow.log")
		s := newServer(t, path)
		s.put(s.entry(text))
		s.write(1)
		d := start(t, slowlogd.Config{Log: path})
		for i, query := range []string{"?since=start&redact=1", "?since=start&redact=literals"} {
			got := texts(t, d.all(query))
			if len(got) == 0 || !strings.HasSuffix(got[0], "|"+want[i]) {
				t.Errorf("%s of %q: got %q, want %q", query, text, got, want[i])
			}
		}
		d.stop()
	}
	// hearth's own length field is that of what is sent.
	path := filepath.Join(t.TempDir(), "slow.log")
	e := slowlog.Entry{Text: []byte("CREATE USER x IDENTIFIED BY 'a rather long one;\n'"), Schema: []byte("s")}
	if err := os.WriteFile(path, slowlog.AppendEntry(nil, &e, false), 0o644); err != nil {
		t.Fatal(err)
	}
	d := start(t, slowlogd.Config{Log: path})
	if got := d.all("?since=start&redact=1"); !strings.Contains(got, "# Query_bytes: 36\n") || !strings.Contains(got, "BY <secret>;\n") {
		t.Errorf("got %q", got)
	}
}

// TestEncodings: gzip and zstd, and rotated files that are compressed.
func TestEncodings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	for i := range 4 {
		s.write(50)
		if i == 3 {
			break
		}
		s.rename(5)
		s.open()
		b, err := os.ReadFile(path + ".1")
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&packed)
		name := ".gz"
		if i == 1 {
			w, _ = zstd.NewWriter(&packed)
			name = ".zst"
		}
		w.Write(b)
		w.Close()
		for n := 3; n > 0; n-- {
			for _, ending := range []string{".gz", ".zst"} {
				os.Rename(fmt.Sprintf("%s.%d%s", path, n, ending), fmt.Sprintf("%s.%d%s", path, n+1, ending))
			}
		}
		if err := os.WriteFile(path+".1"+name, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		os.Remove(path + ".1")
	}
	d := start(t, slowlogd.Config{Log: path})
	if got := texts(t, d.all("?since=start")); len(got) != 200 || !strings.HasSuffix(got[199], "SELECT 199") || !strings.HasSuffix(got[0], "SELECT 0") {
		t.Errorf("got %d entries from the start, want 200", len(got))
	}
	for _, name := range []string{"gzip", "zstd"} {
		req, _ := http.NewRequest("GET", d.url+"/slow?since=start&follow=0", nil)
		req.Header.Set("Accept-Encoding", name)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Encoding"); got != name {
			t.Errorf("encoding %q, want %q", got, name)
		}
		var r io.Reader
		if name == "gzip" {
			r, err = gzip.NewReader(resp.Body)
		} else {
			r, err = zstd.NewReader(resp.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		resp.Body.Close()
		if err != nil || len(texts(t, string(b))) != 200 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	// Two minutes back from a log of 2024 is nothing; a long time back is all of it.
	if got := texts(t, d.all("?since=-2m")); len(got) != 0 {
		t.Errorf("since=-2m: got %d entries, want none", len(got))
	}
	if got := texts(t, d.all("?since=-200000h")); len(got) != 200 {
		t.Errorf("since=-200000h: got %d entries, want 200", len(got))
	}
}

// TestStalledClient: a client that reads nothing is made to skip, holds no file, and is told what it missed, to the entry.
func TestStalledClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	s.write(1)
	d := start(t, slowlogd.Config{Log: path, MaxBehind: 1 << 20})
	until(t, "the log is read", func() bool { return d.status().Waiting == "" && d.status().At != "" })
	resp := d.get(context.Background(), "")
	long := strings.Repeat("x", 4000)
	for s.size < 40<<20 {
		s.put(s.entry("SELECT '" + long + "'"))
	}
	until(t, "the client skips", func() bool {
		c := d.status().Clients
		return len(c) == 1 && c[0].SkippedEntries > 0 && c[0].BehindBytes < 1<<20
	})
	last := s.n
	s.write(1)
	received, skipped := int64(0), int64(0)
	r := slowlog.NewReader(resp.Body, slowlog.Options{Comment: func(line []byte, _ int64) {
		var n, size int64
		if k, _ := fmt.Sscanf(string(line), "skipped %d entries %d bytes", &n, &size); k == 2 {
			skipped += n
		}
	}})
	var e slowlog.Entry
	for string(e.Text) != fmt.Sprint("SELECT ", last) {
		if err := r.Next(&e); err != nil {
			t.Fatal(err)
		}
		received++
	}
	if total := int64(s.n - 1); received+skipped != total || skipped == 0 {
		t.Errorf("%d received and %d skipped of %d", received, skipped, total)
	}
	if c := d.status().Clients; len(c) != 1 || c[0].SkippedEntries != skipped {
		t.Errorf("the status says %+v, want %d skipped", c, skipped)
	}
}

// TestFarBehind: a client that asks for more than it may be behind gets all of it, though it takes its time.
func TestFarBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	for text := "SELECT '" + strings.Repeat("x", 16_000) + "'"; s.size < 32<<20; {
		s.put(s.entry(text))
	}
	d := start(t, slowlogd.Config{Log: path, MaxBehind: 64 << 10})
	resp := d.get(context.Background(), "?since=start&follow=0")
	looks := 0
	until(t, "the client is looked at while it is behind", func() bool {
		if c := d.status().Clients; len(c) == 1 && c[0].BehindBytes > 1<<20 {
			looks++
		}
		return looks == 20
	})
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(b, []byte("SELECT ")); got != s.n || bytes.Contains(b, []byte("# slowlogd: skipped")) {
		t.Errorf("got %d entries of %d", got, s.n)
	}
}

// TestTruncated: a client that had not read what is truncated without a copy is told what it cost, to the byte.
func TestTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	resp := d.get(context.Background(), "")
	before := s.size
	long := strings.Repeat("x", 4000)
	for s.size < 40<<20 {
		s.put(s.entry("SELECT '" + long + "'"))
	}
	until(t, "the daemon has seen all", func() bool { return d.status().Bytes == s.size-before })
	written, entries := s.size-before, s.n
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	until(t, "the truncation is noticed", func() bool { return d.status().Truncations == 1 })
	s.write(1)
	var received, receivedBytes, skipped, skippedBytes int64
	told := false
	r := slowlog.NewReader(resp.Body, slowlog.Options{Comment: func(line []byte, _ int64) {
		var n, size int64
		if k, _ := fmt.Sscanf(string(line), "skipped %d entries %d bytes", &n, &size); k == 2 {
			skipped, skippedBytes = skipped+n, skippedBytes+size
		}
		told = told || strings.HasPrefix(string(line), "truncated at ")
	}})
	var e slowlog.Entry
	for {
		if err := r.Next(&e); err != nil {
			t.Fatal(err)
		}
		if string(e.Text) == fmt.Sprint("SELECT ", entries) {
			break
		}
		received, receivedBytes = received+1, receivedBytes+e.End-e.Offset
	}
	if received+skipped != int64(entries) || receivedBytes+skippedBytes != written || skipped == 0 || !told {
		t.Errorf("%d entries, %d bytes received and %d, %d skipped of %d, %d; truncation told: %t",
			received, receivedBytes, skipped, skippedBytes, entries, written, told)
	}
}

// TestManyClients: a hundred of them take no more than 64 MiB.
func TestManyClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const clients, entries = 100, 500
	got := make(chan error, clients)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range clients {
		resp := d.get(ctx, "")
		go func() {
			r := slowlog.NewReader(resp.Body, slowlog.Options{Buffer: 4096})
			var e slowlog.Entry
			for i := range entries {
				if err := r.Next(&e); err != nil || string(e.Text) != fmt.Sprint("SELECT ", i) {
					got <- fmt.Errorf("entry %d: %q, %v", i, e.Text, err)
					return
				}
			}
			got <- nil
		}()
	}
	s.write(entries)
	for range clients {
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("a client waits for its entries")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse); used > 64<<20 {
		t.Errorf("%d clients take %d bytes with the test's side of them, want 64 MiB at most", clients, used)
	}
	if n := len(d.status().Clients); n != clients {
		t.Errorf("the status has %d clients, want %d", n, clients)
	}
}

// certificate makes one for the loopback address.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	os.WriteFile(certFile, cert, 0o600)
	os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600)
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return certFile, keyFile, pool
}

func TestTLSAndToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	s := newServer(t, path)
	s.write(3)
	cert, key, pool := certificate(t)
	d := start(t, slowlogd.Config{Log: path, TLSCert: cert, TLSKey: key, Token: "s3cret"})
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer c.CloseIdleConnections()
	for _, try := range []struct {
		path, token string
		want        int
	}{
		{"/slow?since=start&follow=0", "s3cret", 200}, {"/slow", "", 401}, {"/slow", "wrong", 401}, {"/status", "", 401}, {"/metrics", "", 401},
		{"/metrics", "s3cret", 200}, {"/status", "s3cret", 200}, {"/healthz", "", 200}, {"/other", "s3cret", 404},
	} {
		var status int
		until(t, "the log is read", func() bool {
			req, _ := http.NewRequest("GET", strings.Replace(d.url, "http", "https", 1)+try.path, nil)
			if try.token != "" {
				req.Header.Set("Authorization", "Bearer "+try.token)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			status = resp.StatusCode
			if status == 200 && try.path == "/metrics" && !strings.Contains(string(b), "slowlogd_up 1\n") {
				t.Errorf("metrics: %s", b)
			}
			return status != 503
		})
		if status != try.want {
			t.Errorf("%s with token %q: got %d, want %d", try.path, try.token, status, try.want)
		}
	}
}

// TestBadRequests: each is refused with what to write instead.
func TestBadRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	newServer(t, path)
	d := start(t, slowlogd.Config{Log: path})
	until(t, "the log is read", func() bool { return d.status().At != "" })
	for query, want := range map[string]string{
		"?rate_limit=0": "rate_limit", "?rate_limit=x": "rate_limit", "?since=yesterday": "no token", "?since=-x": "-10m", "?format=xml": "json",
		"?sample=x": "session", "?redact=x": "literals", "?limit=3": "no parameter", "?follow=x": "follow", "?since=9-0-1:5": "gone", "?since=1-2:3": "no token",
	} {
		resp, err := http.Get(d.url + "/slow" + query)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode/100 != 4 || !strings.Contains(string(b), want) {
			t.Errorf("%s: got %s %q, want 4xx with %q", query, resp.Status, b, want)
		}
	}
	resp, err := http.Post(d.url+"/slow", "text/plain", nil)
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v", resp.Status, err)
	}
}

// TestBadConfig: what cannot work is refused at the start, and says what to do.
func TestBadConfig(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "slow.log")
	newServer(t, log)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		config slowlogd.Config
		want   string
	}{
		{slowlogd.Config{Log: dir}, "is a folder"},
		{slowlogd.Config{Log: fifo}, "no ordinary file"},
		{slowlogd.Config{Log: filepath.Join(dir, "none", "slow.log")}, "there is no folder"},
		{slowlogd.Config{Log: log, Listen: taken.Addr().String()}, "the port is in use"},
		{slowlogd.Config{Log: log, Listen: "0.0.0.0:0"}, "--token-file"},
		{slowlogd.Config{Log: log, Listen: "3307"}, "host:port"},
		{slowlogd.Config{Log: log, TLSCert: "x"}, "--tls-key"},
		{slowlogd.Config{Log: log, TokenFile: filepath.Join(dir, "none")}, "--token-file"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := slowlogd.Run(ctx, c.config)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want an error with %q", c.config, err, c.want)
		}
	}
}

// TestFileComesAndGoes: a log that is not there is waited for, before the start and after, and health says so.
func TestFileComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow log")
	d := start(t, slowlogd.Config{Log: path, Heartbeat: 10 * time.Millisecond})
	health := func() int {
		resp, err := http.Get(d.url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	until(t, "the daemon waits", func() bool { return d.status().Waiting != "" && health() == 503 })
	s := newServer(t, path)
	until(t, "the log is read", func() bool { return health() == 200 })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp := d.get(ctx, "?since=start")
	c := reader{}
	s.write(5)
	os.Remove(path)
	until(t, "the daemon waits again", func() bool { return health() == 503 })
	s.write(5) // into the removed file, which is still open
	s.open()
	s.write(5)
	c.read(t, resp.Body, 15, cancel)
	if c.next != 15 {
		t.Errorf("got %d entries, want 15", c.next)
	}
	until(t, "the log is read again", func() bool { return health() == 200 })
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	lines := bufio.NewScanner(d.get(ctx, "").Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "# slowlogd: heartbeat ") {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("no heartbeat: %v", err)
	}
}
