package hearth

import "github.com/hearthdb/hearth/internal/txn"

// Cursor walks a tree in key order, in the transaction's snapshot and with its own writes. It begins nowhere: First, Last,
// Seek and SeekLT place it. It holds no lock and no page between calls.
type Cursor struct {
	tx *Tx
	c  *txn.Cursor
}

// Cursor makes a cursor over the tree.
func (t *Tree) Cursor() *Cursor { return t.CursorWith(ReadOptions{}) }

// CursorWith makes a cursor that sees what o says. A current one holds purge up until it is closed.
func (t *Tree) CursorWith(o ReadOptions) *Cursor {
	return &Cursor{t.tx, t.tx.tx.CursorWith(t.state.tree, o.txn())}
}

// First goes to the first key. Like all moves it returns false when there is no such key, or on an error (see Err).
func (c *Cursor) First() bool { return c.c.First(c.tx.ctx) }

// Last goes to the last key.
func (c *Cursor) Last() bool { return c.c.Last(c.tx.ctx) }

// Seek goes to the first key that is not below key.
func (c *Cursor) Seek(key []byte) bool { return c.c.Seek(c.tx.ctx, key) }

// SeekLT goes to the last key that is below key.
func (c *Cursor) SeekLT(key []byte) bool { return c.c.SeekLT(c.tx.ctx, key) }

// Next goes to the next key.
func (c *Cursor) Next() bool { return c.c.Next(c.tx.ctx) }

// Prev goes to the key before.
func (c *Cursor) Prev() bool { return c.c.Prev(c.tx.ctx) }

// Key at the cursor, valid until it moves.
func (c *Cursor) Key() []byte { return c.c.Key() }

// Value at the cursor, valid until it moves. A large value is read whole, see Tree.OpenValue.
func (c *Cursor) Value() []byte { return c.c.Value(c.tx.ctx) }

// Err is the error that ended the walk, nil if it was the end of the tree.
func (c *Cursor) Err() error { return mapError(c.c.Err()) }

// Close lets go of the cursor's memory. The end of the transaction does so too.
func (c *Cursor) Close() { c.c.Close() }
