package sql

import (
	"bytes"
	"io"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/stats"
)

// histogramBuckets is how many buckets ANALYZE TABLE makes for an index, about.
const histogramBuckets = 32

// AnalyzeTable implements gms.StatsProvider: it reads each index from one end to the other.
func (p *statistics) AnalyzeTable(ctx *gms.Context, t gms.Table, _ string) error {
	d := definitionOf(t)
	if d == nil {
		return nil
	}
	st, err := p.of(ctx, d)
	if err != nil {
		return err
	}
	found, distinct := make([]gms.Statistic, 0, len(d.indexes)), make(map[string][]uint64, len(d.indexes))
	for _, x := range d.indexes {
		s, parts, err := x.analyze(ctx, st.rows)
		if err != nil {
			return err
		}
		found, distinct[x.name] = append(found, s), parts
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	analyzed := *st
	analyzed.analyzed, analyzed.distinct, analyzed.analyzedAt = found, distinct, st.rows
	p.tables[d.rec.ID] = &analyzed
	return nil
}

// analyze counts entries, distinct keys and NULLs, and makes a histogram of buckets that hold about equally many entries. distinct are the
// distinct values of the first part, of the first two, and so on.
func (x *Index) analyze(ctx *gms.Context, estimate uint64) (_ gms.Statistic, distinct []uint64, _ error) {
	t := x.def.plain.table
	t.columns = make([]int, len(x.parts))
	for i, p := range x.parts {
		t.columns[i] = p.Column
	}
	s := &scan{table: t, index: x, intervals: everything}
	if err := s.open(ctx); err != nil {
		return nil, nil, err
	}
	defer s.Close(ctx)

	depth := max(estimate/histogramBuckets, 1)
	var all, bucket counts
	var buckets []gms.HistogramBucket
	var first, last gms.Row
	var key []byte // of the row before
	distinct = make([]uint64, len(x.parts))
	ends := make([]int, len(x.parts))
	for {
		row, err := s.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		own, err := x.own(s.cursor.Key(), ends)
		if err != nil {
			return nil, nil, s.damaged(err)
		}
		for i, end := range ends {
			if first == nil || !bytes.HasPrefix(key, own[:end]) {
				distinct[i]++
			}
		}
		fresh := first == nil || !bytes.Equal(own, key)
		if fresh && bucket.rows >= depth {
			buckets = append(buckets, bucket.bucket(last))
			bucket = counts{}
		}
		for _, c := range []*counts{&all, &bucket} {
			c.add(fresh, row)
		}
		if first == nil {
			first = row
		}
		last, key = row, append(key[:0], own...)
	}
	if bucket.rows > 0 {
		buckets = append(buckets, bucket.bucket(last))
	}
	st, err := x.statistic(all.rows, all.distinct, all.nulls, buckets)
	if err != nil {
		return nil, nil, err
	}
	return st.WithLowerBound(first), distinct, nil
}

// own is the head of an entry's key that holds the index's own columns, and in ends where each of them ends.
func (x *Index) own(key []byte, ends []int) ([]byte, error) {
	rest := key
	for i := range x.parts {
		var err error
		if _, rest, err = x.key.Split(rest, i); err != nil {
			return nil, err
		}
		ends[i] = len(key) - len(rest)
	}
	return key[:len(key)-len(rest)], nil
}

// counts of entries.
type counts struct {
	rows, distinct, nulls uint64
	bound                 uint64 // entries equal to the last
}

func (c *counts) add(fresh bool, row gms.Row) {
	c.rows++
	if fresh {
		c.distinct++
		c.bound = 0
	}
	c.bound++
	if slices.Contains(row, nil) {
		c.nulls++
	}
}

func (c *counts) bucket(upper gms.Row) gms.HistogramBucket {
	return stats.NewHistogramBucket(c.rows, c.distinct, c.nulls, c.bound, upper, nil, nil)
}

// setKey names a statistic that ALTER TABLE … UPDATE HISTOGRAM has set.
type setKey struct {
	qualifier gms.StatQualifier
	columns   string
}

func keyOf(q gms.StatQualifier, columns []string) setKey {
	return setKey{q, strings.ToLower(strings.Join(columns, ","))}
}

// SetStats implements gms.StatsProvider.
func (p *statistics) SetStats(_ *gms.Context, s gms.Statistic) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set[keyOf(s.Qualifier(), s.Columns())] = s
	return nil
}

// GetStats implements gms.StatsProvider.
func (p *statistics) GetStats(_ *gms.Context, q gms.StatQualifier, columns []string) (gms.Statistic, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.set[keyOf(q, columns)]
	return s, ok
}

// DropStats implements gms.StatsProvider. A qualifier without an index means all of the table.
func (p *statistics) DropStats(_ *gms.Context, q gms.StatQualifier, columns []string) error {
	p.dropWhere(func(k setKey) bool {
		return k.qualifier.Database == q.Database && k.qualifier.Tab == q.Tab && (q.Idx == "" || k.qualifier.Idx == q.Idx) &&
			k.columns == keyOf(q, columns).columns
	})
	return nil
}

// DropDbStats implements gms.StatsProvider.
func (p *statistics) DropDbStats(_ *gms.Context, db string, _ bool) error {
	p.dropWhere(func(k setKey) bool { return strings.EqualFold(k.qualifier.Database, db) })
	return nil
}

func (p *statistics) dropWhere(gone func(setKey) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.set {
		if gone(k) {
			delete(p.set, k)
		}
	}
}

// setFor lists what was set for a table.
func (p *statistics) setFor(d *definition) (all []gms.Statistic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.set {
		if strings.EqualFold(k.qualifier.Database, d.rec.Database) && strings.EqualFold(k.qualifier.Tab, d.rec.Name) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b gms.Statistic) int {
		return strings.Compare(a.Qualifier().String()+strings.Join(a.Columns(), ","), b.Qualifier().String()+strings.Join(b.Columns(), ","))
	})
	return all
}

// stale: so many rows have come or gone that what ANALYZE TABLE found says little any more.
func (st *tableStats) stale(rows uint64) bool {
	return rows > 2*st.analyzedAt+100 || 2*rows+100 < st.analyzedAt
}
