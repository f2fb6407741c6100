package sql

import (
	"fmt"
	"slices"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/dict"
)

// AdaptInsert makes of an INSERT or REPLACE one that GMS takes as MySQL and MariaDB do, in its syntax tree. A table with generated
// columns needs no list of columns here. And without a strict SQL mode a value for a generated column is ignored with a warning:
// mariadb-dump writes all columns of a row.
func (s *Session) AdaptInsert(ctx *gms.Context, i *sqlparser.Insert) {
	db := i.Table.DbQualifier.String()
	if db == "" {
		db = s.GetCurrentDatabase()
	}
	t := s.temporary.byName(db, i.Table.Name.String())
	if t == nil {
		t = s.Schema().Table(db, i.Table.Name.String())
	}
	if t == nil || !slices.ContainsFunc(t.Columns, func(c dict.Column) bool { return c.Generated != nil }) {
		return
	}
	if len(i.Columns) == 0 {
		for c := range t.Columns {
			i.Columns = append(i.Columns, sqlparser.NewColIdent(t.Columns[c].Name))
		}
	}
	rows, ok := i.Rows.(*sqlparser.AliasedValues)
	if mode := gms.LoadSqlMode(ctx); !ok || mode.ModeEnabled("STRICT_TRANS_TABLES") || mode.ModeEnabled("STRICT_ALL_TABLES") {
		return
	}
	for at, name := range i.Columns {
		c := t.Column(name.String())
		if c < 0 || t.Columns[c].Generated == nil {
			continue
		}
		ignored := false
		for _, row := range rows.Values {
			if at < len(row) && isLiteral(row[at]) {
				row[at], ignored = &sqlparser.Default{}, true
			}
		}
		if ignored {
			s.Warn(&gms.Warning{Level: "Warning", Code: warnGeneratedIgnored, Message: fmt.Sprintf(
				"The value specified for generated column '%s' in table '%s' has been ignored", t.Columns[c].Name, t.Name)})
		}
	}
}

// warnGeneratedIgnored is MariaDB's number; MySQL refuses such values in any SQL mode.
const warnGeneratedIgnored = 1906

// isLiteral: a value that is written there, not a parameter.
func isLiteral(e sqlparser.Expr) bool {
	switch e := e.(type) {
	case *sqlparser.NullVal:
		return true
	case *sqlparser.SQLVal:
		return e.Type != sqlparser.ValArg
	case *sqlparser.UnaryExpr:
		return isLiteral(e.Expr)
	}
	return false
}

// insertRuleID must be none of GMS's.
const insertRuleID analyzer.RuleId = 10006

func installInsertRule() {
	analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault, analyzer.Rule{Id: insertRuleID, Apply: convertGeometries})
}

// convertGeometries makes values of the bytes that an INSERT has for MULTILINESTRING and MULTIPOLYGON: GMS's own conversion calls
// each of them out of range.
func convertGeometries(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	insert, ok := n.(*plan.InsertInto)
	if !ok || SessionOf(ctx) == nil {
		return n, transform.SameTree, nil
	}
	values, ok := insert.Source.(*plan.Values)
	if !ok {
		return n, transform.SameTree, nil
	}
	var columns []int // of the tuples
	schema := insert.Destination.Schema()
	for i, name := range insert.ColumnNames {
		if c := schema.IndexOfColName(name); c >= 0 {
			switch schema[c].Type.(type) {
			case types.MultiLineStringType, types.MultiPolygonType:
				columns = append(columns, i)
			}
		}
	}
	if len(columns) == 0 {
		return n, transform.SameTree, nil
	}
	tuples := make([][]gms.Expression, len(values.ExpressionTuples))
	for t, tuple := range values.ExpressionTuples {
		tuples[t] = slices.Clone(tuple)
		for _, i := range columns {
			if i >= len(tuple) {
				continue
			}
			l, ok := tuple[i].(*expression.Literal)
			if !ok || l.Val == nil {
				continue
			}
			v, _, err := types.GeometryType{}.Convert(ctx, l.Val)
			if err != nil {
				return n, transform.SameTree, err
			}
			tuples[t][i] = expression.NewLiteral(v, types.GeometryType{})
		}
	}
	return insert.WithSource(plan.NewValues(tuples)), transform.NewTree, nil
}
