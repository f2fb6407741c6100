package sql

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"github.com/hearthdb/hearth/internal/dict"
)

// Triggers follow their table when it is renamed. They are kept as text, so the name in it is replaced.

// triggerTable finds the table in the text of a trigger: the words before it can stand nowhere else but in a name or a comment, and what
// comes out is read again.
var triggerTable = regexp.MustCompile("(?is)\\b(?:BEFORE|AFTER)\\s+(?:INSERT|UPDATE|DELETE)\\s+ON\\s+" +
	"((?:`(?:[^`]|``)+`|[\\w$\\x{80}-\\x{10ffff}]+)(?:\\s*\\.\\s*(?:`(?:[^`]|``)+`|[\\w$\\x{80}-\\x{10ffff}]+))?)\\s+FOR\\b")

// renameTriggers moves the triggers of a table that gets another name.
func renameTriggers(ctx *gms.Context, c *dict.Change, db *dict.Database, from, to string) error {
	for _, t := range db.Triggers() {
		table, err := tableOfTrigger(ctx, t.CreateStatement, t.SqlMode)
		if err != nil {
			return fmt.Errorf("trigger %s.%s: %w", db.Name, t.Name, err)
		}
		if !strings.EqualFold(table, from) {
			continue
		}
		renamed := *t
		at := triggerTable.FindStringSubmatchIndex(t.CreateStatement)
		if at != nil {
			renamed.CreateStatement = t.CreateStatement[:at[2]] + quoteName(to) + t.CreateStatement[at[3]:]
		}
		if table, err = tableOfTrigger(ctx, renamed.CreateStatement, t.SqlMode); at == nil || err != nil || table != to {
			return fmt.Errorf("trigger %s.%s: the table's name is not found in its text; drop it before the table is renamed", db.Name, t.Name)
		}
		if err := c.PutTrigger(db.Name, renamed); err != nil {
			return err
		}
	}
	return nil
}

// tableOfTrigger is the name of the table that a trigger is of.
func tableOfTrigger(ctx *gms.Context, create, mode string) (string, error) {
	stmt, _, _, err := gms.GlobalParser.ParseWithOptions(ctx, create, ';', false, gms.NewSqlModeFromString(mode).ParserOptions())
	if err != nil {
		return "", err
	}
	ddl, ok := stmt.(*sqlparser.DDL)
	if !ok || ddl.TriggerSpec == nil {
		return "", errors.New("its text is no CREATE TRIGGER")
	}
	return ddl.Table.Name.String(), nil
}
