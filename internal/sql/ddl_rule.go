package sql

import (
	"sync"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// ddlRuleID must be none of GMS's.
const ddlRuleID analyzer.RuleId = 10002

var installDDLOnce sync.Once

// installDDLRule adds rewriteDDL to GMS's analyzer, for engines that are made afterwards.
func installDDLRule() {
	installDDLOnce.Do(func() {
		analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault, analyzer.Rule{Id: ddlRuleID, Apply: rewriteDDL})
	})
}

// rewriteDDL makes up for two things. ALTER TABLE … SET DEFAULT and DROP DEFAULT change the column in the schema of the table that the
// database gives them, and our tables' schemas are shared: theirs gets a copy. And for a table whose primary key was written as a key
// of its own GMS does not pass the comment on: the session keeps it.
func rewriteDDL(ctx *gms.Context, _ *analyzer.Analyzer, n gms.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *gms.QueryFlags) (gms.Node, transform.TreeIdentity, error) {
	s := SessionOf(ctx)
	if s == nil {
		return n, transform.SameTree, nil
	}
	return transform.NodeWithOpaque(n, func(n gms.Node) (gms.Node, transform.TreeIdentity, error) {
		switch n := n.(type) {
		case *plan.CreateTable:
			s.tableComment, _ = n.TableOpts["comment"].(string)
		case *plan.AlterDefaultSet, *plan.AlterDefaultDrop:
			d := n.(gms.Databaser)
			if _, done := d.Database().(copying); done {
				return n, transform.SameTree, nil
			}
			with, err := d.WithDatabase(copying{d.Database()})
			return with, transform.NewTree, err
		}
		return n, transform.SameTree, nil
	})
}

// copying is a database whose tables have schemas that may be changed.
type copying struct{ gms.Database }

func (c copying) GetTableInsensitive(ctx *gms.Context, name string) (gms.Table, bool, error) {
	t, ok, err := c.Database.GetTableInsensitive(ctx, name)
	if ours, is := t.(*Table); is {
		def := *ours.def
		def.schema = gms.NewPrimaryKeySchema(def.schema.Schema.Copy(), def.schema.PkOrdinals...)
		def.plain = &Table{table{def: &def}}
		t = def.plain
	}
	return t, ok, err
}
