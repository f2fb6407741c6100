package txn

import (
	"context"

	"github.com/hearthdb/hearth/internal/btree"
)

// ReadOptions say what a read sees. The zero value: the transaction's snapshot, and all its own writes.
type ReadOptions struct {
	Current bool      // what is committed when the read begins, instead of the snapshot
	Before  Savepoint // when it was taken: of the own writes only those made before it
}

// sight is what one read, or one cursor, sees.
type sight struct {
	view   *view
	before Savepoint
	lent   *session // borrowed to protect a view that is not the transaction's; nil when it is
}

// sight begins a read. A current one must be followed by letGo.
func (tx *Tx) sight(o ReadOptions) sight {
	s := sight{before: o.Before}
	if o.Current {
		s.lent = tx.m.sessions.get()
		s.view = tx.m.snapshot(s.lent)
		return s
	}
	if tx.view == nil {
		tx.view = tx.m.snapshot(tx.s)
	}
	s.view = tx.view
	return s
}

// letGo gives back what sight borrowed.
func (tx *Tx) letGo(s *sight) {
	if s.lent != nil {
		s.lent.view.Store(nil)
		tx.m.sessions.put(s.lent)
		s.lent = nil
	}
}

// own: the transaction itself is the writer id.
func (tx *Tx) own(id uint64) bool { return tx.w != nil && tx.w.id == id }

// passesOver: a version is the transaction's own and was written at the savepoint or after it.
func (tx *Tx) passesOver(v *version, before *Savepoint) bool {
	return before.taken && tx.own(v.tx) && !tx.w.wrote(v.undo, before.last)
}

// resolve goes from a cell back to the version that s shows; ErrKeyNotFound when there is none. The result lies in cell or in
// the session's record buffer.
func (tx *Tx) resolve(ctx context.Context, t *btree.Tree, key, cell []byte, s *sight) (version, error) {
	v, ok := parseVersion(cell)
	if !ok {
		return v, badEntry(t, key)
	}
	for !s.view.sees(v.tx) && !tx.own(v.tx) || tx.passesOver(&v, &s.before) {
		// By rule 8 the record is there: we do not see the version that points to it, or it is our own.
		var err error
		if v, err = tx.versionBefore(ctx, key, &v); err != nil {
			return v, err
		}
	}
	if !v.live() {
		return v, ErrKeyNotFound
	}
	return v, nil
}

// versionBefore reads what v replaced, into the session's record buffer. ErrKeyNotFound: nothing.
func (tx *Tx) versionBefore(ctx context.Context, key []byte, v *version) (version, error) {
	ptr := v.before()
	if ptr == 0 {
		return version{}, ErrKeyNotFound
	}
	r, buf, err := tx.m.readRecord(ctx, ptr, tx.s.body)
	tx.s.body = buf
	if err != nil {
		return version{}, err
	}
	if r.typ != recUpdate && r.typ != recDelete || string(r.key) != string(key) {
		return version{}, badRecord(ptr)
	}
	before, ok := parseVersion(r.before)
	if !ok {
		return version{}, badRecord(ptr)
	}
	return before, nil
}
