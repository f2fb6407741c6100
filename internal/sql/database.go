package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth/internal/dict"
)

// Database is a database by name. What is in it is what the session that asks sees.
type Database struct {
	backend *Backend
	name    string
	picture *dict.Schema // for a walk over all definitions, which locks none of them; nil: what the session sees when it asks
}

var (
	_ gms.Database         = (*Database)(nil)
	_ gms.CollatedDatabase = (*Database)(nil)
)

// Name implements gms.Database.
func (d *Database) Name() string { return d.name }

// record of the database, nil if the session sees none (any more).
func (d *Database) record(ctx *gms.Context) *dict.Database {
	picture := d.picture
	if s := SessionOf(ctx); picture == nil && s != nil && s.quiet {
		picture = s.walk()
	}
	if picture != nil {
		return picture.Database(d.name)
	}
	return d.backend.provider.schemaOf(ctx).Database(d.name)
}

// GetTableInsensitive implements gms.Database. In a statement it locks the table's definition before it reads it.
func (d *Database) GetTableInsensitive(ctx *gms.Context, name string) (gms.Table, bool, error) {
	db := d.record(ctx)
	if db == nil {
		return nil, false, nil
	}
	s := SessionOf(ctx)
	if s != nil {
		if t, ok, err := d.temporaryTable(ctx, s, name); ok || err != nil {
			return t, ok, err
		}
	}
	t := db.Table(name)
	if t == nil {
		return nil, false, nil
	}
	if s != nil && d.picture == nil && !s.quiet && s.current() != nil {
		if err := s.LockTables(ctx, dict.Shared, dict.TableLock(d.name, name)); err != nil {
			return nil, false, err
		}
		if db = d.record(ctx); db == nil {
			return nil, false, nil
		}
		if t = db.Table(name); t == nil {
			return nil, false, nil
		}
	}
	def, err := d.backend.definition(t)
	if err != nil {
		return nil, false, err
	}
	return def.plain, true, nil
}

// GetTableNames implements gms.Database.
func (d *Database) GetTableNames(ctx *gms.Context) ([]string, error) {
	db := d.record(ctx)
	if db == nil {
		return nil, nil
	}
	all := db.Tables()
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names, nil
}

// GetCollation implements gms.CollatedDatabase.
func (d *Database) GetCollation(ctx *gms.Context) gms.CollationID {
	if db := d.record(ctx); db != nil && db.Collation != gms.Collation_Unspecified {
		return db.Collation
	}
	return defaultCollation
}

// SetCollation implements gms.CollatedDatabase.
func (d *Database) SetCollation(ctx *gms.Context, collation gms.CollationID) error {
	return d.setCollation(ctx, collation)
}
