package rows

import "bytes"

// Keys of bytes, and of texts ordered by code point: the bytes as they are, but
//
//	00    01 01
//	01    01 02
//	end   00
//
// so that the end is less than any byte and is found without looking at the bytes before.
const (
	escape     = 1
	escapeZero = 1
	escapeOne  = 2
)

// appendEscaped appends the key of s, with its end.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= escape {
			dst = append(append(dst, s[from:i]...), escape, escapeZero+c)
			from = i + 1
		}
	}
	return append(append(dst, s[from:]...), terminator)
}

// unescape is the inverse, of a key without its end. The result may be b itself.
func unescape(b []byte) ([]byte, error) {
	i := bytes.IndexByte(b, escape)
	if i < 0 {
		return b, nil
	}
	plain := append(make([]byte, 0, len(b)), b[:i]...)
	for ; i < len(b); i++ {
		c := b[i]
		if c == escape {
			if i++; i == len(b) || b[i] != escapeZero && b[i] != escapeOne {
				return nil, corrupt("key", "byte %d of a string is escaped without being 0 or 1", i)
			}
			c = b[i] - escapeZero
		}
		plain = append(plain, c)
	}
	return plain, nil
}
