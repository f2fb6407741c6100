package sql

import (
	"fmt"
	"slices"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// FULLTEXT and SPATIAL keys are not made: GMS keeps those in tables of their own, which would have to follow every change and every
// dump. A definition that wants one is carried out without, with a warning, so that dumps load. What needs the key says so: MATCH …
// AGAINST fails with error 1191, and searches by place read the table.

// Numbers of MySQL's errors for an engine that has no such keys.
const (
	warnNoFulltext = 1214
	warnNoSpatial  = 1464
)

// AdaptKeys takes keys that cannot be made out of a definition. It returns what is to be planned, which is not much if nothing is left.
func (s *Session) AdaptKeys(stmt sqlparser.Statement) sqlparser.Statement {
	switch n := stmt.(type) {
	case *sqlparser.DDL:
		if n.TableSpec != nil {
			n.TableSpec.Indexes = slices.DeleteFunc(n.TableSpec.Indexes, func(x *sqlparser.IndexDefinition) bool {
				return x.Info != nil && s.leaveOut(x.Info.Fulltext, x.Info.Spatial, x.Info.Name.String(), x.Columns)
			})
		}
		if s.leavesOut(n) && s.knows(n.Table) {
			return &sqlparser.Set{}
		}
	case *sqlparser.AlterTable:
		if !s.knows(n.Table) {
			break // GMS will say so
		}
		if n.Statements = slices.DeleteFunc(n.Statements, s.leavesOut); len(n.Statements) == 0 && len(n.PartitionSpecs) == 0 {
			return &sqlparser.Set{}
		}
	}
	return stmt
}

func (s *Session) leavesOut(ddl *sqlparser.DDL) bool {
	x := ddl.IndexSpec
	return x != nil && strings.EqualFold(x.Action, sqlparser.CreateStr) &&
		s.leaveOut(x.Type == sqlparser.FulltextStr, x.Type == sqlparser.SpatialStr, x.ToName.String(), x.Columns)
}

// leaveOut warns of a key that is not made.
func (s *Session) leaveOut(fulltext, spatial bool, name string, columns []*sqlparser.IndexColumn) bool {
	if !fulltext && !spatial {
		return false
	}
	kind, code := "FULLTEXT", warnNoFulltext
	if spatial {
		kind, code = "SPATIAL", warnNoSpatial
	}
	if name == "" && len(columns) > 0 {
		name = columns[0].Column.String()
	}
	s.Warn(&gms.Warning{Level: "Warning", Code: code, Message: fmt.Sprintf(
		"The used table type doesn't support %s indexes: key '%s' is left out", kind, name)})
	return true
}

func (s *Session) knows(t sqlparser.TableName) bool {
	db := t.DbQualifier.String()
	if db == "" {
		db = s.GetCurrentDatabase()
	}
	return s.temporary.byName(db, t.Name.String()) != nil || s.Schema().Table(db, t.Name.String()) != nil
}
