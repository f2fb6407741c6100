package sql

import (
	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer/analyzererrors"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

var (
	_ gms.TableCreator        = (*Database)(nil)
	_ gms.IndexedTableCreator = (*Database)(nil)
	_ gms.TableDropper        = (*Database)(nil)
	_ gms.TableRenamer        = (*Database)(nil)
	_ gms.SchemaValidator     = (*Database)(nil)
)

// maxKeyBytes is how long the columns of a key may be together, in bytes of their types, as in InnoDB.
const maxKeyBytes = 3072

// CreateTable implements gms.TableCreator.
func (d *Database) CreateTable(ctx *gms.Context, name string, schema gms.PrimaryKeySchema, collation gms.CollationID, comment string) error {
	return d.createTable(ctx, name, schema, nil, collation, comment)
}

// CreateIndexedTable implements gms.IndexedTableCreator: a table whose primary key was written as a key of its own, perhaps with
// prefixes. GMS does not pass the table's comment on; see rewriteDDL.
func (d *Database) CreateIndexedTable(ctx *gms.Context, name string, schema gms.PrimaryKeySchema, primary gms.IndexDef, collation gms.CollationID) error {
	return d.createTable(ctx, name, schema, primary.Columns, collation, SessionOf(ctx).tableComment)
}

func (d *Database) createTable(ctx *gms.Context, name string, schema gms.PrimaryKeySchema, primary []gms.IndexColumn, collation gms.CollationID, comment string) error {
	s := SessionOf(ctx)
	if err := s.LockTables(ctx, dict.Exclusive, dict.TableLock(d.name, name)); err != nil {
		return err
	}
	db := d.record(ctx)
	switch {
	case db == nil:
		return gms.ErrDatabaseNotFound.New(d.name)
	case db.Table(name) != nil, db.View(name) != nil:
		return gms.ErrTableAlreadyExists.New(name)
	}
	rec, err := newTable(d.backend, d.name, name, schema, primary, collation, comment)
	if err != nil {
		return err
	}
	return s.ddl(ctx, func(c *dict.Change, tx *hearth.Tx) error {
		if _, err := newDefinition(d.backend, rec); err != nil {
			return err
		}
		if err := createTrees(tx, rec); err != nil {
			return err
		}
		_, err := c.PutTable(rec)
		return ddlError(err)
	})
}

// newTable makes the definition of a new table. The primary key has the prefixes of primary, if that is given.
func newTable(b *Backend, database, name string, schema gms.PrimaryKeySchema, primary []gms.IndexColumn, collation gms.CollationID, comment string) (*dict.Table, error) {
	rec := &dict.Table{Database: database, Name: name, Collation: collation, Comment: comment}
	ids := []*uint64{&rec.ID, &rec.Storage}
	for _, c := range schema.Schema {
		rec.Columns = append(rec.Columns, columnOf(c, c.PrimaryKey))
		if c.AutoIncrement {
			ids = append(ids, &rec.Counter)
		}
	}
	for _, ordinal := range schema.PkOrdinals {
		rec.Primary = append(rec.Primary, dict.Part{Column: ordinal})
	}
	if primary != nil {
		var err error
		if rec.Primary, err = partsOf(rec, primary); err != nil {
			return nil, err
		}
	}
	for _, p := range rec.Primary {
		rec.Columns[p.Column].Nullable = false
	}
	if err := checkKey(rec, rec.Primary); err != nil {
		return nil, err
	}
	for _, id := range ids {
		var err error
		if *id, err = b.dict.NewID(); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// checkKey refuses keys that InnoDB refuses.
func checkKey(rec *dict.Table, parts []dict.Part) error {
	var bytes int64
	for _, p := range parts {
		s, ok := rec.Columns[p.Column].Type.(gms.StringType)
		switch {
		case !ok:
			bytes += 8
		case p.Prefix == 0 && types.IsTextBlob(s): // as in MariaDB: what is too long is refused when it comes
		case p.Prefix == 0:
			bytes += s.MaxByteLength()
		case s.MaxCharacterLength() > 0:
			bytes += int64(p.Prefix) * (s.MaxByteLength() / s.MaxCharacterLength())
		}
	}
	if bytes > maxKeyBytes {
		return mysql.NewSQLError(erKeyTooLong, "42000", "%s", "Specified key was too long; max key length is 3072 bytes")
	}
	return nil
}

// ValidateSchema implements gms.SchemaValidator.
func (d *Database) ValidateSchema(schema gms.Schema) error {
	for _, c := range schema {
		if t, ok := c.Type.(gms.TypeWithCollation); ok && t.Collation() != gms.Collation_Unspecified && t.Collation().Sorter() == nil {
			return gms.ErrCollationNotYetImplementedTemp.New(t.Collation().Name())
		}
	}
	if size := rowSize(schema); size > types.MaxRowLength {
		return analyzererrors.ErrInvalidRowLength.New(types.MaxRowLength, size)
	}
	return nil
}

// rowSize is how long MySQL says a row is at most, in bytes. Hearth has no such limit, but what it accepts shall be what MySQL accepts.
func rowSize(schema gms.Schema) (size int64) {
	for _, c := range schema {
		switch t := c.Type.(type) {
		case gms.StringType:
			if types.IsTextBlob(t) {
				size += 16
			} else {
				size += t.MaxByteLength()
			}
		case gms.DecimalType:
			size += int64(t.MaximumScale())
		default:
			size += 8
		}
	}
	return size
}

// DropTable implements gms.TableDropper. GMS has looked at foreign keys and triggers.
func (d *Database) DropTable(ctx *gms.Context, name string) error {
	s := SessionOf(ctx)
	if rec := s.temporary.byName(d.name, name); rec != nil {
		return s.temporary.drop(ctx, s, rec)
	}
	if err := s.LockTables(ctx, dict.Exclusive, dict.TableLock(d.name, name)); err != nil {
		return err
	}
	rec := s.Schema().Table(d.name, name)
	if rec == nil {
		return gms.ErrTableNotFound.New(name)
	}
	if err := s.orphanKeys(ctx, d.backend, rec); err != nil {
		return err
	}
	return s.ddl(ctx, func(c *dict.Change, tx *hearth.Tx) error {
		if err := dropTrees(tx, rec); err != nil {
			return err
		}
		return c.DropTable(rec.Database, rec.Name)
	})
}

// RenameTable implements gms.TableRenamer. GMS has changed the foreign keys.
func (d *Database) RenameTable(ctx *gms.Context, from, to string) error {
	s := SessionOf(ctx)
	if rec := s.temporary.byName(d.name, from); rec != nil {
		renamed := rec.Clone()
		renamed.Name = to
		return s.temporary.put(d.backend, renamed)
	}
	if err := s.LockTables(ctx, dict.Exclusive, dict.TableLock(d.name, from), dict.TableLock(d.name, to)); err != nil {
		return err
	}
	db := d.record(ctx)
	if db == nil || db.Table(from) == nil {
		return gms.ErrTableNotFound.New(from)
	}
	if t := db.Table(to); t != nil && t != db.Table(from) || db.View(to) != nil {
		return gms.ErrTableAlreadyExists.New(to)
	}
	rec := db.Table(from).Clone()
	rec.Name = to
	return s.ddl(ctx, func(c *dict.Change, _ *hearth.Tx) error {
		if _, err := c.PutTable(rec); err != nil {
			return ddlError(err)
		}
		return renameTriggers(ctx, c, db, from, to)
	})
}
