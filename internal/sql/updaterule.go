package sql

import (
	"bytes"
	"context"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// An UPDATE that sets 'A' where there was 'a' changes the row, whatever the collation says. GMS compares the row before with the row after
// by the types of the table, and writes nothing if they are equal; so for that comparison it gets types that compare bytes. An UPDATE of a
// join is not among them: it looks at rows before it comes to that.

// updateRuleID must be none of GMS's.
const updateRuleID analyzer.RuleId = 10008

func installUpdateRule() {
	analyzer.OnceAfterAll = append(analyzer.OnceAfterAll, analyzer.Rule{Id: updateRuleID, Apply: compareBytes})
}

func compareBytes(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	if SessionOf(ctx) == nil {
		return n, transform.SameTree, nil
	}
	return transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		u, ok := n.(*plan.Update)
		if !ok || u.IsJoin {
			return n, transform.SameTree, nil
		}
		if _, done := u.Child.(*updateSource); done {
			return n, transform.SameTree, nil
		}
		table, err := plan.GetUpdatable(u.Child)
		if err != nil {
			return n, transform.SameTree, nil // GMS will say so
		}
		schema, differs := byteSchema(table.Schema())
		if !differs {
			return n, transform.SameTree, nil
		}
		with, err := u.WithChildren(&updateSource{table, u.Child, schema})
		return with, transform.NewTree, err
	})
}

// updateSource is what an UPDATE reads, and at the same time its table, with a schema whose types compare bytes.
type updateSource struct {
	gms.UpdatableTable
	child  gms.Node
	schema gms.Schema
}

var _ gms.ExecSourceRel = (*updateSource)(nil)

func (u *updateSource) Schema() gms.Schema                    { return u.schema }
func (u *updateSource) Resolved() bool                        { return u.child.Resolved() }
func (u *updateSource) IsReadOnly() bool                      { return u.child.IsReadOnly() }
func (u *updateSource) Children() []gms.Node                  { return []gms.Node{u.child} }
func (u *updateSource) String() string                        { return u.child.String() }
func (u *updateSource) DebugString() string                   { return gms.DebugString(u.child) }
func (u *updateSource) Describe(o gms.DescribeOptions) string { return gms.Describe(u.child, o) }

// WithChildren implements gms.Node.
func (u *updateSource) WithChildren(children ...gms.Node) (gms.Node, error) {
	if len(children) != 1 {
		return nil, gms.ErrInvalidChildrenNumber.New(u, len(children), 1)
	}
	return &updateSource{u.UpdatableTable, children[0], u.schema}, nil
}

// RowIter implements gms.ExecSourceRel.
func (u *updateSource) RowIter(ctx *gms.Context, row gms.Row) (gms.RowIter, error) {
	return SessionOf(ctx).backend.engine.Analyzer.ExecBuilder.Build(ctx, u.child, row)
}

// byteSchema is a schema whose types compare texts by their bytes; differs: some did not.
func byteSchema(schema gms.Schema) (with gms.Schema, differs bool) {
	for i, c := range schema {
		t, ok := c.Type.(gms.StringType)
		if !ok || types.IsBinaryType(t) {
			continue
		}
		if !differs {
			with, differs = append(gms.Schema(nil), schema...), true
		}
		column := *c
		column.Type = byteType{t}
		with[i] = &column
	}
	return with, differs
}

// byteType is a text that is what its bytes are.
type byteType struct{ gms.StringType }

// Compare implements gms.Type.
func (t byteType) Compare(ctx context.Context, a, b any) (int, error) {
	x, xok, err := textOf(ctx, a)
	if err != nil {
		return 0, err
	}
	y, yok, err := textOf(ctx, b)
	if err != nil {
		return 0, err
	}
	if !xok || !yok {
		return t.StringType.Compare(ctx, a, b)
	}
	return bytes.Compare([]byte(x), []byte(y)), nil
}

func textOf(ctx context.Context, v any) (text string, ok bool, err error) {
	if v, err = gms.UnwrapAny(ctx, v); err != nil {
		return "", false, err
	}
	text, ok = v.(string)
	return text, ok, nil
}
