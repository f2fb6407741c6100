package slowlog_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// newRand prints its seed; HEARTH_SEED repeats a run.
func newRand(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("HEARTH_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("HEARTH_SEED: %v", err)
		}
	}
	t.Logf("HEARTH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// hostile are pieces that texts and names are made of.
var hostile = []string{
	"SELECT 1", " FROM t", "'", "\"", "`", "\\", ";", ";\n", "\n", "\r\n", "#", "-- ", "/*", "*/", "/*!", "\x00", "\xff", "é", " ",
	"\n# Time: 2025-05-05T05:05:09.000000Z\n", "\n# User@Host: root[root] @ localhost []  Id:     1\n", "SET timestamp=1;\n",
	"use x;\n", "# Query_bytes: 3\n", "# administrator command: Quit;\n", "Time                 Id Command    Argument\n", "# slowlogd: x\n",
}

var names = []string{"app", "", "root", "a b", "a[b]", "x] @ y", "  QC_hit: No", " Rows_affected: 1", "`", "a`b;", "é", "Id:  7", "  Last_errno: 3"}

func randomText(rnd *rand.Rand) []byte {
	var b []byte
	for range rnd.IntN(12) {
		b = append(b, hostile[rnd.IntN(len(hostile))]...)
	}
	return b
}

func randomEntry(rnd *rand.Rand) slowlog.Entry {
	start := time.Unix(rnd.Int64N(4e9), rnd.Int64N(1e6)*1000).UTC()
	took := time.Duration(rnd.Int64N(1e8)) * time.Microsecond
	e := slowlog.Entry{
		Kind: slowlog.Query, Text: randomText(rnd), Schema: []byte(names[rnd.IntN(len(names))]), SchemaKnown: true,
		User: []byte(names[rnd.IntN(len(names))]), Host: []byte("host" + strconv.Itoa(rnd.IntN(9))), IP: []byte("2001:db8::7"),
		ThreadID: rnd.Uint64() >> rnd.IntN(64), HasThreadID: true, Started: start, Ended: start.Add(took),
		Timestamp: start.Unix(), HasTimestamp: true, HasQueryTime: true, QueryTime: took,
		LockTime: time.Duration(rnd.IntN(1e6)) * time.Microsecond, RowsSent: rnd.Uint64(), RowsExamined: 5, RowsAffected: 6, Errno: uint32(rnd.IntN(5000)),
		Metrics: []slowlog.Metric{{Key: "Pages_read", Value: rnd.Int64()}, {Key: "Bytes_sent", Value: -1}},
	}
	if rnd.IntN(3) == 0 {
		e.InsertID, e.HasInsertID = rnd.Uint64(), true
	}
	if rnd.IntN(3) == 0 {
		e.LastInsertID, e.HasLastInsertID = rnd.Uint64(), true
	}
	switch {
	case len(e.Text) == 0:
		e.Kind = slowlog.Empty
	case rnd.IntN(8) == 0:
		e.Kind, e.Text = slowlog.Admin, []byte("Close stmt")
	}
	return e
}

// summaryOf is what must survive the way through a log.
func summaryOf(e *slowlog.Entry) string {
	m := ""
	for _, metric := range e.Metrics {
		m += fmt.Sprintf(" %s=%d", metric.Key, metric.Value)
	}
	return fmt.Sprintf("%v %q schema %q %t user %q host %q ip %q id %d %t from %s to %s stamp %d %t insert %d %t last %d %t took %v %v rows %d %d %d errno %d%s",
		e.Kind, e.Text, e.Schema, e.SchemaKnown, e.User, e.Host, e.IP, e.ThreadID, e.HasThreadID, e.Started, e.Ended, e.Timestamp, e.HasTimestamp,
		e.InsertID, e.HasInsertID, e.LastInsertID, e.HasLastInsertID, e.QueryTime, e.LockTime, e.RowsSent, e.RowsExamined, e.RowsAffected, e.Errno, m)
}

// TestRoundTrip: whatever entries hold, the Reader returns what the Writer was given, at the bytes where it wrote it.
func TestRoundTrip(t *testing.T) {
	rnd := newRand(t)
	for range 300 {
		var w slowlog.Writer
		var log []byte
		var want []slowlog.Entry
		if rnd.IntN(2) == 0 {
			log = slowlog.AppendBanner(log, "/usr/bin/hearth", "8.0.33-hearth", 3306, "/run/hearth.sock")
		}
		for range 1 + rnd.IntN(20) {
			e := randomEntry(rnd)
			e.Offset = int64(len(log))
			log = w.Append(log, &e)
			e.End = int64(len(log))
			want = append(want, e)
		}
		var src io.Reader = bytes.NewReader(log)
		if rnd.IntN(4) == 0 {
			src = iotest.OneByteReader(src)
		}
		r := slowlog.NewReader(src, slowlog.Options{})
		for i := range want {
			var e slowlog.Entry
			if err := r.Next(&e); err != nil {
				t.Fatalf("entry %d of %q: %v", i, log, err)
			}
			for _, m := range want[i].Metrics {
				if v, _ := e.Attr(m.Key); string(v) != strconv.FormatInt(m.Value, 10) {
					t.Errorf("%s: got %q, want %d", m.Key, v, m.Value)
				}
			}
			want[i].HasTimestamp, e.Metrics = true, want[i].Metrics
			if got, want := summaryOf(&e), summaryOf(&want[i]); got != want {
				t.Fatalf("entry %d\n got %s\nwant %s\nin %q", i, got, want, log)
			}
			if e.Offset != want[i].Offset || e.End != want[i].End {
				t.Fatalf("entry %d: got bytes [%d,%d), want [%d,%d)", i, e.Offset, e.End, want[i].Offset, want[i].End)
			}
		}
		var e slowlog.Entry
		if err := r.Next(&e); err != io.EOF {
			t.Fatalf("behind the last entry: %v, want EOF", err)
		}
	}
}

// TestNamesStayOnTheirLine: a name with newlines in it cannot make lines of its own.
func TestNamesStayOnTheirLine(t *testing.T) {
	evil := []byte("x\n# Time: 2025-05-05T05:05:09.000000Z\nSET timestamp=1;\nDROP TABLE note;\n")
	e := slowlog.Entry{Text: []byte("SELECT 1"), User: evil, Host: evil, IP: evil, Schema: evil}
	log := slowlog.AppendEntry(nil, &e, true)
	r := slowlog.NewReader(bytes.NewReader(log), slowlog.Options{})
	var got slowlog.Entry
	if err := r.Next(&got); err != nil || string(got.Text) != "SELECT 1" || got.End != int64(len(log)) {
		t.Fatalf("got %q to %d of %d, %v", got.Text, got.End, len(log), err)
	}
	if want := bytes.Map(func(c rune) rune {
		if c == '\n' {
			return '?'
		}
		return c
	}, evil); !bytes.Equal(got.Schema, want) || !bytes.Equal(got.User, want) {
		t.Errorf("schema %q user %q, want %q", got.Schema, got.User, want)
	}
	if err := r.Next(&got); err != io.EOF {
		t.Fatalf("behind the entry: %v, want EOF", err)
	}
}
