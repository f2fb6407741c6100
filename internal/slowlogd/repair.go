package slowlogd

import (
	"bytes"
	"strconv"

	"github.com/hearthdb/hearth/internal/slowlog"
)

// lineState is what a reader of our stream knows, so that each entry can be given the lines it needs: "# Time:" and "use" are in
// the log only where they change, and what a client does not get takes its lines along.
type lineState struct {
	schema string
	known  bool
	time   string
}

var (
	useLine   = []byte("use ")
	setLine   = []byte("SET ")
	timeLine  = []byte("# Time: ")
	userLine  = []byte("# User@Host: ")
	bytesLine = []byte("# Query_bytes: ")
)

// appendHeader appends the header of an entry, repaired: with the time and the schema that hold for it where the reader would
// believe something else. textBytes replaces what "# Query_bytes:" says when it is not negative.
func (l *lineState) appendHeader(dst, header []byte, schema string, known bool, time string, textBytes int) []byte {
	if own := bytes.HasPrefix(header, timeLine); !own && time != "" && time != l.time {
		dst = append(dst, timeLine...)
		dst = append(dst, time...)
		dst = append(dst, '\n')
	}
	if time != "" {
		l.time = time
	}
	needUse := known && (!l.known || l.schema != schema)
	for len(header) > 0 {
		line := header
		if nl := bytes.IndexByte(header, '\n'); nl >= 0 {
			line = header[:nl+1]
		}
		header = header[len(line):]
		switch {
		case bytes.HasPrefix(line, useLine):
			needUse = false
		case bytes.HasPrefix(line, setLine) && needUse:
			dst = appendUse(dst, schema)
			needUse = false
		case bytes.HasPrefix(line, bytesLine) && textBytes >= 0:
			dst = append(dst, bytesLine...)
			dst = strconv.AppendInt(dst, int64(textBytes), 10)
			dst = append(dst, '\n')
			continue
		}
		dst = append(dst, line...)
	}
	if needUse { // a header without SET
		dst = appendUse(dst, schema)
	}
	if known {
		l.schema, l.known = schema, true
	}
	return dst
}

// appendUse appends a "use" line; there is none that says "no schema", save a banner.
func appendUse(dst []byte, schema string) []byte {
	switch {
	case schema == "":
		return dst
	case plainName(schema):
		dst = append(dst, useLine...)
		dst = append(dst, schema...)
		return append(dst, ";\n"...)
	default:
		return slowlog.AppendUse(dst, []byte(schema))
	}
}

// plainName says whether a name needs no quotes.
func plainName(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && c != '$' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != ""
}
