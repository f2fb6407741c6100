package dict

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hearthdb/hearth"
)

// Dict is the data dictionary of one database directory. It may be used by many goroutines.
type Dict struct {
	db     *hearth.DB
	schema atomic.Pointer[Schema]
	locks  *Locks
	ids    ids

	publish sync.Mutex    // one at a time applies its steps to schema
	changed chan struct{} // under publish: closed when the next picture is published; nil: nobody has asked

	counters sync.Map // id → *counter, of all tables that were asked for a value, and those with a record
	closed   atomic.Bool
}

// Open reads the dictionary, or makes one in a database that has none. The engine sees to it that no two processes do.
func Open(ctx context.Context, db *hearth.DB) (*Dict, error) {
	d := &Dict{db: db, locks: newLocks()}
	d.ids.reserve = d.reserveIDs
	err := db.Update(ctx, func(tx *hearth.Tx) error {
		tree, err := tx.Tree(dictionaryTree)
		if errors.Is(err, hearth.ErrTreeNotFound) {
			d.schema.Store(&Schema{generation: 1})
			return create(tx)
		}
		if err != nil {
			return err
		}
		l, err := load(tree)
		if err != nil {
			return err
		}
		l.schema.generation = 1
		d.schema.Store(l.schema)
		d.ids.next, d.ids.limit = l.ids, l.ids
		return d.loadCounters(tx)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Exists tells whether a database has a dictionary.
func Exists(ctx context.Context, db *hearth.DB) (there bool, err error) {
	err = db.View(ctx, func(tx *hearth.Tx) error {
		switch _, err := tx.Tree(dictionaryTree); {
		case errors.Is(err, hearth.ErrTreeNotFound):
			return nil
		case err != nil:
			return err
		}
		there = true
		return nil
	})
	return there, err
}

// create makes the trees of a new dictionary.
func create(tx *hearth.Tx) error {
	if _, err := tx.CreateTree(counterTree); err != nil {
		return err
	}
	tree, err := tx.CreateTree(dictionaryTree)
	if err != nil {
		return err
	}
	return tree.Put([]byte(formatKey), encode(versioned{format}))
}

// Close writes the exact state of all counters. Nobody may use the dictionary meanwhile or afterwards.
func (d *Dict) Close(ctx context.Context) error {
	if d.closed.Swap(true) {
		return ErrClosed
	}
	return d.writeCounters(ctx)
}

// Schema is the committed picture: one atomic load.
func (d *Dict) Schema() *Schema { return d.schema.Load() }

// Changed returns a picture and a channel that is closed when it is no longer the committed one.
func (d *Dict) Changed() (*Schema, <-chan struct{}) {
	d.publish.Lock()
	defer d.publish.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.schema.Load(), d.changed
}

// Locks are the metadata locks.
func (d *Dict) Locks() *Locks { return d.locks }
