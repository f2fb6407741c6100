package rows

import (
	"encoding/binary"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// Index encodes the entries of one secondary index. It is immutable and serves any number of goroutines.
//
//	an entry that no other may equal (unique index, no NULL):
//	    key     the index parts
//	    value   head u8 = 11, length of the row key uvarint, row key, columns
//	any other:
//	    key     the index parts, the row key
//	    value   head u8 = 10, columns
//
// The high half of the head is the format version, 1. columns: the index columns that have no prefix and cannot be had from
// the key (collated text), as a row (layout.go); nothing if there are none. So a covering read needs no row.
type Index struct {
	unique bool
	key    *Key
	row    *Key    // the row key
	extra  *layout // nil: none
	source []source
}

const (
	headVersion = formatVersion << 4
	headRowKey  = 1 // the value has the row key
)

// source is where an entry has a column of the table.
type source struct {
	from place
	part int // of the index or of the row key
}

type place uint8

const (
	nowhere place = iota
	inKey
	inRowKey
	inValue
)

// NewIndex makes the codec of an index over parts of t's columns.
func NewIndex(t *Table, parts []Part, unique bool) (*Index, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("an index of no columns")
	}
	key, err := newKey(t, parts)
	if err != nil {
		return nil, err
	}
	x := &Index{unique: unique, key: key, row: t.key, source: make([]source, len(t.cols))}
	var extra []int
	for i := range key.parts {
		p := &key.parts[i]
		switch {
		case x.source[p.column].from != nowhere:
		case key.Reversible(i):
			x.source[p.column] = source{inKey, i}
		case p.prefix == 0:
			x.source[p.column] = source{from: inValue}
			extra = append(extra, p.column)
		}
	}
	for i := range t.key.parts {
		p := &t.key.parts[i]
		if x.source[p.column].from == nowhere && t.key.Reversible(i) {
			x.source[p.column] = source{inRowKey, i}
		}
	}
	if extra != nil {
		x.extra = newLayout(t.codecs, extra)
	}
	return x, nil
}

// Append appends the entry of row to key and value. rowKey is the row's key in the table. hasNull: an index column is NULL, so
// that no other entry is a duplicate of this one, also in a unique index.
func (x *Index) Append(key, value []byte, row gms.Row, rowKey []byte) (k, v []byte, hasNull bool, err error) {
	if len(row) != len(x.source) {
		return key, value, false, fmt.Errorf("a row of %d values for a table of %d columns", len(row), len(x.source))
	}
	for i := range x.key.parts {
		hasNull = hasNull || row[x.key.parts[i].column] == nil
	}
	if k, err = x.key.appendRow(key, row); err != nil {
		return key, value, false, err
	}
	if x.unique && !hasNull {
		v = append(value, headVersion|headRowKey)
		v = append(binary.AppendUvarint(v, uint64(len(rowKey))), rowKey...)
	} else {
		k = append(k, rowKey...)
		v = append(value, headVersion)
	}
	if x.extra != nil {
		if v, err = x.extra.appendRow(v, row); err != nil {
			return key, value, false, err
		}
	}
	return k, v, hasNull, nil
}

// parse finds the parts of a value. rowKey is nil if it is in the key.
func (x *Index) parse(value []byte) (rowKey, columns []byte, err error) {
	if len(value) == 0 || value[0]&^headRowKey != headVersion {
		return nil, nil, corrupt("index entry", "value %.8x, this program knows version %d", value, formatVersion)
	}
	if value[0]&headRowKey == 0 {
		return nil, value[1:], nil
	}
	size, n := binary.Uvarint(value[1:])
	rest := value[min(1+max(n, 0), len(value)):]
	if n <= 0 || size == 0 || size > uint64(len(rest)) {
		return nil, nil, corrupt("index entry", "a row key of %d bytes in %d", size, len(rest))
	}
	return rest[:size:size], rest[size:], nil
}

// RowKey is the row key in an entry, a slice of key or of value.
func (x *Index) RowKey(key, value []byte) ([]byte, error) {
	rowKey, _, err := x.parse(value)
	if err != nil || rowKey != nil {
		return rowKey, err
	}
	for i := range x.key.parts {
		if _, key, err = x.key.Split(key, i); err != nil {
			return nil, err
		}
	}
	if len(key) == 0 {
		return nil, corrupt("index entry", "no row key")
	}
	return key, nil
}

// Covers reports whether all wanted columns can be had from an entry: index columns without a prefix, and columns of the row key
// that it can be reversed to.
func (x *Index) Covers(want []int) bool {
	for _, column := range want {
		if x.source[column].from == nowhere {
			return false
		}
	}
	return true
}

// Decode fills row[i] for every i in want. It needs Covers(want). What it fills never aliases the entry.
func (x *Index) Decode(key, value []byte, row gms.Row, want []int) error {
	var ofKey, ofRowKey uint32 // sets of parts
	ofValue := false
	for _, column := range want {
		switch s := x.source[column]; s.from {
		case inKey:
			ofKey |= 1 << s.part
		case inRowKey:
			ofRowKey |= 1 << s.part
		case inValue:
			ofValue = true
		default:
			panic(fmt.Sprintf("BUG: Decode of column %d, got an index that has it not", column))
		}
	}
	rowKey, columns, err := x.parse(value)
	if err != nil {
		return err
	}
	if rowKey == nil && ofRowKey != 0 {
		ofKey |= 1 << len(x.key.parts) // go past all parts
	}
	rest, err := x.key.decodeParts(key, row, ofKey)
	if err != nil {
		return err
	}
	if rowKey == nil {
		rowKey = rest
	}
	if _, err := x.row.decodeParts(rowKey, row, ofRowKey); err != nil {
		return err
	}
	if !ofValue {
		return nil
	}
	return x.extra.decode(columns, row, want)
}

// Key is the encoding of the index parts, for ranges.
func (x *Index) Key() *Key { return x.key }

// decodeParts fills the columns of the wanted parts and returns what comes behind the last of them. Bit k.Len() of wanted asks
// to go past all parts.
func (k *Key) decodeParts(b []byte, row gms.Row, wanted uint32) (rest []byte, err error) {
	for i := 0; i < len(k.parts) && wanted>>i != 0; i++ {
		if wanted&(1<<i) == 0 {
			if _, b, err = k.Split(b, i); err != nil {
				return nil, err
			}
			continue
		}
		if row[k.parts[i].column], b, err = k.DecodePart(b, i); err != nil {
			return nil, err
		}
	}
	return b, nil
}
