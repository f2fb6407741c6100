package dict

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/hearthdb/hearth"
)

// Change is what one engine transaction does to the dictionary. Like the transaction it is for one goroutine. It ends with
// Committed or Abandoned. Errors of the engine (deadlock, lock wait timeout, ...) come through as they are. After any error of a Put
// or Drop the tree may have half of it: the caller rolls the engine transaction back to a savepoint, and the change to the mark that
// belongs to it.
type Change struct {
	dict *Dict
	tx   *hearth.Tx
	tree *hearth.Tree // of the dictionary, nil before the first write
	done bool

	steps []step
	// picture is base with the steps applied; base was the committed picture then.
	base, picture *Schema

	// counters and names are those of all tables before and after each step. Which counters are left is seen at the end.
	counters map[uint64]bool
	names    map[tableName]bool
}

// Mark is a place in a change to return to.
type Mark struct{ steps int }

// Begin starts a change in tx. Nothing is written before the first Put or Drop.
func (d *Dict) Begin(tx *hearth.Tx) *Change {
	return &Change{dict: d, tx: tx, counters: map[uint64]bool{}, names: map[tableName]bool{}}
}

// Schema is the committed picture of this moment with the change's own steps applied. As long as there are none, it is the
// committed one.
func (c *Change) Schema() *Schema {
	committed := c.dict.Schema()
	if len(c.steps) == 0 {
		return committed
	}
	if c.picture == nil || c.base != committed {
		c.base, c.picture = committed, committed.apply(c.steps)
	}
	return c.picture
}

// add makes one step, which has been written to the tree.
func (c *Change) add(s step) { c.steps, c.picture = append(c.steps, s), nil }

// Mark returns the present place. It belongs to a savepoint of the engine transaction.
func (c *Change) Mark() Mark { return Mark{len(c.steps)} }

// RollbackTo forgets the steps since m. It changes the picture only; the caller rolls the engine transaction back to its savepoint.
func (c *Change) RollbackTo(m Mark) {
	if m.steps > len(c.steps) {
		panic(fmt.Sprintf("BUG: return to step %d of a change that is at %d", m.steps, len(c.steps)))
	}
	c.steps, c.picture = c.steps[:m.steps:m.steps], nil
}

// Committed publishes the change. To be called once the engine transaction's Commit returned nil, before the locks go (rule 4).
func (c *Change) Committed() {
	c.end()
	if len(c.steps) > 0 {
		c.dict.publishSteps(c.steps)
	}
	c.dict.forgetCounters(c.counters, c.names)
}

// Abandoned ends a change whose engine transaction was rolled back, or failed to commit.
func (c *Change) Abandoned() {
	c.end()
	c.dict.forgetCounters(c.counters, c.names)
}

func (c *Change) end() {
	if c.done {
		panic("BUG: a change ends twice")
	}
	c.done = true
}

func (d *Dict) publishSteps(steps []step) {
	d.publish.Lock()
	defer d.publish.Unlock()
	committed := d.schema.Load()
	next := committed.apply(steps)
	next.generation = committed.generation + 1
	d.schema.Store(next)
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// database finds a database in the picture.
func (c *Change) database(name string) (*Database, error) {
	if db := c.Schema().Database(name); db != nil {
		return db, nil
	}
	return nil, fmt.Errorf("database %s: %w", name, ErrNotFound)
}

// open opens the dictionary's tree.
func (c *Change) open() (*hearth.Tree, error) {
	if c.done {
		panic("BUG: a change that has ended goes on")
	}
	if c.tree == nil {
		tree, err := c.tx.Tree(dictionaryTree)
		if err != nil {
			return nil, err
		}
		c.tree = tree
	}
	return c.tree, nil
}

// lock locks a record and returns it as it is now, nil if there is none.
func (c *Change) lock(key string) ([]byte, error) {
	tree, err := c.open()
	if err != nil {
		return nil, err
	}
	b, err := tree.GetForUpdate([]byte(key), hearth.LockOptions{})
	if errors.Is(err, hearth.ErrKeyNotFound) {
		return nil, nil
	}
	return b, err
}

// insert writes a record under a key that nobody may have.
func (c *Change) insert(key string, record []byte, what string) error {
	tree, err := c.open()
	if err != nil {
		return err
	}
	err = tree.Insert([]byte(key), record)
	if errors.Is(err, hearth.ErrKeyExists) {
		return fmt.Errorf("%s: %w", what, ErrExists)
	}
	return err
}

// put writes a record.
func (c *Change) put(key string, record []byte) error {
	tree, err := c.open()
	if err != nil {
		return err
	}
	return tree.Put([]byte(key), record)
}

// delete removes records.
func (c *Change) delete(keys ...string) error {
	tree, err := c.open()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := tree.Delete([]byte(key)); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps a database from being dropped until the change ends.
func (c *Change) hold(db *Database) error {
	tree, err := c.open()
	if err != nil {
		return err
	}
	_, err = tree.GetForShare([]byte(databaseKey(db.ID)), hearth.LockOptions{})
	if errors.Is(err, hearth.ErrKeyNotFound) {
		return fmt.Errorf("database %s: %w", db.Name, ErrConflict)
	}
	return err
}

// expect locks a record and sees whether it is still what the picture shows (rule 6). shown is a pointer, like what decode makes.
func (c *Change) expect(key, what string, shown any, decode func([]byte) (any, error)) error {
	b, err := c.lock(key)
	if err != nil {
		return err
	}
	if b == nil {
		return fmt.Errorf("%s: %w", what, ErrConflict)
	}
	found, err := decode(b)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(found, shown) {
		return fmt.Errorf("%s: %w", what, ErrConflict)
	}
	return nil
}
