package sql

import (
	"bytes"
	"errors"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// lockMode of the rows a scan returns.
type lockMode uint8

const (
	lockNone lockMode = iota
	lockShared
	lockExclusive
)

// lockWait says what happens when somebody else has a row's lock.
type lockWait uint8

const (
	waitForLock lockWait = iota
	noWait               // an error
	skipLocked           // the row is left out
)

// rowLock is how a table's rows are locked as they are read.
type rowLock struct {
	mode  lockMode
	wait  lockWait
	scope *editScope // of the statement that reads them and writes; nil: of none
}

// editScope is a statement that writes: its scans, those of its subqueries too, see the state in which the first one began. A join opens
// some of them again and again, and they must not meet what was written meanwhile. It begins anew when the editors are closed: the
// body of a trigger is executed many times.
type editScope struct {
	begun  bool
	before hearth.Savepoint
}

// boundary is Session.Boundary of the scope's begin.
func (e *editScope) boundary(s *Session) hearth.Savepoint {
	if e == nil {
		return s.Boundary()
	}
	if !e.begun {
		e.begun, e.before = true, s.Boundary()
	}
	return e.before
}

func (e *editScope) end() {
	if e != nil {
		e.begun = false
	}
}

// withLock is the table with its rows locked.
func (t *table) withLock(l rowLock) gms.Table {
	n := *t
	n.lock = l
	return n.outer()
}

// forLookups is the table as editors look rows up in it for foreign keys: the latest state with all own writes, each row locked.
func (t *table) forLookups(mode lockMode) gms.IndexedTable {
	n := *t
	n.lock, n.latest = rowLock{mode: mode}, true
	return n.outer()
}

// locked locks the row of an entry that the cursor, or a point lookup, found in the latest committed state.
func (s *scan) locked(in *interval, key []byte) (bool, error) {
	if s.tree == s.rows {
		return s.lockRow(bytes.Clone(key), s.cursor.Value())
	}
	value := s.buf
	if !in.point {
		value = s.cursor.Value()
	}
	rowKey, err := s.index.entries.RowKey(key, value)
	if err != nil {
		return false, s.damaged(err)
	}
	if s.moved[string(rowKey)] {
		return false, nil
	}
	rowKey, key = bytes.Clone(rowKey), bytes.Clone(key)
	if ok, err := s.lockRow(rowKey, nil); !ok {
		return false, err
	}
	ok, err := s.belongs(key, rowKey)
	if s.def.hidesIndexed { // what GMS computes itself must not come from a scan
		for i := range s.decoded {
			if s.def.rec.Columns[i].Virtual {
				s.decoded[i] = nil
			}
		}
	}
	return ok, err
}

// belongs asks whether the row, locked and decoded now, still has the entry that led to it. A row that somebody has moved to another
// entry since the cursor was made counts if that lies in the ranges too; the cursor need not come across it.
func (s *scan) belongs(key, rowKey []byte) (bool, error) {
	k, v, _, err := s.index.entries.Append(nil, nil, s.decoded, rowKey)
	if err != nil {
		return false, s.damaged(err)
	}
	if bytes.Equal(k, key) {
		return true, nil
	}
	for i := range s.intervals {
		ok, err := s.index.covers(&s.intervals[i], k, v)
		if err != nil {
			return false, s.damaged(err)
		}
		if ok {
			if s.moved == nil {
				s.moved = map[string]bool{}
			}
			s.moved[string(rowKey)] = true
			return true, nil
		}
	}
	return false, nil
}

// lockRow locks a row and decodes it as it is now, or false: it is not there, or it is another's and to be skipped. seen is what the
// cursor found there, nil if it did not look.
func (s *scan) lockRow(key, seen []byte) (bool, error) {
	value, err := s.acquire(key)
	switch {
	case errors.Is(err, hearth.ErrLocked) && s.lock.wait == skipLocked:
		return false, nil
	case errors.Is(err, hearth.ErrKeyNotFound):
		value = nil
	case err != nil:
		return false, err
	}
	if !s.latest && (seen == nil || !bytes.Equal(value, seen)) && s.session.Boundary() != s.opts.Before {
		// The transaction has written since the scan began, perhaps this row.
		if value, err = s.rows.GetWith(nil, key, hearth.ReadOptions{Current: true, Before: s.opts.Before}); err != nil {
			if errors.Is(err, hearth.ErrKeyNotFound) {
				return false, nil
			}
			return false, err
		}
	}
	if value == nil {
		return false, nil
	}
	ok, err := s.decodeLocked(value)
	if ok && s.def.keyless() {
		err = s.session.rememberRow(s.def, key, value)
	}
	return ok, err
}

// decodeLocked decodes everything where the entry has to be made again, else what is wanted.
func (s *scan) decodeLocked(value []byte) (bool, error) {
	if s.tree == s.rows {
		return s.decode(value)
	}
	return true, s.damaged(s.def.codec.DecodeRow(value, s.decoded, nil))
}

// acquire gets the row's lock and its latest value.
func (s *scan) acquire(key []byte) ([]byte, error) {
	get := s.rows.GetForUpdate
	if s.lock.mode == lockShared {
		get = s.rows.GetForShare
	}
	return get(key, hearth.LockOptions{NoWait: s.lock.wait != waitForLock})
}
