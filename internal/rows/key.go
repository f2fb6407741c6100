package rows

import (
	"bytes"
	"fmt"
	"math"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/sqltypes"
)

// MaxParts is how many columns a key can have, that of MySQL.
const MaxParts = 16

// Key is an order-preserving encoding of some columns of a table: bytes compare as the values do by gms.Type.Compare, part by part,
// but NULL is less than everything else. Equal values, by their collation, have equal keys. Each part is self-delimiting:
//
//	a nullable part      00: NULL.  01: not NULL, and the value
//	a NOT NULL part      the value
//
//	a value of a fixed width   as in rows (codec.go)
//	bytes, and text by code point   escape.go
//	other text                 collation.go
type Key struct {
	parts []keyPart
}

const (
	tagNull  = 0
	tagValue = 1
)

// keyPart is a column of a key.
type keyPart struct {
	*codec
	column   int // ordinal in the table
	nullable bool
	prefix   int        // characters or bytes, 0: all
	weights  *collation // text that is not ordered by code point, else nil
}

func newKey(t *Table, parts []Part) (*Key, error) {
	if len(parts) > MaxParts {
		return nil, fmt.Errorf("a key of %d columns, the limit is %d", len(parts), MaxParts)
	}
	k := &Key{}
	for i, p := range parts {
		if p.Column < 0 || p.Column >= len(t.cols) {
			return nil, fmt.Errorf("part %d of a key is column %d of %d", i, p.Column, len(t.cols))
		}
		part := keyPart{codec: &t.codecs[p.Column], column: p.Column, nullable: t.cols[p.Column].Nullable, prefix: int(p.Prefix)}
		switch part.kind {
		case kindJSON, kindGeometry:
			return nil, fmt.Errorf("column %d: %s cannot be in a key", p.Column, part.typ)
		case kindText:
			if id := part.text.Collation(); !byCodePoint(id) {
				var err error
				if part.weights, err = collationOf(id); err != nil {
					return nil, fmt.Errorf("column %d: %w", p.Column, err)
				}
			}
		case kindBytes:
		default:
			if p.Prefix != 0 {
				return nil, fmt.Errorf("column %d: a key with a prefix of %s", p.Column, part.typ)
			}
		}
		k.parts = append(k.parts, part)
	}
	return k, nil
}

// Len is the number of parts.
func (k *Key) Len() int { return len(k.parts) }

// Part is part i as it was declared.
func (k *Key) Part(i int) Part {
	return Part{Column: k.parts[i].column, Prefix: uint16(k.parts[i].prefix)}
}

// Nullable reports whether part i can be NULL.
func (k *Key) Nullable(i int) bool { return k.parts[i].nullable }

// MaxSize is the size, in bytes, of the longest key of these types; math.MaxInt if there is no bound, which is so for TEXT and BLOB
// without a prefix.
func (k *Key) MaxSize() int {
	size := 0
	for i := range k.parts {
		n := k.parts[i].maxSize()
		if n == math.MaxInt {
			return math.MaxInt
		}
		size += n
	}
	return size
}

func (p *keyPart) maxSize() int {
	size := 0
	if p.nullable {
		size = 1
	}
	if p.width > 0 {
		return size + p.width
	}
	n := p.prefix
	if isLarge(p.typ) {
		if n == 0 {
			return math.MaxInt
		}
	} else if limit := int(p.text.MaxCharacterLength()); n == 0 || n > limit {
		n = limit
	}
	switch {
	case p.weights != nil:
		n *= maxWeightSize
	case p.kind == kindText:
		n *= 4 // of UTF-8; a byte that is escaped is a character of its own
	default:
		n *= 2
	}
	return size + n + 1
}

// isLarge: TEXT and BLOB types, whose length the type does not bound in practice.
func isLarge(t gms.Type) bool { return t.Type() == sqltypes.Text || t.Type() == sqltypes.Blob }

// AppendPart appends value v, nil for NULL, as part i, cut to the part's prefix. A value without the Go type of the column is
// converted as by an assignment.
func (k *Key) AppendPart(dst []byte, i int, v any) ([]byte, error) {
	p := &k.parts[i]
	start := len(dst)
	dst, done, err := p.appendTag(dst, v)
	if done || err != nil {
		return dst, err
	}
	switch {
	case p.width > 0:
		at := len(dst)
		dst = append(dst, make([]byte, p.width)...)
		err = p.put(dst[at:], v)
	case p.kind == kindText:
		var s string
		if s, err = p.textOf(v, p.typ); err == nil {
			dst = p.appendText(dst, s)
		}
	default:
		var b []byte
		if b, err = p.bytesOf(v); err == nil {
			dst = p.appendBytes(dst, b)
		}
	}
	if err != nil {
		return dst[:start], fmt.Errorf("column %d: %w", p.column, err)
	}
	return dst, nil
}

// appendTag appends what stands before the value. done: v is NULL, there is no value.
func (p *keyPart) appendTag(dst []byte, v any) (_ []byte, done bool, err error) {
	switch {
	case v == nil && !p.nullable:
		return dst, true, fmt.Errorf("column %d: %w", p.column, ErrNull)
	case v == nil:
		return append(dst, tagNull), true, nil
	case p.nullable:
		return append(dst, tagValue), false, nil
	}
	return dst, false, nil
}

func (p *keyPart) appendText(dst []byte, s string) []byte {
	if p.prefix > 0 && len(s) > p.prefix {
		s = cutText(s, p.prefix)
	}
	if p.weights != nil {
		return p.weights.append(dst, s)
	}
	return appendEscaped(dst, s)
}

func (p *keyPart) appendBytes(dst, b []byte) []byte {
	if p.prefix > 0 && len(b) > p.prefix {
		b = b[:p.prefix]
	}
	return appendEscaped(dst, b)
}

// cutText is the first n characters of s.
func cutText(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// appendRow appends all parts, from a row of the table.
func (k *Key) appendRow(dst []byte, row gms.Row) ([]byte, error) {
	start := len(dst)
	for i := range k.parts {
		var err error
		if dst, err = k.AppendPart(dst, i, row[k.parts[i].column]); err != nil {
			return dst[:start], err
		}
	}
	return dst, nil
}

// Split cuts part i off the head of b. Both results are slices of b.
func (k *Key) Split(b []byte, i int) (part, rest []byte, err error) {
	p := &k.parts[i]
	n := 0
	if p.nullable {
		if len(b) == 0 || b[0] > tagValue {
			return nil, nil, corrupt("key", "part %d has no tag", i)
		}
		if b[0] == tagNull {
			return b[:1:1], b[1:], nil
		}
		n = 1
	}
	if p.width > 0 {
		n += p.width
		if len(b) < n {
			return nil, nil, corrupt("key", "part %d has %d bytes, want %d", i, len(b), n)
		}
		return b[:n:n], b[n:], nil
	}
	end := bytes.IndexByte(b[n:], terminator)
	if end < 0 {
		return nil, nil, corrupt("key", "part %d has no end", i)
	}
	n += end + 1
	return b[:n:n], b[n:], nil
}

// Reversible reports whether the column's value can be had back from part i: not from collated text, nor from a prefix.
func (k *Key) Reversible(i int) bool {
	return k.parts[i].prefix == 0 && k.parts[i].weights == nil
}

// DecodePart is the value of part i at the head of b, nil for NULL. It needs Reversible(i). The value does not alias b.
func (k *Key) DecodePart(b []byte, i int) (v any, rest []byte, err error) {
	if !k.Reversible(i) {
		panic(fmt.Sprintf("BUG: DecodePart of part %d, got one that is not reversible", i))
	}
	p := &k.parts[i]
	part, rest, err := k.Split(b, i)
	if err != nil {
		return nil, nil, err
	}
	if p.nullable {
		if part[0] == tagNull {
			return nil, rest, nil
		}
		part = part[1:]
	}
	if p.width > 0 {
		v, ok := p.load(part)
		if !ok {
			return nil, nil, corrupt("key", "part %d: no %s is stored as %x", i, p.typ, part)
		}
		return v, rest, nil
	}
	plain, err := unescape(part[:len(part)-1])
	if err != nil {
		return nil, nil, err
	}
	v, err = p.loadVar(plain)
	return v, rest, err
}
