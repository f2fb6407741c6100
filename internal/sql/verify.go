package sql

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// Check proves a database sound above the engine: the dictionary, see dict.Check, and every table, see Verify. It returns what is wrong, one
// finding a line; none means sound, or that nobody has used SQL in it yet. Nobody else may use db meanwhile.
func Check(ctx context.Context, db *hearth.DB) (findings []string, err error) {
	if there, err := dict.Exists(ctx, db); !there {
		return nil, err
	}
	b, err := Open(ctx, db, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	findings = b.dict.Check(ctx)
	found, err := b.Verify(ctx)
	return append(findings, found...), err
}

// Verify holds all tables against their indexes, in one snapshot: every row decodes, has the key it lies under and all its entries, and
// every entry has its row. It returns what is wrong, one finding a line; none means sound.
func (b *Backend) Verify(ctx context.Context) (findings []string, err error) {
	for _, db := range b.dict.Schema().Databases() {
		for _, t := range db.Tables() {
			found, err := b.VerifyTable(ctx, t)
			if err != nil {
				return findings, fmt.Errorf("table %s.%s: %w", t.Database, t.Name, err)
			}
			findings = append(findings, found...)
		}
	}
	return findings, nil
}

// VerifyTable is Verify for one table. It stops at maxFindings.
func (b *Backend) VerifyTable(ctx context.Context, t *dict.Table) (findings []string, err error) {
	d, err := newDefinition(b, t)
	if err != nil {
		return nil, err
	}
	v := &verification{def: d}
	err = b.db.View(ctx, func(tx *hearth.Tx) error { return v.run(ctx, tx) })
	if errors.Is(err, hearth.ErrTreeNotFound) {
		return nil, nil // dropped, or being made
	}
	return v.findings, err
}

// maxFindings of one table.
const maxFindings = 100

type verification struct {
	def      *definition
	findings []string
	rows     *hearth.Tree
	indexes  []indexEditor
	entries  []uint64 // seen among the rows, by index
}

func (v *verification) find(format string, args ...any) bool {
	if len(v.findings) < maxFindings {
		v.findings = append(v.findings, fmt.Sprintf("table %s.%s: ", v.def.rec.Database, v.def.rec.Name)+fmt.Sprintf(format, args...))
	}
	return len(v.findings) < maxFindings
}

func (v *verification) run(ctx context.Context, tx *hearth.Tx) (err error) {
	if v.rows, err = tx.Tree(v.def.rec.RowTree()); err != nil {
		return err
	}
	for _, x := range v.def.secondary() {
		tree, err := tx.Tree(x.tree)
		if err != nil {
			return err
		}
		v.indexes = append(v.indexes, indexEditor{Index: x, tree: tree})
	}
	v.entries = make([]uint64, len(v.indexes))
	if err := v.eachRow(ctx); err != nil {
		return err
	}
	for i := range v.indexes {
		if err := v.count(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// eachRow looks at every row, and for its entries.
func (v *verification) eachRow(ctx context.Context) (err error) {
	c := v.rows.Cursor()
	defer c.Close()
	row := make(gms.Row, len(v.def.rec.Columns))
	var key, value []byte
	for ok := c.First(); ok; ok = c.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.def.codec.DecodeRow(c.Value(), row, nil); err != nil {
			if !v.find("row %x: %v", c.Key(), err) {
				return nil
			}
			continue
		}
		if !v.def.keyless() {
			if key, err = v.def.codec.AppendKey(key[:0], row); err != nil || !bytes.Equal(key, c.Key()) {
				v.find("row %x: its key is %x (%v)", c.Key(), key, err)
			}
		}
		for i := range v.indexes {
			x := &v.indexes[i]
			if x.key, x.value, _, err = x.entries.Append(x.key[:0], x.value[:0], row, c.Key()); err != nil {
				v.find("row %x: entry in index %s: %v", c.Key(), x.name, err)
				continue
			}
			if value, err = x.tree.GetTo(value[:0], x.key); err != nil && !errors.Is(err, hearth.ErrKeyNotFound) {
				return err
			}
			if err != nil || !bytes.Equal(value, x.value) {
				v.find("row %x: index %s has not its entry %x", c.Key(), x.name, x.key)
				continue
			}
			v.entries[i]++
		}
	}
	return c.Err()
}

// count compares how many entries an index has with how many belong to rows; if they are not as many it names those that have none.
func (v *verification) count(ctx context.Context, i int) error {
	x := &v.indexes[i]
	c := x.tree.Cursor()
	defer c.Close()
	var n uint64
	for ok := c.First(); ok; ok = c.Next() {
		n++
	}
	if n == v.entries[i] || c.Err() != nil {
		return c.Err()
	}
	v.find("index %s has %d entries, %d of them of rows", x.name, n, v.entries[i])
	for ok := c.First(); ok; ok = c.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, err := x.entries.RowKey(c.Key(), c.Value())
		if err != nil {
			v.find("index %s, entry %x: %v", x.name, c.Key(), err)
			continue
		}
		if _, err = v.rows.Get(key); errors.Is(err, hearth.ErrKeyNotFound) {
			if !v.find("index %s, entry %x: there is no row %x", x.name, c.Key(), key) {
				return nil
			}
		} else if err != nil {
			return err
		}
	}
	return c.Err()
}
