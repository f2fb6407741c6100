package rows

import (
	"errors"

	gms "github.com/dolthub/go-mysql-server/sql"
)

var errNotYet = errors.New("rows: not yet")

// Column of a table as it is stored.
type Column struct {
	Type     gms.Type
	Nullable bool
	Virtual  bool // a virtual generated column: never stored
}

// Part of a key: a column and, for prefix indexes, how much of it.
type Part struct {
	Column int    // ordinal in the table
	Prefix uint16 // characters of text, bytes of binary strings; 0: all of it
}

// Table encodes the rows and the row keys of one version of a table. It is immutable and serves
// any number of goroutines.
type Table struct {
	cols []Column
	key  *Key
}

// NewTable makes the codec of a table. With no primary parts the row key is a hidden row id.
func NewTable(cols []Column, primary []Part) (*Table, error) {
	return &Table{cols: cols, key: &Key{parts: primary}}, nil
}

// AppendRow appends all stored columns of row.
func (t *Table) AppendRow(dst []byte, row gms.Row) ([]byte, error) { return dst, errNotYet }

// DecodeRow fills row[i] for every i in want, for all stored columns when want is nil.
// What it fills never aliases b.
func (t *Table) DecodeRow(b []byte, row gms.Row, want []int) error { return errNotYet }

// AppendKey appends the primary key of row.
func (t *Table) AppendKey(dst []byte, row gms.Row) ([]byte, error) { return dst, errNotYet }

// Key is the encoding of the primary key; it has no parts when the table has a hidden row id.
func (t *Table) Key() *Key { return t.key }

// AppendRowID appends the row key of a table without a primary key.
func AppendRowID(dst []byte, id uint64) []byte { return dst }

// RowID is the id in a row key of a table without a primary key.
func RowID(key []byte) (uint64, error) { return 0, errNotYet }
