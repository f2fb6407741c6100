package bulk

import (
	"errors"
	"fmt"
	"io"
)

// Format of a file for LOAD DATA: its FIELDS and LINES clauses. The empty string and 0 are "none".
type Format struct {
	FieldsTerminatedBy string
	FieldsEnclosedBy   byte // OPTIONALLY means nothing to a reader
	FieldsEscapedBy    byte
	LinesStartingBy    string
	LinesTerminatedBy  string // none: lines end where the last field does

	MaxField int // bytes of the longest field
}

// Field of a row.
type Field struct {
	Text []byte
	Null bool // \N, or the word NULL without quotes where fields have quotes
}

// LoadReader cuts a file into rows and fields by the rules of MySQL (its sql_load.cc):
//
//   - An enclosed field ends with the closing quote and a terminator behind it. A quote doubled is one; any other is itself.
//   - The escape character stands before n, t, r, b, 0, Z and N (\N alone is NULL); any other character after it is itself. If it is
//     the quote, only the doubled quote is left of it.
//   - A line without LinesStartingBy is no row; what stands before it is not read.
//   - An enclosed field that the end of the file cuts off keeps its opening quote. Behind a last separator there is no field.
type LoadReader struct {
	in    io.Reader
	f     Format
	buf   []byte
	pos   int // in buf: the next byte
	end   int // in buf: behind the last byte
	err   error
	plain [256]bool // bytes that mean only themselves, anywhere

	row    []byte // texts of the fields
	ends   []int  // of each in row
	nulls  []bool
	fields []Field
}

// bufferBytes is what is read at a time. It must be longer than any terminator.
const bufferBytes = 256 << 10

// maxTerminator is how long terminators and prefixes may be, in bytes.
const maxTerminator = 1 << 10

// ErrFixedRows: a format whose fields have neither a terminator nor quotes, but the widths of columns.
var ErrFixedRows = errors.New("rows of fixed width (FIELDS TERMINATED BY '' ENCLOSED BY '') cannot be read")

// NewLoadReader reads rows from in.
func NewLoadReader(in io.Reader, f Format) (*LoadReader, error) {
	if f.FieldsTerminatedBy == "" && f.FieldsEnclosedBy == 0 {
		return nil, ErrFixedRows
	}
	for _, s := range []string{f.FieldsTerminatedBy, f.LinesTerminatedBy, f.LinesStartingBy} {
		if len(s) > maxTerminator {
			return nil, fmt.Errorf("a separator of %d bytes is too long, at most %d", len(s), maxTerminator)
		}
	}
	if f.LinesTerminatedBy == "" {
		f.LinesTerminatedBy = f.FieldsTerminatedBy
	}
	r := &LoadReader{in: in, f: f, buf: make([]byte, bufferBytes)}
	for i := range r.plain {
		r.plain[i] = true
	}
	for _, special := range []byte{f.FieldsEnclosedBy, f.FieldsEscapedBy, first(f.FieldsTerminatedBy), first(f.LinesTerminatedBy)} {
		if special != 0 {
			r.plain[special] = false
		}
	}
	return r, nil
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// more makes sure that n bytes lie in the buffer from pos on, if the file has so many.
func (r *LoadReader) more(n int) bool {
	if r.end-r.pos >= n {
		return true
	}
	r.end = copy(r.buf, r.buf[r.pos:r.end])
	r.pos = 0
	for r.end < n && r.err == nil {
		var got int
		got, r.err = r.in.Read(r.buf[r.end:])
		r.end += got
	}
	return r.end >= n
}

// accept passes s, if it comes next.
func (r *LoadReader) accept(s string) bool {
	if s == "" || !r.more(len(s)) || string(r.buf[r.pos:r.pos+len(s)]) != s {
		return false
	}
	r.pos += len(s)
	return true
}

// failed is the error of the input, nil at its end.
func (r *LoadReader) failed() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// SkipLine passes a line; it looks at escapes, but not at quotes. It returns io.EOF at the end of the file.
func (r *LoadReader) SkipLine() error {
	if !r.more(1) {
		return r.atEnd()
	}
	for r.more(1) {
		switch c := r.buf[r.pos]; {
		case c == r.f.FieldsEscapedBy && c != 0:
			r.pos++
			if r.more(1) {
				r.pos++
			}
		case r.accept(r.f.LinesTerminatedBy):
			return nil
		default:
			r.pos++
		}
	}
	return r.failed()
}

func (r *LoadReader) atEnd() error {
	if err := r.failed(); err != nil {
		return err
	}
	return io.EOF
}

// Next returns the first fields of the next row, at most so many, or io.EOF behind the last row. What else there is in the line is
// passed as SkipLine does; rest says that there was something.
func (r *LoadReader) Next(most int) (fields []Field, rest bool, err error) {
	if r.f.LinesStartingBy != "" {
		for !r.accept(r.f.LinesStartingBy) {
			if !r.more(1) {
				return nil, false, r.atEnd()
			}
			r.pos++
		}
	}
	if !r.more(1) {
		return nil, false, r.atEnd()
	}
	r.row, r.ends, r.nulls = r.row[:0], r.ends[:0], r.nulls[:0]
	for {
		null, last, err := r.field()
		if err != nil {
			return nil, false, err
		}
		r.ends, r.nulls = append(r.ends, len(r.row)), append(r.nulls, null)
		if last || !r.more(1) {
			break
		}
		if len(r.ends) == most {
			rest = !r.accept(r.f.LinesTerminatedBy)
			if rest {
				err = r.SkipLine()
			}
			break
		}
	}
	if err == nil {
		err = r.failed()
	}
	if err != nil {
		return nil, false, err
	}
	r.fields = r.fields[:0]
	start := 0
	for i, end := range r.ends {
		r.fields = append(r.fields, Field{Text: r.row[start:end:end], Null: r.nulls[i]})
		start = end
	}
	return r.fields, rest, nil
}

// field appends one to the row. last: it ends its line.
func (r *LoadReader) field() (null, last bool, err error) {
	begin := len(r.row)
	quote := r.f.FieldsEnclosedBy
	enclosed := quote != 0 && r.more(1) && r.buf[r.pos] == quote
	if enclosed {
		r.pos++
	}
	escapedN := false
	end := func(quoted bool) bool {
		text := r.row[begin:]
		return escapedN && len(text) == 1 || !quoted && quote != 0 && string(text) == "NULL"
	}
	for {
		if len(r.row)-begin > r.f.MaxField {
			return false, false, fmt.Errorf("a field of the file is longer than max_allowed_packet (%d bytes)", r.f.MaxField)
		}
		if !r.more(1) {
			if enclosed { // never closed
				r.row = append(r.row, 0)
				copy(r.row[begin+1:], r.row[begin:])
				r.row[begin] = quote
			}
			return end(false), true, nil
		}
		n := r.pos
		for n < r.end && r.plain[r.buf[n]] {
			n++
		}
		if n > r.pos {
			r.row = append(r.row, r.buf[r.pos:n]...)
			r.pos = n
			continue
		}
		c := r.buf[r.pos]
		switch {
		case c == r.f.FieldsEscapedBy && c != 0 && c != quote:
			r.pos++
			if !r.more(1) {
				r.row = append(r.row, c)
				continue
			}
			next := r.buf[r.pos]
			r.pos++
			escapedN = escapedN || next == 'N'
			r.row = append(r.row, unescape(next))
		case enclosed && c == quote:
			r.pos++
			switch {
			case r.more(1) && r.buf[r.pos] == quote:
				r.pos++
				r.row = append(r.row, quote)
			case !r.more(1), r.accept(r.f.LinesTerminatedBy):
				return end(true), true, nil
			case r.accept(r.f.FieldsTerminatedBy):
				return end(true), false, nil
			default:
				r.row = append(r.row, quote)
			}
		case !enclosed && r.accept(r.f.LinesTerminatedBy):
			return end(false), true, nil
		case !enclosed && r.accept(r.f.FieldsTerminatedBy):
			return end(false), false, nil
		default:
			r.pos++
			r.row = append(r.row, c)
		}
	}
}

// unescape is what the character behind the escape character means.
func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case '0':
		return 0
	case 'Z':
		return 0x1a
	}
	return c
}
