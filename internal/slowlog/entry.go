package slowlog

import (
	"bytes"
	"iter"
	"time"
)

// Kind says what an entry is.
type Kind uint8

// Kinds of entries.
const (
	Query   Kind = iota // Text is a statement
	Admin               // a command of the protocol that is no statement: Text is its name, "Quit"
	Empty               // a statement of no bytes
	Broken              // the header or the text was cut off, and something else follows
	Partial             // the log ends inside the entry
	Summary             // the server's own note, not SQL: "throttle: …"
)

var kindNames = [...]string{"query", "admin", "empty", "broken", "partial", "summary"}

func (k Kind) String() string { return kindNames[k] }

// Entry is one entry of a log. The Reader's slices are valid until its next call.
type Entry struct {
	Offset, End int64 // byte range in the stream, [Offset, End): from the first header line to behind the last newline
	Kind        Kind

	Text      []byte // exactly as logged, without the final ";"
	Truncated int64  // bytes of the text beyond Options.MaxText, which were read and dropped

	Schema      []byte // the default schema of the statement, empty: none
	SchemaKnown bool

	User, Host, IP []byte
	ThreadID       uint64
	HasThreadID    bool

	Time           []byte    // of the entry's own "# Time:" line, as written; nil: it has none, and the one before still holds
	Started, Ended time.Time // zero: not known. To the second where the format has no more; a session's SET timestamp moves them

	Timestamp       int64 // of the SET line, seconds since 1970: the end, from MySQL 8.0.14 on the start
	HasTimestamp    bool
	InsertID        uint64
	HasInsertID     bool
	LastInsertID    uint64
	HasLastInsertID bool

	HasQueryTime        bool
	QueryTime, LockTime time.Duration // negative and impossible ones, which a clock that was set back makes, are 0
	RowsSent            uint64
	RowsExamined        uint64
	RowsAffected        uint64
	Errno               uint32

	// Header is the header as logged, all lines up to the text. What has no field of its own is found with Attrs.
	Header []byte

	// Raw is the whole entry as logged, header, text and end; nil where bytes were dropped from a long text.
	Raw []byte

	// Metrics are what AppendEntry writes besides, in this order. The Reader leaves it alone: it has Attrs.
	Metrics []Metric
}

// Metric is one more number of an entry.
type Metric struct {
	Key   string // letters, digits and "_"
	Value int64
}

// Attrs are all "Key: value" pairs of the header below the line of the user, in the order they stand, without an allocation.
func (e *Entry) Attrs() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for rest := e.Header; len(rest) > 0; {
			var line []byte
			line, rest, _ = bytes.Cut(rest, newline)
			line, ok := bytes.CutPrefix(line, hash)
			if !ok || bytes.HasPrefix(line, timeLine[len(hash):]) || bytes.HasPrefix(line, userLine[len(hash):]) {
				continue
			}
			for {
				var key, value []byte
				if key, value, line, ok = nextPair(bytes.TrimLeft(bytes.TrimSuffix(line, carriageReturn), " ")); !ok {
					break
				}
				if !yield(key, value) {
					return
				}
			}
		}
	}
}

// Attr is the value of the first attribute of that name.
func (e *Entry) Attr(name string) (value []byte, ok bool) {
	for k, v := range e.Attrs() {
		if string(k) == name {
			return v, true
		}
	}
	return nil, false
}

// nextPair takes the first "Key: value" off what is left of a header line. Values end at a blank, but those that may have blanks
// in them: a schema (see schemaEnd), and what stands alone on its line.
func nextPair(s []byte) (key, value, rest []byte, ok bool) {
	colon := bytes.IndexByte(s, ':')
	if colon <= 0 {
		return nil, nil, nil, false
	}
	key, s = s[:colon], s[colon+1:]
	if bytes.IndexByte(key, ' ') >= 0 { // prose: "Warning 1265 Data truncated for column: …"
		return nil, nil, nil, false
	}
	if len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	end := bytes.IndexByte(s, ' ')
	switch string(key) {
	case "Schema":
		end = schemaEnd(s)
	case "explain", "Stored_routine":
		end = len(s)
	}
	if end < 0 {
		end = len(s)
	}
	value, rest = s[:end], s[end:]
	for len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return key, value, rest, true
}

// behindSchema are the fields that servers write on the line of a schema, behind it.
var behindSchema = [][]byte{[]byte("  QC_hit: "), []byte("  Last_errno: "), []byte(" Rows_affected: ")}

// schemaEnd finds the end of a schema's name at the start of s. A name may hold blanks, and even look like the fields behind it.
func schemaEnd(s []byte) int {
	end := -1
	for _, field := range behindSchema {
		end = max(end, bytes.LastIndex(s, field))
	}
	if end < 0 {
		return len(s)
	}
	return end
}
