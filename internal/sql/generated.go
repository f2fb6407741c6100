package sql

import (
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// generator computes the virtual columns of rows that are in indexes. GMS does that for the statements of its users; when a table is
// rewritten, or an index is made, it does not always.
type generator struct {
	columns []int
	values  []gms.Expression
}

// newGenerator makes the generator of a definition.
func newGenerator(ctx *gms.Context, d *definition) (g generator, err error) {
	if !d.hidesIndexed {
		return g, nil
	}
	defer func() {
		if p := recover(); p != nil { // as GMS's builder reports its errors
			err = fmt.Errorf("generated columns of table %s: %v", d.rec.Name, p)
		}
	}()
	e := d.backend.engine
	b := planbuilder.New(ctx, e.Analyzer.Catalog, e.EventScheduler, gms.GlobalParser)
	b.DisableAuth()
	schema := b.ResolveSchemaDefaults(d.rec.Database, d.rec.Name, d.schema.Schema)
	for i, c := range schema {
		if !c.Virtual || !indexed(d.rec, i) {
			continue
		}
		value, err := overRow(c.Generated, schema)
		if err != nil {
			return g, err
		}
		g.columns, g.values = append(g.columns, i), append(g.values, value)
	}
	return g, nil
}

// fill returns row with its generated values; it is another slice if there are some.
func (g generator) fill(ctx *gms.Context, row gms.Row) (gms.Row, error) {
	if len(g.columns) == 0 {
		return row, nil
	}
	row = append(gms.Row(nil), row...)
	for i, c := range g.columns {
		v, err := g.values[i].Eval(ctx, row)
		if err != nil {
			return nil, err
		}
		row[c] = v
	}
	return row, nil
}

// overRow lets an expression over a table's columns take them from a whole row of that table.
func overRow(e gms.Expression, schema gms.Schema) (gms.Expression, error) {
	e, _, err := transform.Expr(e, func(x gms.Expression) (gms.Expression, transform.TreeIdentity, error) {
		if f, ok := x.(*expression.GetField); ok {
			return f.WithIndex(schema.IndexOfColName(f.Name())), transform.NewTree, nil
		}
		return x, transform.SameTree, nil
	})
	return e, err
}
