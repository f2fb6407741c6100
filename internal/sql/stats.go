package sql

import (
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/stats"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth"
)

// How long an estimate of a table's size is good. It matters most while a table is small and grows.
const (
	estimateFor      = time.Second
	smallEstimateFor = 20 * time.Millisecond
	smallTable       = 10_000 // rows
)

// Guesses for an index that nobody has analyzed, those of GMS: shares of its entries.
const (
	guessDistinct = 0.90
	guessNull     = 0.03
)

// statistics of tables, for GMS's choice of indexes: what ANALYZE TABLE found, else estimates made from the pages on the way to
// the two ends of a tree.
type statistics struct {
	backend *Backend
	mu      sync.Mutex
	tables  map[uint64]*tableStats // by dict.Table.ID
	set     map[setKey]gms.Statistic
}

// tableStats are good for one version of a table.
type tableStats struct {
	version  uint64
	rows     uint64 // estimated
	at       time.Time
	guessed  []gms.Statistic // made from rows, one for each index
	analyzed []gms.Statistic // nil: nobody has

	distinct   map[string][]uint64 // by index, see Index.analyze
	analyzedAt uint64              // rows, estimated then
}

var _ gms.StatsProvider = (*statistics)(nil)

func newStatistics(b *Backend) *statistics {
	return &statistics{backend: b, tables: map[uint64]*tableStats{}, set: map[setKey]gms.Statistic{}}
}

// of returns the statistics of a table, with an estimate that is good. The value is not changed any more.
func (p *statistics) of(ctx *gms.Context, d *definition) (*tableStats, error) {
	p.mu.Lock()
	st := p.tables[d.rec.ID]
	p.mu.Unlock()
	now := time.Now()
	if st != nil && st.version == d.rec.Version && now.Sub(st.at) < st.goodFor() {
		return st, nil
	}
	n, err := p.estimate(ctx, d)
	if err != nil {
		return nil, err
	}
	fresh := &tableStats{version: d.rec.Version, rows: n, at: now}
	if st != nil && st.version == d.rec.Version {
		if st.analyzed != nil && !st.stale(n) {
			fresh.analyzed, fresh.distinct, fresh.analyzedAt = st.analyzed, st.distinct, st.analyzedAt
		}
		if st.rows == n {
			fresh.guessed = st.guessed
		}
	}
	if fresh.guessed == nil {
		if fresh.guessed, err = guess(d, n); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	p.tables[d.rec.ID] = fresh
	p.mu.Unlock()
	return fresh, nil
}

func (st *tableStats) goodFor() time.Duration {
	if st.rows > smallTable {
		return estimateFor
	}
	return smallEstimateFor
}

// forget a table that is gone.
func (p *statistics) forget(table uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tables, table)
}

// estimate how many rows a table has: none, if it is made or dropped at this moment, for who walks over all tables.
func (p *statistics) estimate(ctx *gms.Context, d *definition) (uint64, error) {
	n, err := p.count(ctx, d)
	err = sqlError(err)
	var e *mysql.SQLError
	if errors.As(err, &e) && e.Num == erTableDefChanged {
		return 0, nil
	}
	return n, err
}

func (p *statistics) count(ctx *gms.Context, d *definition) (n uint64, err error) {
	if s := SessionOf(ctx); s != nil && s.current() != nil {
		tree, err := s.Tree(ctx, d.tree)
		if err != nil {
			return 0, err
		}
		return tree.Estimate(nil, nil)
	}
	err = p.backend.db.View(ctx.Context, func(tx *hearth.Tx) error {
		tree, err := tx.Tree(d.tree)
		if err != nil {
			return err
		}
		n, err = tree.Estimate(nil, nil)
		return err
	})
	return n, err
}

// guess makes statistics of all indexes from the number of rows alone.
func guess(d *definition, n uint64) ([]gms.Statistic, error) {
	all := make([]gms.Statistic, 0, len(d.indexes))
	for _, x := range d.indexes {
		distinct := n
		if !x.unique {
			distinct = uint64(math.Ceil(float64(n) * guessDistinct))
		}
		st, err := x.statistic(n, distinct, uint64(float64(distinct)*guessNull), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

// statistic of an index as GMS takes it.
func (x *Index) statistic(rows, distinct, nulls uint64, buckets []gms.HistogramBucket) (gms.Statistic, error) {
	table := strings.ToLower(x.def.rec.Name)
	columns := make([]string, len(x.expressions))
	types := make([]gms.Type, len(x.expressions))
	for i, e := range x.expressions {
		columns[i], types[i] = strings.TrimPrefix(strings.ToLower(e.Expression), table+"."), e.Type
	}
	qualifier := gms.NewStatQualifier(x.def.rec.Database, "", x.def.rec.Name, x.name)
	st := stats.NewStatistic(rows, distinct, nulls, x.def.rowSize(), time.Now(), qualifier, columns, types, buckets, gms.IndexClassDefault, nil)
	fds, set, err := stats.IndexFds(table, x.def.schema.Schema, x)
	if err != nil {
		return nil, err
	}
	return st.WithFuncDeps(fds).WithColSet(set), nil
}

// cardinality is how many values the first parts of an index have, by what the planner knows. Of an index that nobody has analyzed it
// knows nothing but a guess for all of its parts; nil: nothing.
func (st *tableStats) cardinality(index string, parts, of int) any {
	if d := st.distinct[index]; parts <= len(d) {
		return int64(d[parts-1])
	}
	for _, s := range st.guessed {
		if parts == of && strings.EqualFold(s.Qualifier().Idx, index) {
			return int64(s.DistinctCount())
		}
	}
	return nil
}

// definitionOf is the definition behind a table of GMS, nil if it is none of ours.
func definitionOf(t gms.Table) *definition {
	if t, ok := tableOf(gms.GetUnderlyingTable(t)); ok {
		return t.def
	}
	return nil
}

// GetTableStats implements gms.StatsProvider.
func (p *statistics) GetTableStats(ctx *gms.Context, _ string, t gms.Table) ([]gms.Statistic, error) {
	d := definitionOf(t)
	if d == nil {
		return nil, nil
	}
	st, err := p.of(ctx, d)
	if err != nil {
		return nil, err
	}
	if s := SessionOf(ctx); s != nil && s.quiet { // information_schema.column_statistics
		return append(p.setFor(d), st.analyzed...), nil
	}
	if st.analyzed != nil {
		return st.analyzed, nil
	}
	return st.guessed, nil
}

// RowCount implements gms.StatsProvider.
func (p *statistics) RowCount(ctx *gms.Context, _ string, t gms.Table) (uint64, error) {
	d := definitionOf(t)
	if d == nil {
		return 0, nil
	}
	st, err := p.of(ctx, d)
	if err != nil {
		return 0, err
	}
	return st.rows, nil
}

// DataLength implements gms.StatsProvider.
func (p *statistics) DataLength(ctx *gms.Context, db string, t gms.Table) (uint64, error) {
	n, err := p.RowCount(ctx, db, t)
	if d := definitionOf(t); d != nil {
		n *= d.rowSize()
	}
	return n, err
}

// RowCount implements gms.StatisticsTable. It is an estimate: GMS would answer COUNT(*) from an exact one.
func (t *table) RowCount(ctx *gms.Context) (uint64, bool, error) {
	n, err := t.def.backend.stats.RowCount(ctx, t.Database(), t.outer())
	return n, false, err
}

// DataLength implements gms.StatisticsTable, in bytes.
func (t *table) DataLength(ctx *gms.Context) (uint64, error) {
	return t.def.backend.stats.DataLength(ctx, t.Database(), t.outer())
}

// rowSize guesses the bytes of a row.
func (d *definition) rowSize() (n uint64) {
	for _, i := range d.stored {
		n += 1
		switch t := d.rec.Columns[i].Type.(type) {
		case gms.StringType:
			n += uint64(min(t.MaxByteLength(), 64))
		default:
			n += 8
		}
	}
	return n
}
