package dict

import (
	"fmt"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
)

// The definitions that are plain text to us have the shape go-mysql-server gives them. In the tree they are records of our
// own (record.go), so a field more over there does not change what is stored here.
type (
	// ForeignKey is declared by the table Database.Table. Names in it are as they were written.
	ForeignKey = gms.ForeignKeyConstraint
	// Check is a CHECK constraint.
	Check     = gms.CheckDefinition
	View      = gms.ViewDefinition
	Trigger   = gms.TriggerDefinition
	Procedure = gms.StoredProcedureDetails
	Event     = gms.EventDefinition
)

// Table is the definition of a table. Immutable once a picture shows it: Clone it to change it.
type Table struct {
	ID       uint64 // for life, also when renamed
	Version  uint64 // another one with every put; never used twice, by no table
	Database string
	Name     string
	// Temporary tables are a session's own and never in the dictionary; only the names of their trees come from here.
	Temporary bool

	Collation   gms.CollationID
	Comment     string
	Columns     []Column
	Primary     []Part // in key order; empty: no primary key
	Indexes     []Index
	Checks      []Check
	ForeignKeys []ForeignKey // declared by this table

	// Storage tells apart the sets of trees that this table had and has: TRUNCATE and rewriting ALTERs take a new one from NewID
	// and fill new trees, so that a reader of an older snapshot finds the old ones. That of a new table may be its ID.
	Storage uint64
	// Counter is the AUTO_INCREMENT counter, 0 for none. Rewrites keep it. TRUNCATE, and an ALTER that sets another next value,
	// take a new one from NewID, so that it rolls back with the rest of the change. That of a new table may be its ID.
	Counter uint64
	// CounterStart is the first value of Counter; 0 is 1.
	CounterStart uint64
}

// Column of a table.
type Column struct {
	Name          string
	Type          gms.Type
	Nullable      bool
	AutoIncrement bool
	Default       *Expression // nil: none was written
	Generated     *Expression
	Virtual       bool // Generated, and not stored
	OnUpdate      *Expression
	Comment       string
	Extra         string // information_schema.columns.extra
}

// Expression of a column, as text, with what go-mysql-server's ColumnDefaultValue knows about it.
type Expression struct {
	Text          string
	Literal       bool // a literal, not an expression
	Parenthesized bool // was written in parentheses
	ReturnNil     bool // may be NULL
}

// Part of a key: the ordinal of a column, and how many characters (bytes of binary types) of it; 0 is all.
type Part struct {
	Column int
	Prefix uint16
}

// Index is a secondary index. FULLTEXT and SPATIAL indexes do not get here.
type Index struct {
	ID        uint64 // from NewID
	Name      string
	Parts     []Part
	Unique    bool
	Generated bool // made for a foreign key
	Comment   string
}

// treePrefix begins the names of all trees of tables.
const treePrefix = "t/"

// TemporaryPrefix begins the names of the trees of temporary tables.
const TemporaryPrefix = "temporary/"

// RowTree is the name of the engine's tree with the rows: "t/<table>/<storage>", both as 16 hexadecimal digits.
func (t *Table) RowTree() string {
	prefix := treePrefix
	if t.Temporary {
		prefix = TemporaryPrefix
	}
	return fmt.Sprintf("%s%016x/%016x", prefix, t.ID, t.Storage)
}

// IndexTree is the name of the engine's tree of one index: that of the rows, and "/<index>".
func (t *Table) IndexTree(id uint64) string { return fmt.Sprintf("%s/%016x", t.RowTree(), id) }

// Trees lists the names of all trees of the table, the rows first.
func (t *Table) Trees() []string {
	names := []string{t.RowTree()}
	for i := range t.Indexes {
		names = append(names, t.IndexTree(t.Indexes[i].ID))
	}
	return names
}

// Column returns the ordinal of the column of that name, -1 if there is none. Case does not matter.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
}

// Index returns the index of that name, nil if there is none. Case does not matter.
func (t *Table) Index(name string) *Index {
	for i := range t.Indexes {
		if strings.EqualFold(t.Indexes[i].Name, name) {
			return &t.Indexes[i]
		}
	}
	return nil
}

// AutoIncrement returns the ordinal of the AUTO_INCREMENT column, -1 if there is none.
func (t *Table) AutoIncrement() int {
	for i := range t.Columns { // no copies: this runs for every row that gets a value
		if t.Columns[i].AutoIncrement {
			return i
		}
	}
	return -1
}

// Clone copies the definition so deep that the copy may be changed in every place. Types are immutable and shared.
func (t *Table) Clone() *Table {
	c := *t
	c.Columns = slices.Clone(t.Columns)
	for i := range c.Columns {
		col := &c.Columns[i]
		col.Default, col.Generated, col.OnUpdate = col.Default.clone(), col.Generated.clone(), col.OnUpdate.clone()
	}
	c.Primary = slices.Clone(t.Primary)
	c.Indexes = slices.Clone(t.Indexes)
	for i := range c.Indexes {
		c.Indexes[i].Parts = slices.Clone(c.Indexes[i].Parts)
	}
	c.Checks = slices.Clone(t.Checks)
	c.ForeignKeys = slices.Clone(t.ForeignKeys)
	for i := range c.ForeignKeys {
		fk := &c.ForeignKeys[i]
		fk.Columns, fk.ParentColumns = slices.Clone(fk.Columns), slices.Clone(fk.ParentColumns)
	}
	return &c
}

func (e *Expression) clone() *Expression {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}
