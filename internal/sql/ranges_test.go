package sql

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/shopspring/decimal"

	"github.com/hearthdb/hearth"
	"github.com/hearthdb/hearth/internal/dict"
)

// openEngine opens a small database of the engine that is gone with the test.
func openEngine(t *testing.T) *hearth.DB {
	t.Helper()
	db, err := hearth.Open(context.Background(), t.TempDir(), &hearth.Options{
		Memory: hearth.MemoryOff, Durability: hearth.DurabilityProcess, PoolSize: 16 << 20, SmallPages: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestRanges holds lookups against brute force: random tables, random ranges, the rows that lie in them and their order.
func TestRanges(t *testing.T) {
	db := openEngine(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for i := range rounds {
		if !t.Run(fmt.Sprint(i), func(t *testing.T) { newRangeTest(t, r, db, uint64(i+1)).run(r) }) {
			return
		}
	}
}

// domain is a type with few values, so that they meet.
type domain struct {
	typ    gms.Type
	prefix int // longest that makes sense, 0: none
	value  func(*rand.Rand) any
	bound  func(*rand.Rand) any // nil: value
}

func domains() []domain {
	words := []string{"", "a", "A", "ab", "aB", "abc", "abd", "ä", "b", "z\x00", "zz"}
	word := func(r *rand.Rand) any { return words[r.IntN(len(words))] }
	longer := func(r *rand.Rand) any { return word(r).(string) + word(r).(string) + "xyzxyzxyz" }
	day := func(r *rand.Rand) any { return time.Date(2024, 1, 1+r.IntN(5), 0, 0, 0, 0, time.UTC) }
	bin := func(r *rand.Rand) any { return []byte(words[r.IntN(len(words))]) }
	return []domain{
		{typ: types.Int32, value: func(r *rand.Rand) any { return int32(r.IntN(9) - 4) }},
		{typ: types.Uint64, value: func(r *rand.Rand) any { return []uint64{0, 1, 2, 1 << 63, 1<<64 - 1}[r.IntN(5)] }},
		{typ: types.Int8, value: func(r *rand.Rand) any { return []int8{-128, -1, 0, 1, 127}[r.IntN(5)] },
			bound: func(r *rand.Rand) any { // as a lookup join brings them
				return []any{int8(-128), int8(127), int64(-129), int64(128), 0.5, -0.5, int64(0), 127.5}[r.IntN(8)]
			}},
		{typ: types.Float64, value: func(r *rand.Rand) any { return float64(r.IntN(9)-4) / 2 }},
		{typ: types.MustCreateColumnDecimalType(5, 1), value: func(r *rand.Rand) any { return decimal.New(int64(r.IntN(9)-4), -1) },
			bound: func(r *rand.Rand) any { return decimal.New(int64(r.IntN(90)-45), -2) }},
		{typ: types.MustCreateString(sqltypes.VarChar, 10, gms.Collation_utf8mb4_0900_ai_ci), prefix: 3, value: word, bound: longer},
		{typ: types.MustCreateString(sqltypes.VarChar, 10, gms.Collation_utf8mb4_0900_bin), prefix: 2, value: word},
		{typ: types.MustCreateBinary(sqltypes.VarBinary, 10), prefix: 2, value: bin},
		{typ: types.MustCreateDatetimeType(sqltypes.Date, 0), value: day},
	}
}

type rangeTest struct {
	*testing.T
	def     *definition
	session *Session
	ctx     *gms.Context
	columns []domain
	rows    []gms.Row
}

// newRangeTest makes a random table with a primary key and indexes, and fills it.
func newRangeTest(t *testing.T, r *rand.Rand, db *hearth.DB, id uint64) *rangeTest {
	rt := &rangeTest{T: t}
	rec := &dict.Table{ID: id, Version: id, Storage: id, Database: "d", Name: "t"}
	all := domains()
	for i := range 4 {
		d := all[r.IntN(len(all))]
		rt.columns = append(rt.columns, d)
		rec.Columns = append(rec.Columns, dict.Column{Name: fmt.Sprintf("c%d", i), Type: d.typ, Nullable: i >= 2 && r.IntN(4) > 0})
	}
	rec.Columns = append(rec.Columns, dict.Column{Name: "n", Type: types.Int64})
	rec.Primary = []dict.Part{{Column: 4}}
	if r.IntN(2) == 0 {
		rec.Primary = []dict.Part{{Column: 0}, {Column: 4}}
	}
	for i := range 3 {
		x := dict.Index{ID: uint64(i + 1), Name: fmt.Sprintf("i%d", i), Unique: r.IntN(3) == 0}
		for _, c := range r.Perm(4)[:1+r.IntN(3)] {
			p := dict.Part{Column: c}
			if n := rt.columns[c].prefix; n > 0 && !x.Unique && r.IntN(3) == 0 {
				p.Prefix = uint16(1 + r.IntN(n))
			}
			x.Parts = append(x.Parts, p)
		}
		rec.Indexes = append(rec.Indexes, x)
	}
	b := &Backend{db: db}
	var err error
	if rt.def, err = newDefinition(b, rec); err != nil {
		t.Fatal(err)
	}
	rt.session = b.NewSession(gms.NewBaseSession())
	rt.ctx = gms.NewContext(context.Background(), gms.WithSession(rt.session))
	rt.fill(r, db)
	return rt
}

func (t *rangeTest) fill(r *rand.Rand, db *hearth.DB) {
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(db.Update(context.Background(), func(tx *hearth.Tx) error {
		trees := map[string]*hearth.Tree{}
		for _, x := range t.def.indexes {
			tree, err := tx.CreateTree(x.tree)
			must(err)
			trees[x.tree] = tree
		}
	next:
		for n := range 60 {
			row := make(gms.Row, len(t.columns)+1)
			for i, d := range t.columns {
				if row[i] = d.value(r); t.def.rec.Columns[i].Nullable && r.IntN(5) == 0 {
					row[i] = nil
				}
			}
			row[len(t.columns)] = int64(n)
			rowKey, err := t.def.codec.AppendKey(nil, row)
			must(err)
			entries := map[string][2][]byte{}
			for _, x := range t.def.indexes[1:] {
				k, v, _, err := x.entries.Append(nil, nil, row, rowKey)
				must(err)
				if _, err := trees[x.tree].Get(k); err == nil {
					continue next // not unique
				}
				entries[x.tree] = [2][]byte{k, v}
			}
			for name, e := range entries {
				must(trees[name].Put(e[0], e[1]))
			}
			value, err := t.def.codec.AppendRow(nil, row)
			must(err)
			must(trees[t.def.tree].Put(rowKey, value))
			t.rows = append(t.rows, row)
		}
		return nil
	}))
}

func (t *rangeTest) run(r *rand.Rand) {
	for range 60 {
		x := t.def.indexes[r.IntN(len(t.def.indexes))]
		columns := t.rangeColumns(x, r)
		var ranges gms.MySQLRangeCollection
		n := 1 + r.IntN(3)
		if x.prefixes != nil {
			n = 1 // whose filter is applied to what comes
		}
		for range n {
			rng := make(gms.MySQLRange, len(columns))
			for i, c := range columns {
				rng[i] = t.randomRange(r, c)
			}
			ranges = append(ranges, rng)
		}
		tbl := t.def.plain.table
		tbl.lock = rowLock{mode: lockMode(r.IntN(3))}
		if r.IntN(2) == 0 {
			tbl.columns = r.Perm(len(t.def.rec.Columns))[:r.IntN(len(t.def.rec.Columns)+1)]
			if r.IntN(2) == 0 {
				tbl.columns = slices.Clone(columns)
			}
		}
		reverse := r.IntN(2) == 0
		got, err := t.read(tbl, gms.IndexLookup{Index: x, Ranges: ranges, IsReverse: reverse})
		if err != nil {
			t.Fatalf("index %s%v, ranges %s: %v", x.name, x.parts, ranges.DebugString(), err)
		}
		want := t.expect(x, columns, ranges, reverse)
		if tbl.columns != nil {
			for i, row := range want {
				want[i] = nil
				for _, c := range tbl.columns {
					want[i] = append(want[i], row[c])
				}
			}
		} else if x.prefixes != nil {
			got = slices.DeleteFunc(got, func(row gms.Row) bool { return !t.inside(row, columns, ranges[0]) }) // as GMS does
		}
		if x.prefixes != nil && tbl.columns != nil {
			continue // more may come, and it cannot be told
		}
		if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
			t.Fatalf("index %s%v of %v, columns %v, lock %d, reverse %t, ranges %s\ngot  %v\nwant %v",
				x.name, x.parts, x.ColumnExpressionTypes(), tbl.columns, tbl.lock.mode, reverse, ranges.DebugString(), a, b)
		}
	}
	if t := t.session.current(); t != nil {
		t.rollback()
	}
}

// rangeColumns: the ordinals that a range is about, of the index or with those of the primary key behind.
func (t *rangeTest) rangeColumns(x *Index, r *rand.Rand) (columns []int) {
	for _, p := range x.parts {
		columns = append(columns, p.Column)
	}
	if r.IntN(2) == 0 {
		for _, i := range x.extendedBy {
			columns = append(columns, t.def.rec.Primary[i].Column)
		}
	}
	return columns
}

func (t *rangeTest) bound(r *rand.Rand, c int) any {
	if c == len(t.columns) {
		return int64(r.IntN(60))
	}
	if d := t.columns[c]; d.bound != nil && r.IntN(3) == 0 {
		return d.bound(r)
	}
	return t.columns[c].value(r)
}

func (t *rangeTest) randomRange(r *rand.Rand, c int) gms.MySQLRangeColumnExpr {
	typ := t.def.rec.Columns[c].Type
	if _, ok := typ.(gms.StringType); ok {
		typ = typ.Promote()
	}
	v, w := t.bound(r, c), t.bound(r, c)
	switch r.IntN(13) {
	case 0:
		return gms.AllRangeColumnExpr(typ)
	case 1:
		return gms.NullRangeColumnExpr(typ)
	case 2:
		return gms.NotNullRangeColumnExpr(typ)
	case 3:
		return gms.LessThanRangeColumnExpr(v, typ)
	case 4:
		return gms.LessOrEqualRangeColumnExpr(v, typ)
	case 5:
		return gms.GreaterThanRangeColumnExpr(v, typ)
	case 6:
		return gms.GreaterOrEqualRangeColumnExpr(v, typ)
	case 7:
		return gms.CustomRangeColumnExpr(v, w, gms.Closed, gms.Closed, typ)
	case 8:
		return gms.CustomRangeColumnExpr(v, w, gms.Open, gms.Closed, typ)
	case 9: // IS NULL OR < v
		return gms.MySQLRangeColumnExpr{LowerBound: gms.BelowNull{}, UpperBound: gms.Below{Key: v}, Typ: typ}
	default:
		return gms.ClosedRangeColumnExpr(v, v, typ)
	}
}

// expect is what a lookup must return: for each range in order the rows inside, in the index's order.
func (t *rangeTest) expect(x *Index, columns []int, ranges gms.MySQLRangeCollection, reverse bool) (want []gms.Row) {
	for _, rng := range ranges {
		type hit struct {
			row gms.Row
			key []byte
		}
		var hits []hit
		for _, row := range t.rows {
			if t.inside(row, columns, rng) {
				key, err := t.def.codec.AppendKey(nil, row)
				if err == nil && x.entries != nil {
					key, _, _, err = x.entries.Append(nil, nil, row, key)
				}
				if err != nil {
					t.Fatal(err)
				}
				hits = append(hits, hit{row, key})
			}
		}
		slices.SortFunc(hits, func(a, b hit) int { return bytes.Compare(a.key, b.key) })
		if reverse {
			slices.Reverse(hits)
		}
		for _, h := range hits {
			want = append(want, h.row)
		}
	}
	return want
}

// inside compares by the types of GMS.
func (t *rangeTest) inside(row gms.Row, columns []int, rng gms.MySQLRange) bool {
	for i, c := range columns {
		if !t.within(row[c], t.def.rec.Columns[c].Type, rng[i]) {
			return false
		}
	}
	return true
}

func (t *rangeTest) within(v any, typ gms.Type, r gms.MySQLRangeColumnExpr) bool {
	// A number may be compared with one that the column cannot hold.
	if _, ok := typ.(gms.NumberType); ok {
		typ = types.InternalDecimalType
	}
	if _, ok := typ.(gms.DecimalType); ok {
		typ = types.InternalDecimalType
	}
	if _, ok := typ.(gms.StringType); ok {
		typ = r.Typ
	}
	compare := func(k any) int {
		a, _, err := typ.Convert(t.ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := typ.Convert(t.ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		n, err := typ.Compare(t.ctx, a, b)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch c := r.LowerBound.(type) {
	case gms.AboveNull:
		if v == nil {
			return false
		}
	case gms.Below:
		if v == nil || compare(c.Key) < 0 {
			return false
		}
	case gms.Above:
		if v == nil || compare(c.Key) <= 0 {
			return false
		}
	}
	switch c := r.UpperBound.(type) {
	case gms.AboveNull:
		return v == nil
	case gms.Below:
		return v == nil || compare(c.Key) < 0
	case gms.Above:
		return v == nil || compare(c.Key) <= 0
	}
	return true
}

func (t *rangeTest) read(tbl table, l gms.IndexLookup) (got []gms.Row, err error) {
	partitions, err := tbl.LookupPartitions(t.ctx, l)
	if err != nil {
		return nil, err
	}
	p, err := partitions.Next(t.ctx)
	if err != nil {
		return nil, err
	}
	it, err := tbl.PartitionRows(t.ctx, p)
	if err != nil {
		return nil, err
	}
	defer it.Close(t.ctx)
	for {
		row, err := it.Next(t.ctx)
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return nil, err
		}
		got = append(got, row)
	}
}

// TestEdges: cuts at values that a column cannot hold.
func TestEdges(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		typ      gms.Type
		nullable bool
		v        any
	}{
		{types.Int8, true, int8(5)}, {types.Int8, true, 5.5}, {types.Int8, true, int64(1000)}, {types.Int8, true, int64(-1000)},
		{types.Int8, false, int64(1000)}, {types.Int8, false, int64(-1000)}, {types.Int8, true, nil}, {types.Int8, true, "no number"},
	} {
		d, err := newDefinition(nil, &dict.Table{
			Columns: []dict.Column{{Name: "k", Type: types.Int64}, {Name: "c", Type: c.typ, Nullable: c.nullable}},
			Primary: []dict.Part{{Column: 0}},
			Indexes: []dict.Index{{ID: 1, Name: "i", Parts: []dict.Part{{Column: 1}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%v %t:", c.v, c.nullable)
		for _, r := range []gms.MySQLRangeColumnExpr{
			gms.LessThanRangeColumnExpr(c.v, c.typ), gms.LessOrEqualRangeColumnExpr(c.v, c.typ),
			gms.GreaterThanRangeColumnExpr(c.v, c.typ), gms.GreaterOrEqualRangeColumnExpr(c.v, c.typ),
			gms.ClosedRangeColumnExpr(c.v, c.v, c.typ),
		} {
			in, ok, err := d.indexes[1].interval(gms.MySQLRange{r})
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				fmt.Fprint(&b, " -")
				continue
			}
			fmt.Fprintf(&b, " %x..%x", in.lo, in.hi)
		}
		b.WriteByte('\n')
	}
	want := `
5 true: 01..0185 01..0186 0186.. 0185.. 0185..0186
5.5 true: 01..0186 01..0186 0186.. 0186.. -
1000 true: 01.. 01.. - - -
-1000 true: - - 01.. 01.. -
1000 false: .. .. - - -
-1000 false: - - .. .. -
<nil> true: - - - - -
no number true: 01..0180 01..0181 0181.. 0180.. 0180..0181
`[1:]
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
