package sql

import (
	"fmt"
	"io"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// table is a table as a statement uses it: a definition, which columns are wanted, and whether rows are locked as they are read.
// It holds no session (rule 1). GMS sees it as a Table or as a lockedTable, which have all its methods.
type table struct {
	def     *definition
	columns []int    // wanted, by ordinal; nil: all
	names   []string // the same by name
	lock    rowLock
	latest  bool // reads see the latest state and all own writes: for editors' lookups
}

// Table reads without locks. Whatever GMS may do with a table is a method of table; only what must be missing from a locked one
// (Truncate) is a method of Table.
type Table struct{ table }

// lockedTable locks each row before it returns it, see rowLock. It has no Truncate: GMS makes one of DELETE without a condition where
// it can, and that locks nothing.
type lockedTable struct{ table }

var (
	_ gms.Table                 = (*Table)(nil)
	_ gms.TemporaryTable        = (*Table)(nil)
	_ gms.Databaseable          = (*Table)(nil)
	_ gms.PrimaryKeyTable       = (*Table)(nil)
	_ gms.CommentedTable        = (*Table)(nil)
	_ gms.ProjectedTable        = (*Table)(nil)
	_ gms.IndexAddressableTable = (*Table)(nil)
	_ gms.IndexedTable          = (*Table)(nil)
	_ gms.StatisticsTable       = (*Table)(nil)
	_ gms.IndexedTable          = (*lockedTable)(nil)
)

// outer is the table as GMS sees it.
func (t table) outer() outerTable {
	if t.lock.mode != lockNone {
		return &lockedTable{t}
	}
	return &Table{t}
}

type outerTable interface {
	gms.IndexAddressableTable
	gms.IndexedTable
}

// Name implements gms.Table.
func (t *table) Name() string { return t.def.rec.Name }

// String implements gms.Table.
func (t *table) String() string { return t.def.rec.Name }

// Database implements gms.Databaseable.
func (t *table) Database() string { return t.def.rec.Database }

// Schema implements gms.Table: the wanted columns.
func (t *table) Schema() gms.Schema {
	if t.columns == nil {
		return t.def.schema.Schema
	}
	s := make(gms.Schema, len(t.columns))
	for i, c := range t.columns {
		s[i] = t.def.schema.Schema[c]
	}
	return s
}

// PrimaryKeySchema implements gms.PrimaryKeyTable: of the whole table.
func (t *table) PrimaryKeySchema() gms.PrimaryKeySchema { return t.def.schema }

// Collation implements gms.Table.
func (t *table) Collation() gms.CollationID { return t.def.rec.Collation }

// Comment implements gms.CommentedTable.
func (t *table) Comment() string { return t.def.rec.Comment }

// IsTemporary implements gms.TemporaryTable. GMS asks every table.
func (t *table) IsTemporary() bool { return t.def.rec.Temporary }

// WithProjections implements gms.ProjectedTable. An empty list wants rows without columns. A table with virtual columns has them all.
func (t *table) WithProjections(names []string) gms.Table {
	if len(t.def.stored) < len(t.def.rec.Columns) {
		return t.outer() // GMS computes virtual columns from whole rows, by the places of columns in them
	}
	n := *t
	n.names, n.columns = names, make([]int, 0, len(names))
	for _, name := range names {
		if c := t.def.column(name); c >= 0 {
			n.columns = append(n.columns, c)
		}
	}
	return n.outer()
}

// Projections implements gms.ProjectedTable.
func (t *table) Projections() []string { return t.names }

// GetIndexes implements gms.IndexAddressable. GMS asks a table value that it holds since before it made an index, too.
func (t *table) GetIndexes(ctx *gms.Context) ([]gms.Index, error) {
	if rec := t.current(ctx); rec != t.def.rec {
		def, err := t.def.backend.definition(rec)
		if err != nil {
			return nil, err
		}
		return def.listed, nil
	}
	return t.def.listed, nil
}

// PreciseMatch implements gms.IndexAddressable: rows outside of a range do not come, so GMS may drop the filters.
func (t *table) PreciseMatch() bool { return true }

// IndexedAccess implements gms.IndexAddressable. GMS calls it while planning.
func (t *table) IndexedAccess(_ *gms.Context, lookup gms.IndexLookup) gms.IndexedTable {
	if _, ok := lookup.Index.(*Index); !ok {
		return nil
	}
	return t.outer()
}

// Partitions implements gms.Table. There is one: GMS reads partitions one after the other.
func (t *table) Partitions(*gms.Context) (gms.PartitionIter, error) {
	return &onePartition{intervals: everything}, nil
}

// LookupPartitions implements gms.IndexedTable. A lookup join calls it for every row of its other side.
func (t *table) LookupPartitions(_ *gms.Context, lookup gms.IndexLookup) (gms.PartitionIter, error) {
	return t.lookup(lookup)
}

// PartitionRows implements gms.Table.
func (t *table) PartitionRows(ctx *gms.Context, p gms.Partition) (gms.RowIter, error) {
	one, ok := p.(*onePartition)
	if !ok {
		return nil, gms.ErrPartitionNotFound.New(p.Key())
	}
	s := &scan{table: *t, index: one.index, intervals: one.intervals, reverse: one.reverse}
	return s, s.open(ctx)
}

// lookup translates what is looked up. It does so here and now: a lookup join changes the ranges for its next row in place.
func (t *table) lookup(l gms.IndexLookup) (*onePartition, error) {
	x, ok := l.Index.(*Index)
	if !ok {
		return nil, fmt.Errorf("table %s: an index of type %T is not one of its own", t.Name(), l.Index)
	}
	if x.def != t.def {
		if x = t.def.index(x.name); x == nil {
			return nil, gms.ErrIndexNotFound.New(l.Index.ID())
		}
	}
	in, err := x.intervals(l.Ranges)
	return &onePartition{index: x, intervals: in, reverse: l.IsReverse}, err
}

// onePartition is the whole table, or what a lookup asks for, and the iterator over this one thing.
type onePartition struct {
	index     *Index // nil: all rows
	intervals []interval
	reverse   bool
	given     bool
}

var _ gms.PartitionIter = (*onePartition)(nil)

func (p *onePartition) Key() []byte              { return nil }
func (p *onePartition) Close(*gms.Context) error { return nil }

func (p *onePartition) Next(*gms.Context) (gms.Partition, error) {
	if p.given {
		return nil, io.EOF
	}
	p.given = true
	return p, nil
}
