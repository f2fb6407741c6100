package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// pebbleSystem runs Pebble at its newest format without compression, with a block cache
// larger than the data and memtables of 64 MiB, as CockroachDB sets them.
type pebbleSystem struct {
	dir  string
	db   *pebble.DB
	opts *pebble.Options
	sync *pebble.WriteOptions
}

const (
	// pebbleCache holds all rows of the largest table measured: 5 million of 136 bytes.
	pebbleCache = 2 << 30
	// pebbleTable is how much of the load goes into one ingested table.
	pebbleTable = 64 << 20
	// pebbleMemtable and the two limits after it keep writes from stalling.
	pebbleMemtable     = 64 << 20
	pebbleMemtables    = 4
	pebbleL0StopWrites = 1000
)

func (s *pebbleSystem) name() string { return "Pebble" }

func (s *pebbleSystem) open(ctx context.Context, dir string) error {
	s.dir = dir
	s.sync = pebble.NoSync
	s.opts = &pebble.Options{
		CacheSize:                   pebbleCache,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                pebbleMemtable,
		MemTableStopWritesThreshold: pebbleMemtables,
		L0StopWritesThreshold:       pebbleL0StopWrites,
		Logger:                      quietLogger{},
	}
	for i := range s.opts.Levels {
		s.opts.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	db, err := pebble.Open(dir, s.opts)
	s.db = db
	return err
}

// load ingests sorted tables, which land in the lowest level.
func (s *pebbleSystem) load(ctx context.Context, r rows) error {
	const rowsPerTable = pebbleTable / (keySize + valueSize)
	var paths []string
	for at := 0; at < r.n; at += rowsPerTable {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(s.dir, fmt.Sprintf("load-%d.sst", at))
		if err := s.writeTable(path, r, at, min(at+rowsPerTable, r.n)); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	if err := s.db.Ingest(ctx, paths); err != nil {
		return err
	}
	return touchAll(ctx, s, r) // fills the block cache
}

func (s *pebbleSystem) writeTable(path string, r rows, from, to int) error {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	const lowest = 6
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.opts.MakeWriterOptions(lowest, s.db.TableFormat()))
	key, value := make([]byte, keySize), make([]byte, valueSize)
	for i := from; i < to; i++ {
		if err := w.Set(r.key(key, i), r.value(value, i, 0)); err != nil {
			w.Close()
			return err
		}
	}
	return w.Close()
}

func (s *pebbleSystem) setDurable(ctx context.Context, durable bool) error {
	s.sync = pebble.NoSync
	if durable {
		s.sync = pebble.Sync
	}
	return nil
}

func (s *pebbleSystem) get(ctx context.Context, key, dst []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if err != nil {
		return dst, err
	}
	dst = append(dst, v...)
	return dst, closer.Close()
}

func (s *pebbleSystem) scan(ctx context.Context, from []byte, visit func(key, value []byte) bool) error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.SeekGE(from); ok && visit(it.Key(), it.Value()); {
		ok = it.Next()
	}
	return it.Close()
}

func (s *pebbleSystem) commit(ctx context.Context, key, value []byte) error {
	return s.db.Set(key, value, s.sync)
}

func (s *pebbleSystem) settle(ctx context.Context) error {
	return waitFor(ctx, func() bool {
		m := s.db.Metrics()
		return m.Flush.NumInProgress == 0 && m.Compact.NumInProgress == 0
	})
}

func (s *pebbleSystem) close() error { return s.db.Close() }

// quietLogger keeps Pebble's account of its own work off our standard error.
type quietLogger struct{}

func (quietLogger) Infof(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}
func (quietLogger) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("pebble: "+format, args...))
}
