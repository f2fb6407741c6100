package slowlog_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// sampleCount is how many entries the answer key has.
const sampleCount = 72

// answer is one line of the answer key. Fields that are not named here are attributes of the header.
type answer struct {
	File         string   `json:"file"`
	N            int      `json:"n"`
	Offset       int64    `json:"offset"`
	End          int64    `json:"end"`
	Kind         string   `json:"kind"`
	Query        *string  `json:"query"`
	QueryBase64  *string  `json:"query_b64"`
	Schema       *string  `json:"schema"`
	Time         *string  `json:"time"`
	Timestamp    *int64   `json:"timestamp"`
	InsertID     *uint64  `json:"insert_id"`
	LastInsertID *uint64  `json:"last_insert_id"`
	ThreadID     *uint64  `json:"thread_id"`
	User         *string  `json:"user"`
	Host         *string  `json:"host"`
	IP           *string  `json:"ip"`
	QueryTime    *float64 `json:"query_time"`
	RowsSent     *uint64  `json:"rows_sent"`

	attributes map[string]string
}

// attributeNames are the key's names of attributes of the header.
var attributeNames = map[string]string{
	"errno": "Errno", "start": "Start", "pages_read": "Pages_read", "stored_routine": "Stored_routine",
	"rate_type": "Log_slow_rate_type", "rate_limit": "Log_slow_rate_limit", "innodb_io_r_ops": "InnoDB_IO_r_ops",
}

func answers(t testing.TB) map[string][]answer {
	f, err := os.Open("testdata/expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	key, n := map[string][]answer{}, 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var a answer
		var all map[string]any
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		json.Unmarshal(lines.Bytes(), &all)
		a.attributes = map[string]string{}
		for name, attribute := range attributeNames {
			switch v := all[name].(type) {
			case string:
				a.attributes[attribute] = v
			case float64:
				a.attributes[attribute] = strconv.FormatFloat(v, 'f', -1, 64)
			}
		}
		key[a.File] = append(key[a.File], a)
	}
	if n != sampleCount {
		t.Fatalf("the answer key has %d entries, want %d", n, sampleCount)
	}
	return key
}

func sample(t testing.TB, name string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// differences of an entry from the key; empty: there is none.
func (a *answer) differences(e *slowlog.Entry) (wrong []string) {
	check := func(name string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s: got %#v, want %#v", name, got, want))
		}
	}
	check("offset", e.Offset, a.Offset)
	check("end", e.End, a.End)
	check("kind", e.Kind.String(), a.Kind)
	want := ""
	switch {
	case a.Query != nil:
		want = *a.Query
	case a.QueryBase64 != nil:
		b, err := base64.StdEncoding.DecodeString(*a.QueryBase64)
		if err != nil {
			panic(err)
		}
		want = string(b)
	}
	check("query", string(e.Text), want)
	check("schema known", e.SchemaKnown, a.Schema != nil)
	if a.Schema != nil {
		check("schema", string(e.Schema), *a.Schema)
	}
	check("has time", e.Time != nil, a.Time != nil)
	if a.Time != nil {
		check("time", string(e.Time), *a.Time)
	}
	check("has timestamp", e.HasTimestamp, a.Timestamp != nil)
	if a.Timestamp != nil {
		check("timestamp", e.Timestamp, *a.Timestamp)
	}
	check("has insert id", e.HasInsertID, a.InsertID != nil)
	if a.InsertID != nil {
		check("insert id", e.InsertID, *a.InsertID)
	}
	check("has last insert id", e.HasLastInsertID, a.LastInsertID != nil)
	if a.LastInsertID != nil {
		check("last insert id", e.LastInsertID, *a.LastInsertID)
	}
	if a.ThreadID != nil {
		check("has thread id", e.HasThreadID, true)
		check("thread id", e.ThreadID, *a.ThreadID)
	}
	if a.User != nil {
		check("user", string(e.User), *a.User)
		check("host", string(e.Host), *a.Host)
		check("ip", string(e.IP), *a.IP)
	}
	check("has query time", e.HasQueryTime, a.QueryTime != nil)
	if a.QueryTime != nil {
		check("query time", e.QueryTime, time.Duration(math.Round(*a.QueryTime*1e9)))
	}
	if a.RowsSent != nil {
		check("rows sent", e.RowsSent, *a.RowsSent)
	}
	for name, want := range a.attributes {
		got, _ := e.Attr(name)
		check(name, string(got), want)
	}
	return wrong
}

// compare reads all entries of r and compares them with the key.
func compare(t *testing.T, what string, r *slowlog.Reader, key []answer) {
	t.Helper()
	var e slowlog.Entry
	for _, a := range key {
		if err := r.Next(&e); err != nil {
			t.Fatalf("%s, entry %d: %v", what, a.N, err)
		}
		for _, w := range a.differences(&e) {
			t.Errorf("%s, entry %d: %s", what, a.N, w)
		}
	}
	if err := r.Next(&e); err != io.EOF {
		t.Fatalf("%s: %v after the last entry, want EOF; entry at %d: %q", what, err, e.Offset, e.Text)
	}
}

func TestSamples(t *testing.T) {
	for file, key := range answers(t) {
		log := sample(t, file)
		compare(t, file, slowlog.NewReader(bytes.NewReader(log), slowlog.Options{}), key)
		compare(t, file+" byte by byte", slowlog.NewReader(iotest.OneByteReader(bytes.NewReader(log)), slowlog.Options{}), key)
		compare(t, file+" in halves", slowlog.NewReader(iotest.HalfReader(bytes.NewReader(log)), slowlog.Options{}), key)
	}
}

// TestSamplesFromEachEntry starts at each entry with what a reader of the log's start would know there.
func TestSamplesFromEachEntry(t *testing.T) {
	for file, key := range answers(t) {
		log := sample(t, file)
		r := slowlog.NewReader(bytes.NewReader(log), slowlog.Options{})
		for i := range key {
			schema, known := r.Schema()
			o := slowlog.Options{Offset: key[i].Offset, Schema: string(schema), SchemaKnown: known, Time: string(r.Time())}
			compare(t, fmt.Sprintf("%s from entry %d", file, i+1), slowlog.NewReader(bytes.NewReader(log[o.Offset:]), o), key[i:])
			var e slowlog.Entry
			if err := r.Next(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSamplesRotated reads a log and the one before it as one stream.
func TestSamplesRotated(t *testing.T) {
	old, now := sample(t, "rotated.log.1"), sample(t, "rotated.log")
	all := answers(t)
	key := all["rotated.log.1"]
	for _, a := range all["rotated.log"] {
		a.Offset += int64(len(old))
		a.End += int64(len(old))
		key = append(key, a)
	}
	compare(t, "rotated", slowlog.NewReader(bytes.NewReader(append(old, now...)), slowlog.Options{}), key)
}
