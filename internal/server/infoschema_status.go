package server

import (
	gms "github.com/dolthub/go-mysql-server/sql"
)

// statusTables are SHOW STATUS and SHOW VARIABLES as tables, as MariaDB has them, and SHOW ENGINE STATUS.
func (s *Server) statusTables() []*infoTable {
	columns := func() gms.Schema { return gms.Schema{textColumn("VARIABLE_NAME"), textColumn("VARIABLE_VALUE")} }
	variables := func(global bool) func(*gms.Context) ([]gms.Row, error) {
		return func(ctx *gms.Context) (rows []gms.Row, err error) {
			for name, text := range variableTexts(ctx, global) {
				rows = append(rows, gms.Row{name, text})
			}
			return rows, nil
		}
	}
	return []*infoTable{
		{name: "GLOBAL_STATUS", columns: columns(), rows: func(*gms.Context) ([]gms.Row, error) { return s.statusRows(nil), nil }},
		{name: "SESSION_STATUS", columns: columns(), rows: func(ctx *gms.Context) ([]gms.Row, error) { return s.statusRows(ctx.Session), nil }},
		{name: "GLOBAL_VARIABLES", columns: columns(), rows: variables(true)},
		{name: "SESSION_VARIABLES", columns: columns(), rows: variables(false)},
		{name: "HEARTH_ENGINE_STATUS", process: true, columns: gms.Schema{textColumn("Type"), textColumn("Name"), textColumn("Status")},
			rows: func(ctx *gms.Context) ([]gms.Row, error) { return []gms.Row{{"InnoDB", "", s.engineStatus()}}, nil }},
		{name: "ENGINES", columns: gms.Schema{textColumn("ENGINE"), textColumn("SUPPORT"), textColumn("COMMENT"), textColumn("TRANSACTIONS"),
			textColumn("XA"), textColumn("SAVEPOINTS")},
			rows: func(*gms.Context) ([]gms.Row, error) {
				return []gms.Row{{"InnoDB", "DEFAULT", "hearth: transactions, row locks, foreign keys; pages outlive the process", "YES", "NO", "YES"}}, nil
			}},
	}
}
