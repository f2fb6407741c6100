package server

import (
	"strings"

	gms "github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"

	"github.com/hearthdb/hearth/internal/sql"
)

// eventTable is information_schema.EVENTS. GMS's has definers in quotes, and for an event that was never executed the year 1.
func (s *Server) eventTable(base gms.Database) *infoTable {
	t, ok, err := base.GetTableInsensitive(gms.NewEmptyContext(), information_schema.EventsTableName)
	if err != nil || !ok {
		panic("BUG: information_schema has no EVENTS")
	}
	events := t.(*information_schema.InformationSchemaTable)
	columns := events.Schema().Copy()
	definer, executed := columns.IndexOfColName("DEFINER"), columns.IndexOfColName("LAST_EXECUTED")
	return &infoTable{name: strings.ToUpper(events.Name()), columns: columns, rows: func(ctx *gms.Context) ([]gms.Row, error) {
		iter, err := events.Reader(ctx, s.engine.Analyzer.Catalog)
		if err != nil {
			return nil, err
		}
		rows, err := gms.RowIterToRows(ctx, iter)
		for _, row := range rows {
			row[definer] = sql.PlainAccount(row[definer].(string))
			if at, ok := row[executed].(string); ok && strings.HasPrefix(at, "0001-") {
				row[executed] = nil
			}
		}
		return rows, err
	}}
}
