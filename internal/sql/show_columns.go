package sql

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/hearthdb/hearth/internal/dict"
)

// AdaptShow makes SHOW COLUMNS and SHOW INDEX of our tables, in an analysed plan, say what MySQL says. GMS's have the collation
// within the type and another one beside it, quotes around the defaults, no ON UPDATE, and no length of an index's prefix: tools
// that compare a schema with their models find differences, and "mend" them with ALTERs for ever.
func (s *Session) AdaptShow(ctx *gms.Context, n gms.Node) (gms.Node, error) {
	n, _, err := transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		var rows []gms.Row
		var err error
		switch show := n.(type) {
		case *plan.ShowColumns:
			rows, err = showColumns(ctx, show)
		case *plan.ShowIndexes:
			rows, err = showIndexes(ctx, show)
		case *plan.ShowEvents:
			rows, err = showEvents(ctx, show)
		}
		if rows == nil || err != nil {
			return n, transform.SameTree, err
		}
		return listed{n, rows}, transform.NewTree, nil
	})
	return n, err
}

// listed is a node of GMS with other rows.
type listed struct {
	gms.Node
	rows []gms.Row
}

var _ gms.ExecSourceRel = listed{}

func (l listed) RowIter(*gms.Context, gms.Row) (gms.RowIter, error) {
	return gms.RowsToRowIter(l.rows...), nil
}
func (l listed) Children() []gms.Node { return nil }
func (l listed) WithChildren(children ...gms.Node) (gms.Node, error) {
	if len(children) != 0 {
		return nil, gms.ErrInvalidChildrenNumber.New(l, len(children), 0)
	}
	return l, nil
}

// privileges on columns, which GMS does not tell apart.
const columnPrivileges = "select,insert,update,references"

// showColumns of a table of ours or a view; nil for a table of others.
func showColumns(ctx *gms.Context, show *plan.ShowColumns) (list []gms.Row, err error) {
	var rec *dict.Table
	switch child := show.Child.(type) {
	case *plan.ResolvedTable:
		d := definitionOf(child.Table)
		if d == nil {
			return nil, nil
		}
		rec = d.rec
	case *plan.SubqueryAlias:
	default:
		return nil, nil
	}
	for i, c := range show.TargetSchema() {
		var collation, value any
		if t, ok := c.Type.(gms.TypeWithCollation); ok && t.Collation() != gms.Collation_binary {
			collation = t.Collation().Name()
		}
		if value, err = shownDefault(ctx, c); err != nil {
			return nil, err
		}
		null := "NO"
		if c.Nullable {
			null = "YES"
		}
		key := ""
		if rec != nil {
			key = columnKey(rec, i)
		}
		row := gms.Row{c.Name, shownType(c.Type), null, key, value, shownExtra(c)}
		if show.Full {
			row = gms.Row{c.Name, shownType(c.Type), collation, null, key, value, shownExtra(c), columnPrivileges, c.Comment}
		}
		list = append(list, row)
	}
	return list, nil
}

// shownType is a column's type without its collation.
func shownType(t gms.Type) string {
	if c, ok := t.(gms.TypeWithCollation); ok {
		return typeText(t, c.Collation())
	}
	return typeText(t, gms.Collation_Unspecified)
}

// shownDefault is the value, not its literal; the expression if it is none.
func shownDefault(ctx *gms.Context, c *gms.Column) (any, error) {
	if c.Default == nil {
		return nil, nil
	}
	text, err := defaultText(ctx, c)
	if err != nil || !c.Default.IsLiteral() || types.IsBit(c.Type) {
		return text, err
	}
	v, err := c.Default.Eval(ctx, nil)
	if err != nil || v == nil {
		return nil, err
	}
	if v, _, err = c.Type.Convert(ctx, v); err != nil {
		return nil, err
	}
	s, err := c.Type.SQL(ctx, nil, v)
	return s.ToString(), err
}

func shownExtra(c *gms.Column) string {
	var extra []string
	switch {
	case c.AutoIncrement:
		extra = append(extra, "auto_increment")
	case c.Generated != nil && c.Virtual:
		extra = append(extra, "VIRTUAL GENERATED")
	case c.Generated != nil:
		extra = append(extra, "STORED GENERATED")
	case c.Default != nil && !c.Default.IsLiteral():
		extra = append(extra, "DEFAULT_GENERATED")
	}
	if c.OnUpdate != nil {
		extra = append(extra, "on update "+c.OnUpdate.String())
	}
	return strings.Join(extra, " ")
}

// columnKey says what a column is to the keys: PRI of the primary one, UNI when it is a unique one by itself, MUL when it leads another.
func columnKey(rec *dict.Table, column int) string {
	for _, p := range rec.Primary {
		if p.Column == column {
			return "PRI"
		}
	}
	key := ""
	for _, x := range rec.Indexes {
		switch {
		case x.Parts[0].Column != column:
		case x.Unique && len(x.Parts) == 1:
			return "UNI"
		default:
			key = "MUL"
		}
	}
	return key
}

// showIndexes of a table of ours; nil for one of others.
func showIndexes(ctx *gms.Context, show *plan.ShowIndexes) (list []gms.Row, err error) {
	table, ok := show.Child.(*plan.ResolvedTable)
	if !ok {
		return nil, nil
	}
	d := definitionOf(table.Table)
	if d == nil {
		return nil, nil
	}
	st, err := d.backend.stats.of(ctx, d)
	if err != nil {
		return nil, err
	}
	list = []gms.Row{}
	add := func(name, comment string, unique bool, parts []dict.Part) {
		for i, p := range parts {
			var prefix any
			if p.Prefix > 0 {
				prefix = int64(p.Prefix)
			}
			others, null := 1, ""
			if unique {
				others = 0
			}
			if d.rec.Columns[p.Column].Nullable {
				null = "YES"
			}
			list = append(list, gms.Row{d.rec.Name, others, name, i + 1, d.rec.Columns[p.Column].Name, "A",
				st.cardinality(name, i+1, len(parts)), prefix, nil, null,
				"BTREE", "", comment, "YES", nil})
		}
	}
	if len(d.rec.Primary) > 0 {
		add("PRIMARY", "", true, d.rec.Primary)
	}
	for _, unique := range []bool{true, false} { // MySQL's order
		for _, x := range d.rec.Indexes {
			if x.Unique == unique {
				add(x.Name, x.Comment, unique, x.Parts)
			}
		}
	}
	return list, nil
}
