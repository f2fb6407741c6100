package sql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// temporaries are the temporary tables of a session. Their definitions are in memory only, nobody else sees them and nobody locks them.
// Their rows are in trees of their own, like those of other tables, so that everything that works on tables works on them; the trees are
// dropped when the session ends, and those that a crash left when the database is opened. A rollback that takes the trees away leaves
// the definition, as in MySQL; the table is then empty.
type temporaries struct {
	tables map[uint64]*dict.Table // by id; another map after each change, so that a failed step finds the one before
	auto   map[uint64]uint64      // the last AUTO_INCREMENT value, by counter
}

var (
	_ gms.TemporaryTableCreator  = (*Database)(nil)
	_ gms.TemporaryTableDatabase = (*Database)(nil)
)

func (t *temporaries) byID(id uint64) *dict.Table { return t.tables[id] }

func (t *temporaries) has(id uint64) bool { return t.tables[id] != nil }

func (t *temporaries) byName(database, name string) *dict.Table {
	for _, rec := range t.tables {
		if strings.EqualFold(rec.Name, name) && strings.EqualFold(rec.Database, database) {
			return rec
		}
	}
	return nil
}

// put makes rec a table of the session, in place of the one with its id.
func (t *temporaries) put(b *Backend, rec *dict.Table) (err error) {
	if rec.Version, err = b.dict.NewID(); err != nil {
		return err
	}
	tables := maps.Clone(t.tables)
	if tables == nil {
		tables = map[uint64]*dict.Table{}
	}
	tables[rec.ID] = rec
	t.tables = tables
	return nil
}

// drop removes a table of the session, with its trees.
func (t *temporaries) drop(ctx *gms.Context, s *Session, rec *dict.Table) error {
	tx, err := s.WriteTx(ctx)
	if err != nil {
		return err
	}
	if err := dropThoseThere(tx, rec); err != nil {
		return sqlError(err)
	}
	s.current().trees = nil
	tables := maps.Clone(t.tables)
	delete(tables, rec.ID)
	t.tables = tables
	return nil
}

// dropThoseThere drops the trees of a table that are there: a rollback may have taken some.
func dropThoseThere(tx *hearth.Tx, rec *dict.Table) error {
	for _, name := range rec.Trees() {
		if err := tx.DropTree(name); err != nil && !errors.Is(err, hearth.ErrTreeNotFound) {
			return err
		}
	}
	return nil
}

// dropDatabase drops the session's temporary tables in a database that was dropped.
func (t *temporaries) dropDatabase(ctx *gms.Context, s *Session, database string) error {
	for _, rec := range t.tables {
		if strings.EqualFold(rec.Database, database) {
			if err := t.drop(ctx, s, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// end drops them all, when the session ends. What cannot be dropped now is when the database is opened.
func (t *temporaries) end(b *Backend) {
	if len(t.tables) == 0 {
		return
	}
	_ = b.db.Update(context.Background(), func(tx *hearth.Tx) error {
		for _, rec := range t.tables {
			if err := dropThoseThere(tx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	t.tables, t.auto = nil, nil
}

// sweepTemporaries drops the trees of temporary tables whose sessions a crash ended.
func (b *Backend) sweepTemporaries(ctx context.Context) error {
	var left []string
	err := b.db.View(ctx, func(tx *hearth.Tx) error {
		names, err := tx.Trees()
		for _, name := range names {
			if strings.HasPrefix(name, dict.TemporaryPrefix) {
				left = append(left, name)
			}
		}
		return err
	})
	if err != nil || len(left) == 0 {
		return err
	}
	err = b.db.Update(ctx, func(tx *hearth.Tx) error {
		for _, name := range left {
			if err := tx.DropTree(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("temporary tables of sessions that are gone: %w", err)
	}
	return nil
}

// next is the next AUTO_INCREMENT value of a temporary table, see Dict.NextAuto.
func (t *temporaries) next(rec *dict.Table, given, increment, offset uint64) uint64 {
	if t.auto == nil {
		t.auto = map[uint64]uint64{}
	}
	last := t.peek(rec) - 1
	n := given
	if given == 0 {
		if offset > increment {
			offset = 1
		}
		if n = offset; last >= offset {
			n = last - (last-offset)%increment + increment
		}
	}
	t.auto[rec.Counter] = max(n, last)
	return n
}

func (t *temporaries) peek(rec *dict.Table) uint64 {
	if last, ok := t.auto[rec.Counter]; ok {
		return last + 1
	}
	return max(rec.CounterStart, 1)
}

// CreateTemporaryTable implements gms.TemporaryTableCreator.
func (d *Database) CreateTemporaryTable(ctx *gms.Context, name string, schema gms.PrimaryKeySchema, collation gms.CollationID) error {
	s := SessionOf(ctx)
	if d.record(ctx) == nil {
		return gms.ErrDatabaseNotFound.New(d.name)
	}
	if s.temporary.byName(d.name, name) != nil {
		return gms.ErrTableAlreadyExists.New(name)
	}
	rec, err := newTable(d.backend, d.name, name, schema, nil, collation, "")
	if err != nil {
		return err
	}
	rec.Temporary = true
	if _, err := newDefinition(d.backend, rec); err != nil {
		return err
	}
	return s.ddl(ctx, func(_ *dict.Change, tx *hearth.Tx) error {
		if err := createTrees(tx, rec); err != nil {
			return err
		}
		return s.temporary.put(d.backend, rec)
	})
}

// GetAllTemporaryTables implements gms.TemporaryTableDatabase.
func (d *Database) GetAllTemporaryTables(ctx *gms.Context) ([]gms.Table, error) {
	var all []gms.Table
	if s := SessionOf(ctx); s != nil {
		for _, rec := range s.temporary.tables {
			if strings.EqualFold(rec.Database, d.name) {
				def, err := d.backend.definition(rec)
				if err != nil {
					return nil, err
				}
				all = append(all, def.plain)
			}
		}
	}
	return all, nil
}

// temporaryTable of the session. In a statement its trees are there when it returns.
func (d *Database) temporaryTable(ctx *gms.Context, s *Session, name string) (gms.Table, bool, error) {
	if len(s.temporary.tables) == 0 {
		return nil, false, nil
	}
	rec := s.temporary.byName(d.name, name)
	if rec == nil {
		return nil, false, nil
	}
	def, err := d.backend.definition(rec)
	if err != nil {
		return nil, false, err
	}
	if s.current() != nil {
		err = s.restoreTrees(ctx, rec)
	}
	return def.plain, true, err
}

// restoreTrees makes the trees of a temporary table that a rollback took away.
func (s *Session) restoreTrees(ctx *gms.Context, rec *dict.Table) error {
	tx, err := s.Tx(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Tree(rec.RowTree())
	if !errors.Is(err, hearth.ErrTreeNotFound) {
		return sqlError(err)
	}
	if tx, err = s.WriteTx(ctx); err != nil {
		return err
	}
	return sqlError(createTrees(tx, rec))
}
