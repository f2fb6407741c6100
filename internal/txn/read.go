package txn

import (
	"context"
	"encoding/binary"

	"github.com/hearthdb/hearth/internal/btree"
)

const (
	// arenaChunk is how many bytes of room for values are made at once; with rows of some hundred bytes that makes
	// allocation rare, and no value holds more than this much memory back.
	arenaChunk = 8 << 10
	// arenaLeast is the room, in bytes, below which a new chunk is begun: values above it get memory of their own.
	arenaLeast = 512
)

// Get returns the value of key that the transaction sees. With a nil dst the result is the caller's for good; else it is
// appended to dst.
func (tx *Tx) Get(ctx context.Context, t *btree.Tree, key, dst []byte) ([]byte, error) {
	if tx.done || tx.broken != nil {
		return dst, tx.usable()
	}
	if tx.view == nil {
		tx.view = tx.m.snapshot(tx.s)
	}
	own := dst == nil
	if own {
		if cap(tx.s.arena) < arenaLeast {
			tx.s.arena = make([]byte, 0, arenaChunk)
		}
		dst = tx.s.arena
	}
	out, found, err := t.Get(ctx, key, dst)
	if err != nil || !found {
		if err == nil {
			err = ErrKeyNotFound
		}
		return given(own, dst), err
	}
	cell := out[len(dst):]
	if len(cell) < versionHead {
		return given(own, dst), badEntry(t, key)
	}
	if cell[0] == 0 && tx.sees(binary.LittleEndian.Uint64(cell[1:])) {
		out = out[:len(dst)+copy(cell, cell[versionHead:])]
		if !own {
			return out, nil
		}
		if n := len(out); n+versionHead <= cap(tx.s.arena) { // Get did not have to move away
			tx.s.arena = tx.s.arena[n:n]
		}
		return out[:len(out):len(out)], nil
	}
	tx.s.cell = append(tx.s.cell[:0], cell...)
	v, err := tx.resolve(ctx, t, key, tx.s.cell)
	if err != nil {
		return given(own, dst), err
	}
	return tx.appendValue(ctx, t, v, given(own, dst))
}

// given is the destination the caller of Get gave.
func given(own bool, dst []byte) []byte {
	if own {
		return nil
	}
	return dst
}

// appendValue appends the value of v to dst.
func (tx *Tx) appendValue(ctx context.Context, t *btree.Tree, v version, dst []byte) ([]byte, error) {
	if v.flags&versionLarge != 0 {
		return tx.m.appendLarge(ctx, t, v.value, dst)
	}
	if dst == nil {
		dst = make([]byte, 0, len(v.value))
	}
	return append(dst, v.value...), nil
}

// read finds the version of key that the transaction sees; its value lies in a buffer of the session.
func (tx *Tx) read(ctx context.Context, t *btree.Tree, key []byte) (version, error) {
	if err := tx.usable(); err != nil {
		return version{}, err
	}
	if tx.view == nil {
		tx.view = tx.m.snapshot(tx.s)
	}
	cell, found, err := t.Get(ctx, key, tx.s.cell[:0])
	tx.s.cell = cell
	if err != nil {
		return version{}, err
	}
	if !found {
		return version{}, ErrKeyNotFound
	}
	return tx.resolve(ctx, t, key, cell)
}

// sees: a version written by id is visible.
func (tx *Tx) sees(id uint64) bool {
	return tx.view.sees(id) || tx.w != nil && tx.w.id == id
}

// resolve goes from a cell back to the version that the transaction sees; ErrKeyNotFound when there is none. The result lies in
// cell or in the session's record buffer.
func (tx *Tx) resolve(ctx context.Context, t *btree.Tree, key, cell []byte) (version, error) {
	for {
		v, ok := parseVersion(cell)
		if !ok {
			return v, badEntry(t, key)
		}
		if tx.sees(v.tx) {
			if !v.live() {
				return v, ErrKeyNotFound
			}
			return v, nil
		}
		if v.undo == 0 {
			return v, ErrKeyNotFound
		}
		// By rule 8 the record is there: we do not see the version that points to it.
		r, buf, err := tx.m.readRecord(ctx, v.undo, tx.s.body)
		tx.s.body = buf
		if err != nil {
			return v, err
		}
		if r.typ != recUpdate && r.typ != recDelete || string(r.key) != string(key) {
			return v, badRecord(v.undo)
		}
		cell = r.before
	}
}
