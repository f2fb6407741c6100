package sql

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth"
)

// pollEvery is after how many entries that no row comes of a scan looks whether its statement was killed. GMS looks for
// every row.
const pollEvery = 256

// scan walks over the rows of a table, by one of its trees: the rows themselves, which are the primary key's entries, or the
// entries of a secondary index.
type scan struct {
	table
	index     *Index // nil: all rows
	intervals []interval
	reverse   bool

	session *Session
	tree    *hearth.Tree
	rows    *hearth.Tree // the same if it is the tree of the rows
	opts    hearth.ReadOptions
	cursor  *hearth.Cursor

	at      int // interval
	placed  bool
	covered bool    // the entries hold what is wanted
	decoded gms.Row // the last row, by the table's ordinals
	want    []int   // ordinals to decode; nil: all
	buf     []byte  // the last value that was read
	moved   map[string]bool
	faked   bool // it would lock the rows, but changes are faked
}

// everything is the interval of all rows.
var everything = []interval{{}}

// open finds the trees and sets the boundary: what the statement writes from now on is not seen.
func (s *scan) open(ctx *gms.Context) (err error) {
	s.session = SessionOf(ctx)
	if s.session == nil {
		return fmt.Errorf("table %s: the context has no session of this database", s.Name())
	}
	if s.session.built == s.def.rec.ID {
		s.session.built, s.intervals = 0, nil // see BuildIndex
		return nil
	}
	if s.rows, err = s.session.Tree(ctx, s.def.tree); err != nil {
		return err
	}
	s.tree = s.rows
	if s.index != nil && s.index.entries != nil {
		if s.tree, err = s.session.Tree(ctx, s.index.tree); err != nil {
			return err
		}
	}
	s.opts.Current = s.lock.mode != lockNone || s.latest || s.session.rewrites(s.def.rec.ID)
	if !s.latest {
		s.opts.Before = s.lock.scope.boundary(s.session)
	}
	s.want = s.columns
	if s.want == nil && len(s.def.stored) < len(s.def.rec.Columns) {
		s.want = s.def.stored
	} else if s.want != nil {
		s.want = slices.DeleteFunc(slices.Clone(s.want), func(c int) bool { return s.def.rec.Columns[c].Virtual })
	}
	s.decoded = make(gms.Row, len(s.def.rec.Columns))
	s.covered = s.lock.mode == lockNone && s.index != nil && s.index.entries != nil && s.want != nil && s.index.entries.Covers(s.want)
	s.fake()
	return nil
}

// Next implements gms.RowIter.
func (s *scan) Next(ctx *gms.Context) (gms.Row, error) {
	for n := 1; s.at < len(s.intervals); n++ {
		if n%pollEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		ok, err := s.step(ctx)
		if err != nil {
			return nil, sqlError(err)
		}
		if ok {
			return s.project(), nil
		}
	}
	return nil, io.EOF
}

// step goes to the next entry and decodes its row. It returns false where the entry is none of ours, or an interval ends.
func (s *scan) step(ctx *gms.Context) (bool, error) {
	in := &s.intervals[s.at]
	if in.point {
		s.at++
		return s.get(in)
	}
	if !s.move(in) {
		s.at, s.placed = s.at+1, false
		return false, s.cursor.Err()
	}
	s.session.examined++
	key := s.cursor.Key()
	if len(in.checks) > 0 {
		var value []byte
		if s.index.entries != nil {
			value = s.cursor.Value()
		}
		if ok, err := s.index.passes(in.checks, key, value); !ok {
			return false, s.damaged(err)
		}
	}
	if s.lock.mode != lockNone {
		return s.locked(in, key)
	}
	return s.read(key, s.cursor.Value())
}

// move goes to the next entry of the interval.
func (s *scan) move(in *interval) bool {
	if s.cursor == nil {
		s.cursor = s.tree.CursorWith(s.opts)
	}
	switch {
	case s.placed && s.reverse:
		return s.cursor.Prev() && bytes.Compare(s.cursor.Key(), in.lo) >= 0
	case s.placed:
		return s.cursor.Next() && (in.hi == nil || bytes.Compare(s.cursor.Key(), in.hi) < 0)
	}
	s.placed = true
	switch {
	case s.reverse && in.hi == nil:
		return s.cursor.Last() && bytes.Compare(s.cursor.Key(), in.lo) >= 0
	case s.reverse:
		return s.cursor.SeekLT(in.hi) && bytes.Compare(s.cursor.Key(), in.lo) >= 0
	default:
		return s.cursor.Seek(in.lo) && (in.hi == nil || bytes.Compare(s.cursor.Key(), in.hi) < 0)
	}
}

// get reads the one entry whose key is known.
func (s *scan) get(in *interval) (bool, error) {
	if s.lock.mode != lockNone && s.tree == s.rows {
		ok, err := s.lockRow(in.lo, nil)
		if ok {
			s.session.examined++
		}
		return ok, err
	}
	value, err := s.tree.GetWith(s.buf[:0], in.lo, s.opts)
	if errors.Is(err, hearth.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.buf = value
	s.session.examined++
	if s.lock.mode != lockNone {
		return s.locked(in, in.lo)
	}
	return s.read(in.lo, value)
}

// read decodes the row of an entry.
func (s *scan) read(key, value []byte) (bool, error) {
	switch {
	case s.tree == s.rows:
		return s.whole(key, value)
	case s.covered:
		return true, s.damaged(s.index.entries.Decode(key, value, s.decoded, s.want))
	}
	rowKey, err := s.index.entries.RowKey(key, value)
	if err != nil {
		return false, s.damaged(err)
	}
	row, err := s.rows.GetWith(nil, rowKey, s.opts)
	if err != nil {
		if errors.Is(err, hearth.ErrKeyNotFound) {
			if s.faked && s.latest { // it is not locked, and may have gone
				return false, nil
			}
			return false, s.damaged(fmt.Errorf("the entry %x has no row", key))
		}
		return false, err
	}
	return s.whole(rowKey, row)
}

// whole decodes a row. One that would be locked, of a table without a primary key, is remembered.
func (s *scan) whole(key, value []byte) (bool, error) {
	if s.faked && s.def.keyless() {
		if err := s.session.rememberRow(s.def, key, value); err != nil {
			return false, s.damaged(err)
		}
	}
	return s.decode(value)
}

func (s *scan) decode(value []byte) (bool, error) {
	if s.want != nil && len(s.want) == 0 {
		return true, nil
	}
	return true, s.damaged(s.def.codec.DecodeRow(value, s.decoded, s.want))
}

// damaged says of an error of the encodings where the bytes are from.
func (s *scan) damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s.%s, tree %s: %w", s.def.rec.Database, s.def.rec.Name, s.tree.Name(), err)
}

// project makes the row that GMS gets, for good.
func (s *scan) project() gms.Row {
	if s.columns == nil {
		return slices.Clone(s.decoded)
	}
	row := make(gms.Row, len(s.columns))
	for i, c := range s.columns {
		row[i] = s.decoded[c]
	}
	return row
}

// Close implements gms.RowIter.
func (s *scan) Close(*gms.Context) error {
	if s.cursor != nil {
		s.cursor.Close()
		s.cursor = nil
	}
	s.at = len(s.intervals)
	return nil
}
