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
	if id := binary.LittleEndian.Uint64(cell[1:]); cell[0]&^versionFirst == 0 && (tx.view.sees(id) || tx.own(id)) {
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
	v, err := tx.resolve(ctx, t, key, tx.s.cell, &sight{view: tx.view})
	if err != nil {
		return given(own, dst), err
	}
	return tx.appendValue(ctx, t, v, given(own, dst))
}

// GetWith is Get that sees what o says.
func (tx *Tx) GetWith(ctx context.Context, t *btree.Tree, key, dst []byte, o ReadOptions) ([]byte, error) {
	if o == (ReadOptions{}) {
		return tx.Get(ctx, t, key, dst)
	}
	if err := tx.usable(); err != nil {
		return dst, err
	}
	s := tx.sight(o)
	defer tx.letGo(&s)
	v, err := tx.read(ctx, t, key, &s)
	if err != nil {
		return dst, err
	}
	return tx.appendValue(ctx, t, v, dst)
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
	if v.large() {
		return tx.m.appendLarge(ctx, t, v.value, dst)
	}
	if dst == nil {
		dst = make([]byte, 0, len(v.value))
	}
	return append(dst, v.value...), nil
}

// read finds the version of key that s shows; its value lies in a buffer of the session.
func (tx *Tx) read(ctx context.Context, t *btree.Tree, key []byte, s *sight) (version, error) {
	cell, found, err := t.Get(ctx, key, tx.s.cell[:0])
	tx.s.cell = cell
	if err != nil {
		return version{}, err
	}
	if !found {
		return version{}, ErrKeyNotFound
	}
	return tx.resolve(ctx, t, key, cell, s)
}
