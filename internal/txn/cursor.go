package txn

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/hearthdb/hearth/internal/btree"
)

// Cursor walks the entries of a tree that its transaction sees, in key order. It stands on a private copy of one leaf.
//
// The transaction's own writes change what the copy should show. A write ahead of the position makes the cursor seek
// again before its next step; a write at or behind it does so only when the direction turns. So a scan that updates the
// rows it passes keeps its copy. A cursor that shows only what was written before a savepoint keeps it in any case.
type Cursor struct {
	sight
	tx    *Tx
	t     *btree.Tree
	it    *btree.Iter // nil when closed
	key   []byte      // buffer for seeking again
	old   []byte      // buffer: a version from the undo log
	large []byte      // buffer: a large value
	value []byte      // of the entry, or its reference
	ref   bool        // value is a reference
	back  bool        // the last move went backwards
	turn  bool        // seek again when the direction turns
	stale bool        // seek again in any case
	err   error
}

// An iterator holds a leaf, so it is worth keeping.
var iters = sync.Pool{New: func() any { return new(btree.Iter) }}

// Cursor opens a cursor that stands nowhere. It is closed with the transaction at the latest.
func (tx *Tx) Cursor(t *btree.Tree) *Cursor { return tx.CursorWith(t, ReadOptions{}) }

// CursorWith is Cursor that sees what o says.
func (tx *Tx) CursorWith(t *btree.Tree, o ReadOptions) *Cursor {
	c := &Cursor{tx: tx, t: t}
	if c.err = tx.usable(); c.err == nil {
		if o.Current {
			c.sight = tx.sight(o)
		}
		c.before = o.Before
		c.it = iters.Get().(*btree.Iter)
		c.it.Init(t)
		tx.cursors = append(tx.cursors, c)
	}
	return c
}

// Close lets the cursor go. Key and Value must not be used any more.
func (c *Cursor) Close() {
	if c.it == nil {
		return
	}
	if i := slices.Index(c.tx.cursors, c); i >= 0 {
		c.tx.cursors = slices.Delete(c.tx.cursors, i, i+1)
	}
	c.detach()
}

func (c *Cursor) detach() {
	if c.it != nil {
		iters.Put(c.it)
		c.it, c.value, c.view = nil, nil, nil
		c.tx.letGo(&c.sight)
	}
}

// Err is the error that ended the walk, if one did.
func (c *Cursor) Err() error { return c.err }

// Key of the entry, valid until the next move.
func (c *Cursor) Key() []byte {
	if c.it == nil || !c.it.Valid() {
		return nil
	}
	return c.it.Key()
}

// Value of the entry, valid until the next move; nil with Err set when a large value cannot be read.
func (c *Cursor) Value(ctx context.Context) []byte {
	if !c.ref {
		return c.value
	}
	if c.it == nil {
		return nil
	}
	c.large, c.err = c.tx.m.appendLarge(ctx, c.t, c.value, c.large[:0])
	if c.err != nil {
		return nil
	}
	return c.large
}

// ready is the begin of every move.
func (c *Cursor) ready() bool {
	c.value, c.ref = nil, false
	if c.it == nil {
		if c.err == nil {
			c.err = ErrTxDone
		}
		return false
	}
	if c.err = c.tx.usable(); c.err != nil {
		return false
	}
	if c.lent == nil {
		c.view = c.tx.sight(ReadOptions{}).view
	}
	return true
}

// fresh: the leaf is about to be copied anew.
func (c *Cursor) fresh(back bool) { c.back, c.turn, c.stale = back, false, false }

// First goes to the first entry.
func (c *Cursor) First(ctx context.Context) bool { return c.Seek(ctx, nil) }

// Seek goes to the first entry whose key is not below key.
func (c *Cursor) Seek(ctx context.Context, key []byte) bool {
	if !c.ready() {
		return false
	}
	c.fresh(false)
	return c.forward(ctx, c.it.SeekGE(ctx, key))
}

// Last goes to the last entry.
func (c *Cursor) Last(ctx context.Context) bool {
	if !c.ready() {
		return false
	}
	c.fresh(true)
	return c.backward(ctx, c.it.Last(ctx))
}

// SeekLT goes to the last entry whose key is below key.
func (c *Cursor) SeekLT(ctx context.Context, key []byte) bool {
	if !c.ready() {
		return false
	}
	c.fresh(true)
	return c.backward(ctx, c.it.SeekLT(ctx, key))
}

// Next goes one entry on.
func (c *Cursor) Next(ctx context.Context) bool {
	// The usual case first: nothing was written, and the next entry of the leaf is as it was when the view was made.
	if c.it != nil && c.tx.broken == nil && !c.stale && !c.turn {
		if cell, ok := c.it.Step(); ok {
			c.back = false
			if len(cell) >= versionHead && cell[0]&^versionFirst == 0 && c.view.sees(binary.LittleEndian.Uint64(cell[1:])) {
				c.value, c.ref = cell[versionHead:], false
				return true
			}
			return c.ready() && c.forward(ctx, true)
		}
	}
	if !c.ready() || !c.it.Valid() {
		return false
	}
	if c.stale || c.turn && c.back {
		c.key = append(c.key[:0], c.it.Key()...)
		c.fresh(false)
		ok := c.it.SeekGE(ctx, c.key)
		if ok && bytes.Equal(c.it.Key(), c.key) {
			ok = c.it.Next(ctx)
		}
		return c.forward(ctx, ok)
	}
	c.back = false
	return c.forward(ctx, c.it.Next(ctx))
}

// Prev goes one entry back.
func (c *Cursor) Prev(ctx context.Context) bool {
	if !c.ready() || !c.it.Valid() {
		return false
	}
	if c.stale || c.turn && !c.back {
		c.key = append(c.key[:0], c.it.Key()...)
		c.fresh(true)
		return c.backward(ctx, c.it.SeekLT(ctx, c.key))
	}
	c.back = true
	return c.backward(ctx, c.it.Prev(ctx))
}

// forward goes on from the iterator's position to an entry that is visible.
func (c *Cursor) forward(ctx context.Context, ok bool) bool {
	for ; ok; ok = c.it.Next(ctx) {
		if seen, err := c.look(ctx); seen || err != nil {
			c.err = err
			return seen
		}
	}
	c.err = c.it.Err()
	return false
}

func (c *Cursor) backward(ctx context.Context, ok bool) bool {
	for ; ok; ok = c.it.Prev(ctx) {
		if seen, err := c.look(ctx); seen || err != nil {
			c.err = err
			return seen
		}
	}
	c.err = c.it.Err()
	return false
}

// look finds the visible version of the entry the iterator stands on.
func (c *Cursor) look(ctx context.Context) (seen bool, err error) {
	cell := c.it.Value()
	if v, ok := parseVersion(cell); ok && c.view.sees(v.tx) { // needs no key, which may have to be put together
		if v.live() {
			c.value, c.ref = v.value, v.large()
		}
		return v.live(), nil
	}
	v, err := c.tx.resolve(ctx, c.t, c.it.Key(), cell, &c.sight)
	if err == ErrKeyNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.old = append(c.old[:0], v.value...) // the session's buffers may be used before the next move
	c.value, c.ref = c.old, v.large()
	return true, nil
}

// noteWrite is called after the transaction wrote key.
func (c *Cursor) noteWrite(key []byte) {
	if c.it == nil || !c.it.Valid() || c.before.taken { // this write comes after every savepoint
		return
	}
	if d := bytes.Compare(key, c.it.Key()); d > 0 && !c.back || d < 0 && c.back {
		c.stale = true
	} else {
		c.turn = true
	}
}

func (tx *Tx) staleCursors() {
	for _, c := range tx.cursors {
		c.stale = true
	}
}
