package sql

import (
	"bytes"
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"

	"github.com/hearthdb/hearth/internal/rows"
)

// interval is what one range of GMS is on the entries of an index: keys from lo to before hi, and of these the entries that pass
// the checks (rule 5).
type interval struct {
	lo, hi []byte // hi nil: to the end
	point  bool   // lo is the whole key of at most one entry
	checks []check
}

// check that one column of an entry lies in its range: in encoded form, lo <= part < hi.
type check struct {
	part int    // of the entry's key: the index's columns, then those of the primary key
	lo   []byte // nil: from the start, NULL too
	hi   []byte // nil: to the end
}

// bounds of one column: the encoded parts from lo to before hi. equal: all of them begin with one encoded value, which is lo.
type bounds struct {
	lo, hi []byte
	equal  bool
	null   bool // the value is NULL
	all    bool
	empty  bool
}

// intervals translates ranges, in their order. Ranges that no entry can lie in are left out.
func (x *Index) intervals(ranges gms.RangeCollection) ([]interval, error) {
	all, ok := ranges.(gms.MySQLRangeCollection)
	if !ok {
		return nil, fmt.Errorf("index %s: ranges of type %T are not supported", x.name, ranges)
	}
	out := make([]interval, 0, len(all))
	for _, r := range all {
		in, ok, err := x.interval(r)
		if err != nil {
			return nil, fmt.Errorf("index %s: %w", x.name, err)
		}
		if ok {
			out = append(out, in)
		}
	}
	return out, nil
}

// interval of one range: columns that are pinned to a value make the prefix, the first other one ends it, those behind it are
// checked.
func (x *Index) interval(r gms.MySQLRange) (in interval, ok bool, err error) {
	prefix := make([]byte, 0, 16*len(r))
	open := true // all columns so far were pinned
	nulls := false
	for i := range r {
		part := x.partOf(i)
		if part < 0 {
			return in, false, fmt.Errorf("a range has %d columns, the index %d", len(r), len(x.extended))
		}
		b, err := x.bounds(part, r[i])
		if err != nil {
			return in, false, err
		}
		if b.empty {
			return in, false, nil
		}
		// The key of an entry without NULL in a unique index ends with the index's own columns.
		switch contiguous := part == i && (i < len(x.parts) || !x.unique || nulls); {
		case !open || !contiguous:
			if !b.all {
				in.checks = append(in.checks, check{part, b.lo, b.hi})
			}
			open = false
		case b.equal:
			prefix = append(prefix, b.lo...)
			nulls = nulls || b.null
		default:
			open = false
			in.lo = append(bytes.Clone(prefix), b.lo...)
			in.hi = rows.After(prefix)
			if b.hi != nil {
				in.hi = append(bytes.Clone(prefix), b.hi...)
			}
		}
	}
	if in.lo == nil {
		in.lo, in.hi = prefix, rows.After(prefix)
		in.point = open && x.unique && !nulls && len(r) >= len(x.parts) && x.prefixes == nil && len(in.checks) == 0
	}
	return in, in.hi == nil || bytes.Compare(in.lo, in.hi) < 0, nil
}

// partOf says which part of an entry's key the i-th column of a range is: parts of the index come first, then those of the
// primary key.
func (x *Index) partOf(i int) int {
	switch n := len(x.parts); {
	case i < n:
		return i
	case i < len(x.extended):
		return n + x.extendedBy[i-n]
	default:
		return -1
	}
}

// bounds encodes the cuts of one column. A cut at a prefix is loosened: entries hold only the head of a value, and GMS checks
// the filter again on the row.
func (x *Index) bounds(part int, r gms.MySQLRangeColumnExpr) (b bounds, err error) {
	key, n := x.key, part
	if part >= len(x.parts) {
		key, n = x.def.codec.Key(), part-len(x.parts)
	}
	loose := key.Part(n).Prefix > 0
	b.lo = key.AppendNotNull(nil, n)

	var pinned []byte // the value that all values are not less than
	switch c := r.LowerBound.(type) {
	case gms.BelowNull:
		b.lo = nil
	case gms.AboveNull:
	case gms.Below:
		var e edge
		if e, err = edgeOf(key, n, c.Key, r.Typ); err == nil {
			b.cutBelow(e, e.beyond)
			if !e.beyond && !e.before {
				pinned = e.key
			}
		}
	case gms.Above:
		var e edge
		if e, err = edgeOf(key, n, c.Key, r.Typ); err == nil {
			b.cutBelow(e, e.beyond || !loose)
		}
	case gms.AboveAll:
		b.empty = true
	default:
		err = fmt.Errorf("a lower cut of type %T is not supported", c)
	}
	if err != nil {
		return b, err
	}
	switch c := r.UpperBound.(type) {
	case gms.AboveAll:
	case gms.AboveNull:
		b.hi = key.AppendNotNull(nil, n)
		b.null = b.lo == nil
		b.empty = b.empty || !key.Nullable(n)
	case gms.Below:
		var e edge
		if e, err = edgeOf(key, n, c.Key, r.Typ); err == nil {
			b.cutAbove(e, e.beyond || loose, key.AppendNotNull(nil, n))
		}
	case gms.Above:
		var e edge
		if e, err = edgeOf(key, n, c.Key, r.Typ); err == nil {
			b.cutAbove(e, true, key.AppendNotNull(nil, n))
			b.equal = pinned != nil && bytes.Equal(pinned, e.key)
		}
	case gms.BelowNull:
		b.empty = true
	default:
		err = fmt.Errorf("an upper cut of type %T is not supported", c)
	}
	if err != nil {
		return b, err
	}
	if b.null && !b.empty {
		b.lo, err = key.AppendPart(nil, n, nil)
		b.equal = true
	}
	b.all = len(b.lo) == 0 && b.hi == nil
	b.empty = b.empty || b.hi != nil && bytes.Compare(b.lo, b.hi) >= 0
	return b, err
}

// cutBelow leaves what is not less than the edge, or what is greater than it.
func (b *bounds) cutBelow(e edge, greater bool) {
	switch {
	case e.before:
	case e.none || greater && rows.After(e.key) == nil:
		b.empty = true
	case greater:
		b.lo = rows.After(e.key)
	default:
		b.lo = e.key
	}
}

// cutAbove leaves what is less than the edge, or what is not greater than it. Of the values that are not NULL the first begins with
// first.
func (b *bounds) cutAbove(e edge, orEqual bool, first []byte) {
	switch {
	case e.none, e.before && len(first) == 0:
		b.empty = true
	case e.before:
		b.hi = first
	case orEqual:
		b.hi = rows.After(e.key)
	default:
		b.hi = e.key
	}
}

// passes holds an entry against the checks of its interval.
func (x *Index) passes(checks []check, key, value []byte) (bool, error) {
	rest, at := key, 0 // the part that begins at rest
	codec, first := x.key, 0
	for _, c := range checks {
		if c.part >= len(x.parts) && first == 0 {
			rowKey := key
			if x.entries != nil {
				var err error
				if rowKey, err = x.entries.RowKey(key, value); err != nil {
					return false, err
				}
			}
			codec, first = x.def.codec.Key(), len(x.parts)
			rest, at = rowKey, first
		}
		for {
			if c.part < at {
				panic(fmt.Sprintf("BUG: checks of index %s are out of order: part %d after %d", x.name, c.part, at))
			}
			part, tail, err := codec.Split(rest, at-first)
			if err != nil {
				return false, err
			}
			if at == c.part {
				if bytes.Compare(part, c.lo) < 0 || c.hi != nil && bytes.Compare(part, c.hi) >= 0 {
					return false, nil
				}
				rest, at = tail, at+1
				break
			}
			rest, at = tail, at+1
		}
	}
	return true, nil
}

// covers says whether an entry lies in the interval.
func (x *Index) covers(in *interval, key, value []byte) (bool, error) {
	if bytes.Compare(key, in.lo) < 0 || in.hi != nil && bytes.Compare(key, in.hi) >= 0 {
		return false, nil
	}
	return x.passes(in.checks, key, value)
}
