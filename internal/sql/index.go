package sql

import (
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"

	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/rows"
)

// primaryName is what GMS knows a primary key by.
const primaryName = "PRIMARY"

// Index is the primary key or a secondary index of one version of a table.
type Index struct {
	def       *definition
	name      string
	comment   string
	unique    bool
	generated bool
	parts     []rows.Part
	key       *rows.Key
	entries   *rows.Index // nil: the primary key, whose entries are the rows
	tree      string

	expressions []gms.ColumnExpressionType // its columns
	extended    []gms.ColumnExpressionType // and those of the primary key that are not among them
	extendedBy  []int                      // part of the primary key behind each column that extends
	prefixes    []uint16                   // nil without prefixes: GMS looks at the length
}

var (
	_ gms.Index         = (*Index)(nil)
	_ gms.ExtendedIndex = (*Index)(nil)
	_ gms.FilteredIndex = (*Index)(nil)
	_ gms.OrderedIndex  = (*Index)(nil)
)

func newPrimary(d *definition) *Index {
	x := &Index{def: d, name: primaryName, unique: true, key: d.codec.Key(), tree: d.tree}
	x.describe(d.rec.Primary)
	return x
}

func newSecondary(d *definition, rec *dict.Index) (*Index, error) {
	x := &Index{
		def: d, name: rec.Name, comment: rec.Comment, unique: rec.Unique, generated: rec.Generated,
		tree: d.rec.IndexTree(rec.ID),
	}
	x.describe(rec.Parts)
	var err error
	if x.entries, err = rows.NewIndex(d.codec, x.parts, rec.Unique); err != nil {
		return nil, err
	}
	x.key = x.entries.Key()
	return x, nil
}

// describe sets what GMS asks for.
func (x *Index) describe(parts []dict.Part) {
	column := func(i int) gms.ColumnExpressionType {
		c := x.def.schema.Schema[i]
		return gms.ColumnExpressionType{Expression: fmt.Sprintf("%s.%s", x.def.rec.Name, c.Name), Type: c.Type}
	}
	has := map[int]bool{}
	for i, p := range parts {
		x.parts = append(x.parts, rows.Part{Column: p.Column, Prefix: p.Prefix})
		x.expressions = append(x.expressions, column(p.Column))
		has[p.Column] = true
		if p.Prefix > 0 && x.prefixes == nil {
			x.prefixes = make([]uint16, len(parts))
		}
		if p.Prefix > 0 {
			x.prefixes[i] = p.Prefix
		}
	}
	x.extended = append(x.extended, x.expressions...)
	for i, p := range x.def.rec.Primary {
		if !has[p.Column] {
			x.extended = append(x.extended, column(p.Column))
			x.extendedBy = append(x.extendedBy, i)
		}
	}
}

// ID implements gms.Index.
func (x *Index) ID() string { return x.name }

// String names the index in plans.
func (x *Index) String() string { return x.name }

// Database implements gms.Index.
func (x *Index) Database() string { return x.def.rec.Database }

// Table implements gms.Index.
func (x *Index) Table() string { return x.def.rec.Name }

// Expressions implements gms.Index.
func (x *Index) Expressions() []string { return names(x.expressions) }

// ColumnExpressionTypes implements gms.Index.
func (x *Index) ColumnExpressionTypes() []gms.ColumnExpressionType { return x.expressions }

// ExtendedExpressions implements gms.ExtendedIndex.
func (x *Index) ExtendedExpressions() []string { return names(x.extended) }

// ExtendedColumnExpressionTypes implements gms.ExtendedIndex.
func (x *Index) ExtendedColumnExpressionTypes() []gms.ColumnExpressionType { return x.extended }

func names(columns []gms.ColumnExpressionType) []string {
	s := make([]string, len(columns))
	for i, c := range columns {
		s[i] = c.Expression
	}
	return s
}

// IsUnique implements gms.Index.
func (x *Index) IsUnique() bool { return x.unique }

// IsSpatial implements gms.Index.
func (x *Index) IsSpatial() bool { return false }

// IsFullText implements gms.Index.
func (x *Index) IsFullText() bool { return false }

// IsVector implements gms.Index.
func (x *Index) IsVector() bool { return false }

// Comment implements gms.Index.
func (x *Index) Comment() string { return x.comment }

// IndexType implements gms.Index.
func (x *Index) IndexType() string { return "BTREE" }

// IsGenerated implements gms.Index. An index that was made for a foreign key is shown like any other, as in MySQL.
func (x *Index) IsGenerated() bool { return false }

// CanSupport implements gms.Index: all ranges.
func (x *Index) CanSupport(*gms.Context, ...gms.Range) bool { return true }

// CanSupportOrderBy implements gms.Index. It is asked about distances of vectors only.
func (x *Index) CanSupportOrderBy(gms.Expression) bool { return false }

// PrefixLengths implements gms.Index.
func (x *Index) PrefixLengths() []uint16 { return x.prefixes }

// Order implements gms.OrderedIndex.
func (x *Index) Order() gms.IndexOrder { return gms.IndexOrderAsc }

// Reversible implements gms.OrderedIndex.
func (x *Index) Reversible() bool { return true }

// HandledFilters implements gms.FilteredIndex.
func (x *Index) HandledFilters(filters []gms.Expression) (handled []gms.Expression) {
	for _, f := range filters {
		if expression.PreciseComparison(f) {
			handled = append(handled, f)
		}
	}
	return handled
}
