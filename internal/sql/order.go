package sql

import (
	"bytes"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// A sort is dropped where rows come in its order anyway. GMS knows it only where the ORDER BY begins with an index's first column, and
// not at all in UPDATE and DELETE; it also drops sorts by a prefix index, which is not in the order of the whole values. So its
// rule is replaced. More than time is at stake: a locking read with LIMIT below a sort locks every row that it sorts, and the
// workers of a queue (FOR UPDATE SKIP LOCKED) find nothing left.

// orderRuleID must be none of GMS's.
const orderRuleID analyzer.RuleId = 10003

// installOrderRule puts the rule in the place of GMS's own, and among those that end the short ways of UPDATE and DELETE.
func installOrderRule() {
	for i, r := range analyzer.OnceAfterDefault {
		if r.Id.String() == "replaceIdxSort" {
			analyzer.OnceAfterDefault[i] = analyzer.Rule{Id: orderRuleID, Apply: dropSorts}
		}
	}
	analyzer.OnceAfterAll = slices.Insert(analyzer.OnceAfterAll, 0, analyzer.Rule{Id: orderRuleID, Apply: dropSortsOfWrites})
}

func dropSortsOfWrites(ctx *gms.Context, a *analyzer.Analyzer, n gms.Node, scope *plan.Scope, sel analyzer.RuleSelector, flags *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	switch n.(type) {
	case *plan.Update, *plan.DeleteFrom:
		return dropSorts(ctx, a, n, scope, sel, flags)
	}
	return n, transform.SameTree, nil
}

func dropSorts(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	return transform.Node(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		sort, ok := n.(*plan.Sort)
		if !ok {
			return n, transform.SameTree, nil
		}
		o, ok := orderOf(sort.SortFields)
		if !ok {
			return n, transform.SameTree, nil
		}
		child, ok, err := o.in(ctx, sort.Child)
		if err != nil || !ok {
			return n, transform.SameTree, err
		}
		return child, transform.NewTree, nil
	})
}

// order that rows are to come in: columns, all in one direction.
type order struct {
	fields  []*expression.GetField
	reverse bool
}

func orderOf(fields gms.SortFields) (o order, ok bool) {
	for _, f := range fields {
		field, ok := f.Column.(*expression.GetField)
		if !ok || f.Order != fields[0].Order {
			return o, false
		}
		o.fields = append(o.fields, field)
	}
	return order{o.fields, fields[0].Order == gms.Descending}, len(fields) > 0
}

// in returns a node that has the rows of n in the order, or false.
func (o order) in(ctx *gms.Context, n gms.Node) (gms.Node, bool, error) {
	switch n := n.(type) {
	case *plan.Project:
		below, ok := o.below(n)
		if !ok {
			return nil, false, nil
		}
		return below.inChild(ctx, n, n.Child)
	case *plan.Filter:
		return o.inChild(ctx, n, n.Child)
	case *plan.Distinct:
		return o.inChild(ctx, n, n.Child)
	case *plan.TableAlias:
		return o.inChild(ctx, n, n.Child)
	case *plan.IndexedTableAccess:
		return o.inLookup(ctx, n)
	case *plan.ResolvedTable:
		return o.inTable(ctx, n)
	}
	return nil, false, nil
}

func (o order) inChild(ctx *gms.Context, n, child gms.Node) (gms.Node, bool, error) {
	child, ok, err := o.in(ctx, child)
	if err != nil || !ok {
		return nil, false, err
	}
	n, err = n.WithChildren(child)
	return n, err == nil, err
}

// below is the order as it is called below a projection.
func (o order) below(p *plan.Project) (order, bool) {
	fields := slices.Clone(o.fields)
	for i, f := range fields {
		at := slices.IndexFunc(p.Projections, func(e gms.Expression) bool {
			id, ok := e.(gms.IdExpression)
			return ok && id.Id() == f.Id()
		})
		if at < 0 {
			return o, false
		}
		e := p.Projections[at]
		if alias, ok := e.(*expression.Alias); ok {
			e = alias.Child
		}
		field, ok := e.(*expression.GetField)
		if !ok {
			return o, false
		}
		fields[i] = field
	}
	return order{fields, o.reverse}, true
}

// inTable: a scan of all rows goes by an index that has the order.
func (o order) inTable(ctx *gms.Context, n *plan.ResolvedTable) (gms.Node, bool, error) {
	t, ok := tableOf(n.UnderlyingTable())
	if !ok {
		return nil, false, nil
	}
	for _, x := range t.def.indexes {
		if !o.by(x, nil) {
			continue
		}
		all := make(gms.MySQLRange, len(x.parts))
		for i, e := range x.expressions {
			all[i] = gms.AllRangeColumnExpr(e.Type)
		}
		lookup := gms.IndexLookup{Index: x, Ranges: gms.MySQLRangeCollection{all}, IsReverse: o.reverse}
		access, err := plan.NewStaticIndexedAccessForTableNode(ctx, n, lookup)
		return access, err == nil, err
	}
	return nil, false, nil
}

// inLookup: a lookup has the order if its ranges follow each other, or if it is one range and the columns that the order skips have
// one value in it.
func (o order) inLookup(ctx *gms.Context, n *plan.IndexedTableAccess) (gms.Node, bool, error) {
	if !n.IsStatic() {
		return nil, false, nil
	}
	lookup, err := n.GetLookup(ctx, nil)
	if err != nil {
		return nil, false, err
	}
	x, ok := lookup.Index.(*Index)
	ranges, isOurs := lookup.Ranges.(gms.MySQLRangeCollection)
	if !ok || !isOurs || lookup.IsReverse {
		return nil, false, nil
	}
	var one gms.MySQLRange
	if len(ranges) == 1 {
		one = ranges[0]
	} else if in, err := x.intervals(ranges); err != nil || !ascending(in) {
		return nil, false, err
	}
	if !o.by(x, one) {
		y, r, ok := o.other(x, one)
		if !ok {
			return nil, false, nil
		}
		x, ranges = y, gms.MySQLRangeCollection{r}
	} else if !o.reverse {
		return n, true, nil
	}
	lookup = gms.NewIndexLookup(x, slices.Clone(ranges), lookup.IsPointLookup, lookup.IsEmptyRange, false, o.reverse)
	access, err := plan.NewStaticIndexedAccessForTableNode(ctx, n.TableNode, lookup)
	return access, err == nil, err
}

// other finds an index that has the order where x has not, and that says as much about the columns of the range: they are its first.
func (o order) other(x *Index, r gms.MySQLRange) (*Index, gms.MySQLRange, bool) {
	if r == nil || x.prefixes != nil {
		return nil, nil, false
	}
	told := map[int]gms.MySQLRangeColumnExpr{} // by the ordinal of the column
	for i := range r {
		b, err := x.bounds(x.partOf(i), r[i])
		if err != nil {
			return nil, nil, false
		}
		if !b.all {
			told[x.ordinal(i)] = r[i]
		}
	}
	for _, y := range x.def.indexes {
		if y == x || y.prefixes != nil || len(y.parts) < len(told) {
			continue
		}
		other := make(gms.MySQLRange, len(y.parts))
		for i, e := range y.expressions {
			if in, ok := told[y.parts[i].Column]; ok && i < len(told) {
				other[i] = in
			} else if i < len(told) {
				other = nil
				break
			} else {
				other[i] = gms.AllRangeColumnExpr(e.Type)
			}
		}
		if other != nil && o.by(y, other) {
			return y, other, true
		}
	}
	return nil, nil, false
}

// ascending: each interval lies behind the one before.
func ascending(in []interval) bool {
	for i := 1; i < len(in); i++ {
		if in[i-1].hi == nil || bytes.Compare(in[i-1].hi, in[i].lo) > 0 {
			return false
		}
	}
	return true
}

// by says whether the entries of an index, those in the range, have the order.
func (o order) by(x *Index, r gms.MySQLRange) bool {
	columns := make([]string, len(o.fields))
	for i, f := range o.fields {
		columns[i] = f.Name()
	}
	return x.ordered(columns, r)
}

// ordered says whether the entries in the range are in the order of the columns. Behind the index's own columns come those of the primary
// key; those that have one value in the whole range may be left out of the order.
func (x *Index) ordered(columns []string, r gms.MySQLRange) bool {
	at := 0
	for _, name := range columns {
		for ; ; at++ {
			if at >= len(x.extended) || x.partial(at) {
				return false
			}
			if strings.EqualFold(x.def.rec.Columns[x.ordinal(at)].Name, name) {
				at++
				break
			}
			if at >= len(r) || !x.pinned(at, r) {
				return false
			}
		}
	}
	return true
}

// ordinal of the i-th column of the extended index, in the table.
func (x *Index) ordinal(i int) int {
	if i < len(x.parts) {
		return x.parts[i].Column
	}
	return x.def.rec.Primary[x.extendedBy[i-len(x.parts)]].Column
}

// partial: the index has only the head of the column's values.
func (x *Index) partial(i int) bool {
	if i < len(x.parts) {
		return x.parts[i].Prefix > 0
	}
	return x.def.rec.Primary[x.extendedBy[i-len(x.parts)]].Prefix > 0
}

// pinned: the i-th column has one value in the range.
func (x *Index) pinned(i int, r gms.MySQLRange) bool {
	b, err := x.bounds(x.partOf(i), r[i])
	return err == nil && b.equal
}
