package bench

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"

	"github.com/hearthdb/hearth"
)

// hearthSystem runs hearth as it comes, with a pool that holds the table.
type hearthSystem struct {
	db     *hearth.DB
	memory string // folder of the region, removed by close
	tx     hearth.TxOptions
	rows   rows
}

// The pool of the comparison has hearthPoolRow bytes for each row (of 136, and what
// versions and half-full pages add) beside hearthPoolSpare for undo and the rest.
const (
	hearthPoolRow   = 320
	hearthPoolSpare = 256 << 20
)

const hearthTree = "rows"

func (s *hearthSystem) name() string { return ours }

func (s *hearthSystem) open(ctx context.Context, dir string) error {
	return s.openWith(ctx, dir, hearth.Options{PoolSize: int64(s.rows.n)*hearthPoolRow + hearthPoolSpare})
}

func (s *hearthSystem) openWith(ctx context.Context, dir string, opts hearth.Options) (err error) {
	if s.memory, err = MemoryDir(); err != nil {
		return err
	}
	opts.MemoryDir, opts.Logger = s.memory, warnings
	if s.db, err = hearth.Open(ctx, dir, &opts); err != nil {
		os.RemoveAll(s.memory)
	}
	return err
}

// warnings of the engine are for whoever looks at the figures; its usual account is not.
var warnings = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

func (s *hearthSystem) load(ctx context.Context, r rows) error {
	if err := loadTree(ctx, s.db, hearthTree, r); err != nil {
		return err
	}
	return touchAll(ctx, s, r)
}

// loadTree makes a tree of all rows, in key order.
func loadTree(ctx context.Context, db *hearth.DB, name string, r rows) error {
	return db.Update(ctx, func(tx *hearth.Tx) error {
		tree, err := tx.CreateTree(name)
		if err != nil {
			return err
		}
		if err := tree.Load(r.all(ctx)); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// all gives the rows in key order, until ctx ends; key and value are valid until the next.
func (r rows) all(ctx context.Context) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		key, value := make([]byte, keySize), make([]byte, valueSize)
		for i := 0; i < r.n && ctx.Err() == nil; i++ {
			if !yield(r.key(key, i), r.value(value, i, 0)) {
				return
			}
		}
	}
}

func (s *hearthSystem) setDurable(ctx context.Context, durable bool) error {
	s.tx.Durability = hearth.DurabilityProcess
	if durable {
		s.tx.Durability = hearth.DurabilityCommit
	}
	return nil
}

func (s *hearthSystem) get(ctx context.Context, key, dst []byte) ([]byte, error) {
	err := s.db.View(ctx, func(tx *hearth.Tx) (err error) {
		dst, err = getRow(tx, hearthTree, key, dst)
		return err
	})
	return dst, err
}

func getRow(tx *hearth.Tx, name string, key, dst []byte) ([]byte, error) {
	tree, err := tx.Tree(name)
	if err != nil {
		return dst, err
	}
	return tree.GetTo(dst, key)
}

func (s *hearthSystem) scan(ctx context.Context, from []byte, visit func(key, value []byte) bool) error {
	return s.db.View(ctx, func(tx *hearth.Tx) error { return scanTree(tx, hearthTree, from, visit) })
}

func scanTree(tx *hearth.Tx, name string, from []byte, visit func(key, value []byte) bool) error {
	tree, err := tx.Tree(name)
	if err != nil {
		return err
	}
	c := tree.Cursor()
	defer c.Close()
	for ok := c.Seek(from); ok && visit(c.Key(), c.Value()); {
		ok = c.Next()
	}
	return c.Err()
}

func (s *hearthSystem) commit(ctx context.Context, key, value []byte) error {
	tx, err := s.db.Begin(ctx, s.tx)
	if err != nil {
		return err
	}
	tree, err := tx.Tree(hearthTree)
	if err == nil {
		err = tree.Put(key, value)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit(ctx)
}

// settle writes back what the commits dirtied.
func (s *hearthSystem) settle(ctx context.Context) error { return s.db.Checkpoint(ctx) }

func (s *hearthSystem) close() error {
	return errors.Join(s.db.Close(), os.RemoveAll(s.memory))
}
