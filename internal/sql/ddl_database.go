package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var (
	_ gms.MutableDatabaseProvider  = (*Provider)(nil)
	_ gms.CollatedDatabaseProvider = (*Provider)(nil)
)

// CreateDatabase implements gms.MutableDatabaseProvider.
func (p *Provider) CreateDatabase(ctx *gms.Context, name string) error {
	return p.CreateCollatedDatabase(ctx, name, gms.Collation_Unspecified)
}

// CreateCollatedDatabase implements gms.CollatedDatabaseProvider. Where the statement names no collation GMS passes its own default,
// which is not MySQL's.
func (p *Provider) CreateCollatedDatabase(ctx *gms.Context, name string, collation gms.CollationID) error {
	if collation == gms.Collation_Default || collation == gms.Collation_Unspecified {
		collation = p.backend.options.collation()
	}
	s := SessionOf(ctx)
	if err := s.LockTables(ctx, dict.Exclusive, dict.DatabaseLock(name)); err != nil {
		return err
	}
	if s.Schema().Database(name) != nil {
		return gms.ErrDatabaseExists.New(name)
	}
	return s.ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.PutDatabase(name, collation, "") })
}

// DropDatabase implements gms.MutableDatabaseProvider: with everything in it.
func (p *Provider) DropDatabase(ctx *gms.Context, name string) error {
	s := SessionOf(ctx)
	if err := s.LockTables(ctx, dict.Exclusive, dict.DatabaseLock(name)); err != nil {
		return err
	}
	db := s.Schema().Database(name)
	if db == nil {
		return gms.ErrDatabaseNotFound.New(name)
	}
	for _, t := range db.Tables() {
		for _, fk := range s.Schema().ReferencedBy(name, t.Name) {
			if s.Schema().Database(fk.Database) != db {
				return gms.ErrForeignKeyDropTable.New(t.Name, fk.Name)
			}
		}
	}
	err := s.ddl(ctx, func(c *dict.Change, tx *hearth.Tx) error {
		for _, t := range db.Tables() {
			if err := dropTrees(tx, t); err != nil {
				return err
			}
		}
		return c.DropDatabase(db.Name)
	})
	if err != nil {
		return err
	}
	return s.temporary.dropDatabase(ctx, s, name)
}

// setCollation changes the database's default collation.
func (d *Database) setCollation(ctx *gms.Context, collation gms.CollationID) error {
	s := SessionOf(ctx)
	if err := s.LockTables(ctx, dict.Exclusive, dict.DatabaseLock(d.name)); err != nil {
		return err
	}
	db := s.Schema().Database(d.name)
	if db == nil {
		return gms.ErrDatabaseNotFound.New(d.name)
	}
	return s.ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error { return c.PutDatabase(db.Name, collation, db.Comment) })
}
