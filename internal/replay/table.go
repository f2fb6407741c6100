package replay

import (
	"slices"
	"strings"
)

// Table is what the rewriter must know of one.
type Table struct {
	Schema, Name string
	Columns      []Column
	Indexes      []Index      // B-trees of plain columns, PRIMARY first if there is one
	Parents      []ForeignKey // where this table is the child
	Children     []ForeignKey // where it is the parent
}

// Column of a Table.
type Column struct {
	Name          string
	Type          string // data_type of information_schema, in lower case: "int", "varchar"
	Charset       string // of strings
	Collation     string
	Unsigned      bool
	Nullable      bool
	AutoIncrement bool
	Generated     bool
	Default       string // as SQL; "" for NULL or none
}

// Index of a Table.
type Index struct {
	Name    string
	Unique  bool
	Columns []string
}

// ForeignKey from a child to a parent.
type ForeignKey struct {
	Name                       string
	ChildSchema, ChildTable    string
	ParentSchema, ParentTable  string
	ChildColumns, ParentColumn []string
	OnDelete, OnUpdate         bool // rows of the child change with the parent's
}

func (t *Table) column(name string) *Column {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, name) {
			return &t.Columns[i]
		}
	}
	return nil
}

// primary is the clustered key; nil if the table has none that we see.
func (t *Table) primary() *Index {
	if len(t.Indexes) > 0 && t.Indexes[0].Name == "PRIMARY" {
		return &t.Indexes[0]
	}
	return nil
}

func (t *Table) primaryColumns() []string {
	if p := t.primary(); p != nil {
		return p.Columns
	}
	return nil
}

func (t *Table) secondary() []Index {
	if t.primary() != nil {
		return t.Indexes[1:]
	}
	return t.Indexes
}

// loose is a column that no index holds, so that whoever reads it reads the row; "" if there is none.
func (t *Table) loose() string {
	for _, c := range t.Columns {
		if c.Generated || strings.Contains(c.Type, "blob") || strings.Contains(c.Type, "text") || c.Type == "json" {
			continue
		}
		if !slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.has(c.Name) }) {
			return c.Name
		}
	}
	return ""
}

// beyondPrimary is a column that the primary key does not hold: a server that is asked for key columns alone may answer from
// another index, or from what it was given. It is the key's first column if there is no other.
func (t *Table) beyondPrimary() string {
	for _, c := range t.Columns {
		if !c.Generated && !t.primary().has(c.Name) {
			return c.Name
		}
	}
	return t.primaryColumns()[0]
}

func (x *Index) has(column string) bool {
	return slices.ContainsFunc(x.Columns, func(c string) bool { return strings.EqualFold(c, column) })
}

func (x *Index) hasAny(columns []string) bool { return slices.ContainsFunc(columns, x.has) }

// isString: comparisons with anything but a string would not use an index.
func (c *Column) isString() bool {
	switch c.Type {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "enum", "set":
		return true
	}
	return false
}

// as is an expression of the column's own type, so that a comparison with the column can use its index.
func (c *Column) as(expr string) string {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		if c.Unsigned {
			return "CAST((" + expr + ") AS UNSIGNED)"
		}
		return "CAST((" + expr + ") AS SIGNED)"
	case "decimal":
		return "CAST((" + expr + ") AS DECIMAL(65,30))"
	case "date":
		return "CAST((" + expr + ") AS DATE)"
	case "datetime", "timestamp":
		return "CAST((" + expr + ") AS DATETIME(6))"
	case "time":
		return "CAST((" + expr + ") AS TIME(6))"
	}
	switch {
	case c.isString() && c.Charset != "":
		return "CONVERT((" + expr + ") USING " + c.Charset + ") COLLATE " + c.Collation
	case c.isString():
		return "CAST((" + expr + ") AS BINARY)"
	}
	return "(" + expr + ")"
}
