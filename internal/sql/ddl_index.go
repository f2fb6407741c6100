package sql

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var (
	_ gms.IndexAlterableTable      = (*Table)(nil)
	_ gms.IndexBuildingTable       = (*Table)(nil)
	_ gms.PrimaryKeyAlterableTable = (*Table)(nil)
)

// CreateIndex implements gms.IndexAlterableTable. The index is complete when it returns.
func (t *table) CreateIndex(ctx *gms.Context, def gms.IndexDef) error {
	return t.createIndex(ctx, def, false)
}

// CreateIndexForForeignKey implements gms.ForeignKeyTable.
func (t *table) CreateIndexForForeignKey(ctx *gms.Context, def gms.IndexDef) error {
	return t.createIndex(ctx, def, true)
}

// ShouldBuildIndex implements gms.IndexBuildingTable: CreateIndex has done it.
func (t *table) ShouldBuildIndex(*gms.Context, gms.IndexDef) (bool, error) { return false, nil }

// BuildIndex implements gms.IndexBuildingTable. For a unique index GMS does not ask whether it should. The next thing it does is to read
// the whole table, by the definition there was before the index: the session is told to give it nothing.
func (t *table) BuildIndex(ctx *gms.Context, _ gms.IndexDef) (gms.RowInserter, error) {
	SessionOf(ctx).built = t.def.rec.ID
	return built{}, nil
}

// built is what fills an index that is full.
type built struct{}

func (built) StatementBegin(*gms.Context)              {}
func (built) StatementComplete(*gms.Context) error     { return nil }
func (built) DiscardChanges(*gms.Context, error) error { return nil }
func (built) Insert(*gms.Context, gms.Row) error       { return nil }
func (built) Close(*gms.Context) error                 { return nil }

func (t *table) createIndex(ctx *gms.Context, def gms.IndexDef, generated bool) error {
	switch {
	case def.IsFullText():
		return gms.ErrUnsupportedFeature.New("FULLTEXT INDEX")
	case def.IsSpatial():
		return gms.ErrUnsupportedFeature.New("SPATIAL INDEX")
	case def.IsVector():
		return gms.ErrUnsupportedFeature.New("VECTOR INDEX")
	}
	return t.alter(ctx, func(a *alteration) error {
		name := def.Name
		if name == "" {
			name = a.indexName(def.Columns[0].Name)
		}
		if strings.EqualFold(name, primaryName) {
			return mysql.NewSQLError(mysql.ERWrongNameForIndex, "42000", "Incorrect index name '%s'", name)
		}
		if a.rec.Index(name) != nil {
			return gms.ErrDuplicateKey.New(name)
		}
		parts, err := partsOf(a.rec, def.Columns)
		if err != nil {
			return err
		}
		if err := checkKey(a.rec, parts); err != nil {
			return err
		}
		id, err := a.backend.dict.NewID()
		if err != nil {
			return err
		}
		a.rec.Indexes = append(a.rec.Indexes, dict.Index{
			ID: id, Name: name, Parts: parts, Unique: def.IsUnique(), Generated: generated, Comment: def.Comment,
		})
		a.sortIndexes()
		return a.buildIndex(ctx, id)
	})
}

// sortIndexes puts the indexes in the order in which MySQL shows them and chooses among equals: first unique ones without NULLs, then
// unique ones, then the others, each as they were made.
func (a *alteration) sortIndexes() {
	rank := func(x dict.Index) int {
		switch {
		case !x.Unique:
			return 2
		case slices.ContainsFunc(x.Parts, func(p dict.Part) bool { return a.rec.Columns[p.Column].Nullable }):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(a.rec.Indexes, func(x, y dict.Index) int { return cmp.Compare(rank(x), rank(y)) })
}

// indexName is what MySQL calls an index without a name: like its first column, with a number if that is taken.
func (a *alteration) indexName(column string) string {
	name := column
	for i := 2; a.rec.Index(name) != nil; i++ {
		name = column + "_" + strconv.Itoa(i)
	}
	return name
}

// buildIndex fills the tree of the index that a.rec has and the table has not, and puts the definition. Where rows do not hold a virtual
// column yet that is now in an index, the table is rewritten.
func (a *alteration) buildIndex(ctx *gms.Context, id uint64) error {
	def, err := newDefinition(a.backend, a.rec)
	if err != nil {
		return err
	}
	if !sameRows(a.old.rec, a.rec) {
		return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) { return row, nil })
	}
	secondary := def.secondary()
	x := secondary[slices.IndexFunc(a.rec.Indexes, func(x dict.Index) bool { return x.ID == id })]
	l := &loader{tx: a.tx, name: x.tree}
	want := make([]int, len(x.parts))
	for i, p := range x.parts {
		want[i] = p.Column
	}
	var key, value []byte
	err = a.eachRow(ctx, want, func(rowKey []byte, row gms.Row) error {
		if key, value, _, err = x.entries.Append(key[:0], value[:0], row, rowKey); err != nil {
			return err
		}
		return l.add(key, value)
	})
	if err == nil {
		err = l.finish()
	}
	if err != nil {
		return a.duplicate(ctx, x, err)
	}
	return a.put()
}

// duplicate names the row that another one is equal to in a new index.
func (a *alteration) duplicate(ctx *gms.Context, x *Index, err error) error {
	var twice *duplicateError
	if !errors.As(err, &twice) {
		return err
	}
	key, err := x.entries.RowKey(twice.key, twice.value)
	if err != nil {
		return err
	}
	tree, err := a.tx.Tree(a.old.rec.RowTree())
	if err != nil {
		return err
	}
	value, err := tree.GetWith(nil, key, hearth.ReadOptions{Current: true})
	if err != nil {
		return err
	}
	row := make(gms.Row, len(a.old.rec.Columns))
	if err := a.old.codec.DecodeRow(value, row, nil); err != nil {
		return err
	}
	return gms.NewUniqueKeyErr(x.duplicate(ctx, row), false, row)
}

// sameRows: rows of both definitions hold the same columns. Virtual ones are held while they are in an index.
func sameRows(a, b *dict.Table) bool {
	for i := range a.Columns {
		if a.Columns[i].Virtual && indexed(a, i) != indexed(b, i) {
			return false
		}
	}
	return true
}

// DropIndex implements gms.IndexAlterableTable.
func (t *table) DropIndex(ctx *gms.Context, name string) error {
	if strings.EqualFold(name, primaryName) {
		return t.DropPrimaryKey(ctx)
	}
	return t.alter(ctx, func(a *alteration) error {
		x := a.rec.Index(name)
		if x == nil {
			return gms.ErrCantDropFieldOrKey.New(name)
		}
		id, tree := x.ID, a.rec.IndexTree(x.ID)
		a.rec.Indexes = slices.DeleteFunc(a.rec.Indexes, func(i dict.Index) bool { return i.ID == id })
		if !sameRows(a.old.rec, a.rec) {
			return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) { return row, nil })
		}
		if err := a.tx.DropTree(tree); err != nil {
			return err
		}
		return a.put()
	})
}

// RenameIndex implements gms.IndexAlterableTable.
func (t *table) RenameIndex(ctx *gms.Context, from, to string) error {
	return t.alter(ctx, func(a *alteration) error {
		x := a.rec.Index(from)
		switch {
		case x == nil:
			return mysql.NewSQLError(mysql.ERKeyDoesNotExist, "42000", "Key '%s' doesn't exist in table '%s'", from, a.rec.Name)
		case strings.EqualFold(to, primaryName):
			return mysql.NewSQLError(mysql.ERWrongNameForIndex, "42000", "Incorrect index name '%s'", to)
		case a.rec.Index(to) != nil && a.rec.Index(to) != x:
			return gms.ErrDuplicateKey.New(to)
		}
		x.Name = to
		return a.put()
	})
}

// CreatePrimaryKey implements gms.PrimaryKeyAlterableTable. GMS prefers RewriteInserter.
func (t *table) CreatePrimaryKey(ctx *gms.Context, columns []gms.IndexColumn) error {
	return t.alter(ctx, func(a *alteration) error {
		if len(a.rec.Primary) > 0 {
			return gms.ErrMultiplePrimaryKeysDefined.New()
		}
		if err := a.setPrimary(columns); err != nil {
			return err
		}
		return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) {
			for _, p := range a.rec.Primary {
				if row[p.Column] == nil {
					return nil, gms.ErrInsertIntoNonNullableProvidedNull.New(a.rec.Columns[p.Column].Name)
				}
			}
			return row, nil
		})
	})
}

// setPrimary gives the table a primary key.
func (a *alteration) setPrimary(columns []gms.IndexColumn) (err error) {
	if a.rec.Primary, err = partsOf(a.rec, columns); err != nil {
		return err
	}
	for _, p := range a.rec.Primary {
		a.rec.Columns[p.Column].Nullable = false
	}
	return checkKey(a.rec, a.rec.Primary)
}

// DropPrimaryKey implements gms.PrimaryKeyAlterableTable.
func (t *table) DropPrimaryKey(ctx *gms.Context) error {
	return t.alter(ctx, func(a *alteration) error {
		if len(a.rec.Primary) == 0 {
			return gms.ErrCantDropFieldOrKey.New(primaryName)
		}
		if err := gms.ValidatePrimaryKeyDrop(ctx, a.old.plain, a.old.schema); err != nil {
			return err
		}
		a.rec.Primary = nil
		return a.rewriteAll(ctx, func(row gms.Row) (gms.Row, error) { return row, nil })
	})
}
