package sql

import (
	"fmt"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// guard evaluates the checks of a table that has virtual columns. GMS wraps such a table in one that tells of no checks
// (plan.VirtualColumnTable is no CheckTable) and so looks at none; for all other tables it does, and guard is empty.
type guard struct {
	names  []string
	checks []gms.Expression
}

// newGuard makes the guard of a definition. A check is resolved as the value of a generated column that nobody stores.
func newGuard(ctx *gms.Context, d *definition) (g guard, err error) {
	if len(d.rec.Checks) == 0 || len(d.stored) == len(d.rec.Columns) {
		return g, nil
	}
	defer func() {
		if p := recover(); p != nil { // as GMS's builder reports its errors
			err = fmt.Errorf("checks of table %s: %v", d.rec.Name, p)
		}
	}()
	schema := append(gms.Schema(nil), d.schema.Schema...)
	columns := len(schema)
	for _, c := range d.rec.Checks {
		if !c.Enforced {
			continue
		}
		g.names = append(g.names, c.Name)
		schema = append(schema, &gms.Column{
			Name: "check " + c.Name, Source: d.rec.Name, DatabaseSource: d.rec.Database, Type: types.Boolean, Nullable: true,
			Generated: gms.NewUnresolvedColumnDefaultValue("(" + c.CheckExpression + ")"), Virtual: true,
		})
	}
	e := d.backend.engine
	b := planbuilder.New(ctx, e.Analyzer.Catalog, e.EventScheduler, gms.GlobalParser)
	b.DisableAuth()
	for _, c := range b.ResolveSchemaDefaults(d.rec.Database, d.rec.Name, schema)[columns:] {
		check, err := overRow(c.Generated.Expr, schema)
		if err != nil {
			return g, err
		}
		g.checks = append(g.checks, check)
	}
	return g, nil
}

// pass says which check a row does not pass, as GMS says it. A check that is NULL is passed.
func (g guard) pass(ctx *gms.Context, row gms.Row) error {
	for i, check := range g.checks {
		ok, err := gms.EvaluateCondition(ctx, check, row)
		if err != nil {
			return err
		}
		if gms.IsFalse(ok) {
			return gms.ErrCheckConstraintViolated.New(g.names[i])
		}
	}
	return nil
}
