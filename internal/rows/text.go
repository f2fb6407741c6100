package rows

import (
	"context"
	"fmt"
	"unicode/utf8"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// appendVar appends a value of a kind of any length, without telling where it ends.
//
//	CHAR VARCHAR TEXT       UTF-8, whatever the character set of the column
//	BINARY VARBINARY BLOB   the bytes
//	JSON                    JSON text, as MySQL prints it (json.go)
//	geometry                SRID and WKB (geometry.go)
func (c *codec) appendVar(dst []byte, v any) ([]byte, error) {
	switch c.kind {
	case kindText:
		s, err := c.textOf(v, c.typ)
		return append(dst, s...), err
	case kindBytes:
		b, err := c.bytesOf(v)
		return append(dst, b...), err
	case kindJSON:
		return c.appendJSON(dst, v)
	case kindGeometry:
		return c.appendGeometry(dst, v)
	}
	panic("BUG: appendVar of a kind with a width")
}

// loadVar is the inverse of appendVar. The value does not alias b.
func (c *codec) loadVar(b []byte) (any, error) {
	switch c.kind {
	case kindText:
		return string(b), nil
	case kindBytes:
		return append([]byte{}, b...), nil
	case kindJSON:
		return loadJSON(b)
	case kindGeometry:
		return loadGeometry(b)
	}
	panic("BUG: loadVar of a kind with a width")
}

// textOf is v as valid UTF-8. What is not a string yet is converted to t.
func (c *codec) textOf(v any, t gms.Type) (string, error) {
	s, ok := v.(string)
	if !ok {
		converted, err := convertTo(t, v)
		if err != nil {
			return "", err
		}
		if s, ok = converted.(string); !ok {
			return "", fmt.Errorf("%s has a value of type %T, want string", t, converted)
		}
	}
	if utf8.ValidString(s) {
		return s, nil
	}
	return c.decodeText(s)
}

// decodeText decodes a string of the column's character set. Strings of go-mysql-server are UTF-8, but binary literals come into
// columns of other character sets as they are, and go-mysql-server decodes them at each output.
func (c *codec) decodeText(s string) (string, error) {
	charset := c.text.CharacterSet()
	if charset != gms.CharacterSet_utf8mb4 {
		if b, ok := charset.Encoder().Decode([]byte(s)); ok && utf8.Valid(b) {
			return string(b), nil
		}
	}
	return "", types.ErrBadCharsetString.New(charset.String(), []byte(s))
}

// bytesOf is v as bytes; it may be a slice of v.
func (c *codec) bytesOf(v any) ([]byte, error) {
	if b, ok := v.([]byte); ok && (c.pad == 0 || c.pad == len(b)) {
		return b, nil
	}
	converted, err := c.convert(v)
	if err != nil {
		return nil, err
	}
	b, ok := converted.([]byte)
	if !ok {
		return nil, fmt.Errorf("%s has a value of type %T, want []byte", c.typ, converted)
	}
	return b, nil
}

// textBound is v as the end of a range: of any length, and with each byte that is no UTF-8 replaced by U+FFFD, as
// go-mysql-server compares it.
func (c *codec) textBound(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		var err error
		if s, err = c.textOf(v, c.wide); err != nil {
			return "", err
		}
	}
	if !utf8.ValidString(s) {
		return string([]rune(s)), nil
	}
	return s, nil
}

// bytesBound is v as the end of a range: of any length, not padded.
func (c *codec) bytesBound(v any) ([]byte, error) {
	switch b := v.(type) {
	case []byte:
		return b, nil
	case string:
		return []byte(b), nil
	}
	v, err := gms.UnwrapAny(context.Background(), v)
	if err != nil {
		return nil, err
	}
	converted, err := convertTo(c.wide, v)
	if err != nil {
		return nil, err
	}
	b, ok := converted.([]byte)
	if !ok {
		return nil, fmt.Errorf("%s has a value of type %T, want []byte", c.wide, converted)
	}
	return b, nil
}
