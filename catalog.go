package hearth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/datafile"
	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/page"
	"github.com/hearthdb/hearth/internal/txn"
)

// The catalog is the tree in txn.CatalogSpace: key = tree name, value = catalogFormat u8, space u32 little endian.
const (
	catalogFormat = 1
	catalogLen    = 5
	// maxTreeName in bytes.
	maxTreeName = 255
)

func encodeCatalog(space uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{catalogFormat}, space)
}

func decodeCatalog(name, v []byte) (uint32, error) {
	if len(v) != catalogLen || v[0] != catalogFormat {
		return 0, &page.CorruptError{Page: page.MakeID(txn.CatalogSpace, 0), What: fmt.Sprintf("the catalog entry of tree %q has %d bytes", name, len(v))}
	}
	return binary.LittleEndian.Uint32(v[1:]), nil
}

// treeState is what the database knows of a tree in memory.
type treeState struct {
	tree *btree.Tree

	// writers counts transactions that have changed the tree and not ended. dropper is the transaction that drops it, or
	// nil. A writer counts itself, then looks for a dropper; a dropper enters itself, then looks at the count: one of
	// the two sees the other.
	writers atomic.Int64
	dropper atomic.Pointer[Tx]
}

func (s *treeState) leave(tx *Tx) {
	s.writers.Add(-1)
	s.dropper.CompareAndSwap(tx, nil)
}

func (db *DB) state(space uint32) *treeState {
	if s, ok := db.trees.Load(space); ok {
		return s.(*treeState)
	}
	s, _ := db.trees.LoadOrStore(space, &treeState{tree: btree.Open(db.pool, space)})
	return s.(*treeState)
}

// treeOf finds the tree in a space, for rollback and purge.
func (db *DB) treeOf(space uint32) (*btree.Tree, error) {
	if !db.files.Has(space) {
		return nil, ErrTreeNotFound
	}
	return db.state(space).tree, nil
}

// dropSpace removes a space that nobody needs any more.
func (db *DB) dropSpace(_ context.Context, space uint32) error {
	db.trees.Delete(space)
	if !db.files.Has(space) {
		return nil
	}
	// First the file is gone, so that nobody reads pages of it any more; then the pages in memory go. If the file could not
	// be removed they stay: the log would not fit it without them.
	err := db.files.Remove(space)
	if err != nil && !errors.As(err, new(datafile.ErrNoSpace)) { // none: purge and the removal of orphans met
		return err
	}
	db.pool.DiscardSpace(space)
	return nil
}

// nameCache finds trees by name without reading the catalog, while nobody creates or drops trees. Its content belongs to
// one state of the catalog, seq: a transaction may use it if no change was under way when it began and none began since.
// Reading it writes nothing that another core reads.
type nameCache struct {
	seq   atomic.Uint64 // raised when a transaction first changes the catalog, and when it has ended
	busy  atomic.Int64  // transactions that have changed the catalog and not ended
	names atomic.Pointer[nameTable]
}

type nameTable struct {
	seq   uint64   // the state it belongs to
	trees sync.Map // name → *treeState
}

func (c *nameCache) begin() (seq uint64, quiet bool) {
	seq = c.seq.Load()
	return seq, c.busy.Load() == 0
}

func (c *nameCache) change() {
	c.busy.Add(1)
	c.seq.Add(1)
}

func (c *nameCache) end() {
	c.seq.Add(1)
	c.busy.Add(-1)
}

func (c *nameCache) holds(tx *Tx) bool { return tx.quiet && !tx.ddl && c.seq.Load() == tx.ddlSeq }

func (c *nameCache) get(tx *Tx, name string) *treeState {
	if t := c.names.Load(); t != nil && t.seq == tx.ddlSeq && c.holds(tx) {
		if s, ok := t.trees.Load(name); ok {
			return s.(*treeState)
		}
	}
	return nil
}

func (c *nameCache) put(tx *Tx, name string, s *treeState) {
	if !c.holds(tx) {
		return
	}
	t := c.names.Load()
	if t == nil || t.seq != tx.ddlSeq {
		next := &nameTable{seq: tx.ddlSeq}
		if !c.names.CompareAndSwap(t, next) {
			return // somebody else began a table; the name is found in the catalog again
		}
		t = next
	}
	t.trees.Store(name, s)
}

// Tree opens a tree in the transaction. ErrTreeNotFound: the transaction sees none of that name.
func (tx *Tx) Tree(name string) (*Tree, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	s := tx.db.names.get(tx, name)
	if s == nil {
		v, err := tx.tx.GetAside(tx.ctx, tx.db.catalog, []byte(name)) // opening a tree is no read
		if errors.Is(err, ErrKeyNotFound) {
			return nil, fmt.Errorf("%w: %q", ErrTreeNotFound, name)
		} else if err != nil {
			return nil, tx.fail(err)
		}
		space, err := decodeCatalog([]byte(name), v)
		if err != nil {
			return nil, err
		}
		s = tx.db.state(space)
		tx.db.names.put(tx, name, s)
	}
	t := &tx.first
	if t.tx != nil {
		t = new(Tree)
	}
	*t = Tree{tx: tx, state: s, name: name}
	return t, nil
}

// Trees lists the names of the trees the transaction sees, in order.
func (tx *Tx) Trees() ([]string, error) {
	if err := tx.usable(); err != nil {
		return nil, err
	}
	c := tx.tx.Cursor(tx.db.catalog)
	defer c.Close()
	var names []string
	for ok := c.First(tx.ctx); ok; ok = c.Next(tx.ctx) {
		names = append(names, string(c.Key()))
	}
	return names, mapError(c.Err())
}

// changeCatalog notes that the transaction is about to create or drop a tree.
func (tx *Tx) changeCatalog(name string) error {
	if err := tx.usable(); err != nil {
		return err
	}
	if len(name) == 0 || len(name) > maxTreeName {
		return ErrTreeName
	}
	if tx.readOnly {
		return ErrReadOnly
	}
	select {
	case <-tx.db.ddlOpen:
	case <-tx.ctx.Done():
		return tx.ctx.Err()
	}
	if !tx.ddl {
		tx.ddl = true
		tx.db.names.change()
	}
	return nil
}

// CreateTree makes a new tree, which other transactions see after Commit. ErrTreeExists: there is one of that name.
func (tx *Tx) CreateTree(name string) (*Tree, error) {
	if err := tx.changeCatalog(name); err != nil {
		return nil, err
	}
	// The lock first: whoever else creates or drops the name has ended then.
	_, err := tx.tx.Lock(tx.ctx, tx.db.catalog, []byte(name), lock.Exclusive, txn.LockOptions{}, nil)
	switch {
	case err == nil:
		return nil, fmt.Errorf("%w: %q", ErrTreeExists, name)
	case !errors.Is(err, ErrKeyNotFound):
		return nil, tx.fail(err)
	}
	space, err := tx.tx.MakeSpace(tx.ctx) // from here on a rollback, or a crash, takes the file away
	if err != nil {
		return nil, tx.fail(err)
	}
	if err := tx.db.files.Create(space); err != nil {
		return nil, err
	}
	tree, err := btree.Create(tx.ctx, tx.db.pool, space)
	if err != nil {
		return nil, mapError(err)
	}
	s := &treeState{tree: tree}
	tx.db.trees.Store(space, s)
	if err := tx.tx.Insert(tx.ctx, tx.db.catalog, []byte(name), encodeCatalog(space)); err != nil {
		return nil, tx.fail(err)
	}
	return &Tree{tx: tx, state: s, name: name, mine: true, savepoints: tx.savepoints}, nil
}

// dropPoll is how often a drop looks whether the last writer of the tree has ended.
const dropPoll = time.Millisecond

// DropTree removes a tree. It waits for transactions that have changed the tree; readers who see it keep it until they end.
func (tx *Tx) DropTree(name string) error {
	if err := tx.changeCatalog(name); err != nil {
		return err
	}
	v, err := tx.tx.Lock(tx.ctx, tx.db.catalog, []byte(name), lock.Exclusive, txn.LockOptions{}, nil)
	if errors.Is(err, ErrKeyNotFound) {
		return fmt.Errorf("%w: %q", ErrTreeNotFound, name)
	} else if err != nil {
		return tx.fail(err)
	}
	space, err := decodeCatalog([]byte(name), v)
	if err != nil {
		return err
	}
	s := tx.db.state(space)
	if err := tx.awaitWriters(s); err != nil {
		return err
	}
	if _, err := tx.tx.Delete(tx.ctx, tx.db.catalog, []byte(name)); err != nil {
		return tx.fail(err)
	}
	return tx.fail(tx.tx.DropSpace(tx.ctx, space))
}

// awaitWriters shuts new writers of a tree out and waits for the others to end.
func (tx *Tx) awaitWriters(s *treeState) error {
	own := tx.writes(s)
	if !own {
		s.writers.Add(1)
		tx.wrote = append(tx.wrote, s)
	}
	s.dropper.Store(tx) // one at a time: the catalog entry is locked
	timeout := time.NewTimer(tx.db.opts.LockWait)
	defer timeout.Stop()
	for s.writers.Load() > 1 {
		select {
		case <-tx.ctx.Done():
			s.dropper.Store(nil)
			return tx.ctx.Err()
		case <-timeout.C:
			s.dropper.Store(nil)
			return fmt.Errorf("drop tree: transactions that changed it are still open: %w", ErrLockWaitTimeout)
		case <-time.After(dropPoll):
		}
	}
	return nil
}

func (tx *Tx) writes(s *treeState) bool {
	for _, w := range tx.wrote {
		if w == s {
			return true
		}
	}
	return false
}

// enter counts the transaction among the tree's writers before its first change of it.
func (t *Tree) enter() error {
	tx, s := t.tx, t.state
	if err := tx.usable(); err != nil {
		return err
	}
	if t.mine || tx.writes(s) {
		return nil
	}
	for {
		s.writers.Add(1)
		d := s.dropper.Load()
		if d == nil || d == tx {
			tx.wrote = append(tx.wrote, s)
			return nil
		}
		s.writers.Add(-1)
		// Somebody is dropping it: wait until that has ended, and see which way.
		v, err := tx.tx.Lock(tx.ctx, tx.db.catalog, []byte(t.name), lock.Shared, txn.LockOptions{}, nil)
		if errors.Is(err, ErrKeyNotFound) {
			return fmt.Errorf("%w: %q was dropped", ErrTreeNotFound, t.name)
		} else if err != nil {
			return tx.fail(err)
		}
		if space, err := decodeCatalog([]byte(t.name), v); err != nil || space != s.tree.Space().No() {
			return fmt.Errorf("%w: %q was dropped and made anew", ErrTreeNotFound, t.name)
		}
	}
}

// removeOrphans removes files that a death left without a catalog entry. Never the other way round: an entry without its
// file is damage, and says so when it is used. Until it has ended nobody creates or drops a tree (DB.ddlOpen).
func (db *DB) removeOrphans(ctx context.Context) error {
	orphans, err := db.orphans(ctx)
	if err != nil || len(orphans) == 0 {
		return err
	}
	// A transaction that was open at the death may have dropped a tree: undoing it names the file again.
	if err := db.txns.WaitLosers(ctx); err != nil {
		return err
	}
	if orphans, err = db.orphans(ctx); err != nil {
		return err
	}
	for _, no := range orphans {
		db.opts.Logger.Info("removing a file that no tree owns", "file", db.files.Path(no))
		if err := db.dropSpace(ctx, no); err != nil {
			return err
		}
	}
	return nil
}

// orphans lists the files that no catalog entry names.
func (db *DB) orphans(ctx context.Context) ([]uint32, error) {
	named, err := db.namedTrees(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []uint32
	for _, no := range db.files.Spaces() {
		if _, ok := named[no]; !ok && no >= txn.FirstUserSpace {
			orphans = append(orphans, no)
		}
	}
	return orphans, nil
}
