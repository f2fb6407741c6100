package replay

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// brokenDaemon serves n entries over and over, from the entry that the token names, and breaks each stream after some bytes:
// in the middle of an entry, of a header, of a token, compressed or not. Every third request fails altogether.
func brokenDaemon(n int, requests *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := requests.Add(1)
		if k%3 == 0 {
			http.Error(w, "not now", http.StatusBadGateway)
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "token", http.StatusUnauthorized)
			return
		}
		from, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("since"), "f:"))
		w.Header().Set(cursorHeader, "f:"+strconv.Itoa(from))
		var b []byte
		for i := from; i < n; i++ {
			b = slowlog.AppendEntry(b, &slowlog.Entry{Kind: slowlog.Query, Text: fmt.Appendf(nil, "SELECT %d", i), Schema: []byte("s"), SchemaKnown: true, ThreadID: 1, HasThreadID: true}, false)
			if (i+1)%7 == 0 {
				b = fmt.Appendf(b, "%sat f:%d\n", slowlog.CommentPrefix, i+1)
			}
		}
		if limit := 3000 + int(k)*37%1500; len(b) > limit {
			b = b[:limit]
		} else if from >= n {
			b = nil
		}
		if k%2 == 0 {
			w.Header().Set("Content-Encoding", "zstd")
			z, err := zstd.NewWriter(w)
			if err != nil {
				panic(err)
			}
			z.Write(b)
			z.Close()
		} else {
			w.Write(b)
		}
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // a reset, not an end
	})
}

// However often the stream breaks, every entry comes, and none twice.
func TestAStreamThatBreaks(t *testing.T) {
	const n = 60
	var requests atomic.Int64
	s := httptest.NewServer(brokenDaemon(n, &requests))
	defer s.Close()
	src, err := OpenSource(context.Background(), SourceConfig{From: s.URL + "/slow", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var e slowlog.Entry
	for i := range n - 1 { // the last one has no end that is certain
		if err := src.Next(&e); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("SELECT %d", i); string(e.Text) != want {
			t.Fatalf("got %q, want %q (after %d requests)", e.Text, want, requests.Load())
		}
	}
	if requests.Load() < 5 {
		t.Errorf("%d requests: nothing broke", requests.Load())
	}
}

func TestADaemonThatRefuses(t *testing.T) {
	var requests atomic.Int64
	s := httptest.NewServer(brokenDaemon(10, &requests))
	defer s.Close()
	if _, err := OpenSource(context.Background(), SourceConfig{From: s.URL + "/slow", Token: "wrong"}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v, want the daemon's answer", err)
	}
}

// A daemon whose log is not there yet is waited for, and that is said, once.
func TestADaemonThatIsNotReady(t *testing.T) {
	var requests atomic.Int64
	there := brokenDaemon(10, new(atomic.Int64))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) <= 3 {
			http.Error(w, "the log is not there yet", http.StatusServiceUnavailable)
			return
		}
		there.ServeHTTP(w, r)
	}))
	defer s.Close()
	var said []string
	src, err := OpenSource(context.Background(), SourceConfig{From: s.URL + "/slow", Token: "secret",
		Log: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var e slowlog.Entry
	if err := src.Next(&e); err != nil || string(e.Text) != "SELECT 0" {
		t.Errorf("got %q, %v, want the first entry", e.Text, err)
	}
	if requests.Load() != 4 || len(said) != 1 || !strings.Contains(said[0], "the log is not there yet") {
		t.Errorf("%d requests, said %q, want 4 and the daemon's reason once", requests.Load(), said)
	}
}
