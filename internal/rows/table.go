package rows

import (
	"encoding/binary"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// Column of a table as it is stored.
type Column struct {
	Type     gms.Type
	Nullable bool // part of the encoding of keys: who changes it encodes again the keys with this column
	Virtual  bool // a virtual generated column: not in rows, but an index may have it
}

// Part of a key: a column and, for prefix indexes, how much of it.
type Part struct {
	Column int    // ordinal in the table
	Prefix uint16 // characters of text, bytes of binary strings; 0: all of it
}

// Table encodes the rows and the row keys of one version of a table. It is immutable and serves any number of goroutines.
type Table struct {
	cols   []Column
	codecs []codec // of cols
	row    *layout
	key    *Key
}

// NewTable makes the codec of a table. With no primary parts the row key is a hidden row id (AppendRowID).
func NewTable(cols []Column, primary []Part) (*Table, error) {
	if len(cols) > MaxColumns {
		return nil, fmt.Errorf("%d columns, the limit is %d", len(cols), MaxColumns)
	}
	t := &Table{cols: cols}
	var stored []int
	for i, col := range cols {
		c, err := newCodec(col.Type)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		t.codecs = append(t.codecs, c)
		if !col.Virtual {
			stored = append(stored, i)
		}
	}
	for _, p := range primary {
		if p.Column >= 0 && p.Column < len(cols) && cols[p.Column].Nullable {
			return nil, fmt.Errorf("column %d: nullable, but in the primary key", p.Column)
		}
	}
	t.row = newLayout(t.codecs, stored)
	var err error
	t.key, err = newKey(t, primary)
	return t, err
}

// AppendRow appends all stored columns of row, which has a value for each column of the table.
//
// A value without the Go type that go-mysql-server uses for the column's type is converted as by an assignment; if that fails, the
// error names the column by its ordinal. dst comes back as it was with an error.
func (t *Table) AppendRow(dst []byte, row gms.Row) ([]byte, error) {
	if err := t.checkLen(row); err != nil {
		return dst, err
	}
	return t.row.appendRow(dst, row)
}

// DecodeRow fills row[i] for every i in want, for all when want is nil; others are left, and so are virtual columns. What it fills
// never aliases b. A column that was added to the table after the row was stored, behind the columns there were, is filled with
// nil. A *CorruptError is returned when b is no row of this table.
func (t *Table) DecodeRow(b []byte, row gms.Row, want []int) error {
	if err := t.checkLen(row); err != nil {
		return err
	}
	return t.row.decode(b, row, want)
}

// AppendKey appends the primary key of row.
func (t *Table) AppendKey(dst []byte, row gms.Row) ([]byte, error) {
	if err := t.checkLen(row); err != nil {
		return dst, err
	}
	return t.key.appendRow(dst, row)
}

// Key is the encoding of the primary key. It has no parts when the row key is a row id.
func (t *Table) Key() *Key { return t.key }

func (t *Table) checkLen(row gms.Row) error {
	if len(row) != len(t.cols) {
		return fmt.Errorf("a row of %d values for a table of %d columns", len(row), len(t.cols))
	}
	return nil
}

// rowIDSize is the length of the row key of a table without a primary key: the id, most significant byte first.
const rowIDSize = 8

// AppendRowID appends the row key of a table without a primary key.
func AppendRowID(dst []byte, id uint64) []byte { return binary.BigEndian.AppendUint64(dst, id) }

// RowID is the id in a row key of a table without a primary key.
func RowID(key []byte) (uint64, error) {
	if len(key) != rowIDSize {
		return 0, corrupt("key", "a row id of %d bytes, want %d", len(key), rowIDSize)
	}
	return binary.BigEndian.Uint64(key), nil
}
