package torture

import (
	"bytes"
	"context"

	"github.com/hearthdb/hearth"
)

// rowsMessage is how many bytes of rows make a message.
const rowsMessage = 64 << 10

// tellAll reads everything in one snapshot, tells it to the parent, and returns it for the writers.
func (c *life) tellAll(ctx context.Context) (*gathered, error) {
	g := newGathered()
	err := c.db.View(ctx, func(tx *hearth.Tx) error {
		names, err := tx.Trees()
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.tell(toldTree, []byte(name)); err != nil {
				return err
			}
			g.begin(name)
			t, err := tx.Tree(name)
			if err != nil {
				return err
			}
			if err := c.tellTree(t, g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, c.tell(toldDone, nil)
}

// tellTree reads a tree forwards or, every other life, backwards.
func (c *life) tellTree(t *hearth.Tree, g *gathered) error {
	cur := t.Cursor()
	defer cur.Close()
	first, next, order := cur.First, cur.Next, -1
	if c.order.Life%2 == 1 {
		first, next, order = cur.Last, cur.Prev, 1
	}
	var b, before []byte
	for ok := first(); ok; ok = next() {
		value := cur.Value()
		if err := cur.Err(); err != nil { // a large value is read only now
			return err
		}
		r := readRow(t.Name(), cur.Key(), value)
		if before != nil && bytes.Compare(before, r.key) != order {
			r.bad = "out of order after " + showKey(before)
		}
		before = append(before[:0], r.key...)
		g.add(r)
		if b = appendRow(b, r); len(b) >= rowsMessage {
			if err := c.tell(toldRows, b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if err := cur.Err(); err != nil {
		return err
	}
	return c.tell(toldRows, b)
}

func readRow(tree string, key, value []byte) row {
	r := row{key: key}
	if tree == bankTree || tree == stampTree {
		r.value = append([]byte{}, value...)
		return r
	}
	s, err := verify(bytes.NewReader(value), int64(len(value)), tree, key)
	if err != nil {
		r.bad = err.Error()
	}
	r.stamp = s
	return r
}
