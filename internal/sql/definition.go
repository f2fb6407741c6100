package sql

import (
	"fmt"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth/internal/dict"
	"github.com/hearthdb/hearth/internal/rows"
)

// definition is one version of a table with everything derived from it: GMS's schema, the encodings, the indexes. It is built
// once and shared by all sessions; nothing in it changes.
type definition struct {
	backend *Backend
	rec     *dict.Table
	schema  gms.PrimaryKeySchema
	bytes   gms.Schema // the same, with texts that are what their bytes are
	codec   *rows.Table
	indexes []*Index    // the primary key first, if there is one
	listed  []gms.Index // the same
	plain   *Table
	tree    string // of the rows
	stored  []int  // ordinals of the columns that scans read: all but virtual ones

	hidesIndexed bool // rows hold virtual columns nonetheless, because indexes have them; scans leave them out
}

// keyless: rows have a hidden id for a key.
func (d *definition) keyless() bool { return len(d.rec.Primary) == 0 }

// definition of a table. The last one of each table is kept.
func (b *Backend) definition(t *dict.Table) (*definition, error) {
	if d, ok := b.definitions.Load(t.ID); ok && d.(*definition).rec.Version == t.Version {
		return d.(*definition), nil
	}
	d, err := newDefinition(b, t)
	if err != nil {
		return nil, fmt.Errorf("table %s.%s: %w", t.Database, t.Name, err)
	}
	if _, had := b.definitions.Swap(t.ID, d); !had {
		b.forgetDropped()
	}
	return d, nil
}

// forgetDropped forgets tables that are gone, once there may be as many of them as of those that are.
func (b *Backend) forgetDropped() {
	schema, known, there := b.dict.Schema(), 0, 0
	b.definitions.Range(func(_, _ any) bool { known++; return true })
	for _, db := range schema.Databases() {
		there += len(db.Tables())
	}
	if known <= 2*there+64 {
		return
	}
	b.definitions.Range(func(id, d any) bool {
		rec := d.(*definition).rec
		if t := schema.Table(rec.Database, rec.Name); t == nil || t.ID != rec.ID {
			b.definitions.Delete(id)
			b.stats.forget(rec.ID)
		}
		return true
	})
}

func newDefinition(b *Backend, t *dict.Table) (*definition, error) {
	d := &definition{backend: b, rec: t, tree: t.RowTree()}
	d.plain = &Table{table{def: d}}

	primary := make([]rows.Part, len(t.Primary))
	isKey := make(map[int]bool, len(t.Primary))
	ordinals := make([]int, len(t.Primary))
	for i, p := range t.Primary {
		primary[i] = rows.Part{Column: p.Column, Prefix: p.Prefix}
		ordinals[i], isKey[p.Column] = p.Column, true
	}
	columns := make([]rows.Column, len(t.Columns))
	schema := make(gms.Schema, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		columns[i] = rows.Column{Type: c.Type, Nullable: c.Nullable, Virtual: c.Virtual && !indexed(t, i)}
		if !c.Virtual {
			d.stored = append(d.stored, i)
		} else if indexed(t, i) {
			d.hidesIndexed = true
		}
		schema[i] = gmsColumn(t, c, isKey[i])
	}
	d.schema = gms.NewPrimaryKeySchema(schema, ordinals...)
	d.bytes = schema
	if bytes, differs := byteSchema(schema); differs {
		d.bytes = bytes
	}

	var err error
	if d.codec, err = rows.NewTable(columns, primary); err != nil {
		return nil, err
	}
	if len(primary) > 0 {
		d.indexes = append(d.indexes, newPrimary(d))
	}
	for i := range t.Indexes {
		x, err := newSecondary(d, &t.Indexes[i])
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", t.Indexes[i].Name, err)
		}
		d.indexes = append(d.indexes, x)
	}
	d.listed = make([]gms.Index, len(d.indexes))
	for i, x := range d.indexes {
		d.listed[i] = x
	}
	return d, nil
}

// indexed: a secondary index has the column.
func indexed(t *dict.Table, column int) bool {
	return slices.ContainsFunc(t.Indexes, func(x dict.Index) bool {
		return slices.ContainsFunc(x.Parts, func(p dict.Part) bool { return p.Column == column })
	})
}

func gmsColumn(t *dict.Table, c *dict.Column, key bool) *gms.Column {
	return &gms.Column{
		Name:           c.Name,
		Type:           c.Type,
		Default:        columnDefault(c.Default),
		AutoIncrement:  c.AutoIncrement,
		Nullable:       c.Nullable,
		Source:         t.Name,
		DatabaseSource: t.Database,
		PrimaryKey:     key,
		Comment:        c.Comment,
		Extra:          c.Extra,
		Generated:      columnDefault(c.Generated),
		Virtual:        c.Virtual,
		OnUpdate:       columnDefault(c.OnUpdate),
	}
}

// columnDefault is an expression of the dictionary as GMS takes it. GMS parses the text in every statement that needs it.
func columnDefault(e *dict.Expression) *gms.ColumnDefaultValue {
	if e == nil {
		return nil
	}
	v := gms.NewUnresolvedColumnDefaultValue(e.Text)
	v.Literal, v.Parenthesized, v.ReturnNil = e.Literal, e.Parenthesized, e.ReturnNil
	return v
}

// column returns the ordinal of a column by its name, -1 if there is none.
func (d *definition) column(name string) int {
	for i := range d.rec.Columns {
		if strings.EqualFold(d.rec.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}

// index of that name, nil if there is none.
func (d *definition) index(name string) *Index {
	for _, x := range d.indexes {
		if strings.EqualFold(x.name, name) {
			return x
		}
	}
	return nil
}
