package slowlog

import (
	"bytes"
	"strconv"
	"time"
)

// AppendEntry appends e in hearth's own format: the lines of Percona Server with "Id:" and "Schema:" in every entry, start and end
// to the microsecond, e.Metrics, and the length of the text, so that a Reader need not guess where it ends.
//
//	# Time: 2026-01-02T03:04:05.000450Z
//	# User@Host: app[app] @ web1 [192.0.2.7]  Id:    41
//	# Schema: shop  Last_errno: 0
//	# Query_time: 0.000450  Lock_time: 0.000006  Rows_sent: 1  Rows_examined: 1  Rows_affected: 0
//	# Pages_read: 3
//	# Start: 2026-01-02T03:04:05.000000Z  End: 2026-01-02T03:04:05.000450Z
//	# Query_bytes: 8
//	use `shop`;
//	SET timestamp=1767323045;
//	SELECT 1;
//
// Started and Ended are to be set; Timestamp is written when there is one, else the second of the start. Kinds are Query and
// Admin. The "use" line is for other readers, see Writer. A control byte in a name is written as "?".
func AppendEntry(dst []byte, e *Entry, use bool) []byte {
	dst = append(dst, timeLine...)
	dst = appendISO(dst, e.Ended)
	dst = append(dst, '\n')

	dst = append(dst, userLine...)
	dst = appendName(dst, e.User)
	dst = append(dst, '[')
	dst = appendName(dst, e.User)
	dst = append(dst, "] @ "...)
	dst = appendName(dst, e.Host)
	dst = append(dst, " ["...)
	dst = appendName(dst, e.IP)
	dst = append(dst, "]  Id: "...)
	for width := uint64(10000); width > e.ThreadID && width > 1; width /= 10 {
		dst = append(dst, ' ')
	}
	dst = strconv.AppendUint(dst, e.ThreadID, 10)

	dst = append(dst, "\n# Schema: "...)
	dst = appendName(dst, e.Schema)
	dst = appendMetric(dst, "  Last_errno: ", uint64(e.Errno))

	dst = append(dst, "\n# Query_time: "...)
	dst = appendSeconds(dst, e.QueryTime)
	dst = append(dst, "  Lock_time: "...)
	dst = appendSeconds(dst, e.LockTime)
	dst = appendMetric(dst, "  Rows_sent: ", e.RowsSent)
	dst = appendMetric(dst, "  Rows_examined: ", e.RowsExamined)
	dst = appendMetric(dst, "  Rows_affected: ", e.RowsAffected)

	for i, m := range e.Metrics {
		if i == 0 {
			dst = append(dst, "\n# "...)
		} else {
			dst = append(dst, "  "...)
		}
		dst = append(dst, m.Key...)
		dst = append(dst, ": "...)
		dst = strconv.AppendInt(dst, m.Value, 10)
	}

	dst = append(dst, "\n# Start: "...)
	dst = appendISO(dst, e.Started)
	dst = append(dst, "  End: "...)
	dst = appendISO(dst, e.Ended)
	length := len(e.Text)
	if e.Kind == Admin {
		length += len(adminLine)
	}
	dst = appendMetric(dst, "\n# Query_bytes: ", uint64(length))
	dst = append(dst, '\n')
	if use && len(e.Schema) > 0 {
		dst = AppendUse(dst, e.Schema)
	}

	dst = append(dst, setLine...)
	if e.HasLastInsertID {
		dst = appendMetric(dst, "last_insert_id=", e.LastInsertID)
		dst = append(dst, ',')
	}
	if e.HasInsertID {
		dst = appendMetric(dst, "insert_id=", e.InsertID)
		dst = append(dst, ',')
	}
	stamp := e.Started.Unix()
	if e.HasTimestamp {
		stamp = e.Timestamp
	}
	dst = appendMetric(dst, "timestamp=", uint64(max(stamp, 0)))
	dst = append(dst, ";\n"...)
	if e.Kind == Admin {
		dst = append(dst, adminLine...)
	}
	dst = append(dst, e.Text...)
	return append(dst, ";\n"...)
}

// AppendUse appends the line that makes schema that of the entries after it.
func AppendUse(dst, schema []byte) []byte {
	dst = append(dst, "use `"...)
	for _, c := range schema {
		if c == '`' {
			dst = append(dst, '`')
		}
		dst = appendNameByte(dst, c)
	}
	return append(dst, "`;\n"...)
}

func appendMetric(dst []byte, key string, value uint64) []byte {
	return strconv.AppendUint(append(dst, key...), value, 10)
}

// appendName keeps a name on its line.
func appendName(dst, name []byte) []byte {
	for _, c := range name {
		dst = appendNameByte(dst, c)
	}
	return dst
}

func appendNameByte(dst []byte, c byte) []byte {
	if c < ' ' || c == 0x7f {
		c = '?'
	}
	return append(dst, c)
}

// appendSeconds writes a time as seconds, to the microsecond.
func appendSeconds(dst []byte, d time.Duration) []byte {
	micros := uint64(max(d, 0) / time.Microsecond)
	dst = strconv.AppendUint(dst, micros/1e6, 10)
	dst = append(dst, '.')
	for unit := uint64(1e5); unit > 0; unit /= 10 {
		dst = append(dst, '0'+byte(micros/unit%10))
	}
	return dst
}

// Writer makes the entries of one log file. It writes "use" lines as servers do, when the schema is another one than that of the
// entry before, for readers that know no "Schema:" field. It is used by one goroutine at a time.
type Writer struct {
	schema []byte
}

// Reset is to be called when a new file is begun.
func (w *Writer) Reset() { w.schema = w.schema[:0] }

// Append appends an entry in the format of AppendEntry.
func (w *Writer) Append(dst []byte, e *Entry) []byte {
	use := len(e.Schema) > 0 && !bytes.Equal(e.Schema, w.schema)
	if use {
		w.schema = append(w.schema[:0], e.Schema...)
	}
	return AppendEntry(dst, e, use)
}

// AppendBanner appends the three lines that a server writes when it opens a log.
func AppendBanner(dst []byte, program, version string, port int, socket string) []byte {
	dst = append(dst, program...)
	dst = append(dst, ", Version: "...)
	dst = append(dst, version...)
	dst = append(dst, ". started with:\nTcp port: "...)
	dst = strconv.AppendInt(dst, int64(port), 10)
	dst = append(dst, "  Unix socket: "...)
	dst = append(dst, socket...)
	return append(dst, "\nTime                 Id Command    Argument\n"...)
}
