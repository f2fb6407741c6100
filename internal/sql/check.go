package sql

import (
	"fmt"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"

	"github.com/hearthdb/hearth/internal/dict"
)

var (
	_ gms.CheckTable          = (*Table)(nil)
	_ gms.CheckAlterableTable = (*Table)(nil)
)

// GetChecks implements gms.CheckTable.
func (t *table) GetChecks(ctx *gms.Context) ([]gms.CheckDefinition, error) {
	return t.current(ctx).Checks, nil
}

// CreateCheck implements gms.CheckAlterableTable. GMS has looked whether the rows pass it.
func (t *table) CreateCheck(ctx *gms.Context, check *gms.CheckDefinition) error {
	return t.alter(ctx, func(a *alteration) error {
		c := *check
		for i := 1; c.Name == ""; i++ {
			if name := fmt.Sprintf("%s_chk_%d", a.rec.Name, i); findCheck(a.rec, name) < 0 {
				c.Name = name
			}
		}
		if findCheck(a.rec, c.Name) >= 0 {
			return mysql.NewSQLError(erCheckDupName, "HY000", "Duplicate check constraint name '%s'.", c.Name)
		}
		a.rec.Checks = append(a.rec.Checks, c)
		return a.put()
	})
}

// DropCheck implements gms.CheckAlterableTable.
func (t *table) DropCheck(ctx *gms.Context, name string) error {
	return t.alter(ctx, func(a *alteration) error {
		i := findCheck(a.rec, name)
		if i < 0 {
			return mysql.NewSQLError(erCheckNotFound, "HY000", "Check constraint '%s' is not found in the table.", name)
		}
		a.rec.Checks = slices.Delete(a.rec.Checks, i, i+1)
		return a.put()
	})
}

// Numbers of MySQL's errors about checks.
const (
	erCheckDupName  = 3822
	erCheckNotFound = 3821
)

func findCheck(rec *dict.Table, name string) int {
	return slices.IndexFunc(rec.Checks, func(c dict.Check) bool { return strings.EqualFold(c.Name, name) })
}
