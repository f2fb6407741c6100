package bench

import (
	"context"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"
)

// badgerSystem runs Badger without compression and hence without a block cache: tables
// are mapped, indexes stay in memory. Conflict detection and metrics are off. Values are
// small and live in the tables.
type badgerSystem struct {
	dir string
	db  *badger.DB
}

// badgerLoadBytes is handed to the stream writer at a time.
const badgerLoadBytes = 16 << 20

func (s *badgerSystem) name() string { return "Badger" }

func (s *badgerSystem) open(ctx context.Context, dir string) error {
	s.dir = dir
	return s.reopen(false)
}

// reopen is how Badger changes durability: it is an option of the store.
func (s *badgerSystem) reopen(durable bool) error {
	if s.db != nil {
		if err := s.db.Close(); err != nil {
			return err
		}
	}
	db, err := badger.Open(badger.DefaultOptions(s.dir).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithDetectConflicts(false).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithSyncWrites(durable))
	if err != nil {
		return err
	}
	s.db = db
	return nil
}

func (s *badgerSystem) load(ctx context.Context, r rows) error {
	w := s.db.NewStreamWriter()
	if err := w.Prepare(); err != nil {
		return err
	}
	loaded := false
	defer func() {
		if !loaded {
			w.Cancel() // else the store could not be closed
		}
	}()
	buf := z.NewBuffer(badgerLoadBytes+1<<20, "bench load")
	defer buf.Release()
	for i := range r.n {
		badger.KVToBuffer(&pb.KV{
			Key:     r.key(make([]byte, keySize), i),
			Value:   r.value(make([]byte, valueSize), i, 0),
			Version: 1,
		}, buf)
		if buf.LenNoPadding() < badgerLoadBytes && i < r.n-1 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.Write(buf); err != nil {
			return err
		}
		buf.Reset()
	}
	loaded = true
	if err := w.Flush(); err != nil {
		return err
	}
	return touchAll(ctx, s, r)
}

func (s *badgerSystem) setDurable(ctx context.Context, durable bool) error { return s.reopen(durable) }

func (s *badgerSystem) get(ctx context.Context, key, dst []byte) ([]byte, error) {
	err := s.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error {
			dst = append(dst, v...)
			return nil
		})
	})
	return dst, err
}

func (s *badgerSystem) scan(ctx context.Context, from []byte, visit func(key, value []byte) bool) error {
	return s.db.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Seek(from); it.Valid(); it.Next() {
			item := it.Item()
			more := false
			err := item.Value(func(v []byte) error {
				more = visit(item.Key(), v)
				return nil
			})
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
		return nil
	})
}

// commit copies what Badger keeps until the transaction is written.
func (s *badgerSystem) commit(ctx context.Context, key, value []byte) error {
	return s.db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
}

// settle waits until no level wants compaction.
func (s *badgerSystem) settle(ctx context.Context) error {
	return waitFor(ctx, func() bool {
		for _, l := range s.db.Levels() {
			if l.Adjusted >= 1 {
				return false
			}
		}
		return true
	})
}

func (s *badgerSystem) close() error { return s.db.Close() }

// settleLimit bounds the unmeasured wait for background work between two runs.
const settleLimit = 30 * time.Second

// waitFor polls until done says true, or settleLimit is over.
func waitFor(ctx context.Context, done func() bool) error {
	for end := time.Now().Add(settleLimit); !done() && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
