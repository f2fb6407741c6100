package sql

import (
	"cmp"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth/internal/dict"
)

// Foreign keys are the dictionary's to keep and GMS's to enforce: with editors that look rows up in the latest state and lock what they
// find, so that a parent cannot go while a child comes.

var _ gms.ForeignKeyTable = (*Table)(nil)

// GetForeignKeyEditor implements gms.ForeignKeyTable.
func (t *table) GetForeignKeyEditor(ctx *gms.Context) gms.ForeignKeyEditor { return editorOf(ctx, t) }

// GetDeclaredForeignKeys implements gms.ForeignKeyTable. GMS changes what it gets.
func (t *table) GetDeclaredForeignKeys(ctx *gms.Context) ([]gms.ForeignKeyConstraint, error) {
	return cloneKeys(t.current(ctx).ForeignKeys), nil
}

// GetReferencedForeignKeys implements gms.ForeignKeyTable. GMS changes what it gets.
func (t *table) GetReferencedForeignKeys(ctx *gms.Context) ([]gms.ForeignKeyConstraint, error) {
	return cloneKeys(t.def.backend.provider.schemaOf(ctx).ReferencedBy(t.def.rec.Database, t.def.rec.Name)), nil
}

// cloneKeys copies keys for GMS, all of them as resolved ones: GMS would resolve others in the next statement that changes rows, with a
// change of their definition and a look at all rows, which MySQL does not have.
func cloneKeys(keys []dict.ForeignKey) []gms.ForeignKeyConstraint {
	if len(keys) == 0 {
		return nil
	}
	keys = slices.Clone(keys)
	for i := range keys {
		keys[i].IsResolved = true
		keys[i].Columns, keys[i].ParentColumns = slices.Clone(keys[i].Columns), slices.Clone(keys[i].ParentColumns)
	}
	return keys
}

// AddForeignKey implements gms.ForeignKeyTable. Names are unique in the database.
func (t *table) AddForeignKey(ctx *gms.Context, fk gms.ForeignKeyConstraint) error {
	return t.alter(ctx, func(a *alteration) error {
		if err := a.nameIsFree(fk.Name); err != nil {
			return err
		}
		a.rec.ForeignKeys = append(a.rec.ForeignKeys, a.resolved(fk))
		a.sortKeys()
		return a.put()
	})
}

// resolved says of a key whether its parent is there.
func (a *alteration) resolved(fk dict.ForeignKey) dict.ForeignKey {
	fk.IsResolved = a.session.Schema().Table(fk.ParentDatabase, fk.ParentTable) != nil
	return fk
}

// sortKeys puts the foreign keys in the order of their names, in which InnoDB shows them.
func (a *alteration) sortKeys() {
	slices.SortFunc(a.rec.ForeignKeys, func(x, y dict.ForeignKey) int { return cmp.Compare(x.Name, y.Name) })
}

// orphanKeys makes the foreign keys that refer to a table unresolved, when it is dropped with foreign_key_checks off.
func (s *Session) orphanKeys(ctx *gms.Context, b *Backend, parent *dict.Table) error {
	for _, fk := range s.Schema().ReferencedBy(parent.Database, parent.Name) {
		rec := s.Schema().Table(fk.Database, fk.Table)
		if rec == nil || rec.ID == parent.ID || !fk.IsResolved {
			continue
		}
		def, err := b.definition(rec)
		if err != nil {
			return err
		}
		err = def.plain.alter(ctx, func(a *alteration) error {
			a.rec.ForeignKeys[findKey(a.rec, fk.Name)].IsResolved = false
			return a.put()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *alteration) nameIsFree(name string) error {
	db := a.session.Schema().Database(a.rec.Database)
	for _, t := range db.Tables() {
		if findKey(t, name) >= 0 && t.ID != a.rec.ID {
			return gms.ErrForeignKeyDuplicateName.New(name)
		}
	}
	if findKey(a.rec, name) >= 0 {
		return gms.ErrForeignKeyDuplicateName.New(name)
	}
	return nil
}

// findKey returns the place of a foreign key among those the table declares, -1 if it has none of that name.
func findKey(rec *dict.Table, name string) int {
	return slices.IndexFunc(rec.ForeignKeys, func(fk dict.ForeignKey) bool { return strings.EqualFold(fk.Name, name) })
}

// DropForeignKey implements gms.ForeignKeyTable.
func (t *table) DropForeignKey(ctx *gms.Context, name string) error {
	return t.alter(ctx, func(a *alteration) error {
		i := findKey(a.rec, name)
		if i < 0 {
			return gms.ErrForeignKeyNotFound.New(name, a.rec.Name)
		}
		a.rec.ForeignKeys = slices.Delete(a.rec.ForeignKeys, i, i+1)
		return a.put()
	})
}

// UpdateForeignKey implements gms.ForeignKeyTable: also before its table, or its parent, is renamed.
func (t *table) UpdateForeignKey(ctx *gms.Context, name string, fk gms.ForeignKeyConstraint) error {
	return t.alter(ctx, func(a *alteration) error {
		i := findKey(a.rec, name)
		if i < 0 {
			return gms.ErrForeignKeyNotFound.New(name, a.rec.Name)
		}
		if !strings.EqualFold(fk.Name, name) {
			if err := a.nameIsFree(fk.Name); err != nil {
				return err
			}
		}
		a.rec.ForeignKeys[i] = a.resolved(fk)
		a.sortKeys()
		return a.put()
	})
}
