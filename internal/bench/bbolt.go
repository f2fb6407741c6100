package bench

import (
	"context"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// bboltSystem runs bbolt without its freelist on disk and without statistics, which is
// its fastest safe configuration. Reads are one View each.
type bboltSystem struct {
	db *bbolt.DB
}

// bboltBatch commits through DB.Batch, which joins concurrent writers into one
// transaction; only measured where there are many writers that wait for the disk.
type bboltBatch struct{ *bboltSystem }

// bboltMmap is reserved at open, so that growth never has to map the file anew.
const bboltMmap = 16 << 30

// bboltLoadRows go into one transaction of the load.
const bboltLoadRows = 100_000

var bboltBucket = []byte("rows")

func (s *bboltSystem) name() string { return "bbolt" }

func (s *bboltSystem) open(ctx context.Context, dir string) error {
	db, err := bbolt.Open(filepath.Join(dir, "bbolt.db"), 0o600, &bbolt.Options{
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: bboltMmap,
		NoStatistics:    true,
		NoSync:          true, // until setDurable
	})
	if err != nil {
		return err
	}
	s.db = db
	return db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(bboltBucket)
		return err
	})
}

func (s *bboltSystem) load(ctx context.Context, r rows) error {
	for at := 0; at < r.n; at += bboltLoadRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket(bboltBucket)
			b.FillPercent = 0.9
			for i := at; i < min(at+bboltLoadRows, r.n); i++ {
				if err := b.Put(r.key(make([]byte, keySize), i), r.value(make([]byte, valueSize), i, 0)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := s.db.Sync(); err != nil {
		return err
	}
	return touchAll(ctx, s, r) // faults every page of the map in
}

// setDurable also prepares for bboltBatch: a batch is full when all the writers have
// joined, and a writer that comes late finds it gone after half a millisecond.
func (s *bboltSystem) setDurable(ctx context.Context, durable bool) error {
	s.db.NoSync = !durable
	s.db.MaxBatchSize = durableWriters
	s.db.MaxBatchDelay = 500 * time.Microsecond
	return s.db.Sync()
}

func (s *bboltSystem) get(ctx context.Context, key, dst []byte) ([]byte, error) {
	err := s.db.View(func(tx *bbolt.Tx) error {
		dst = append(dst, tx.Bucket(bboltBucket).Get(key)...)
		return nil
	})
	return dst, err
}

func (s *bboltSystem) scan(ctx context.Context, from []byte, visit func(key, value []byte) bool) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bboltBucket).Cursor()
		for k, v := c.Seek(from); k != nil; k, v = c.Next() {
			if !visit(k, v) {
				break
			}
		}
		return nil
	})
}

func (s *bboltSystem) commit(ctx context.Context, key, value []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bboltBucket).Put(key, value) })
}

func (s *bboltSystem) settle(ctx context.Context) error { return s.db.Sync() }

func (s *bboltSystem) close() error { return s.db.Close() }

func (s bboltBatch) name() string { return "bbolt (Batch)" }

func (s bboltBatch) commit(ctx context.Context, key, value []byte) error {
	return s.db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(bboltBucket).Put(key, value) })
}
