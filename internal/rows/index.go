package rows

import gms "github.com/dolthub/go-mysql-server/sql"

// Index encodes the entries of one secondary index.
type Index struct{ key *Key }

// NewIndex makes the codec of an index over parts of t's columns.
func NewIndex(t *Table, parts []Part, unique bool) (*Index, error) {
	return &Index{key: &Key{parts: parts}}, nil
}

// Append appends the entry of row to key and value. rowKey is the row's key in the table.
// hasNull: an index column is NULL, so that the entry is no duplicate of any other.
func (x *Index) Append(key, value []byte, row gms.Row, rowKey []byte) (k, v []byte, hasNull bool, err error) {
	return key, value, false, errNotYet
}

// RowKey is the row key in an entry, a slice of key or of value.
func (x *Index) RowKey(key, value []byte) ([]byte, error) { return nil, errNotYet }

// Covers reports whether all wanted columns can be had from an entry.
func (x *Index) Covers(want []int) bool { return false }

// Decode fills row[i] for every i in want. It needs Covers(want).
func (x *Index) Decode(key, value []byte, row gms.Row, want []int) error { return errNotYet }

// Key is the encoding of the index parts, for ranges.
func (x *Index) Key() *Key { return x.key }
