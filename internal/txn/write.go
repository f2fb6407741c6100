package txn

import (
	"bytes"
	"context"

	"github.com/hearthdb/hearth/internal/btree"
	"github.com/hearthdb/hearth/internal/lock"
	"github.com/hearthdb/hearth/internal/pool"
	"github.com/hearthdb/hearth/internal/wal"
)

// change says what a write does to an entry.
type change uint8

const (
	changePut    change = iota
	changeInsert        // ErrKeyExists when there is a live version
	changeDelete        // nothing when there is none
)

// Put sets the value of key.
func (tx *Tx) Put(ctx context.Context, t *btree.Tree, key, value []byte) error {
	return tx.set(ctx, t, key, value, changePut)
}

// Insert sets the value of a key that has none; else ErrKeyExists.
func (tx *Tx) Insert(ctx context.Context, t *btree.Tree, key, value []byte) error {
	return tx.set(ctx, t, key, value, changeInsert)
}

func (tx *Tx) set(ctx context.Context, t *btree.Tree, key, value []byte, c change) error {
	if err := tx.checkWrite(key, int64(len(value))); err != nil {
		return err
	}
	if len(value) > maxInline(key) {
		return tx.setLarge(ctx, t, key, bytes.NewReader(value), int64(len(value)), c)
	}
	_, err := tx.change(ctx, t, key, 0, value, c)
	return err
}

// Delete removes key and says whether it was there.
func (tx *Tx) Delete(ctx context.Context, t *btree.Tree, key []byte) (found bool, err error) {
	if err := tx.checkWrite(key, 0); err != nil {
		return false, err
	}
	return tx.change(ctx, t, key, versionDeleted, nil, changeDelete)
}

func (tx *Tx) checkWrite(key []byte, size int64) error {
	if err := tx.usable(); err != nil {
		return err
	}
	switch {
	case tx.opts.ReadOnly:
		return ErrReadOnly
	case len(key) > btree.MaxKey:
		return ErrKeyTooLarge
	case size > MaxValue:
		return ErrValueTooLarge
	}
	return nil
}

// change puts a new version under key, in one group with its undo record. found: there was a live one.
func (tx *Tx) change(ctx context.Context, t *btree.Tree, key []byte, flags byte, value []byte, c change) (found bool, err error) {
	w, err := tx.writer(ctx)
	if err != nil {
		return false, err
	}
	m := tx.m
	for {
		g, err := m.begin(ctx)
		if err != nil {
			return false, err
		}
		pos, err := t.Seek(ctx, g, key, versionHead+len(value))
		if err != nil {
			g.Abort()
			return false, err
		}
		old, free, err := tx.look(ctx, g, t, key, &pos, nil)
		if err != nil {
			return false, tx.fail(err)
		}
		if !free {
			continue
		}
		found = pos.Found && old.live()
		if found && c == changeInsert {
			g.Abort()
			return true, ErrKeyExists
		}
		if !found && c == changeDelete {
			g.Abort()
			return false, nil
		}
		typ, before := byte(recInsert), []byte(nil)
		if pos.Found {
			typ, before = recUpdate, pos.Value()
			if flags&versionDeleted != 0 {
				typ = recDelete
			}
		}
		tx.s.body = appendEntryRecord(tx.s.body[:0], t.Space().No(), key, before)
		spot, err := m.prepare(g, w, len(tx.s.body))
		if err != nil {
			g.Abort()
			return false, err
		}
		undo := w.push(g, spot, typ, tx.s.body)
		first := byte(0)
		if typ == recInsert {
			first = versionFirst
		}
		tx.s.cell = appendVersion(tx.s.cell[:0], flags|first, w.id, undo, value)
		pos.Put(tx.s.cell)
		if _, err := g.Commit(); err != nil {
			m.dead.Store(true)
			return false, err
		}
		tx.noteWrite(t, key)
		return found, nil
	}
}

// want is a lock that look has to take, beside finding the entry free.
type want struct {
	mode lock.Mode
	opts lock.Options
}

// look says whether tx may change the entry at pos, or may lock it when l is given. If not it ends the group, waits until
// that may have changed, or restores what a loser left, and the caller tries again. On an error the group has ended too.
func (tx *Tx) look(ctx context.Context, g *pool.Group, t *btree.Tree, key []byte, pos *btree.Pos, l *want) (old version, free bool, err error) {
	m, no := tx.m, t.Space().No()
	mode, opts := lock.Exclusive, lock.Options{Timeout: tx.opts.LockWaitTimeout}
	if l != nil {
		mode, opts = l.mode, l.opts
	}
	if pos.Found {
		var ok bool
		if old, ok = parseVersion(pos.Value()); !ok {
			g.Abort()
			return old, false, badEntry(t, key)
		}
		if tx.w != nil && old.tx == tx.w.id {
			return old, true, nil // locked by its id; explicit locks beside that are not real (lock, rule 2)
		}
		if other := m.activeWriter(old.tx); other != nil {
			if other.loser.Load() {
				g.Abort()
				return old, false, m.restore(ctx, t, key, other)
			}
			granted := m.locks.Grant(other.owner, no, key)
			g.Abort()
			if !granted { // it has ended since
				return old, false, m.alive()
			}
			return old, false, m.locks.Acquire(ctx, tx.owner, no, key, mode, opts)
		}
	}
	if l != nil {
		free = m.locks.TryAcquire(tx.owner, no, key, mode)
	} else {
		free = !m.locks.Blocked(tx.owner, no, key)
	}
	if free {
		return old, true, nil
	}
	g.Abort()
	return old, false, m.locks.Acquire(ctx, tx.owner, no, key, mode, opts)
}

// LockOptions of a locking read.
type LockOptions struct {
	NoWait bool      // ErrLocked instead of waiting
	Before Savepoint // when it was taken: of the own writes only those made before it are seen
}

// Lock locks key until the transaction ends and returns its latest committed value, or the transaction's own, appended to
// dst. ErrKeyNotFound: there is none; the key is locked all the same.
func (tx *Tx) Lock(ctx context.Context, t *btree.Tree, key []byte, mode lock.Mode, o LockOptions, dst []byte) ([]byte, error) {
	v, err := tx.lockKey(ctx, t, key, mode, lock.Options{Timeout: tx.opts.LockWaitTimeout, NoWait: o.NoWait})
	// Below the transaction's own versions lies the latest committed one: the key has been locked since the first of them.
	for err == nil && tx.passesOver(&v, &o.Before) {
		v, err = tx.versionBefore(ctx, key, &v)
	}
	if err != nil {
		return dst, err
	}
	if !v.live() {
		return dst, ErrKeyNotFound
	}
	return tx.appendValue(ctx, t, v, dst)
}

// lockKey locks key and copies its version; of none at all it makes a deleted one.
func (tx *Tx) lockKey(ctx context.Context, t *btree.Tree, key []byte, mode lock.Mode, opts lock.Options) (version, error) {
	if err := tx.usable(); err != nil {
		return version{}, err
	}
	if len(key) > btree.MaxKey {
		return version{}, ErrKeyTooLarge
	}
	if _, err := tx.lockOwner(ctx); err != nil {
		return version{}, err
	}
	for {
		g, err := tx.m.begin(ctx)
		if err != nil {
			return version{}, err
		}
		pos, err := t.Seek(ctx, g, key, 0)
		if err != nil {
			g.Abort()
			return version{}, err
		}
		old, free, err := tx.look(ctx, g, t, key, &pos, &want{mode, opts})
		if err != nil {
			return version{}, tx.fail(err)
		}
		if !free {
			continue
		}
		if !pos.Found {
			g.Abort()
			return version{flags: versionDeleted}, nil
		}
		tx.s.cell = append(tx.s.cell[:0], old.value...)
		old.value = tx.s.cell
		g.Abort()
		return old, nil
	}
}

// alive is the error of a Manager whose log is dead: those who wait for a writer that can never end learn it here.
func (m *Manager) alive() error {
	if m.dead.Load() {
		return wal.ErrDead
	}
	return nil
}

// noteWrite tells the open cursors of a tree that a key has a new version.
func (tx *Tx) noteWrite(t *btree.Tree, key []byte) {
	for _, c := range tx.cursors {
		if c.t == t || c.t.Space().No() == t.Space().No() {
			c.noteWrite(key)
		}
	}
}
