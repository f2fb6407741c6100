package dict

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth"
)

// Dict is the data dictionary of one database directory. It may be used by many goroutines.
type Dict struct {
	db     *hearth.DB
	schema atomic.Pointer[Schema]
	locks  *Locks

	publish sync.Mutex // one at a time applies its steps to schema
}

// Open reads the dictionary, or makes one in a database that has none. Two processes cannot, the engine sees to it.
func Open(ctx context.Context, db *hearth.DB) (*Dict, error) { panic("BUG: not written yet") }

// Close writes the exact state of all counters. Nobody may use the dictionary meanwhile or afterwards.
func (d *Dict) Close(ctx context.Context) error { panic("BUG: not written yet") }

// Schema is the committed picture: one atomic load.
func (d *Dict) Schema() *Schema { return d.schema.Load() }

// Locks are the metadata locks.
func (d *Dict) Locks() *Locks { return d.locks }

// NewID returns a number that nobody had before and nobody will get again (rule 7).
func (d *Dict) NewID() (uint64, error) { panic("BUG: not written yet") }

// Check compares the dictionary with itself, with the picture and with the engine, and returns what is wrong, one finding a line;
// none means sound. Nobody may change definitions meanwhile.
func (d *Dict) Check(ctx context.Context) []string { panic("BUG: not written yet") }
