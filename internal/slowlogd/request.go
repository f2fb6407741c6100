package slowlogd

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// Formats of a stream.
const (
	formatRaw    = "raw"    // slow log
	formatFramed = "framed" // slow log, each entry after a comment with its token and length
	formatJSON   = "json"   // an object a line
)

// What is sampled.
const (
	sampleEntry     = "entry"     // each Nth
	sampleSession   = "session"   // all entries of one in N connections
	sampleStatement = "statement" // all entries of one in N statements, which differ in more than their literals
)

// request is what a client asks for, all of it in the query of the URL.
type request struct {
	since    string
	follow   bool
	format   string
	rate     uint64 // one in rate; 1: all
	sample   string
	schemas  []string
	users    []string
	texts    [][]byte // in lower case
	redact   bool
	literals bool

	seen uint64 // entries that passed the filters
	buf  []byte
}

// parameters are what a query may have.
var parameters = []string{"since", "follow", "format", "rate_limit", "sample", "schema", "user", "text", "redact"}

func parseRequest(q url.Values) (*request, error) {
	for name := range q {
		known := false
		for _, p := range parameters {
			known = known || p == name
		}
		if !known {
			return nil, fmt.Errorf("no parameter %q; there are %s", name, strings.Join(parameters, ", "))
		}
	}
	r := &request{since: q.Get("since"), follow: true, format: formatRaw, rate: 1, sample: sampleEntry}
	switch v := q.Get("follow"); v {
	case "", "1":
	case "0":
		r.follow = false
	default:
		return nil, fmt.Errorf("follow=%s: 1 (go on for ever) or 0 (end at the end of the log)", v)
	}
	switch v := q.Get("format"); v {
	case "":
	case formatRaw, formatFramed, formatJSON:
		r.format = v
	default:
		return nil, fmt.Errorf("format=%s: raw, framed or json", v)
	}
	if v := q.Get("rate_limit"); v != "" {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("rate_limit=%s: a number from 1 on, of which one is sent", v)
		}
		r.rate = n
	}
	switch v := q.Get("sample"); v {
	case "":
	case sampleEntry, sampleSession, sampleStatement:
		r.sample = v
	default:
		return nil, fmt.Errorf("sample=%s: entry, session or statement", v)
	}
	switch v := q.Get("redact"); v {
	case "", "0":
	case "1", "passwords":
		r.redact = true
	case "literals":
		r.redact, r.literals = true, true
	default:
		return nil, fmt.Errorf("redact=%s: 1 (passwords) or literals (every string and number, too)", v)
	}
	list := func(name string) (all []string) {
		for _, v := range q[name] {
			all = append(all, strings.Split(v, ",")...)
		}
		return all
	}
	r.schemas, r.users = list("schema"), list("user")
	for _, v := range q["text"] {
		r.texts = append(r.texts, bytes.ToLower([]byte(v)))
	}
	return r, nil
}

// plain says whether the client gets the log as it is.
func (r *request) plain() bool {
	return r.format == formatRaw && r.rate == 1 && r.schemas == nil && r.users == nil && r.texts == nil && !r.redact
}

// wants says whether an entry is to be sent.
func (r *request) wants(e *slowlog.Entry) bool {
	if r.schemas != nil && !(e.SchemaKnown && contains(r.schemas, e.Schema)) || r.users != nil && !contains(r.users, e.User) {
		return false
	}
	if r.texts != nil {
		r.buf = append(r.buf[:0], e.Text...)
		lower := r.buf
		for i, c := range lower {
			if c >= 'A' && c <= 'Z' {
				lower[i] = c | 0x20
			}
		}
		for _, t := range r.texts {
			if !bytes.Contains(lower, t) {
				return false
			}
		}
	}
	if r.rate == 1 {
		return true
	}
	r.seen++
	switch r.sample {
	case sampleSession:
		h := fnv.New64a()
		h.Write(strconv.AppendUint(nil, e.ThreadID, 10))
		return h.Sum64()%r.rate == 0
	case sampleStatement:
		r.buf = appendRedacted(r.buf[:0], e.Text, true)
		h := fnv.New64a()
		h.Write(r.buf)
		return h.Sum64()%r.rate == 0
	}
	return (r.seen-1)%r.rate == 0
}

func contains(list []string, name []byte) bool {
	for _, s := range list {
		if s == string(name) {
			return true
		}
	}
	return false
}
